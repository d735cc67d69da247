"""Outcomes as arrays: one `Table` a task. Two that are of one answer raise UserError with its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

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


def question_points(questions: Sequence[SlimQuestion]) -> tuple[list[float] | None, str | None]:
    """Points of each question and a remark; None and the reason where only some questions state points."""
    stated = sum(question.points is not None for question in questions)
    if stated == 0:
        return [1.0] * len(questions), "no question states points: each counts 1"
    if stated < len(questions):
        return None, f"{len(questions) - stated} of {len(questions)} questions state no points"
    return [float(question.points or 0) for question in questions], None
