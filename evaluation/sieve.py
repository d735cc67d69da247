"""The sieve of studies: the answers of runs that were asked in one way, each question and trial once.

Contract: a way is the difference between a task and the standard one of its benchmark. The default is the standard way
if every run has answers in it, else the only one that all have in common. Of several tasks that ask a question (by
`exam_of` and id) the first counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, TypeVar

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.records import Key
from livek12.core.run.folder import RunFolder
from livek12.core.run.keys import KeySet
from livek12.core.run.spec import RunSpec
from livek12.core.scoring import Row
from livek12.core.scoring.answers import Table, question_sums, ranked
from livek12.core.scoring.outcomes import Outcomes
from livek12.tasks.registry import find_task, is_logged, way_of

if TYPE_CHECKING:
    from livek12.core.statistics import Floats

L = TypeVar("L")
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

    def __init__(self, folder: RunFolder, *, texts: bool = True, judged: bool = False) -> None:
        self._folder, self._texts, self._judged = folder, texts, judged

    @property
    def spec(self) -> RunSpec:
        """Content of run.json."""
        return self._folder.spec()

    @property
    def tasks(self) -> list[str]:
        """Tasks of the run."""
        return [task.name for task in self.spec.tasks]

    def __iter__(self) -> Iterator[Row]:
        return self._folder.judged_rows(self._texts) if self._judged else self._folder.rows(self._texts)


@dataclass(frozen=True)
class Sieve:
    """Answers of one run to take: its tasks, and the others with the reason in words."""

    run: str
    tasks: tuple[str, ...]
    others: Mapping[str, str]

    @property
    def _overlap(self) -> bool:
        return len(set(map(exam_of, self.tasks))) < len(self.tasks)

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows to take; warns at the end of the number of others."""
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
        """Labels with their answers; warns of the number of others."""
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
    """Way in which a task asks, for people."""
    spec = find_task(task)
    return f"task {task}" if spec is None else way_of(spec) or STANDARD


def sieves(tasks: Mapping[str, Collection[str]], choice: AnswerChoice = ANY, together: bool = True) -> dict[str, Sieve]:
    """Sieve of each run, given the tasks that it has answers for.

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
    runs: Mapping[str, Iterable[Row]], choice: AnswerChoice = ANY, together: bool = True
) -> dict[str, Iterable[Row]]:
    """Rows of each run that were asked in one way (see `sieves`)."""
    runs = {run: rows if isinstance(rows, RunRows | Sequence) else list(rows) for run, rows in runs.items()}
    tasks = {
        run: rows.tasks if isinstance(rows, RunRows) else list(dict.fromkeys(row.task for row in rows))
        for run, rows in runs.items()
    }
    return {run: sieve.rows(runs[run]) for run, sieve in sieves(tasks, choice, together).items()}


def once(rows: Outcomes) -> Outcomes:
    """Of several answers to one question with one trial number the first."""
    import numpy as np

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
    """The standard way goes before others."""
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
