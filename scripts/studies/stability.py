"""Does the ranking of models hold on parts of the exam? Kendall's τ over groups and random halves (LiveK12Bench).

Contract: only questions that every run asked count. An answer that is undecided or missing enters twice, at its
worst and at its best, so every τ is given for both; they are equal where nothing is undecided.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from livek12.core.agreement import kendall_tau
from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.core.scoring import AXES, Row
from livek12.core.statistics import mean_std

STABILITY_AXES = ("subject", "question_type", "difficulty")
Metric = Literal["accuracy", "mark"]
_Scores = Mapping[tuple[str, str], float]


def stability(
    runs: Mapping[str, Sequence[Row]], metric: Metric = "accuracy", halves: int = 100, seed: int = 0
) -> dict[str, Any]:
    """Rankings of the runs on all shared questions, on each group, and on random halves.

    Args:
        runs: rows of each run by its name, two or more models on the same questions.
        metric: `accuracy` (fully right) or `mark` (share of the points).
        halves: how often the questions are split in two.
        seed: of the splits.

    Raises:
        UserError: fewer than two runs, or fewer than two shared questions.
    """
    questions = [{(row.task, row.question.id): row.question for row in rows} for rows in runs.values()]
    shared = sorted(set.intersection(*map(set, questions))) if len(runs) > 1 else []
    if len(shared) < 2:
        raise UserError("a ranking needs two runs or more that asked the same questions, and two such questions")
    asked = {key: questions[0][key] for key in shared}
    return {
        "metric": metric,
        "questions": len(asked),
        "not_shared": {name: len(own) - len(asked) for name, own in zip(runs, questions, strict=True)},
        **{bound: _study(runs, asked, metric, bound, halves, seed) for bound in ("low", "high")},
    }


def _study(
    runs: Mapping[str, Sequence[Row]],
    asked: Mapping[tuple[str, str], Question],
    metric: Metric,
    bound: str,
    halves: int,
    seed: int,
) -> dict[str, Any]:
    scores = {name: _scores(rows, asked, metric, bound) for name, rows in runs.items()}
    overall = _means(scores, list(asked))
    taus = [kendall_tau(*(_means(scores, half) for half in pair)) for pair in _halves(list(asked), halves, seed)]
    known = [tau for tau in taus if tau is not None]
    mean, std = mean_std(known)
    return {
        "scores": dict(zip(scores, overall, strict=True)),
        "groups": {axis: _groups(scores, asked, overall, axis) for axis in STABILITY_AXES},
        "halves": {
            "n": len(known),
            "tied": len(taus) - len(known),
            "mean": mean,
            "std": std,
            "min": min(known, default=None),
        },
    }


def _groups(
    scores: Mapping[str, _Scores], asked: Mapping[tuple[str, str], Question], overall: Sequence[float], axis: str
) -> dict[str, dict[str, Any]]:
    members: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, question in asked.items():
        for value in AXES[axis](question):
            members[value].append(key)
    return {
        value: {"questions": len(keys), "tau": kendall_tau(overall, _means(scores, keys))}
        for value, keys in sorted(members.items())
    }


def _halves(
    keys: list[tuple[str, str]], count: int, seed: int
) -> list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    generator = random.Random(seed)
    middle = len(keys) // 2
    splits = [generator.sample(keys, len(keys)) for _ in range(count)]
    return [(split[:middle], split[middle:]) for split in splits]


def _scores(rows: Sequence[Row], asked: Mapping[tuple[str, str], Question], metric: Metric, bound: str) -> _Scores:
    """The mean over the trials of each question."""
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if (row.task, row.question.id) in asked:
            values[row.task, row.question.id].append(_value(row, metric, bound))
    return {key: sum(found) / len(found) for key, found in values.items()}


def _value(row: Row, metric: Metric, bound: str) -> float:
    verdict = row.verdict
    if verdict is None:
        return float(bound == "high")
    if metric == "mark":
        return (verdict.low if bound == "low" else verdict.high) / verdict.max_points
    return float(bound == "high") if verdict.correct is None else float(verdict.correct)


def _means(scores: Mapping[str, _Scores], keys: Sequence[tuple[str, str]]) -> list[float]:
    return [sum(found[key] for key in keys) / len(keys) for found in scores.values()]
