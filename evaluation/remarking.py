"""Runs marked again by newer keys, from stored responses, and the marks and ranks that this moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.key_versions import KeyBook
from livek12.core.progress import warn
from livek12.core.run.folder import RunFolder
from livek12.evaluation.comparing import run_names
from livek12.evaluation.marking import judge
from livek12.evaluation.reporting import score_run
from livek12.evaluation.task_data import reload_task_data

Bounds = tuple[float, float]
_Answer = tuple[str, str, int]
"""Task, question and trial."""


@dataclass(frozen=True)
class MovedMark:
    """Points of a run in a task before and after, and its rank among the runs."""

    run: str
    task: str
    before: Bounds
    after: Bounds
    of: float
    rank_before: str
    rank_after: str
    moved: int

    @property
    def line(self) -> str:
        """In words."""
        moved = f"{self.moved} {'answer' if self.moved == 1 else 'answers'} moved"
        marks = f"{_points(self.before)} → {_points(self.after)} of {self.of:g}"
        return f"{self.run}, {self.task}: {marks}, rank {self.rank_before} → {self.rank_after}; {moved}"


def _points(bounds: Bounds) -> str:
    low, high = (f"{round(value, 4):g}" for value in bounds)
    return low if low == high else f"{low}–{high}"


@dataclass(frozen=True)
class Remarking:
    """Marks, moved answers by question, and open answers."""

    marks: list[MovedMark]
    questions: dict[str, int]
    open: int

    def lines(self) -> list[str]:
        """In words, the best run first."""
        moved = [f"{id}: {count} answers moved" for id, count in self.questions.items()]
        ranked = sorted(self.marks, key=lambda mark: (mark.task, mark.rank_after))
        still = [f"{self.open} answers are still open: livek12 judge RUN --judge MODEL"] if self.open else []
        return [*moved, *(mark.line for mark in ranked), *still]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def check_runs(runs: Sequence[Path], data: Path, book: KeyBook, ids: Sequence[str]) -> None:
    """Refuses runs that hold none of these questions, or other key versions."""
    for path in runs:
        folder = RunFolder.open(path, warn)
        if not {id for _, id in folder.asked()} & {*ids}:
            raise UserError(f"{path}: holds no question of {data}; name runs on this data set")
        own = folder.key_book()
        if not (own.extends(book) or book.extends(own)):
            raise UserError(f"{path}: holds other key versions than {data}; it is a run on another data set")


def mark_again(runs: Sequence[Path], book: KeyBook) -> Remarking:
    """Gives runs the newest keys, marks what they change by the rules, and writes reports."""
    names = run_names(runs)
    before = {name: _marks(path) for name, path in names.items()}
    for path in names.values():
        folder = RunFolder.open(path, warn)
        folder.take_keys(book)
        judge(folder, unmarked=True)
        if problem := score_run(folder, "article", reload_task_data(folder)).write():
            warn(problem)
    after = {name: _marks(path) for name, path in names.items()}
    moved = {name: [key for key in after[name] if before[name].get(key) != after[name][key]] for name in names}
    marks = []
    for name in names:
        for task in dict.fromkeys(task for task, _, _ in after[name]):
            sums = [{run: _sum(all_[run], task) for run in names} for all_ in (before, after)]
            ranks = [_rank(of, name) for of in sums]
            of = sum(worth for (own, _, _), (_, _, worth) in after[name].items() if own == task)
            count = sum(own == task for own, _, _ in moved[name])
            marks.append(MovedMark(name, task, sums[0][name], sums[1][name], of, ranks[0], ranks[1], count))
    questions = Counter(question for keys in moved.values() for _, question, _ in keys)
    undecided = sum(low < high for of in after.values() for low, high, _ in of.values())
    return Remarking(marks, dict(sorted(questions.items())), undecided)


def _marks(run: Path) -> dict[_Answer, tuple[float, float, float]]:
    """Least and most points of each answer, and full marks."""
    marks = {}
    for row in RunFolder.open(run).rows(texts=False):
        worth = row.verdict.max_points if row.verdict else row.question.points or 1.0
        low, high = (row.verdict.low, row.verdict.high) if row.verdict else (0.0, worth)
        marks[row.task, row.question.id, row.trial] = (low, high, worth)
    return marks


def _sum(marks: Mapping[_Answer, tuple[float, float, float]], task: str) -> Bounds:
    own = [(low, high) for (name, _, _), (low, high, _) in marks.items() if name == task]
    return sum(low for low, _ in own), sum(high for _, high in own)


def _rank(sums: Mapping[str, Bounds], run: str) -> str:
    """From and to: runs whose points may be more, and surely are."""
    low, high = sums[run]
    others = [bounds for name, bounds in sums.items() if name != run]
    best, worst = (1 + sum(least > high for least, _ in others), 1 + sum(most > low for _, most in others))
    return f"{best}" if best == worst else f"{best}–{worst}"
