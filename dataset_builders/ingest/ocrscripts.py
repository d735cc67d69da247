"""Raised and lowered letters of a line that OCR read flat ("x3" for x³), told by where their ink stands.

Contract: `raised` marks a letter only where its ink says so beyond doubt: it is smaller than the line's letters are and
its foot stands clearly over the base line, or under it. Marks are the characters `UP` and `DOWN` before the letter;
`ocrmath.formulas` makes LaTeX of them or takes them away.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from livek12.dataset_builders.ingest.geometry import Bounds
from livek12.dataset_builders.ingest.ocrread import Read

if TYPE_CHECKING:
    import numpy as np

    from livek12.dataset_builders.ingest.scan import Grey

UP: Final = "\x02"
DOWN: Final = "\x03"
_TALL: Final = frozenset("0123456789ABCDEFGHIKLMNOPRSTUVWXYZbdhk")
_SMALL: Final = frozenset("aceimnorsuvwxz")
_CARRIERS: Final = frozenset(")]}|")
_SIGNS: Final = frozenset("+-−")

_INK: Final = 0.4
"""How dark ink is, from black (0) to paper (1): dark enough that letters which nearly touch are apart."""

_Span = tuple[float, float]


def raised(read: Read, page: Grey) -> str:
    """The text of a line with its scripts marked.

    Args:
        read: a line, with the place of each letter.
        page: its grey values.
    """
    if len(read.places) != len(read.text) or not any(letter.isascii() and letter.isalnum() for letter in read.text):
        return read.text
    spans = _spans(read, page)
    feet = [span[1] for letter, span in zip(read.text, spans, strict=True) if span and letter in _TALL | _SMALL]
    heights = [span[1] - span[0] for letter, span in zip(read.text, spans, strict=True) if span and letter in _TALL]
    han = [span[1] - span[0] for letter, span in zip(read.text, spans, strict=True) if span and "一" <= letter <= "鿿"]
    if len(feet) < 2 or not (heights or han):
        return read.text
    limits = [sorted(heights)[(3 * len(heights)) // 4]] if heights else []
    limits += [0.86 * median(han)] if han else []  # noise on one big letter does not make the others small
    height = min(limits)
    return _marked(read.text, spans, _base(read.text, spans, height), height)


def _base(text: str, spans: list[_Span | None], height: float) -> float:
    """Y of the line's foot: of its big letters, the middle."""
    feet = [span[1] for letter, span in zip(text, spans, strict=True) if span and letter in _TALL | _SMALL]
    big = [
        span[1]
        for letter, span in zip(text, spans, strict=True)
        if span and letter in _TALL and span[1] - span[0] > 0.85 * height
    ]
    return median(big or feet)


def _marked(text: str, spans: list[_Span | None], base: float, height: float) -> str:
    marks = [""] * len(text)
    for at in range(1, len(text)):
        span, letter = spans[at], text[at]
        if span and letter.isascii() and letter.isalnum():
            marks[at] = _mark(letter, span, base, height)
    for at in reversed(range(len(text) - 1)):
        span = spans[at]
        if text[at] in _SIGNS and span and marks[at + 1]:
            middle = (span[0] + span[1]) / 2
            up = marks[at + 1] == UP and middle < base - 0.62 * height
            down = marks[at + 1] == DOWN and middle > base - 0.12 * height
            marks[at] = marks[at + 1] if up or down else ""
    done = ""
    host = ""
    for letter, mark in zip(text, marks, strict=True):
        carried = bool(host) and ((host.isascii() and host.isalnum()) or host in _CARRIERS or host.isalpha())
        done += (mark if mark and carried else "") + letter
        host = letter if not mark or not carried else host
    return done


def _mark(letter: str, span: _Span, base: float, height: float) -> str:
    top, bottom = span
    tall = bottom - top
    if tall < 0.25 * height or tall > (0.86 if letter in _TALL else 0.7 if letter in _SMALL else 0.95) * height:
        return ""
    if base - bottom > 0.26 * height and top < base - 0.8 * height:
        return UP
    if letter in _TALL | _SMALL and bottom - base > 0.12 * height and top > base - 0.62 * height:
        return DOWN
    return ""


def _spans(read: Read, page: Grey) -> list[_Span | None]:
    """Top and bottom of each letter's ink; None where none was found for it."""
    cells = _cells(read, page)
    letters = [at for at, letter in enumerate(read.text) if not letter.isspace()]
    tall = 0.6 * (read.box[3] - read.box[1])
    done: list[_Span | None] = [None] * len(read.text)
    for one, other in _paired([read.places[at] for at in letters], [(a + c) / 2 for a, _, c, _ in cells], tall):
        done[letters[one]] = (cells[other][1], cells[other][3])
    return done


def _cells(read: Read, page: Grey) -> list[Bounds]:
    """Boxes of ink of a line from left to right, those above one another as one."""
    import cv2
    import numpy as np

    left, top, right, bottom = (max(0, round(value)) for value in read.box)
    grey = page[top : bottom + 1, left : right + 1]
    black, white = float(np.percentile(grey, 2)), float(np.percentile(grey, 90))
    crop = (grey < black + _INK * (white - black)).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(crop, connectivity=8)
    cells: list[Bounds] = []
    for x, y, width, tall, area in sorted(stats[1:count].tolist()):
        if area < 4 or width > 2 * crop.shape[0] or y + tall < 3 or y > crop.shape[0] - 3:
            continue
        box = (x + left, y + top, x + left + width, y + top + tall)
        last = cells[-1] if cells else None
        if last and last[2] - box[0] > 0.5 * min(width, last[2] - last[0]):
            cells[-1] = (min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3]))
        else:
            cells.append(box)
    return [part for cell in cells for part in _apart(cell, crop, left, top)]


def _apart(cell: Bounds, crop: np.ndarray[Any, np.dtype[np.uint8]], left: int, top: int) -> list[Bounds]:
    """Two letters that touch, where one is a good deal lower than the other: cut at the thinnest column."""
    import numpy as np

    a, b, c, d = (int(value) for value in cell)
    ink = crop[b - top : d - top, a - left : c - left]
    wide, tall = c - a, d - b
    if not 0.95 * tall < wide < 1.8 * tall or tall < 0.4 * crop.shape[0]:
        return [cell]
    counts = ink.sum(axis=0)
    low, high = int(0.35 * wide), int(0.7 * wide)
    at = low + int(np.argmin(counts[low:high]))
    if counts[at] > 0.2 * tall:
        return [cell]
    parts = []
    for first, last in ((0, at), (at, wide)):
        rows = np.flatnonzero(ink[:, first:last].any(axis=1))
        if not len(rows):
            return [cell]
        parts.append((float(a + first), float(b + rows[0]), float(a + last), float(b + rows[-1] + 1)))
    one, other = parts
    raised = one[3] - other[3] > 0.25 * tall and one[1] - other[1] > 0.1 * tall
    lowered = other[3] - one[3] > 0.1 * tall and other[1] - one[1] > 0.25 * tall
    return parts if raised or lowered else [cell]


def _paired(letters: Sequence[float], cells: Sequence[float], unit: float) -> list[tuple[int, int]]:
    """Letters and cells in order, paired so that they lie together; some of either stay alone (edit distance)."""
    alone, spare = 0.8, 0.3
    costs = [[spare * column for column in range(len(cells) + 1)]]
    for row, x in enumerate(letters):
        before, line = costs[-1], [alone * (row + 1)]
        for column, y in enumerate(cells):
            line.append(min(before[column] + abs(x - y) / unit, before[column + 1] + alone, line[column] + spare))
        costs.append(line)
    pairs: list[tuple[int, int]] = []
    row, column = len(letters), len(cells)
    while row and column:
        here = costs[row][column]
        if here == costs[row][column - 1] + spare:
            column -= 1
        elif here == costs[row - 1][column] + alone:
            row -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs
