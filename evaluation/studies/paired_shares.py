"""Shares of questions with bounds (low, high), at worst and at best: their mean, and paired differences.

A difference is of the same questions; its p is that of sign flips, the larger of worst and best, and 1 where undecided
answers could turn it. Intervals are around both bounds (`core.statistics`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from livek12.core.statistics import holm, mean_interval, sign_flip_tests
from livek12.evaluation.studies.study import percent, points

Share: TypeAlias = tuple[float, float]


def mean_share(shares: Sequence[Share]) -> Share:
    """The mean of one or more shares."""
    return sum(low for low, _ in shares) / len(shares), sum(high for _, high in shares) / len(shares)


def mean_of(shares: Sequence[Share]) -> dict[str, Any]:
    """Over questions: `questions`, `low`, `high` and the 95 % `interval` (None for one question)."""
    return {"questions": len(shares), **_ends(shares, 0.0)}


def difference(a: Mapping[str, Share], b: Mapping[str, Share]) -> dict[str, Any] | None:
    """A minus b over shared questions, with interval and p; None without any."""
    shared = [id for id in a if id in b]
    if not shared:
        return None
    apart = [(a[id][0] - b[id][1], a[id][1] - b[id][0]) for id in shared]
    return {"questions": len(shared), **_ends(apart, -1.0), "p": _p(apart)}


def corrected(cells: Iterable[dict[str, Any]]) -> None:
    """Adds Holm's correction to each p."""
    cells = list(cells)
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]), strict=True):
        cell["p_holm"] = p


def _ends(shares: Sequence[Share], least: float) -> dict[str, Any]:
    import numpy as np

    low, high = (mean_interval(np.array(end), least=least) for end in zip(*shares, strict=True))
    return {"low": low[0], "high": high[0], "interval": [low[1], high[2]] if len(shares) > 1 else None}


def _p(apart: Sequence[Share]) -> float | None:
    import numpy as np

    low, high = (sum(end) for end in zip(*apart, strict=True))
    if len(apart) < 2:
        return None
    if low < 0 < high:
        return 1.0
    return max(sign_flip_tests(np.array(apart)))


def mean_said(mean: Mapping[str, Any]) -> str:
    """A mean in words: "12.5 % (8 to 17 %)"."""
    low, high = mean["low"], mean["high"]
    text = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    ends = mean["interval"]
    return f"{text} ({percent(ends[0])} to {percent(ends[1])})" if ends else text


def difference_said(cell: Mapping[str, Any]) -> str:
    """A difference in words: "+12.5 (95 % interval +8 to +17, p 0.004)"."""
    ends, p = cell["interval"], cell["p"]
    text = points([cell["low"], cell["high"]])
    if not ends:
        return text
    test = "no test" if p is None else "p < 0.001" if p < 0.001 else f"p {p:.3f}"
    return f"{text} (95 % interval {points(ends[:1])} to {points(ends[1:])}, {test})"
