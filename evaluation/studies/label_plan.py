"""Which answers of a run people should label, so that the corrected mark is as sure as a budget of labels allows.

Contract: the budget is shared over the strata of each task by Neyman's rule (1934), n ∝ weight · deviation of what a
label changes; that deviation is not known before any label, so the judge card's errors stand for rules and `SUPPOSED`
for models. Every stratum of models has `FEWEST` answers (or all it has); rules may have none, their card then speaks
for them. Within a stratum the draw is systematic over the papers, from a seeded start, so that papers share alike.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.evaluation.studies.planned import read_plan
from livek12.evaluation.studies.strata import MODELS, RULES, Judged, Key, judged, rules_record

SUPPOSED = 0.15
"""The share of their decisions that models are supposed to get wrong, before anything is known."""
FEWEST = 5
"""Labels of each stratum of models."""
Place = tuple[str, str]


def label_plan(rows: Iterable[Row], budget: int, seed: int = 0, metric: str = "accuracy") -> list[dict[str, Any]]:
    """The plan's rows {task, question_id, trial, stratum, answers, planned}, in the order of labelling.

    Args:
        rows: of one run.
        budget: how many answers people will label.
        seed: of the draw.
        metric: whose correction is wanted, `accuracy` or `mark`.

    Raises:
        UserError: nothing is decided yet, or the budget is too small for the strata of models.
    """
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
    """How many answers of each stratum are labelled.

    Raises:
        UserError: the budget is smaller than what the strata of models need.
    """
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
    """Every n-th answer, sorted by paper and at random within it."""
    if not count:
        return []

    def order(answer: Judged) -> tuple[str, bytes]:
        return answer.cluster, hashlib.sha256(f"{seed}/{answer.key}".encode("utf-8", "surrogatepass")).digest()

    sorted_answers = sorted(answers, key=order)
    step = len(answers) / count
    start = random.Random(f"{seed}/{answers[0].key[0]}/{answers[0].stratum}").random() * step
    return [sorted_answers[min(int(start + number * step), len(answers) - 1)] for number in range(count)]


def planned_strata(file: Path) -> dict[Key, str]:
    """The stratum of each planned answer that has one (a plan of another study has none).

    Raises:
        UserError: the file cannot be read or a row names no answer.
    """
    keys = read_plan(file)
    rows = [json.loads(line) for line in file.read_text("utf-8-sig").splitlines() if line.strip()]
    strata = {(row["task"], row["question_id"], row.get("trial", 0)): row.get("stratum") for row in rows}
    return {key: stratum for key in keys if (stratum := strata[key]) in (RULES, *MODELS)}
