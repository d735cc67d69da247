"""Stability of a ranking on parts of the exam: Kendall's τ over groups and random halves (LiveK12Bench, C.2).

Only questions of every run count, asked in one way (`evaluation.choosing`). Undecided and missing answers enter at
worst and at best, so that every τ is given twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.scoring import Profile
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion
from livek12.core.statistics import kendall_tau, mean_std
from livek12.evaluation.choosing import ANY, AnswerChoice, QuestionKey, exam_of, one_way
from livek12.evaluation.studies import Study, interval, number
from livek12.evaluation.studies.contamination import Scored, scored

Shares = Mapping[QuestionKey, float]
STABILITY_AXES = ("subject", "question_type", "difficulty")


def stability(
    runs: Mapping[str, Iterable[Outcome]],
    metric: str = "accuracy",
    profile: Profile = "article",
    halves: int = 100,
    seed: int = 0,
    choice: AnswerChoice = ANY,
) -> dict[str, Any]:
    """Rankings on all shared questions, on each group, and on random halves."""
    answers = {name: Outcomes.of(rows) for name, rows in one_way(runs, choice).items()}
    keys = {
        name: {(exam_of(task), question.id) for task, own in rows.by_task().items() for question in own.asked()}
        for name, rows in answers.items()
    }
    shared = set.intersection(*keys.values()) if len(runs) > 1 else set()
    if len(shared) < 2:
        raise UserError("a ranking needs two runs or more that asked the same questions, and two such questions")
    ids = {id for _, id in shared}
    marked = {
        name: scored(rows.where(lambda question: question.id in ids), metric, profile) for name, rows in answers.items()
    }
    questions = next(iter(marked.values()))[1]
    shared_questions = {key: questions[key] for key in sorted(shared)}
    marks = {name: run for name, (run, _) in marked.items()}
    return {
        "metric": metric,
        "profile": profile,
        "questions": len(shared_questions),
        "not_shared": {name: len(own) - len(shared) for name, own in keys.items()},
        **{bound: _study(marks, shared_questions, bound, halves, seed) for bound in ("low", "high")},
    }


def _study(
    marks: Mapping[str, Scored], questions: Mapping[QuestionKey, SlimQuestion], bound: str, halves: int, seed: int
) -> dict[str, Any]:
    scores = {name: (run.low if bound == "low" else run.high, run.weight) for name, run in marks.items()}
    overall = _means(scores, list(questions))
    taus = [kendall_tau(*(_means(scores, half) for half in pair)) for pair in _halves(list(questions), halves, seed)]
    members = {axis: _members(questions, axis) for axis in STABILITY_AXES}
    groups = {
        axis: {
            value: {"questions": len(keys), "tau": kendall_tau(overall, _means(scores, keys))}
            for value, keys in values.items()
        }
        for axis, values in members.items()
    }
    between = {
        axis: [kendall_tau(a, b) for a, b in combinations([_means(scores, keys) for keys in values.values()], 2)]
        for axis, values in members.items()
    }
    return {
        "scores": dict(zip(scores, overall, strict=True)),
        "groups": groups,
        "partitions": {axis: _summary([group["tau"] for group in values.values()]) for axis, values in groups.items()},
        "between_slices": {axis: _summary(own) for axis, own in between.items()},
        "halves": _summary(taus),
    }


def compared(study: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Name, axis and τ of each comparison with slices of the exam."""
    for name, part in (("slice against whole", "partitions"), ("slice against slice", "between_slices")):
        for axis, figures in study[part].items():
            yield name, axis.replace("_", " "), figures


def _summary(taus: Sequence[float | None]) -> dict[str, Any]:
    """Mean and standard deviation of existing τ (LiveK12Bench, table 9), number of missing ones, and the least."""
    existing = [tau for tau in taus if tau is not None]
    mean, std = mean_std(existing)
    return {
        "n": len(existing),
        "tied": len(taus) - len(existing),
        "mean": mean,
        "std": std,
        "min": min(existing, default=None),
    }


def _members(questions: Mapping[QuestionKey, SlimQuestion], axis: str) -> dict[str, list[QuestionKey]]:
    members = grouped((value, key) for key, question in questions.items() for value in question.on(axis))
    return dict(sorted(members.items()))


def _halves(keys: list[QuestionKey], count: int, seed: int) -> list[tuple[list[QuestionKey], list[QuestionKey]]]:
    generator = random.Random(seed)
    middle = len(keys) // 2
    splits = [generator.sample(keys, len(keys)) for _ in range(count)]
    return [(split[:middle], split[middle:]) for split in splits]


def _means(scores: Mapping[str, tuple[Shares, Shares]], keys: Sequence[QuestionKey]) -> list[float]:
    means = []
    for share, weight in scores.values():
        weighed = [key for key in keys if key in weight]
        total = sum(weight[key] for key in weighed)
        means.append(sum(share[key] * weight[key] for key in weighed) / total if total else 0.0)
    return means


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    low, high = result["low"], result["high"]
    ranked = sorted(low["scores"], key=lambda run: (-low["scores"][run], -high["scores"][run]))
    scores = (f"{run} {interval(low['scores'][run], high['scores'][run])}" for run in ranked)
    yield f"{len(ranked)} runs on {result['questions']} shared questions, by {result['metric']}: {'; '.join(scores)}."
    for name, axis, figures in compared(low):
        if figures["mean"] is not None:
            yield f"{name.capitalize()}, by {axis}: Kendall's τ {number(figures['mean'])} over {figures['n']}."
    for bound, counted in (("low", "wrong"), ("high", "right")):
        halves = result[bound]["halves"]
        if halves["mean"] is None:
            yield f"Random halves of the questions give no ranking (undecided counted as {counted})."
        else:
            yield (
                f"Two random halves of the questions rank the runs with Kendall's τ {number(halves['mean'])} on"
                f" average, {number(halves['min'])} at least (undecided counted as {counted})."
            )
        if low == high:
            return


STUDY = Study("stability", sentences)
