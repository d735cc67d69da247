"""Agreement of raters and likeness of rankings; a coefficient that does not exist is None."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, TypedDict

Level = Literal["nominal", "interval"]


class Agreement(TypedDict):
    """Judge against a human on yes-or-no marks; `accepted` is the positive class."""

    n: int
    true_accepts: int
    false_accepts: int
    false_rejects: int
    true_rejects: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None


def binary_agreement(human: Sequence[bool], judge: Sequence[bool]) -> Agreement:
    """Confusion counts, accuracy, precision, recall, F1 and Cohen's κ of a judge against human marks."""
    pairs = Counter(zip(human, judge, strict=True))
    tp, fp, fn, tn = (pairs[key] for key in ((True, True), (False, True), (True, False), (False, False)))
    return {
        "n": len(human),
        "true_accepts": tp,
        "false_accepts": fp,
        "false_rejects": fn,
        "true_rejects": tn,
        "accuracy": _ratio(tp + tn, len(human)),
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "kappa": cohen_kappa(human, judge),
    }


def weighted_agreement(human: Sequence[bool], judge: Sequence[bool]) -> dict[str, float | None]:
    """Precision, recall and F1 of both classes, weighted by the human marks of each."""
    sides = [
        binary_agreement([mark == own for mark in human], [mark == own for mark in judge]) for own in (True, False)
    ]
    counted = [(side["true_accepts"] + side["false_rejects"], side) for side in sides]
    result: dict[str, float | None] = {}
    for name, values in {
        "precision": [(count, side["precision"]) for count, side in counted if count],
        "recall": [(count, side["recall"]) for count, side in counted if count],
        "f1": [(count, side["f1"]) for count, side in counted if count],
    }.items():
        weighed = [count * value for count, value in values if value is not None]
        result[f"weighted_{name}"] = sum(weighed) / len(human) if values and len(weighed) == len(values) else None
    return result


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Cohen's κ of two raters on nominal labels (Cohen 1960): (p_o - p_e) / (1 - p_e)."""
    n = len(a)
    if not n:
        return None
    agreed = sum(x == y for x, y in zip(a, b, strict=True))
    left, right = Counter(a), Counter(b)
    chance = sum(count * right[label] for label, count in left.items())
    return None if chance == n * n else (agreed * n - chance) / (n * n - chance)


def quadratic_kappa(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Cohen's κ weighted by the squared distance of the mark values (Cohen 1968): 1 - Σ o·d² / Σ e·d²."""
    n = len(a)
    observed = math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    # Sum over all n² pairs, (x - y)² multiplied out.
    expected = n * (math.fsum(x * x for x in a) + math.fsum(y * y for y in b)) - 2 * math.fsum(a) * math.fsum(b)
    return None if not n or expected <= 1e-12 * n * n else 1 - n * observed / expected


def krippendorff_alpha(units: Sequence[Sequence[float | str | bool]], level: Level = "nominal") -> float | None:
    """Agreement of any number of raters with gaps (Krippendorff 2011): α = 1 - D_o / D_e.

    Units with fewer than two values do not count; level `interval` is the squared distance of numbers.
    """
    paired = [list(unit) for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    if not values:
        return None
    observed = math.fsum(_disagreement(unit, level) / (len(unit) - 1) for unit in paired)
    expected = _disagreement(values, level) / (len(values) - 1)
    return None if expected <= 0 else 1 - observed / expected


def kendall_tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Likeness of two rankings of the same things, with ties (Kendall's τ-b, 1945)."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} ranks")
    score = tied_x = tied_y = pairs = 0
    for i in range(len(x)):
        for j in range(i):
            dx, dy = _sign(x[i] - x[j]), _sign(y[i] - y[j])
            score, tied_x, tied_y, pairs = score + dx * dy, tied_x + (not dx), tied_y + (not dy), pairs + 1
    spread = (pairs - tied_x) * (pairs - tied_y)
    return score / math.sqrt(spread) if spread else None


def _disagreement(values: Sequence[float | str | bool], level: Level) -> float:
    if level == "nominal":
        return float(len(values) ** 2 - sum(count * count for count in Counter(values).values()))
    numbers = [float(value) for value in values]
    mean = math.fsum(numbers) / len(numbers)
    return 2 * len(numbers) * math.fsum((number - mean) ** 2 for number in numbers)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
