"""Rows as arrays: one `Table` a task, with the bounds of everything that is undecided.

Contract: a row enters every formula at its worst and at its best. Failed and unsupported answers are anything
from nothing to full marks; an ungraded one is bounded by its verdict (its undecided parts count 0 and full;
without a usable verdict the whole question does); no answer is worth 0. Rows that contradict themselves or
each other raise UserError with the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import Question, Verdict
from livek12.core.scoring.formulas import Answers, Presence, presence_bounds
from livek12.core.scoring.schema import STATES, Row

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices

Bounds = tuple[float, float]
OPEN: Bounds = (0.0, 1.0)
NOTHING: Bounds = (0.0, 0.0)


@dataclass(frozen=True)
class Table:
    """The answers to one set of questions, sorted by question, trial and task.

    Attributes:
        rows: n rows.
        questions: sorted by id.
        question: index into `questions`, length n.
        trial: index into the sorted trial numbers, length n.
        trials: how many trials there are.
    """

    rows: tuple[Row, ...]
    questions: tuple[Question, ...]
    question: Indices
    trial: Indices
    trials: int

    @cached_property
    def answers(self) -> Answers:
        """The arrays of the exam formulas."""
        import numpy as np

        outcomes = np.array([outcome_bounds(row) for row in self.rows])
        return Answers(
            points=None if self.worth is None else self.worth[self.question],
            share=outcomes[:, 0].T.copy(),
            correct=outcomes[:, 1].T.copy(),
            presence=presence_bounds([_audit(row) for row in self.rows]),
            tokens=np.array([completion_tokens(row) for row in self.rows]),
            came=np.array([row.state not in ("failed", "unsupported") for row in self.rows]),
            points_note=question_points(self.questions)[1],
        )

    @cached_property
    def worth(self) -> Floats | None:
        """Points of each question; None where only some state them."""
        import numpy as np

        worth, _ = question_points(self.questions)
        return None if worth is None else np.array(worth)

    @cached_property
    def variables(self) -> Floats | None:
        """(2, n) bounds of the share of correct variables; None where no question has variables."""
        import numpy as np

        if not any(question.variables for question in self.questions):
            return None
        return np.array([variable_bounds(row) for row in self.rows]).T.copy()

    @cached_property
    def begins(self) -> Indices:
        """Where the answers to each question begin, and the end of all; they stand together. Length questions + 1."""
        import numpy as np

        return np.searchsorted(self.question, np.arange(len(self.questions) + 1))

    @cached_property
    def states(self) -> Indices:
        """Index into STATES, length n."""
        import numpy as np

        return np.array([STATES.index(row.state) for row in self.rows], dtype=np.intp)


def tabulate(rows: Iterable[Row]) -> Table:
    """Sorts rows into a table.

    Raises:
        UserError: two rows have the same task, question and trial; or there are no rows.
    """
    import numpy as np

    ordered = tuple(sorted(rows, key=lambda row: (row.question.id, row.trial, row.task)))
    if not ordered:
        raise UserError("there are no answers to score: run or import some first")
    for a, b in pairwise(ordered):
        if (a.question.id, a.trial, a.task) == (b.question.id, b.trial, b.task):
            raise UserError(f"{a.task}/{a.question.id}/{a.trial} occurs twice: give each answer one trial number")
    questions = {row.question.id: row.question for row in ordered}
    place = {id_: index for index, id_ in enumerate(questions)}
    trials = {trial: index for index, trial in enumerate(sorted({row.trial for row in ordered}))}
    return Table(
        rows=ordered,
        questions=tuple(questions.values()),
        question=np.array([place[row.question.id] for row in ordered], dtype=np.intp),
        trial=np.array([trials[row.trial] for row in ordered], dtype=np.intp),
        trials=len(trials),
    )


def question_points(questions: Sequence[Question]) -> tuple[list[float] | None, str | None]:
    """Points of each question and a remark; None and the reason where only some questions state points."""
    stated = sum(question.points is not None for question in questions)
    if stated == 0:
        return [1.0] * len(questions), "no question states points: each counts 1"
    if stated < len(questions):
        return None, f"{len(questions) - stated} of {len(questions)} questions state no points"
    return [float(question.points or 0) for question in questions], None


def outcome_bounds(row: Row) -> tuple[Bounds, Bounds]:
    """Bounds of the share of the points and of being fully correct."""
    if row.state in ("failed", "unsupported"):
        return OPEN, OPEN
    if row.state == "no_answer":
        return NOTHING, NOTHING
    verdict = _verdict(row)
    correct = OPEN if verdict.correct is None else (float(verdict.correct), float(verdict.correct))
    share = _share(verdict, correct)
    if row.state == "ungraded" and share[0] == share[1]:
        # A verdict that bounds nothing cannot vouch for an answer that nobody could grade.
        return OPEN, OPEN if verdict.correct is not False else correct
    return share, correct


def _share(verdict: Verdict, correct: Bounds) -> Bounds:
    if verdict.max_points <= 0:
        return correct
    if not -1e-9 <= verdict.low <= verdict.high <= verdict.max_points + 1e-9:
        raise UserError(
            f"{verdict.key}: the verdict awards {verdict.low} to {verdict.high} of {verdict.max_points} points:"
            " judge it again"
        )
    return max(0.0, verdict.low / verdict.max_points), min(1.0, verdict.high / verdict.max_points)


def _verdict(row: Row) -> Verdict:
    if row.verdict is None:
        raise UserError(f"{row.task}/{row.question.id}/{row.trial} is {row.state} but has no verdict: judge it again")
    return row.verdict


def variable_bounds(row: Row) -> Bounds:
    """Bounds of the share of correct variables (CFE-Bench: a failed extraction stays in the denominator).

    A question without variables counts its sub-answers instead. Variables without a part in the verdict are
    wrong in a graded answer and undecided in an ungraded one.
    """
    if row.state in ("failed", "unsupported"):
        return OPEN
    if row.state == "no_answer":
        return NOTHING
    parts = _verdict(row).parts
    total = max(len(row.question.variables) or len(row.question.answer), len(parts), 1)
    if not parts:
        return outcome_bounds(row)[1]
    accepted = sum(part.decision == "accept" for part in parts)
    undecided = sum(part.decision == "undecided" for part in parts)
    if row.state == "ungraded":
        undecided += total - len(parts)
        if not undecided:
            return OPEN
    return accepted / total, (accepted + undecided) / total


def completion_tokens(row: Row) -> float:
    """Completion tokens with thinking; not a number where the record has none (0 of an answer is no count)."""
    tokens = row.response.completion_tokens if row.response else None
    if tokens is None or tokens < 0 or (tokens == 0 and row.state != "no_answer"):
        return float("nan")
    return float(tokens)


def _audit(row: Row) -> Presence | None:
    process = row.verdict.process if row.verdict else None
    return None if process is None else (process.cie, process.lae, process.dre)
