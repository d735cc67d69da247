"""Lines that hold fractions, read part by part, and runs of text joined from what was read.

Contract: a `Stack` is a fraction: what stands above and below its bar. What either engine reads of the parts of a line
is joined in order, with spaces where the page has white; a run ends at a gap that is wider than a line is high.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from livek12.dataset_builders.ingest import ocrboxes, ocrmath
from livek12.dataset_builders.ingest.geometry import Bounds, Rule
from livek12.dataset_builders.ingest.ocrread import Read

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.scan import Dark

GAP: Final = 0.85
"""Heights of a line that part two runs."""
_INTO: Final = 0.3
"""Heights of a line by which a box may miss the edge of its ink."""
UNSURE: Final = 0.5
"""Confidence of what two engines read differently; no run is surer than such a piece of it."""
_SPACE: Final = 0.2
"""Heights of a line that part two words."""
_WORDS: Final = re.compile(r"[\u1100-\u11ff\u2e80-\ud7af]")
"""Strokes of characters look like bars: what stands above or below them reads as characters again."""
ReadBoxes = Callable[[Sequence[Bounds]], list[Read]]


@dataclass(frozen=True, slots=True)
class Stack:
    """A fraction: the box of all of it, and of what stands above and below its bar."""

    box: Bounds
    above: Bounds
    below: Bounds


def parts(dark: Dark, box: Bounds, bars: Sequence[Rule], letter: float) -> list[Bounds | Stack]:
    """A box cut into its fractions and what stands between them."""
    done: list[Bounds | Stack] = []
    at = box[0]
    for bar, above, below in ocrboxes.stacks(dark, box, bars, letter):
        if bar.left < at - 4:
            continue
        if before := ocrboxes.inked(dark, (at, box[1], bar.left - 2, box[3])):
            done.append(before)
        done.append(Stack((bar.left, box[1], bar.right, box[3]), above, below))
        at = bar.right + 3
    if not done:
        return [box]
    rest = ocrboxes.inked(dark, (at, box[1], box[2], box[3]))
    return [*done, *([rest] if rest else [])]


def boxes_of(some: Iterable[Bounds | Stack]) -> list[Bounds]:
    """The boxes that have to be read."""
    return [box for one in some for box in ((one.above, one.below) if isinstance(one, Stack) else (one,))]


def said(part: Bounds | Stack, found: Mapping[Bounds, Read]) -> Read | None:
    """What a part says, by what was read in its boxes; None where nothing was, or a fraction of what is no formula."""
    if not isinstance(part, Stack):
        return found.get(part)
    above, below = found.get(part.above), found.get(part.below)
    if above is None or below is None or _WORDS.search(above.text + below.text):
        return None
    text = f"$\\frac{{{ocrmath.latex_of(above.text)}}}{{{ocrmath.latex_of(below.text)}}}$"
    return Read(text, part.box, min(above.confidence, below.confidence))


def lines(dark: Dark, boxes: Sequence[Bounds], read: ReadBoxes) -> list[Read]:
    """The lines in some boxes, fractions within them as LaTeX; those whose fractions are none are read as a whole."""
    bars, letter = ocrboxes.short_bars(dark, boxes), ocrboxes.line_height(boxes)
    cut = {box: parts(dark, box, bars, letter) for box in boxes}
    stacked = [part for own in cut.values() if len(own) > 1 or isinstance(own[0], Stack) for part in own]
    found = {one.box: one for one in read([*boxes, *(box for box in boxes_of(stacked) if box not in cut)])}
    done = []
    for box, own in cut.items():
        pieces = [said(part, found) for part in own]
        known = [piece for piece in pieces if piece is not None]
        fractions = all(piece for piece, part in zip(pieces, own, strict=True) if isinstance(part, Stack))
        if known and fractions and own != [box]:
            done += joined(known, dark, box, _SPACE * letter)
        elif whole := found.get(box):
            done.append(whole)
    return done


def joined(pieces: Sequence[Read], dark: Dark, home: Bounds, space: float) -> list[Read]:
    """Pieces of a line as runs.

    Args:
        pieces: from left to right.
        dark: where there is ink.
        home: the line.
        space: pixels of white that part two words.
    """
    tall = home[3] - home[1]
    runs: list[Read] = []
    for piece in pieces:
        last = runs[-1] if runs else None
        if last is None or piece.box[0] - last.box[2] > GAP * tall:
            runs.append(replace(piece, places=()))
            continue
        between = (last.box[2] - _INTO * tall, home[1], piece.box[0] + _INTO * tall, home[3])
        share = len(piece.text) / max(1, len(piece.text) + len(last.text))
        runs[-1] = Read(
            last.text + " " * bool(ocrboxes.gaps(dark, between, space)) + piece.text,
            (last.box[0], last.box[1], max(last.box[2], piece.box[2]), last.box[3]),
            _sureness(last.confidence, piece.confidence, share),
        )
    return runs


def _sureness(one: float, other: float, share: float) -> float:
    """Of a run, by the share of its letters that the other part has."""
    mean = one * (1 - share) + other * share
    return min([mean, *(value for value in (one, other) if value <= UNSURE)])
