"""How studies put numbers into sentences."""

from __future__ import annotations

from collections.abc import Sequence

from livek12.report.marks import rounded


def percent(share: float | None) -> str:
    """A share in percent; – where there is none."""
    return "–" if share is None else f"{rounded(100 * share)} %"


def interval(low: float | None, high: float | None) -> str:
    """Two shares in percent; one where they are equal."""
    return percent(low) if low == high or low is None else f"{rounded(100 * low)} to {percent(high)}"


def share(share: float | None, interval: Sequence[float] | None) -> str:
    """A share with its 95 % interval, in brackets; nothing where there is none."""
    if share is None or interval is None:
        return ""
    return f" ({percent(share)}, 95 % interval {rounded(100 * interval[0])} to {percent(interval[1])})"


def number(value: float | None) -> str:
    """A coefficient; – where it does not exist."""
    return "–" if value is None else f"{value:.2f}"


def listed(names: Sequence[str]) -> str:
    """Names, the last after "and"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ", ".join(names)


def points(shares: Sequence[float]) -> str:
    """A difference of shares, at its least and at its most, in points of 100 with its sign."""
    said = dict.fromkeys(("+" if share > 0 else "") + rounded(100 * share) for share in shares)
    return " to ".join(said)
