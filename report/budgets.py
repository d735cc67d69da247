"""Accuracy within a token budget as a table and a curve, from `report["budgets"]`, in both readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livek12.report.marks import ShownValue, shown

BOX = (640.0, 240.0)
"""Width and height of the plot; 0 to 1 of the token limit across, 0 to 100 per cent up."""
SHIFT = 3.0
"""Half the distance of the two readings at one r."""


@dataclass(frozen=True)
class BudgetLine:
    """One r: allowed tokens, and Acc≤r in both readings (`true` None: no request had that limit)."""

    share: str
    tokens: str
    true: ShownValue | None
    true_n: int | None
    cut: ShownValue
    cut_n: int


def curves(score: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The curves with a number other than "from none to all"."""
    for task, curve in score.get("budgets", {}).items():
        estimates = [point[reading] for point in curve["points"] for reading in ("true", "counterfactual")]
        bounds = [(estimate["low"], estimate["high"]) for estimate in estimates if estimate is not None]
        if any(low is not None and (low, high) != (0.0, 1.0) for low, high in bounds):
            yield task, curve


def lines(curve: Mapping[str, Any]) -> list[BudgetLine]:
    """The table of a curve."""
    return [
        BudgetLine(
            share=f"{point['share']:g}",
            tokens=f"{point['tokens']:,}",
            true=_shown(point["true"]),
            true_n=point["true"] and point["true"]["n"],
            cut=shown("Acc≤", point["counterfactual"]),
            cut_n=point["counterfactual"]["n"],
        )
        for point in curve["points"]
    ]


def notes(table: Sequence[BudgetLine]) -> list[str]:
    """Remarks on numbers, each once with its r."""
    remarks: dict[str, list[str]] = {}
    for line in table:
        for reading, estimate in (("true", line.true), ("counterfactual", line.cut)):
            if estimate is not None and estimate.note:
                remarks.setdefault(f"{reading}: {estimate.note}", []).append(line.share)
    return [f"r = {', '.join(shares)}, {note}" for note, shares in remarks.items()]


def plot(curve: Mapping[str, Any]) -> dict[str, Any]:
    """The curve as points in `BOX`, with the ends of undecided ranges and confidence intervals.

    Returns:
        `width`, `height`; `true` and `cut`, lists of {x, low, high, ci_low, ci_high} (y downwards, CI may be None);
        `paths`, the counterfactual's lines at worst and at best (one if equal); `ticks` across.
    """
    table, points = lines(curve), curve["points"]
    true = [_place(point["share"], line.true, -SHIFT) for point, line in zip(points, table, strict=True) if line.true]
    cut = [_place(point["share"], line.cut, SHIFT) for point, line in zip(points, table, strict=True)]
    return {
        "width": BOX[0],
        "height": BOX[1],
        "true": [point for point in true if point],
        "cut": [point for point in cut if point],
        "paths": list(
            dict.fromkeys(" ".join(f"{p['x']:.1f},{p[end]:.1f}" for p in cut if p) for end in ("low", "high"))
        ),
        "ticks": [{"x": tenth / 10 * BOX[0], "share": f"{tenth / 10:g}"} for tenth in range(0, 11, 2)],
    }


def _shown(estimate: Mapping[str, Any] | None) -> ShownValue | None:
    return None if estimate is None else shown("Acc≤", estimate)


def _place(share: float, estimate: ShownValue, shift: float) -> dict[str, float | None] | None:
    if estimate.low is None or estimate.high is None:
        return None

    def down(value: float | None) -> float | None:
        return None if value is None else BOX[1] * (1 - value / 100)

    return {
        "x": share * BOX[0] + shift,
        "low": down(estimate.low),
        "high": down(estimate.high),
        "ci_low": down(estimate.ci_low),
        "ci_high": down(estimate.ci_high),
    }
