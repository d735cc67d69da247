"""Boxes of text on a scanned page, in pixels, before they are read.

Contract: a box is only added, or cut along white.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Final

import numpy as np

from livek12.dataset_builders.ingest.pages.geometry import Bounds, Rule
from livek12.dataset_builders.ingest.scans import scan
from livek12.dataset_builders.ingest.scans.scan import Dark


@dataclass(frozen=True, slots=True)
class Read:
    """A run of text on one line; `places` are the middles of its letters, if known."""

    text: str
    box: Bounds
    confidence: float
    places: tuple[float, ...] = ()

    @property
    def centre(self) -> tuple[float, float]:
        """Of its box."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def width(self) -> float:
        """In pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """In pixels."""
        return self.box[3] - self.box[1]


MOST_PARTS: Final = 60
"""Parts of fractions of a page that are read though they were not found as text."""
_STACKED: Final = 1.15
"""Heights of a line from which what stands above and below a bar is a fraction, and not a character with a stroke."""
_TOUCHED: Final = 0.12
"""Share of ink beside the ends of a fraction's bar from which something reaches over them."""
_SHORTEST, _WIDEST = 0.3, 5.0
"""Heights of a line that the bar of a fraction within a line is long."""


def line_height(boxes: Sequence[Bounds]) -> float:
    """Height of an ordinary line."""
    return median_high(box[3] - box[1] for box in boxes) if boxes else 40.0


def short_bars(dark: Dark, boxes: Sequence[Bounds]) -> list[Rule]:
    """Level strokes that may be fraction bars, from left to right."""
    letter = line_height(boxes)
    bars = scan.bars(dark, max(7, int(_SHORTEST * letter)), slender=2.2)
    return sorted((bar for bar in bars if bar.length < _WIDEST * letter), key=lambda bar: bar.left)


def stacks(dark: Dark, box: Bounds, bars: Sequence[Rule], letter: float) -> list[tuple[Rule, Bounds, Bounds]]:
    """Fraction bars in a box, with the boxes above and below."""
    left, top, right, bottom = box
    if bottom - top < _STACKED * letter:
        return []
    inner = 0.25 * (bottom - top)
    done = []
    for bar in bars:
        if left - 4 < bar.left and bar.right < right + 4 and top + inner < bar.top and bar.bottom < bottom - inner:
            sides = [(bar.left - 2, y, bar.right + 2, foot) for _, y, _, foot in scan.both_sides(dark, bar, letter)]
            if not sides or sides[0][1] < top - inner or sides[1][3] > bottom + inner:
                continue
            above, below = sides
            if below[3] - above[1] > _STACKED * letter and _apart(dark, bar, above[1], below[3]):
                done.append((bar, above, below))
    return done


def _apart(dark: Dark, bar: Rule, top: float, bottom: float) -> bool:
    """A bar that no ink reaches over: strokes of characters are crossed."""
    rows = slice(max(0, int(top)), int(bottom) + 1)
    left, right = max(0, int(bar.left) - 3), int(bar.right) + 2
    return all(dark[rows, at : at + 2].mean() < _TOUCHED for at in (left, right))


def inked(dark: Dark, box: Bounds, least: float = math.inf) -> list[Bounds]:
    """The parts of a box between gaps of over `least` pixels in its ink; none if it has hardly any."""
    left, top, right, bottom = (max(0, round(value)) for value in box)
    columns = np.flatnonzero(dark[top:bottom, left:right].any(axis=0)) + left
    if len(columns) < 2:
        return []
    steps = np.flatnonzero(np.diff(columns) > least)
    starts, ends = columns[[0, *(steps + 1)]].tolist(), columns[[*steps, -1]].tolist()
    return [(start - 2.0, box[1], end + 3.0, box[3]) for start, end in zip(starts, ends, strict=True)]


def white(dark: Dark, box: Bounds, x: float, reach: float) -> float:
    """The white column nearest to a place within `reach`; else the place."""
    inner = 0.12 * (box[3] - box[1])
    start, end = max(0, round(x - reach)), round(x + reach) + 1
    columns = dark[max(0, round(box[1] + inner)) : max(0, round(box[3] - inner)), start:end].any(axis=0)
    free = np.flatnonzero(~columns) + start
    return float(min(free.tolist(), key=lambda column: abs(column - x), default=x))
