"""The sorted outcomes of one task as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.scoring.formulas import Answers
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion
from livek12.core.scoring.schema import STATES

if TYPE_CHECKING:
    from livek12.core.statistics import Codes, Floats, Indices


@dataclass(frozen=True)
class Table:
    """Answers to one set of questions, sorted by question, trial and task.

    `question` and `trial` are indices into `questions` and the sorted trial numbers, length n.
    """

    rows: Outcomes
    questions: tuple[SlimQuestion, ...]
    question: Indices
    trial: Indices
    trials: int

    @cached_property
    def answers(self) -> Answers:
        """Arrays of the exam formulas."""
        import numpy as np

        findings, of = self.rows.findings, self.rows.finding
        audited = bool(findings.audited[of].any())
        missing = [STATES.index("failed"), STATES.index("unsupported")]
        return Answers(
            points=None if self.worth is None else self.worth[self.question],
            share=findings.share[of].T.copy(),
            correct=findings.correct[of].T.copy(),
            presence=np.take(findings.presence, of, axis=1) if audited and findings.presence is not None else None,
            steps=np.take(findings.steps, of, axis=1) if audited and findings.steps is not None else None,
            tokens=self.rows.lengths,
            came=~np.isin(self.states, missing),
            points_note=question_points(self.questions)[1],
            points_stated=any(question.points is not None for question in self.questions),
        )

    @cached_property
    def worth(self) -> Floats | None:
        """Points of each question; None if only some state them."""
        import numpy as np

        worth, _ = question_points(self.questions)
        return None if worth is None else np.array(worth)

    @cached_property
    def variables(self) -> Floats | None:
        """(2, n) bounds of the share of correct variables; None without variables."""
        if not any(question.has_variables for question in self.questions):
            return None
        return self.rows.findings.variables[self.rows.finding].T.copy()

    @cached_property
    def begins(self) -> Indices:
        """Index of the first answer to each question, and the end of all; length questions + 1."""
        import numpy as np

        return np.searchsorted(self.question, np.arange(len(self.questions) + 1))

    @cached_property
    def states(self) -> Indices:
        """Index into STATES, length n."""
        return self.rows.states

    def to(self, questions: Sequence[int]) -> Table:
        """Table of some questions (indices), at least one."""
        return self if len(questions) == len(self.questions) else tabulate(self.rows.take(answers_of(self, questions)))


def answers_of(table: Table, questions: Sequence[int]) -> Indices:
    """Indices of the answers to questions (indices)."""
    import numpy as np

    # Linear in the answers returned, not in all: a task may have thousands of groups (papers).
    some = np.unique(np.asarray(questions, dtype=np.intp))
    begins, ends = table.begins[some], table.begins[some + 1]
    counts = ends - begins
    firsts = np.cumsum(counts) - counts
    return np.repeat(begins - firsts, counts) + np.arange(counts.sum())


def tabulate(rows: Iterable[Outcome]) -> Table:
    """Sorts outcomes into a table; UserError for none, or two of the same task, question and trial."""
    import numpy as np

    outcomes = Outcomes.of(rows)
    if not len(outcomes):
        raise UserError("there are no answers to score: run or import some first")
    questions = outcomes.questions
    question = ranked([each.id for each in questions], outcomes.question)
    trial = np.unique(outcomes.trial, return_inverse=True)[1]
    task = ranked(outcomes.tasks, outcomes.task)
    order = np.lexsort((task, trial, question))
    question, trial, task = (column[order] for column in (question, trial, task))
    outcomes = outcomes.take(order)
    same = (np.diff(question) == 0) & (np.diff(trial) == 0) & (np.diff(task) == 0)
    if same.any():
        twice = outcomes[int(np.argmax(same))]
        raise UserError(
            f"{twice.task}/{twice.question.id}/{twice.trial} occurs twice: give each answer one trial number"
        )
    last = np.flatnonzero(np.concatenate([np.diff(question) != 0, [True]]))
    ordered = tuple(questions[code] for code in outcomes.question[last].tolist())
    return Table(outcomes, ordered, question, trial, trials=int(trial.max()) + 1)


def ranked(names: Sequence[str], codes: Codes) -> Indices:
    """Ranks of codes (indices into the names) by the sorted names that occur."""
    import numpy as np

    used = np.unique(codes)
    place = {name: rank for rank, name in enumerate(sorted({names[code] for code in used.tolist()}))}
    ranks: Indices = np.zeros(len(names), dtype=np.intp)
    ranks[used] = [place[names[code]] for code in used.tolist()]
    return ranks[codes]


def question_sums(table: Table, *values: Floats) -> dict[tuple[str, str], tuple[float, ...]]:
    """Sums of values over the answers to each question of each task, in the order of the table."""
    import numpy as np

    task = ranked(table.rows.tasks, table.rows.task)
    pairs = table.question * (int(task.max()) + 1) + task
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    sums = np.stack([np.bincount(pair, value) for value in values], axis=1).tolist()
    questions, tasks = table.question[first].tolist(), table.rows.task[first].tolist()
    return {
        (table.rows.tasks[tasks[n]], table.questions[questions[n]].id): tuple(sums[n])
        for n in np.argsort(first).tolist()
    }


def question_points(questions: Sequence[SlimQuestion]) -> tuple[list[float] | None, str | None]:
    """Points of each question and a remark; None and the reason if only some questions state points."""
    stated = sum(question.points is not None for question in questions)
    if stated == 0:
        return [1.0] * len(questions), "no question states points: each counts 1"
    if stated < len(questions):
        return None, f"{len(questions) - stated} of {len(questions)} questions state no points"
    return [float(question.points or 0) for question in questions], None


def points_awarded(outcomes: Outcomes) -> tuple[float, float] | None:
    """Bounds of the points of all answers.

    None if only some questions of a task state points; if none does, each counts 1.
    """
    import numpy as np

    total = np.zeros(2)
    for own in outcomes.by_task().values():
        codes = np.unique(own.question)
        worth, _ = question_points([own.questions[code] for code in codes.tolist()])
        if worth is None:
            return None
        of_answers = np.array(worth)[np.searchsorted(codes, own.question)]
        total += of_answers @ own.findings.share[own.finding]
    return float(total[0]), float(total[1])
