"""Choices of questions (`--questions failed-in RUN`, `--where FIELD=VALUE`), and of the answers of a study.

A question counts as failed where more than half of its trials are decided and not fully right (no answer is not right);
as solved where at least half are decided and right; else as undecided, left out and named in run.json. Derived
questions count as their source.

A study takes answers asked in one way, each question and trial once. A way is the difference between a task and the
standard one of its benchmark: the standard way if every run has answers in it, else the only one that all have in
common. Of several tasks that ask a question (by `exam_of` and id) the first counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import TypeVar

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.progress import say, warn
from livek12.core.records import Key, Question
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import KeySet
from livek12.core.run.spec import ChosenQuestions, RunSpec
from livek12.core.run_answers import read_answers
from livek12.core.scoring import AXES, Row
from livek12.core.scoring.bank import read_bank
from livek12.core.scoring.outcomes import Outcome, Outcomes, Slim, Table, question_sums, ranked
from livek12.core.statistics import Floats
from livek12.tasks.base import Task
from livek12.tasks.registry import find_task, is_derived, is_logged, way_of

HOW = ("failed-in",)
_SHOWN = 5
FIELDS: dict[str, Callable[[Question], Iterable[str | None]]] = {
    **AXES,
    "benchmark": lambda q: [q.benchmark],
    "exam": lambda q: [q.exam],
    "id": lambda q: [q.id],
    "knowledge_point": lambda q: q.knowledge_points,
    "number": lambda q: [q.number],
    "paper_id": lambda q: [q.paper_id],
    "points": lambda q: [None if q.points is None else f"{q.points:g}"],
}
"""The fields that can be named, and the values of a question in each."""
_MOST_VALUES = 12


@dataclass
class OutcomeSplit:
    """Questions of one task of a run by outcome; ids in the order they were asked."""

    failed: list[str]
    solved: list[str]
    undecided: list[str]

    @property
    def all(self) -> int:
        """Their number."""
        return len(self.failed) + len(self.solved) + len(self.undecided)


@dataclass(frozen=True)
class Chosen:
    """Questions that a run asks or derives from, by task, and the same for run.json."""

    ids: Mapping[str, Collection[str]]
    noted: ChosenQuestions


def chosen_questions(given: tuple[str, Path] | None, tasks: Iterable[Task], model: str = "") -> Chosen | None:
    """Choice of `--questions HOW RUN`, or None."""
    if given is None:
        return None
    how, path = given
    if how not in HOW:
        raise UserError(f"--questions {how}: is no way to choose questions; write --questions failed-in RUN")
    folder = RunFolder.open(path, warn)
    spec = folder.spec()
    if model and spec.model != model:
        warn(f"--questions: {path} is a run of {spec.model}, and the model asked now is {model}")
    bases = {task.name: _asked_in(task, {named.name for named in spec.tasks}, path) for task in tasks}
    answers = read_answers(folder, Slim()).outcomes
    splits = _split_by_outcome(answer for answer in answers if answer.task in bases.values())
    for name in dict.fromkeys(bases.values()):
        split = splits[name]
        if not split.failed:
            raise UserError(
                f"--questions failed-in {path}: no question of {name} counts as failed ({len(split.solved)} solved,"
                f" {len(split.undecided)} undecided): nothing to ask"
            )
        left_out = f"; {len(split.undecided)} are undecided and left out{_named(split)}" if split.undecided else ""
        say(f"{path}: {len(split.failed)} of {split.all} questions of {name} count as failed{left_out}")
    noted = ChosenQuestions(
        how=how,
        run=str(path),
        model=spec.model,
        failed={name: len(split.failed) for name, split in splits.items()},
        of={name: split.all for name, split in splits.items()},
        undecided={name: split.undecided for name, split in splits.items() if split.undecided},
    )
    return Chosen({name: frozenset(splits[base].failed) for name, base in bases.items()}, noted)


def _split_by_outcome(answers: Iterable[Outcome]) -> dict[str, OutcomeSplit]:
    right: defaultdict[str, dict[str, Counter[str]]] = defaultdict(dict)
    for answer in answers:
        low, high = answer.finding.correct
        word = "open" if low != high else "right" if low == 1 else "wrong"
        right[answer.task].setdefault(answer.question.id, Counter())[word] += 1
    splits = {}
    for task, questions in right.items():
        split = splits[task] = OutcomeSplit([], [], [])
        for id, trials in questions.items():
            total = trials.total()
            kept = (
                split.failed
                if 2 * trials["wrong"] > total
                else split.solved
                if 2 * trials["right"] >= total
                else split.undecided
            )
            kept.append(id)
    return splits


def asked_again(folder: RunFolder) -> dict[str, Collection[str]] | None:
    """Chosen questions of a run by task (adaptive: all of its bank); None where it asked all."""
    if folder.spec().adaptive is not None:
        return {folder.spec().tasks[0].name: read_bank(folder.path).places}
    if folder.spec().chosen is None:
        return None
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for task, question in folder.each_question():
        ids[task].add(question.variant.of if is_derived(task) and question.variant else question.id)
    return dict(ids)


def _asked_in(task: Task, names: Collection[str], path: Path) -> str:
    looked_for = list(dict.fromkeys(_bases(task)))
    for name in looked_for:
        if name in names:
            return name
    raise UserError(
        f"--questions failed-in {path}: has no task {' or '.join(looked_for)}, whose failures {task.name} would ask;"
        f" it has {', '.join(sorted(names))}"
    )


def _bases(task: Task) -> Iterator[str]:
    if task.derive:
        yield task.asked_with
    else:
        yield from (task.name, task.base_name)
    if (base := find_task(task.variant_of)) and task.variant_of:
        yield from _bases(base)


def _named(split: OutcomeSplit) -> str:
    names = ", ".join(split.undecided[:_SHOWN])
    more = f" and {len(split.undecided) - _SHOWN} more, all in run.json" if len(split.undecided) > _SHOWN else ""
    return f" ({names}{more})"


class Where:
    """Questions with one of the values; UserError for no field or value."""

    def __init__(self, text: str = "") -> None:
        field, _, listed = text.partition("=")
        if text and (field not in FIELDS or not listed):
            fields = ", ".join(sorted(FIELDS))
            raise UserError(f"--where {text!r:.80}: write FIELD=VALUE[,VALUE]; the fields are {fields}")
        self._text = text
        self._values_of = FIELDS[field] if text else None
        self._values = {value.strip() for value in listed.split(",")}

    def __bool__(self) -> bool:
        return self._values_of is not None

    def takes(self, question: Question) -> bool:
        """Tests whether the question is one of them."""
        return self._values_of is None or not self._values.isdisjoint(self._values_of(question))

    def nothing(self, name: str, run: RunFolder) -> UserError:
        """Error for a run without such a question."""
        values_of = self._values_of or (lambda question: ())
        values = sorted({value for _, question in run.each_question() for value in values_of(question) if value})
        more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
        has = f"it has {', '.join(values[:_MOST_VALUES])}{more}" if values else "no question of it has any"
        return UserError(f"{name}: no question where {self._text}: {has}")


L = TypeVar("L")
A = TypeVar("A", Row, Outcome)
QuestionKey = tuple[str, str]
"""Exam and id."""
STANDARD = "standard"
"""How people name the way of a benchmark's standard task."""


@dataclass(frozen=True)
class AnswerChoice:
    """Answers of a study: a way (in the words of `way_of`, or `STANDARD`."""

    way: str = ""
    tasks: tuple[str, ...] = ()


ANY = AnswerChoice()


class RunRows(Iterable[Row]):
    """Rows of a run folder, read anew by each loop."""

    def __init__(self, folder: RunFolder, *, judged: bool = False) -> None:
        self._folder, self._judged = folder, judged

    @property
    def spec(self) -> RunSpec:
        """Content of run.json."""
        return self._folder.spec()

    @property
    def tasks(self) -> list[str]:
        """Tasks of the run."""
        return [task.name for task in self.spec.tasks]

    def __iter__(self) -> Iterator[Row]:
        return self._folder.judged_rows() if self._judged else self._folder.rows()


@dataclass(frozen=True)
class Sieve:
    """Answers of one run to take: its tasks, and the others with the reason in words."""

    run: str
    tasks: tuple[str, ...]
    others: Mapping[str, str]

    @property
    def _overlap(self) -> bool:
        return len(set(map(exam_of, self.tasks))) < len(self.tasks)

    def rows(self, rows: Iterable[A]) -> Iterator[A]:
        """Answers to take; warns at the end about others."""
        exams = {task: exam_of(task) for task in self.tasks}
        seen = KeySet() if self._overlap else None
        omitted = Counter[str]()
        for row in rows:
            exam = exams.get(row.task)
            if exam is None:
                omitted[self.others.get(row.task, f"to {row.task}")] += 1
            elif seen is not None and not seen.add(Key(task=exam, question_id=row.question.id, trial=row.trial)):
                omitted["to questions that another task asked too"] += 1
            else:
                yield row
        if omitted:
            parts = ", ".join(f"{count} {reason}" for reason, count in omitted.items())
            warn(f"{self.run}: {omitted.total()} answers are left out: {parts}; --way or --task chooses others")

    def labelled(self, pairs: Sequence[tuple[L, Row]], rows: Iterable[Row]) -> list[tuple[L, Row]]:
        """Labels with their answers; warns of others."""
        kept = [(label, row) for label, row in pairs if row.task in self.tasks]
        if self._overlap:
            taken = {(row.task, row.question.id, row.trial) for row in self.rows(rows)}
            kept = [(label, row) for label, row in kept if (row.task, row.question.id, row.trial) in taken]
        if dropped := len(pairs) - len(kept):
            warn(
                f"{self.run}: {dropped} labels of answers that are left out do not count; --way or --task chooses them"
            )
        return kept


def exam_of(task: str) -> str:
    """Exam whose question ids are unique: the benchmark, of a foreign task the task."""
    spec = find_task(task)
    return task if spec is None or is_logged(task) else spec.benchmark


def task_way(task: str) -> str:
    """A task's way of asking, for people."""
    spec = find_task(task)
    return f"task {task}" if spec is None else way_of(spec) or STANDARD


def of_all_ways(run: str, rows: RunRows, choice: AnswerChoice = ANY) -> Iterable[Row]:
    """Answers of a run to be studied way by way: those chosen, each question and trial once."""
    tasks = tuple(
        task for task in rows.tasks if (not choice.tasks or task in choice.tasks) and choice.way in ("", task_way(task))
    )
    if not tasks:
        flag = f"--way {choice.way!r}" if choice.way else f"--task {','.join(choice.tasks)}"
        raise UserError(f"{flag}: {run} has {', '.join(rows.tasks)}, asked {_listed_ways(rows.tasks)}")
    return Sieve(run, tasks, {}).rows(rows)


def sieves(tasks: Mapping[str, Collection[str]], choice: AnswerChoice = ANY, together: bool = True) -> dict[str, Sieve]:
    """Sieve of each run, given its answered tasks.

    `together`: all runs have to be asked in one way; else each is a study of its own.
    """
    if not together:
        return {run: sieve for run, own in tasks.items() for sieve in sieves({run: own}, choice).values()}
    named = {run: [task for task in own if not choice.tasks or task in choice.tasks] for run, own in tasks.items()}
    for run, own in named.items():
        if not own and choice.tasks:
            there = ", ".join(dict.fromkeys(tasks[run])) or "no answers"
            raise UserError(f"--task {','.join(choice.tasks)}: {run} has {there}")
    way = choice.way or _common_way(named)
    if choice.way and (lacking := [run for run, own in named.items() if way not in map(task_way, own)]):
        raise UserError(f"--way {way!r}: {lacking[0]} has {_listed_ways(named[lacking[0]])}")
    return {
        run: Sieve(
            run,
            tuple(dict.fromkeys(task for task in named[run] if task_way(task) == way)),
            {task: f"asked otherwise ({task_way(task)})" for task in own if task_way(task) != way},
        )
        for run, own in tasks.items()
    }


def one_way(
    runs: Mapping[str, Iterable[A]], choice: AnswerChoice = ANY, together: bool = True
) -> dict[str, Iterable[A]]:
    """Answers of each run asked in one way (see `sieves`)."""
    runs = {run: rows if isinstance(rows, RunRows | Sequence) else list(rows) for run, rows in runs.items()}
    tasks = {
        run: rows.tasks if isinstance(rows, RunRows | Outcomes) else list(dict.fromkeys(row.task for row in rows))
        for run, rows in runs.items()
    }
    return {run: sieve.rows(runs[run]) for run, sieve in sieves(tasks, choice, together).items()}


def once(rows: Outcomes) -> Outcomes:
    """Of several answers to one question with one trial number the first."""
    question = ranked([question.id for question in rows.questions], rows.question)
    first = np.unique(np.stack([question, rows.trial]), axis=1, return_index=True)[1]
    return rows if len(first) == len(rows) else rows.take(np.sort(first))


def exam_sums(table: Table, *values: Floats) -> dict[QuestionKey, tuple[float, ...]]:
    """Each of the values, summed over the answers to each question of each exam."""
    exams = {task: exam_of(task) for task in table.rows.by_task()}
    sums: dict[QuestionKey, tuple[float, ...]] = {}
    for (task, question), own in question_sums(table, *values).items():
        key = exams[task], question
        sums[key] = tuple(map(add, sums[key], own)) if key in sums else own
    return sums


def _common_way(tasks: Mapping[str, Collection[str]]) -> str:
    ways = [list(dict.fromkeys(map(task_way, own))) for own in tasks.values() if own]
    common = [way for way in (ways[0] if ways else ()) if all(way in own for own in ways)]
    if STANDARD in common or len(common) == 1:
        return STANDARD if STANDARD in common else common[0]
    if not ways:
        return STANDARD
    each = "; ".join(f"{run}: {_listed_ways(own)}" for run, own in tasks.items())
    problem = "were asked in several ways" if common else "were not asked in one way"
    raise UserError(f"the runs {problem} ({each}): choose one with --way or --task, or leave runs out")


def _listed_ways(tasks: Collection[str]) -> str:
    return ", ".join(f"{way!r}" for way in dict.fromkeys(map(task_way, tasks))) or "no answers"
