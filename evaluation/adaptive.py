"""Adaptive exams: item banks from runs, and the questions of a run chosen batch by batch.

Contract: a batch is chosen from the marks of earlier batches and stored before it is asked, so that a killed run goes
on with the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.progress import say, warn
from livek12.core.records import Question
from livek12.core.run.folder import QuestionChoice, RunFolder, RunQuestion, without_bytes
from livek12.core.run.spec import AdaptiveExam, RunSpec
from livek12.core.run.sums import write_summed
from livek12.core.run_answers import read_answers, shares_of
from livek12.core.scoring.bank import (
    ANCHORS,
    BANK,
    BankEstimate,
    BankItem,
    ExamEnd,
    ItemBank,
    in_words,
    make_bank,
    read_bank,
)
from livek12.core.scoring.outcomes import Slim
from livek12.evaluation.choosing import FIELDS
from livek12.evaluation.task_data import TaskData
from livek12.tasks.base import Task

BATCH = 5


def check_full(runs: Iterable[RunFolder], what: str) -> None:
    """Refuses adaptive runs, whose questions were chosen for one model."""
    for run in runs:
        if exam := run.spec().adaptive:
            raise UserError(
                f"{run.path}: is an adaptive run ({len(run.choices()):,} of {exam.of:,} questions, chosen for its"
                f" model); {what} full runs; `livek12 report`, `compare`, `site` and `push` take adaptive ones too"
            )


def bank_of_runs(runs: Sequence[Path], area: str = "subject", task: str = "") -> ItemBank:
    """Bank of the questions that the runs answered, each run a model; adaptive ones count as exposure alone."""
    if area not in FIELDS:
        raise UserError(f"--area {area}: is no field of a question; there are {', '.join(sorted(FIELDS))}")
    values_of = FIELDS[area]
    folders = {path: RunFolder.open(path, warn) for path in runs}
    tasks = {name for folder in folders.values() for name in (each.name for each in folder.spec().tasks)}
    if (task and task not in tasks) or (not task and len(tasks) > 1):
        raise UserError(f"{runs[0]}: a bank has one task; name it with --task: {', '.join(sorted(tasks))}")
    task = task or next(iter(tasks))
    items: dict[str, BankItem] = {}
    marks: dict[str, dict[str, float]] = {}
    exposure: dict[str, int] = {}
    for path, folder in folders.items():
        spec = folder.spec()
        posed = [question for name, question in folder.each_question() if name == task]
        if spec.adaptive is not None:
            exposure |= {question.id: exposure.get(question.id, 0) + 1 for question in posed}
            continue
        for question in posed:
            items.setdefault(question.id, _item(question, next(iter(values_of(question)), None)))
        places = {question.id: place for place, question in enumerate(posed)}
        outcomes = read_answers(folder, Slim()).outcomes.by_task()[task]
        shares = shares_of(outcomes, places)
        name = spec.model if spec.model not in marks else str(path)
        marks[name] = {question.id: shares[place] for place, question in enumerate(posed) if place in shares}
    return _made(task, items, marks, exposure)


def _item(question: Question, area: str | None) -> BankItem:
    return BankItem(id=question.id, area=area or "(none)", worth=question.points or 1.0, slope=1, level=0, answers=0)


def _made(
    task: str, items: dict[str, BankItem], marks: dict[str, dict[str, float]], exposure: dict[str, int]
) -> ItemBank:
    answered = {id for own in marks.values() for id in own}
    kept = [item.model_copy(update={"exposure": exposure.get(id, 0)}) for id, item in items.items() if id in answered]
    if not kept:
        raise UserError(f"{task}: no run has a decided answer; an item bank needs full runs that are marked")
    shares = np.array([[own.get(item.id, np.nan) for item in kept] for own in marks.values()])
    return make_bank(task, list(marks), kept, shares)


@dataclass(frozen=True)
class Adaptive:
    """Adaptive exam that a command asks."""

    bank: ItemBank
    until: str
    batch: int = BATCH

    @classmethod
    def opened(cls, bank: Path, until: str, batch: int = BATCH) -> Adaptive:
        """Reads the bank and the end."""
        ExamEnd.parse(until)
        return cls(read_bank(bank), until, batch)

    def ids(self, tasks: Sequence[Task]) -> dict[str, list[str]]:
        """Questions of the bank by task."""
        if [task.name for task in tasks] != [self.bank.task]:
            names = ", ".join(task.name for task in tasks)
            raise UserError(f"--adaptive: the bank is of the task {self.bank.task}, and the run asks {names}")
        if tasks[0].sitting or tasks[0].derive:
            raise UserError(f"--adaptive: {self.bank.task} does not ask its questions one by one")
        return {self.bank.task: list(self.bank.places)}

    def begun(self, spec: RunSpec, exam: TaskData) -> RunSpec:
        """Spec of the run before its first question."""
        if missing := self.bank.places.keys() - {question.id for question in exam.questions[self.bank.task]}:
            raise UserError(
                f"{exam.data}: lacks {len(missing)} questions of the bank, the first: {min(missing)!r}; give the data"
                " set of the runs that the bank was made of"
            )
        noted = AdaptiveExam(bank=self.bank.version, until=self.until, batch=self.batch, of=len(self.bank.items))
        tasks = [task.model_copy(update={"questions": 0}) for task in spec.tasks]
        return spec.model_copy(update={"adaptive": noted, "tasks": tasks})

    def batches(self, folder: RunFolder, exam: TaskData, mark: Callable[[], object]) -> Iterator[TaskData]:
        """Questions to ask so far, again whenever some are added; those answered before are marked first."""
        if not (folder.path / BANK).exists():
            write_summed(folder.path / BANK, self.bank.model_dump_json() + "\n")
        if folder.spec().tasks[0].questions != len(folder.choices()):  # killed between the two files
            folder.ask_further(())
        pictured = {question.id: question for question in exam.questions[self.bank.task]}
        end = ExamEnd.parse(self.until)
        while True:
            chosen = folder.choices()
            posed = [item.question.id for item in chosen]
            part = replace(exam, questions={self.bank.task: [pictured[id] for id in posed]})
            if posed and len(folder.answered()) < len(posed) * folder.spec().trials:
                yield part
            standing, shares = self._standing(folder, posed, mark)
            reason = end.reached(standing, len(posed)) or (
                "" if len(posed) < len(pictured) else "the bank is at its end"
            )
            if reason:
                say(f"{folder.path}: adaptive exam over: {reason}; {self._said(standing, len(posed), len(shares))}")
                return
            number = 1 + max((item.why.batch for item in chosen if item.why), default=-1)
            folder.ask_further(self._next(number, pictured, standing, shares, posed, end))

    def _standing(
        self, folder: RunFolder, posed: Sequence[str], mark: Callable[[], object]
    ) -> tuple[BankEstimate, dict[int, float]]:
        shares: dict[int, float] = {}
        if posed:
            mark()
            shares = shares_of(read_answers(RunFolder(folder.path), Slim()).outcomes, self.bank.places)
        return self.bank.curves.estimate(shares), shares

    def _next(
        self,
        number: int,
        pictured: dict[str, Question],
        standing: BankEstimate,
        shares: dict[int, float],
        posed: Sequence[str],
        end: ExamEnd,
    ) -> Iterator[RunQuestion]:
        places = [self.bank.places[id] for id in posed]
        count = self.batch if posed else max(self.batch, ANCHORS)
        if end.questions is not None:
            count = min(count, end.questions - len(posed))
        for place, information in self.bank.curves.choose(shares, places, count):
            item = self.bank.items[place]
            why = QuestionChoice(
                batch=number,
                information=round(information, 4),
                area=item.area,
                ability=round(standing.ability, 4),
                error=round(standing.ability_error, 4),
            )
            yield RunQuestion(task=self.bank.task, question=without_bytes(pictured[item.id]), why=why)

    def _said(self, standing: BankEstimate, posed: int, decided: int) -> str:
        unknown = f", {posed - decided} of them undecided and not counted" if decided < posed else ""
        return f"{posed:,} of {len(self.bank.items):,} questions{unknown}: {in_words(standing)}"


def fixed_exam(bank: ItemBank, run: Path, size: int) -> list[int]:
    """Places, in the dataset of a run, of the questions that tell most of a model of unknown ability."""
    chosen = {bank.items[place].id for place, _ in bank.curves.choose({}, [], size)}
    ids = [question.id for name, question in RunFolder.open(run).each_question() if name == bank.task]
    if missing := chosen - {*ids}:
        raise UserError(
            f"--samples: the first run lacks questions of the bank, as {min(missing)!r}; name a full run first"
        )
    return [place for place, id in enumerate(ids) if id in chosen]
