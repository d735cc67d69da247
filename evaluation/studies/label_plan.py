"""Label plans: the strata of a run's answers, the answers to label within a budget, and the plan's file.

Strata: `rules`; `models, right`, `models, wrong`, `models, partly`, by mark, since false accepts and false rejects
differ; `no answer`, worth 0 for sure; `undecided`. Weights are points for `mark`, else equal. The budget is shared by
Neyman's rule (1934), n ∝ weight · deviation of what a label changes: for rules from the judge card, for models
`SUPPOSED`. The draw within a stratum is systematic over papers from a seeded start. Raters see no other field of a plan
than {task, question_id, trial}.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError, why
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Outcome, Slim, question_points
from livek12.core.text import one_line

RULES, UNDECIDED, NOTHING = "rules", "undecided", "no answer"
RIGHT, WRONG, PARTLY = "models, right", "models, wrong", "models, partly"
MODELS = (RIGHT, WRONG, PARTLY)
METRICS = ("accuracy", "mark")
Key = tuple[str, str, int]
_Seen = tuple[Outcome, bool]
"""An answer, and whether models voted on a part of it."""


@dataclass(frozen=True)
class Judged:
    """One answer for sampling; `cluster` is its paper (`paper`), else its source question.

    `low` and `high` are the judge's share at worst and at best; `weight` is above 0.
    """

    key: Key
    cluster: str
    paper: bool
    weight: float
    low: float
    high: float
    stratum: str


def judged(rows: Iterable[Row], metric: str) -> dict[str, list[Judged]]:
    """Answers by task, in the order of question and trial."""
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
    """Labelled answers of the judge card that rules decided, and the wrong ones of them."""
    record = json.loads((Path(__file__).parent / "rules_record.json").read_text("utf-8"))
    return int(record["decided"]), int(record["wrong"])


def read_plan(file: Path) -> list[Key]:
    """Task, question and trial of each answer of a plan, without repetition."""
    return list(_read(file))


def planned_strata(file: Path) -> dict[Key, str]:
    """Strata of planned answers (plans of other studies have none)."""
    return {key: stratum for key, stratum in _read(file).items() if stratum in (RULES, *MODELS)}


def _read(file: Path) -> dict[Key, Any]:
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
    strata = dict(_planned(line, f"{file.name}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    if not strata:
        raise UserError(f"{file}: plans nothing; rows are {{task, question_id, trial}}")
    return strata


def _planned(line: str, place: str) -> tuple[Key, Any]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UserError(f"{place}: not a JSON object")
    task, id, trial = row.get("task"), row.get("question_id"), row.get("trial", 0)
    if not isinstance(task, str) or not isinstance(id, str) or type(trial) is not int:
        raise UserError(f"{place}: names no answer; rows are {{task, question_id, trial}}")
    return (task, id, trial), row.get("stratum")


def planned(rows: Iterable[Row], plan: list[Key] | None, name: str, tell: Callable[[str], None]) -> list[Row]:
    """The answers to label, in the order of the plan; all answers without one.

    `tell` gets one line on planned answers that never came.
    """
    if plan is None:
        answers = [row for row in rows if row.response is not None]
    else:
        wanted = set(plan)
        by_key = {key: row for row in rows if (key := (row.task, row.question.id, row.trial)) in wanted}
        if strange := next((key for key in plan if key not in by_key), None):
            task, id, trial = strange
            raise UserError(f"{name}: {one_line(f'{task}/{id}/{trial}', 120)} is no answer of the run")
        answers = [row for key in plan if (row := by_key[key]).response is not None]
        if len(answers) < len(plan):
            tell(f"{name}: {len(plan) - len(answers)} of its answers never came: there is nothing to label")
    if not answers:
        raise UserError("there is no answer to label: the run holds none yet")
    return answers


SUPPOSED = 0.15
"""Prior error rate of models."""
FEWEST = 5
"""Labels of each stratum of models."""
Place = tuple[str, str]


def label_plan(rows: Iterable[Row], budget: int, seed: int = 0, metric: str = "accuracy") -> list[dict[str, Any]]:
    """Rows {task, question_id, trial, stratum, answers, planned}, in the order of labelling."""
    strata: dict[Place, list[Judged]] = defaultdict(list)
    for task, answers in judged(rows, metric).items():
        for answer in answers:
            if answer.stratum in (RULES, *MODELS):
                strata[task, answer.stratum].append(answer)
    if not strata:
        raise UserError("nothing of this run is decided: judge it first, then plan the labels")
    counts = allocate(strata, budget)
    chosen = [
        (answer, place, counts[place])
        for place in sorted(strata)
        for answer in draw(strata[place], counts[place], seed)
    ]
    random.Random(seed).shuffle(chosen)  # a rater sees neither strata nor papers in a row
    return [
        {
            **dict(zip(("task", "question_id", "trial"), answer.key, strict=True)),
            "stratum": place[1],
            "answers": len(strata[place]),
            "planned": count,
        }
        for answer, place, count in chosen
    ]


def allocate(strata: Mapping[Place, Sequence[Judged]], budget: int) -> dict[Place, int]:
    """Number of labels by stratum."""
    sizes = {place: len(answers) for place, answers in strata.items()}
    counts = {place: min(FEWEST, size) if place[1] in MODELS else 0 for place, size in sizes.items()}
    if sum(counts.values()) > budget:
        raise UserError(f"--budget {budget}: the strata of models alone need {sum(counts.values())} labels")
    need = {place: sum(a.weight for a in strata[place]) * _deviation(place[1]) for place in strata}
    for _ in range(min(budget, sum(sizes.values())) - sum(counts.values())):
        open_places = [place for place in sizes if counts[place] < sizes[place]]
        # The next label goes where it lessens the variance most: Neyman's shares, in whole labels.
        best = max(open_places, key=lambda place: need[place] ** 2 / ((counts[place] + 0.5) * (counts[place] + 1.5)))
        counts[best] += 1
    return counts


def _deviation(stratum: str) -> float:
    decided, wrong = rules_record()
    rate = (wrong + 0.5) / (decided + 1) if stratum == RULES else SUPPOSED
    return sqrt(rate * (1 - rate))


def draw(answers: Sequence[Judged], count: int, seed: int) -> list[Judged]:
    """Every n-th answer, by paper and random within it."""
    if not count:
        return []

    def order(answer: Judged) -> tuple[str, bytes]:
        return answer.cluster, hashlib.sha256(f"{seed}/{answer.key}".encode("utf-8", "surrogatepass")).digest()

    sorted_answers = sorted(answers, key=order)
    step = len(answers) / count
    start = random.Random(f"{seed}/{answers[0].key[0]}/{answers[0].stratum}").random() * step
    return [sorted_answers[min(int(start + number * step), len(answers) - 1)] for number in range(count)]
