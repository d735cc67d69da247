"""Signs of formulas that are drawn, not set: roots and arrows over letters become letters again.

Contract: `read_drawn` takes from a page's drawings those whose outline is beyond doubt that of a root sign or of an
arrow over letters, and puts a letter (and the line over what a root covers) in their place. `enclosing` are outlines
around letters (a ringed or boxed number), `in_lines` drawings within a line of text: what they show was not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mode
from typing import Final

from livek12.dataset_builders.ingest.blocks import UNREAD
from livek12.dataset_builders.ingest.geometry import Bounds, Rule, Shape
from livek12.dataset_builders.ingest.glyphs import Glyph, RawPage

ARROW: Final = "\u20d7"
_TALLEST: Final = 7.0
"""Letters of the page's ordinary size: what is higher is no sign of a formula."""
_LABEL: Final = frozenset("ABCDEFGHabcdefgh①②③④⑤⑥⑦⑧.．、)）(（")


def read_drawn(raw: RawPage, size: float) -> list[Bounds]:
    """Reads, in place, the signs that are drawn, and says which boxes' ink they explain.

    Args:
        raw: what stands on the page.
        size: of its ordinary letters, in points.
    """
    kept: list[Shape] = []
    read: list[Bounds] = []
    for shape in raw.shapes:
        near = _near(raw.glyphs, shape.box, size) if _may_be_sign(shape, size) else []
        if near and (found := _root(shape, raw.rules, near)):
            sign, rule = found
            raw.glyphs.append(sign)
            read.append((sign.left, sign.top, sign.right, sign.bottom))
            if rule:
                raw.rules.append(rule)
        elif near and (arrow := _arrow(shape, raw.rules, near)):
            raw.glyphs.append(arrow)
            read.append(shape.box)
        else:
            kept.append(shape)
    raw.shapes = kept
    return read


def enclosing(shapes: Sequence[Shape], glyphs: Sequence[Glyph]) -> list[Bounds]:
    """Outlines and grounds that letters stand right in the middle of."""
    found = []
    for shape in shapes:
        inside = [g for g in glyphs if g.text.strip() and _holds(shape.box, g)]
        if not inside or shape.kind == "image":
            continue
        left, top = min(g.left for g in inside), min(g.top for g in inside)
        right, bottom = max(g.right for g in inside), max(g.bottom for g in inside)
        size = max(g.size for g in inside)
        even = abs(left + right - shape.left - shape.right) < 0.4 * size
        level = abs(top + bottom - shape.top - shape.bottom) < 0.9 * size
        if _crosses(shape, (left, top, right, bottom)):
            continue
        around = shape.left < left + 0.1 * size and shape.right > right - 0.1 * size
        if even and level and around and shape.top < top + 0.1 * size and shape.bottom > bottom - 0.1 * size:
            found.append(shape.box)
    return found


def name_numbers(raw: RawPage, frames: Sequence[Bounds]) -> None:
    """Gives ringed or boxed numbers at the beginning of a line the full stop that a number of a question has.

    Args:
        raw: what stands on the page; changed in place.
        frames: boxes that are drawn with lines.
    """
    letters = [g for g in raw.glyphs if g.text.strip()]
    named: set[int] = set()
    corners = (((a, b), (c, b), (c, d), (a, d), (a, b)) for a, b, c, d in frames)
    shapes = [*raw.shapes, *(Shape("frame", *box, points) for box, points in zip(frames, corners, strict=True))]
    for shape in [s for s in shapes if s.bottom - s.top < 40 and s.right - s.left < 40]:
        inside = sorted((g for g in letters if _holds(shape.box, g)), key=lambda g: g.left)
        if (
            not inside
            or len(inside) > 2
            or not all(g.text.isdecimal() for g in inside)
            or not enclosing([shape], inside)
        ):
            continue
        middle = (shape.top + shape.bottom) / 2
        row = [g for g in letters if g.top - 2 < middle < g.bottom + 2 and g not in inside]
        size = inside[0].size
        near = [g for g in row if 0 <= g.left - shape.right < 3 * size]
        if not near or any(0 <= shape.left - g.right < size for g in row):
            continue
        line = (
            sorted((g for g in row if g.left >= shape.right and g.size > 0.8 * size), key=lambda g: g.left)[:8] or near
        )
        base = mode(round(g.base) for g in line)  # a root or a bracket right behind the number has one of its own
        after = next(g for g in line if round(g.base) == base)
        for glyph in inside:
            glyph.base, glyph.size = after.base, after.size
        if id(inside[-1]) not in named:  # a ground and its border hold the same number
            raw.glyphs.append(_full_stop(inside[-1]))
        named.add(id(inside[-1]))


def _full_stop(digit: Glyph) -> Glyph:
    """The full stop behind a digit, as a glyph of its own: each holds one character."""
    edge = min(digit.right, digit.advance)
    return replace(digit, text="．", left=edge, right=digit.right, math=False)


def _crosses(shape: Shape, box: Bounds) -> bool:
    """Whether an outline runs through a box."""
    middles = (((x0 + x1) / 2, (y0 + y1) / 2) for (x0, y0), (x1, y1) in pairwise(shape.points))
    inside = any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in (*shape.points, *middles))
    return not shape.filled and (len(shape.points) < 4 or inside)


def in_lines(figures: Sequence[Bounds], glyphs: Sequence[Glyph], size: float) -> list[Bounds]:
    """Those of the drawings that stand within a line of text, beside more than an option's label.

    Args:
        figures: boxes of drawings.
        glyphs: the letters of the page.
        size: of its ordinary letters.
    """
    return [box for box in figures if box[3] - box[1] < 2.4 * size and _amid(box, glyphs, size)]


def unread(box: Bounds, glyphs: Sequence[Glyph], size: float) -> Glyph:
    """A letter that says that something drawn within a line was not read.

    Args:
        box: around what is drawn.
        glyphs: the letters of the page.
        size: of its ordinary letters.
    """
    middle = (box[1] + box[3]) / 2
    row = [g for g in glyphs if g.text.strip() and g.top < middle < g.bottom + 0.3 * size]
    base = min(row, key=lambda g: abs((g.left + g.right) - (box[0] + box[2]))).base if row else box[3]
    return Glyph(UNREAD, *box, base, size, box[2], "", sound=False)


def _amid(box: Bounds, glyphs: Sequence[Glyph], size: float) -> bool:
    middle = (box[1] + box[3]) / 2
    row = [g for g in glyphs if g.text.strip() and g.top < middle < g.bottom + 0.3 * size and not _holds(box, g)]
    before = sorted((g for g in row if g.right <= box[0] + 1), key=lambda g: -g.right)
    after = sorted((g for g in row if g.left >= box[2] - 1), key=lambda g: g.left)
    text = _run(before, box[0], size)
    return any(character not in _LABEL for character in text) or bool(text and _run(after, box[2], size))


def _run(glyphs: Sequence[Glyph], edge: float, size: float) -> str:
    """The letters that follow one another from an edge on."""
    text = ""
    for glyph in glyphs:
        if min(abs(glyph.left - edge), abs(glyph.right - edge)) > 1.2 * size:
            break
        text += glyph.text
        edge = glyph.left if abs(glyph.right - edge) < abs(glyph.left - edge) else glyph.right
    return text


def _may_be_sign(shape: Shape, size: float) -> bool:
    tall = shape.bottom - shape.top
    return shape.kind == "drawing" and 3 <= len(shape.points) < 40 and 1.0 < tall < _TALLEST * size


def _near(glyphs: Sequence[Glyph], box: Bounds, size: float) -> list[Glyph]:
    return [
        g
        for g in glyphs
        if g.text.strip()
        and box[0] - size < (g.left + g.right) / 2 < box[2] + 60 * size
        and g.bottom > box[1] - size
        and g.top < box[3] + size
    ]


def _holds(box: Bounds, glyph: Glyph) -> bool:
    return box[0] < (glyph.left + glyph.right) / 2 < box[2] and box[1] < (glyph.top + glyph.bottom) / 2 < box[3]


# ---- roots ----


def _root(shape: Shape, rules: Sequence[Rule], near: Sequence[Glyph]) -> tuple[Glyph, Rule | None] | None:
    """The sign, and the line over what it covers where that is part of the outline.

    The outline goes down to a point and from there up to its highest, where the line begins.
    """
    left, top, right, bottom = shape.box
    tall = bottom - top
    thick = max(0.8, 0.12 * tall)
    low = [x for x, y in shape.points if y > bottom - thick]
    high = [x for x, y in shape.points if y < top + thick]
    if not low or not high or min(high) <= min(low) or max(low) - min(low) > 0.5 * tall:
        return None
    begins = min(high)
    hook = [y for x, y in shape.points if x < min(low)]
    if not hook or min(hook) < top + 0.2 * tall or begins - left > 1.3 * tall or begins - min(low) > 0.9 * tall:
        return None
    if any(top + thick < y < bottom and x > begins + thick for x, y in shape.points):
        return None
    over = max(high) - begins > 0.3 * tall
    line = Rule(begins, top, right, top + 0.5) if over else next((r for r in rules if _joins(r, begins, top)), None)
    if line is None or not any(_under(g, line, bottom) for g in near):
        return None
    size = max(g.size for g in near if _under(g, line, bottom))
    sign = Glyph("√", left, top, begins, bottom, bottom, size, begins, shape.kind, math=True)
    return sign, line if over else None


def _joins(rule: Rule, x: float, y: float) -> bool:
    return rule.flat and abs(rule.left - x) < 1.5 and abs((rule.top + rule.bottom) / 2 - y) < 1.5


def _under(glyph: Glyph, line: Rule, bottom: float) -> bool:
    middle = (glyph.left + glyph.right) / 2
    return line.left - 1 < middle < line.right + 1 and line.top < (glyph.top + glyph.bottom) / 2 < bottom + 1


# ---- arrows ----


def _arrow(shape: Shape, rules: Sequence[Rule], near: Sequence[Glyph]) -> Glyph | None:
    """An arrow to the right right above letters: its head points there, its shaft is part of it or a rule."""
    left, top, right, bottom = shape.box
    middle = (top + bottom) / 2
    shaft = next((r for r in rules if _runs_into(r, shape)), None)
    start = min(left, shaft.left) if shaft else left
    below = [g for g in near if start - 1 < (g.left + g.right) / 2 < right + 1 and g.top > middle - 0.1 * g.size]
    below = [g for g in below if g.top - bottom < 0.5 * g.size]
    if not below or not all(g.text.isalnum() for g in below):
        return None
    size = max(g.size for g in below)
    if bottom - top > 0.5 * size or right - start < 0.3 * size:
        return None
    spread = [(x, abs(y - middle)) for x, y in shape.points]
    wide = [x for x, off in spread if off > 0.35 * (bottom - top)]
    tip = [off for x, off in spread if x > right - 0.12 * size]
    pointed = (
        bool(tip) and min(tip) < 0.2 * (bottom - top) + 0.1 and bool(wide) and min(wide) > start + 0.3 * (right - start)
    )
    if not pointed or (shaft is None and not _has_shaft(shape, middle)):
        return None
    return Glyph(ARROW, left, top, right, bottom, bottom, size, right, shape.kind, math=True)


def _runs_into(rule: Rule, head: Shape) -> bool:
    level = head.top - 0.5 < (rule.top + rule.bottom) / 2 < head.bottom + 0.5
    return rule.flat and level and rule.left < head.left and head.left - 1.5 < rule.right < head.right + 1.5


def _has_shaft(shape: Shape, middle: float) -> bool:
    """Whether a stroke of the outline runs along its middle for most of its width."""
    reach = 0.3 * (shape.bottom - shape.top) + 0.2
    return any(
        abs(y0 - middle) < reach and abs(y1 - middle) < reach and abs(x1 - x0) > 0.5 * (shape.right - shape.left)
        for (x0, y0), (x1, y1) in pairwise(shape.points)
    )
