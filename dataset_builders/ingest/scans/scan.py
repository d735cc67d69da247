"""Pictures of pages: turned upright, straightened, searched for boxes of text and drawings.

Contract: arrays are grey values (rows, columns; 0 black, 255 white); boxes are in pixels. Angles come from projection
profiles. A box of text is only added, or cut along white.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Any, Final, TypeAlias

import numpy as np
from PIL import Image
from PIL.Image import Image as Picture

from livek12.dataset_builders.ingest.pages.geometry import Bounds, Placed, Rule

Grey: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Dark: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
MOST: Final = 6.0
"""Degrees: pages lie askew by less than this."""
LEAST: Final = 0.15
LETTER: Final = 18.0
"""Pixels of a capital or a syllable from which they are read well."""
_POINTS: Final = 60_000
MOST_PARTS: Final = 60
"""Parts of fractions of a page that are read though they were not found as text."""
_STACKED: Final = 1.15
"""Heights of a line from which what stands above and below a bar is a fraction, and not a character with a stroke."""
_TOUCHED: Final = 0.12
"""Share of ink beside the ends of a fraction's bar from which something reaches over them."""
_SHORTEST, _WIDEST = 0.3, 5.0
"""Heights of a line that the bar of a fraction within a line is long."""


@dataclass(frozen=True, slots=True)
class Read(Placed):
    """A run of text on one line; `places` are the middles of its letters, if known."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    places: tuple[float, ...] = ()


def ready() -> None:
    """Checks that OpenCV loads; ImportError if it does not."""
    try:
        import cv2
    except ImportError:
        raise
    except Exception as error:  # a build that does not fit the rest fails as it likes
        raise ImportError(f"{type(error).__name__}: {error}", name="cv2") from error
    if not hasattr(cv2, "adaptiveThreshold"):
        raise ImportError("the cv2 that is installed has no content", name="cv2")


def grey(picture: Picture) -> Grey:
    """Its grey values."""
    values: Grey = np.asarray(picture.convert("L"))
    return values


def ink(page: Grey) -> Dark:
    """Darkness against the paper around it (shadows and yellowed paper are no ink)."""
    import cv2

    small = max(31, (min(page.shape) // 30) | 1)
    values = cv2.adaptiveThreshold(page, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, small, 18)
    marks: Dark = values > 0
    return marks


def skew(dark: Dark) -> float:
    """Degrees by which lines of text rise to the right, within `MOST`; 0 by default."""
    angle, sharp, level = _sharpest(dark)
    return angle if abs(angle) < MOST - 0.01 and sharp > 1.08 * level else 0.0


def sideways(dark: Dark) -> bool:
    """Checks whether lines of text run up and down the page."""
    return _sharpest(dark.T)[1] > 1.6 * _sharpest(dark)[1] > 0


def _sharpest(dark: Dark) -> tuple[float, float, float]:
    """The best angle by projection profile, its score, and that of no turn."""
    ys, xs = np.nonzero(dark)
    if len(ys) < 500:
        return 0.0, 0.0, 0.0
    step = len(ys) // _POINTS + 1
    ys, xs = ys[::step], xs[::step] - dark.shape[1] / 2

    def sharpness(angle: float) -> float:
        rows = (ys + xs * np.tan(np.radians(angle))).astype(np.int64)
        counts = np.bincount(rows - rows.min())
        return float((np.diff(counts.astype(np.float64)) ** 2).sum())

    coarse = max(np.arange(-MOST, MOST + 0.01, 0.5), key=lambda angle: sharpness(float(angle)))
    best = float(max(np.arange(coarse - 0.5, coarse + 0.51, 0.05), key=lambda angle: sharpness(float(angle))))
    return best, sharpness(best), sharpness(0.0)


def straightened(picture: Picture) -> tuple[Picture, float]:
    """The picture with level lines, and its former angle in degrees."""
    angle = skew(ink(grey(picture)))
    if abs(angle) < LEAST:
        return picture, 0.0
    white = 255 if picture.mode == "L" else (255, 255, 255)
    return picture.rotate(-angle, Image.Resampling.BICUBIC, fillcolor=white), angle


def enlargement(picture: Picture) -> float:
    """Factor by which a page is drawn larger for letters of about `LETTER` pixels."""
    dark = ink(grey(picture))
    most = dark.shape[0] / 20  # dust and drawings apart
    heights = [tall for _, _, wide, tall, _ in components(dark.astype(np.uint8))[0] if 3 < tall < most and wide < most]
    times = LETTER / float(np.percentile(heights, 75)) if heights else 1.0
    return min(times, 2.0) if times > 1.25 else 1.0


def bars(dark: Dark, shortest: int, slender: float = 4.0) -> list[Rule]:
    """Level strokes, longer than `slender` times their height: fraction bars, blanks, lines of tables."""
    import cv2

    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, (shortest, 1))
    level = cv2.morphologyEx(dark.astype(np.uint8), cv2.MORPH_OPEN, kernel)
    thick = max(5, shortest // 4)
    return [
        Rule(float(x), float(y), float(x + width), float(y + height))
        for x, y, width, height, _ in components(cv2.dilate(level, np.ones((2, 3), np.uint8)))[0]
        if height <= thick + 2 and width > slender * height
    ]


def components(marks: Grey) -> tuple[list[tuple[int, int, int, int, int]], Any]:
    """Left, top, width, height and area of each patch of ink, and the array of their numbers (from 1)."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(marks, connectivity=8)
    return [(x, y, width, height, area) for x, y, width, height, area in stats[1:].tolist()], labels


def drawings(dark: Dark, texts: Sequence[Bounds], letter: float) -> list[Bounds]:
    """Regions of ink outside texts: figures; `letter` is the height of a line."""
    import cv2

    rest: Grey = dark.astype(np.uint8)
    for left, top, right, bottom in texts:
        rest[max(0, int(top)) : int(bottom) + 1, max(0, int(left)) : int(right) + 1] = 0
    edge = max(4, int(0.004 * max(dark.shape)))
    rest[:edge], rest[-edge:], rest[:, :edge], rest[:, -edge:] = 0, 0, 0, 0
    reach = max(3, int(0.5 * letter)) | 1
    near = cv2.dilate(rest, np.ones((reach, reach), np.uint8))
    patches, labels = components(near)
    regions: list[Bounds] = []
    for at, (x, y, width, height, _) in enumerate(patches, 1):
        inside = rest[y : y + height, x : x + width] * (labels[y : y + height, x : x + width] == at)
        rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
        if len(rows) < 2 or len(columns) < 2:
            continue
        box = (float(x + columns[0]), float(y + rows[0]), float(x + columns[-1] + 1), float(y + rows[-1] + 1))
        wide, high = box[2] - box[0], box[3] - box[1]
        big = high > 2.0 * letter and 1.6 * letter < wide < 0.95 * dark.shape[1]
        if big and inside.sum() > 0.8 * (wide + high):
            regions.append(box)
    return regions


def parted(dark: Dark, texts: Sequence[Bounds], letter: float) -> list[Bounds]:
    """Boxes above and below a fraction's bar, if neither was found; `letter` is the height of a line."""
    boxes = []
    for rule in bars(dark, max(8, int(0.45 * letter))):
        near = (text for text in texts if rule.bottom + 1 >= text[1] and rule.top - 1 <= text[3])
        if rule.length <= 5 * letter and not any(text[0] <= rule.centre[0] <= text[2] for text in near):
            boxes += both_sides(dark, rule, letter)
    return boxes


def both_sides(dark: Dark, rule: Rule, letter: float) -> list[Bounds]:
    """The rows of ink above and below a bar, if there are both."""
    sides = [box for down in (False, True) if (box := _beside(dark, rule, letter, down))]
    return sides if len(sides) > 1 else []


def _beside(dark: Dark, rule: Rule, letter: float, down: bool) -> Bounds | None:
    """The row of ink next to a bar: begins within half a letter, ends at the first gap, at most two high."""
    left, right = max(0, int(rule.left) - 2), int(rule.right) + 3
    start = int(rule.bottom) + 1 if down else int(rule.top) - 1
    reach = int(1.6 * letter)
    band = dark[start : start + reach, left:right] if down else dark[max(0, start - reach) : start, left:right][::-1]
    rows = np.flatnonzero(band.any(axis=1))
    if not len(rows) or rows[0] > 0.5 * letter:
        return None
    gaps = np.flatnonzero(np.diff(rows) > 0.2 * letter)
    last = int(rows[gaps[0]] if len(gaps) else rows[-1])
    tall = last - int(rows[0]) + 1
    if not 0.3 * letter < tall < 1.3 * letter:
        return None
    margin = 0.15 * letter
    first = float(start if down else start - last - 1)
    return (left - margin, first - (0 if down else margin), right + margin, first + last + 1 + (margin if down else 0))


def line_height(boxes: Sequence[Bounds]) -> float:
    """Height of an ordinary line."""
    return median_high(box[3] - box[1] for box in boxes) if boxes else 40.0


def short_bars(dark: Dark, boxes: Sequence[Bounds]) -> list[Rule]:
    """Level strokes that may be fraction bars, from left to right."""
    letter = line_height(boxes)
    strokes = bars(dark, max(7, int(_SHORTEST * letter)), slender=2.2)
    return sorted((bar for bar in strokes if bar.length < _WIDEST * letter), key=lambda bar: bar.left)


def stacks(dark: Dark, box: Bounds, strokes: Sequence[Rule], letter: float) -> list[tuple[Rule, Bounds, Bounds]]:
    """Fraction bars in a box, with the boxes above and below."""
    left, top, right, bottom = box
    if bottom - top < _STACKED * letter:
        return []
    inner = 0.25 * (bottom - top)
    done = []
    for bar in strokes:
        if left - 4 < bar.left and bar.right < right + 4 and top + inner < bar.top and bar.bottom < bottom - inner:
            sides = [(bar.left - 2, y, bar.right + 2, foot) for _, y, _, foot in both_sides(dark, bar, letter)]
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
