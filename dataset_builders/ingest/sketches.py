"""Figures drawn with bare lines: told from tables, frames, fraction bars, blanks and rules of the page.

Contract: works on thin lines along an axis alone. The lines of a table part a closed rectangle into rectangles; those
of a sketch (a circuit, an apparatus, boxes joined by arrows) meet each other too, but do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from livek12.dataset_builders.ingest.geometry import Bounds, Rule

_MEET: Final = 2.6
"""Points: lines that come closer than this meet."""
_FEWEST: Final = 5
"""Lines of the smallest sketch: a box and something at it."""
_CORNERS: Final = 4
_CLOSED: Final = 0.8
"""Share of each side of a table that is drawn."""
_FULL: Final = 0.35
"""Share of a sketch that letters cover, at most: what has more is a form."""
Cells = Mapping[tuple[int, int], tuple[int, int]]


def is_grid(xs: Sequence[float], ys: Sequence[float], merged: Cells, rules: Sequence[Rule]) -> bool:
    """Whether lines make a table: closed on all sides, and each cell, also a merged one, a rectangle.

    Args:
        xs: of the upright lines, ascending.
        ys: of the flat lines, ascending.
        merged: for each base cell (row, column) the cell that it is part of.
        rules: the lines.
    """
    parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for cell, home in merged.items():
        parts.setdefault(home, []).append(cell)
    for cells in parts.values():
        rows, columns = ({cell[axis] for cell in cells} for axis in (0, 1))
        if len(cells) != (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1):
            return False
    flat = [(rule.left, rule.right, (rule.top + rule.bottom) / 2) for rule in rules if rule.flat]
    upright = [(rule.top, rule.bottom, (rule.left + rule.right) / 2) for rule in rules if not rule.flat]
    level = all(_drawn(flat, y, xs[0], xs[-1]) >= _CLOSED for y in (ys[0], ys[-1]))
    return level and all(_drawn(upright, x, ys[0], ys[-1]) >= _CLOSED for x in (xs[0], xs[-1]))


def _drawn(lines: Sequence[tuple[float, float, float]], place: float, first: float, last: float) -> float:
    """The share of a side that is drawn, by lines (start, end, place across)."""
    at, covered = first, 0.0
    for start, end, across in sorted(lines):
        if abs(across - place) < 3 and end > at:
            covered += max(0.0, min(end, last) - max(start, at))
            at = max(at, end)
    return covered / (last - first)


def is_sketch(rules: Sequence[Rule], letters: Sequence[Bounds], size: float) -> bool:
    """Whether lines make a drawing.

    Args:
        rules: that stand near each other.
        letters: boxes of all letters of the page.
        size: of the page's ordinary letters.
    """
    upright = [rule for rule in rules if not rule.flat]
    flat = [rule for rule in rules if rule.flat]
    if len(rules) < _FEWEST or len(upright) < 2 or len(flat) < 2:
        return False
    left, right = min(rule.left for rule in rules), max(rule.right for rule in rules)
    top, bottom = min(rule.top for rule in rules), max(rule.bottom for rule in rules)
    if min(right - left, bottom - top) < 2.5 * size:
        return False
    if sum(_meet(one, other) for one in upright for other in flat) < _CORNERS:
        return False
    covered = sum(
        (box[2] - box[0]) * (box[3] - box[1])
        for box in letters
        if left < (box[0] + box[2]) / 2 < right and top < (box[1] + box[3]) / 2 < bottom
    )
    return covered < _FULL * (right - left) * (bottom - top)


def _meet(upright: Rule, flat: Rule) -> bool:
    x, y = (upright.left + upright.right) / 2, (flat.top + flat.bottom) / 2
    return flat.left - _MEET < x < flat.right + _MEET and upright.top - _MEET < y < upright.bottom + _MEET
