"""Outcomes as arrays: one `Table` a task. Two that are of one answer raise UserError with its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.scoring.formulas import Answers, presence_bounds, step_bounds
from livek12.core.scoring.outcomes import ENDINGS, Outcome, SlimQuestion
from livek12.core.scoring.schema import STATES

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices


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

    rows: tuple[Outcome, ...]
    questions: tuple[SlimQuestion, ...]
    question: Indices
    trial: Indices
    trials: int

    @cached_property
    def answers(self) -> Answers:
        """The arrays of the exam formulas."""
        import numpy as np

        return Answers(
            points=None if self.worth is None else self.worth[self.question],
            share=np.array([row.share for row in self.rows]).T.copy(),
            correct=np.array([row.correct for row in self.rows]).T.copy(),
            presence=presence_bounds([row.presence for row in self.rows]),
            steps=step_bounds([None if row.presence is None else (row.presence, row.steps) for row in self.rows]),
            tokens=np.array([row.length for row in self.rows]),
            came=np.array([row.state not in ("failed", "unsupported") for row in self.rows]),
            points_note=question_points(self.questions)[1],
            points_stated=any(question.points is not None for question in self.questions),
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

        if not any(question.has_variables for question in self.questions):
            return None
        return np.array([row.variables for row in self.rows]).T.copy()

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

    @cached_property
    def endings(self) -> Indices:
        """Index into ENDINGS, length n."""
        import numpy as np

        return np.array([ENDINGS.index(row.ending) for row in self.rows], dtype=np.intp)


def tabulate(rows: Iterable[Outcome]) -> Table:
    """Sorts rows into a table.

    Raises:
        UserError: two rows have the same task, question and trial; or there are no rows.
    """
    import numpy as np

    rows = list(rows)
    if not rows:
        raise UserError("there are no answers to score: run or import some first")
    # Sorted by numbers: keys of their own for a million rows would take as much room as the rows.
    columns = [
        _numbers([row.question.id for row in rows]),
        _numbers([row.trial for row in rows]),
        _numbers([row.task for row in rows]),
    ]
    order = np.lexsort(columns[::-1])
    question, trial, task = (column[order] for column in columns)
    ordered = tuple(rows[index] for index in order.tolist())
    same = (np.diff(question) == 0) & (np.diff(trial) == 0) & (np.diff(task) == 0)
    if same.any():
        twice = ordered[int(np.argmax(same))]
        raise UserError(
            f"{twice.task}/{twice.question.id}/{twice.trial} occurs twice: give each answer one trial number"
        )
    questions = {row.question.id: row.question for row in ordered}
    return Table(ordered, tuple(questions.values()), question, trial, trials=int(trial.max()) + 1)


def _numbers(values: Sequence[Any]) -> Indices:
    """For each value its place among all that there are, in their order."""
    import numpy as np

    place = {value: index for index, value in enumerate(sorted(set(values)))}
    return np.fromiter((place[value] for value in values), dtype=np.intp, count=len(values))


def question_points(questions: Sequence[SlimQuestion]) -> tuple[list[float] | None, str | None]:
    """Points of each question and a remark; None and the reason where only some questions state points."""
    stated = sum(question.points is not None for question in questions)
    if stated == 0:
        return [1.0] * len(questions), "no question states points: each counts 1"
    if stated < len(questions):
        return None, f"{len(questions) - stated} of {len(questions)} questions state no points"
    return [float(question.points or 0) for question in questions], None
