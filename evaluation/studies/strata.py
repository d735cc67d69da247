"""The answers of a run by who decided them: what a correction for the judge's errors samples and weighs.

Contract: every answer is in one stratum. `rules`: decided by rules; `models, right`, `models, wrong` and `models,
partly`: decided with models, by the mark they gave, since false accepts and false rejects differ; `no answer`: nothing
to judge, worth 0 for sure; `undecided`: between its worst and its best. Weights are points for `mark`, else all alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.core.scoring.answers import question_points
from livek12.core.scoring.outcomes import Outcome, Slim

RULES, UNDECIDED, NOTHING = "rules", "undecided", "no answer"
RIGHT, WRONG, PARTLY = "models, right", "models, wrong", "models, partly"
MODELS = (RIGHT, WRONG, PARTLY)
METRICS = ("accuracy", "mark")
Key = tuple[str, str, int]
_Seen = tuple[Outcome, bool]
"""An answer, and whether models voted on a part of it."""


@dataclass(frozen=True)
class Judged:
    """One answer: whose it is, where it counts and what the judge made of it.

    Attributes:
        key: task, question and trial.
        cluster: its paper; the question that it was made from where that has none.
        paper: whether `cluster` is a paper.
        weight: above 0.
        low: the judge's share, at worst.
        high: at best.
        stratum: see the module.
    """

    key: Key
    cluster: str
    paper: bool
    weight: float
    low: float
    high: float
    stratum: str


def judged(rows: Iterable[Row], metric: str) -> dict[str, list[Judged]]:
    """The answers of a run by task, in the order of question and trial.

    Raises:
        UserError: `mark` where only some questions state their points.
    """
    slim = Slim()
    tasks: dict[str, list[_Seen]] = {}
    for row in rows:
        voted = row.verdict is not None and any(part.votes for part in row.verdict.parts)
        tasks.setdefault(row.task, []).append((slim(row), voted))
    return {task: _of_task(task, outcomes, metric) for task, outcomes in tasks.items()}


def _of_task(task: str, outcomes: list[_Seen], metric: str) -> list[Judged]:
    outcomes = sorted(outcomes, key=lambda seen: (seen[0].question.id, seen[0].trial))
    worth = [1.0] * len(outcomes)
    if metric == "mark":
        points, note = question_points([outcome.question for outcome, _ in outcomes])
        if points is None:
            raise UserError(f"{task}: mark: {note}; choose --metric accuracy")
        worth = points
    return [
        _one(outcome, voted, weight, metric)
        for (outcome, voted), weight in zip(outcomes, worth, strict=True)
        if weight > 0
    ]


def _one(outcome: Outcome, voted: bool, weight: float, metric: str) -> Judged:
    low, high = outcome.finding.share if metric == "mark" else outcome.finding.correct
    paper = outcome.question.paper_id
    return Judged(
        key=(outcome.task, outcome.question.id, outcome.trial),
        cluster=outcome.question.source if paper is None else paper,
        paper=paper is not None,
        weight=weight,
        low=low,
        high=high,
        stratum=_stratum(outcome, voted, low, high),
    )


def _stratum(outcome: Outcome, voted: bool, low: float, high: float) -> str:
    if low != high:
        return UNDECIDED
    if outcome.finding.state == "no_answer":
        return NOTHING
    if voted:
        return RIGHT if low == 1 else WRONG if low == 0 else PARTLY
    return RULES


@cache
def rules_record() -> tuple[int, int]:
    """How many labelled answers of the judge card the rules decided, and how many of them wrongly."""
    found = json.loads((Path(__file__).parent / "rules_record.json").read_text("utf-8"))
    return int(found["decided"]), int(found["wrong"])
