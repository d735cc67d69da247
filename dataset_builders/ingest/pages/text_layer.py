"""Blocks of a page with a sound text layer.

Contract: letters inside a figure are its lines. Drawn roots become letters only if their outline is beyond doubt.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, pairwise
from operator import not_
from statistics import mode
from typing import TYPE_CHECKING, Final, TypeVar

from livek12.dataset_builders.ingest.pages import layout
from livek12.dataset_builders.ingest.pages.assemble import Crop, Piece, Sheet, assembled, box_of
from livek12.dataset_builders.ingest.pages.atoms import ideographic
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, PICTURE, TICKED, UNREAD, Block, Box, is_caption
from livek12.dataset_builders.ingest.pages.formulas import TextLine, lines_of
from livek12.dataset_builders.ingest.pages.geometry import Bounds, Placed, Rule, Shape, around, chains, hull
from livek12.dataset_builders.ingest.pages.glyphs import AXIS, MOST_POINTS, Glyph, RawPage
from livek12.dataset_builders.ingest.pages.layout import PageTable, dissolve

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.pages.sight import Sight


_Ink = TypeVar("_Ink", bound=Placed)
_DOTS: Final = frozenset(".．·•∙˙")
_FEW, _ALIKE = 2, 0.25
_TALLEST: Final = 7.0
"""Letters of the page's ordinary size: what is higher is no sign of a formula."""
_STROKE, _HIGHEST, _SIGN_RULE = 3.2, 4.5, 1.2
"""Letters of the page's ordinary size: strokes of a sign, and what stands in a line, are not higher; rules of a sign
(minus, dot) are not longer."""
_DOT, _DOTTED, _DOTTED_STEP = (0.05, 0.3), 3, 0.6
"""Letters of the page's ordinary size: a dot, and from one to the next at most; dots of a sign."""
_FEWEST_POINTS, _TO_LETTER = 20, 24
"""Signs alone that may be something other than the points of a plot; points of a page within which text follows one."""
_MARKED_LINE, _MOST_MARKED = 2.5, 400
"""Letters of the page's ordinary size: a highlighted line is not higher; grounds of a page that are looked at."""
_ROW: Final = 2.5
"""Points: parts of one formula come closer from top to bottom; lines of text do not."""
_BAR: Final = 0.45
"""Letters of the page's ordinary size between the bar of a fraction and its parts, at most."""
_COLUMN: Final = 3.0
"""Letters of the page's ordinary size: half of the white space between formulas on one line, at most."""
_ASIDE: Final = 1.5
"""Letter sizes between a picture and the text of its line."""
_RINGED: Final = 40
"""Points: a ring or box around a number is smaller."""


def line_dotted(raw: RawPage) -> None:
    """Replaces dots under Chinese letters by a line under them, in place."""
    letters = [glyph for glyph in raw.glyphs if ideographic(glyph.text[:1]) and glyph.text.isalpha()]
    under = {}
    for dot in (glyph for glyph in raw.glyphs if glyph.text in _DOTS) if letters else ():
        for letter in letters:
            reach = 0.25 * letter.width
            level = -0.1 * letter.size < dot.top - max(letter.base, letter.bottom) < 0.5 * letter.size
            if level and letter.left + reach < dot.middle < letter.right - reach:
                under[id(dot)] = Rule(letter.left, dot.top, letter.right, dot.top)
    raw.glyphs = [glyph for glyph in raw.glyphs if id(glyph) not in under]
    for rule in sorted(under.values(), key=lambda rule: (rule.top, rule.left)):
        last = raw.rules[-1] if raw.rules else rule
        if abs(last.top - rule.top) < 1 and 0 < rule.left - last.right < rule.length:
            last.right = rule.right
        else:
            raw.rules.append(rule)


def mark_highlighted(raw: RawPage, size: float) -> None:
    """Marks highlighted letters in place."""
    grounds = [s for s in raw.shapes if s.bright and s.kind == "frame" and s.height < _MARKED_LINE * size]
    for glyph in raw.glyphs if grounds else ():
        glyph.marked = any(layout.contains(ground.box, *glyph.centre) for ground in grounds[:_MOST_MARKED])


def read_drawn(raw: RawPage, size: float) -> list[Bounds]:
    """Reads drawn signs in place; returns the boxes of the ink they explain."""
    kept: list[Shape] = []
    read: list[Bounds] = []
    lines: list[Bounds] = []
    for shape in raw.shapes:
        near = _near(raw.glyphs, shape, size)
        if near and (root := _root(shape, raw.rules, near)):
            sign, rule = root
            raw.glyphs.append(sign)
            read.append(sign.box)
            lines.append((sign.right, shape.top - 0.5, shape.right, shape.top + 1.0))
            if rule:
                raw.rules.append(rule)
        elif near and (text := _fence(shape)):
            size_near = min(near, key=lambda letter: abs(letter.left - shape.right)).size
            raw.glyphs.append(Glyph(text, *shape.box, shape.bottom, size_near, shape.right, shape.kind, math=True))
            read.append(shape.box)
        else:
            kept.append(shape)
    raw.shapes, raw.rules = _outside(kept, read), _outside(raw.rules, read)  # strokes of a root
    return read + lines


def read_choices(raw: RawPage, size: float) -> list[Bounds]:
    """Reads circles and boxes before text as `CHOICE`, in place, if several are alike; returns their boxes.

    Those that are filled, if most are empty, are `TICKED`.
    """
    letters = [g for g in raw.glyphs if g.text.strip()]
    rings = [shape for shape in raw.shapes if _is_ring(shape, size)]
    rings = [s for s in rings if not any(layout.contains(s.box, *g.centre) for g in letters)]
    boxes = [ring.box for ring in rings]
    rings = [s for s in rings if not any(_within(s.box, box) and not _within(box, s.box) for box in boxes)]
    others = [s.box for s in _outside(raw.shapes, [ring.box for ring in rings])]
    filled = {s.box for s in rings if s.filled}
    ticked = filled if 2 * len(filled) < len(rings) else set[Bounds]()
    wide = [s.right - s.left for s in rings]
    alike = [sum(abs(width - other) < _ALIKE * width for other in wide) > _FEW for width in wide]
    read: dict[Bounds, Glyph] = {}
    for left, top, right, bottom in (ring.box for ring, is_usual in zip(rings, alike, strict=True) if is_usual):
        shared = ((min(g.bottom, bottom) - max(g.top, top) > 0.6 * (g.bottom - g.top), g) for g in letters)
        row = [g for most, g in shared if most or g.top < (top + bottom) / 2 < g.bottom + 0.3 * size]
        text = min((g for g in row if 0 < g.left - right < 3 * size), key=lambda g: g.left, default=None)
        room = (left - size, top, right, bottom)
        beside = [box for box in others if not box[0] < left < right < box[2]]  # a frame may be around all
        if text and not any(layout.overlaps(room, box) for box in (*beside, *(g.box for g in row))):
            edge = max(right, text.left - 0.5 * text.size)
            ring = Glyph(CHOICE, left, top, edge, bottom, text.base, text.size, edge, "")
            ring.colour = TICKED if (left, top, right, bottom) in ticked else ""
            read[left, top, right, bottom] = ring
    if len(read) <= _FEW:
        return []
    raw.glyphs += read.values()
    raw.shapes = _outside(raw.shapes, [*read])
    return [*read]


def read_dots(raw: RawPage, size: float) -> list[Bounds]:
    """Reads drawn dots in a row, three or six, as the sign that they are, in place; returns their boxes."""
    dots = [s for s in raw.shapes if _DOT[0] * size < s.width < _DOT[1] * size and s.height < _DOT[1] * size]
    letters = [g for g in raw.glyphs if g.text.strip()] if len(dots) >= _DOTTED else []

    def goes_on(row: list[Shape], dot: Shape) -> bool:
        steps = [b.middle - a.middle for a, b in pairwise([*row[-2:], dot])]
        level = abs(dot.centre[1] - row[0].centre[1]) < 0.1 * size
        return level and 0 < steps[-1] < _DOTTED_STEP * size and max(steps) < 1.5 * min(steps)

    read: list[Bounds] = []
    for row in chains(sorted(dots, key=lambda dot: (round(dot.top / (0.2 * size)), dot.left)), goes_on):
        home = _home(hull(row), letters, size) if len(row) in (_DOTTED, 2 * _DOTTED) else None
        for at in range(0, len(row) if home else 0, _DOTTED):
            box = hull(row[at : at + _DOTTED])
            read.append(box)
            raw.glyphs.append(replace(_placed(box, home, size), text="⋯", math=True, sound=True))
    raw.shapes = _outside(raw.shapes, read)
    return read


def draw_points(raw: RawPage) -> None:
    """Makes drawings of the points of a plot that are set as signs (●), in place: they are on no lines."""
    signs = [g for g in raw.glyphs if g.sound and "■" <= g.text < "☀" and g.text not in (UNREAD, CHOICE)]
    letters = [glyph for glyph in raw.glyphs if glyph.text.isalnum()] if len(signs) > _FEWEST_POINTS else []
    lines = {(int(g.centre[1] // 2) + off, g.left // _TO_LETTER) for g in letters for off in range(-2, 3)}
    alone = [g for g in signs if not any((g.centre[1] // 2, g.left // _TO_LETTER + x) in lines for x in (0, 1))]
    bases = sorted({round(glyph.base, 1) for glyph in alone})
    if letters and sum(b - a < alone[0].height / 2 for a, b in pairwise(bases)) > max(_FEWEST_POINTS, len(bases) / 2):
        gone = set(map(id, alone))
        raw.glyphs = [glyph for glyph in raw.glyphs if id(glyph) not in gone]
        raw.shapes += [Shape("drawing", *glyph.box, filled=True) for glyph in alone]


def read_signs(raw: RawPage, size: float) -> list[Bounds]:
    """Puts a `PICTURE` in the text for each drawn formula and each picture within a line; returns their boxes."""
    letters = [g for g in raw.glyphs if g.text.strip()]
    grounds = {*enclosing(raw.shapes, raw.glyphs)}
    small = [s for s in raw.shapes if s.box not in grounds and not s.faint and _is_stroke(s, letters, size)]
    strokes = set(map(id, small))
    others = [shape.box for shape in raw.shapes if shape.box not in grounds and id(shape) not in strokes]
    others += [box for box in grounds if any(layout.overlaps(box, stroke.box, 1.0) for stroke in small)]
    long = [rule for rule in raw.rules if rule.flat and rule.length > _SIGN_RULE * size]
    rules = [rule for rule in raw.rules if _is_part(rule, small, size)]
    rules = [r for r in rules if r.flat or not any(layout.meet(r, other) for other in long)]  # wires meet
    parts: list[Shape | Rule] = [*small, *rules]
    boxes = [part.box for part in parts]
    parted = set(map(id, rules))
    others += [r.box for r in raw.rules if not r.flat and id(r) not in parted]
    signs: list[Bounds] = []
    for group in layout.groups([*boxes, *others], layout.NEAR):
        if any(at >= len(boxes) for at in group):
            continue  # of a figure
        rows = layout.groups([_reach(parts[at], small, size) for at in group], _ROW)
        # A limit may be as far from its sum as a line from another.
        for some in ([[group[at] for at in row] for row in rows], [group]):
            ends = [around([boxes[at] for at in row]) for row in some]
            drawn = [[parts[at] for at in row] for row in some]
            if all(_is_sign(row, box, letters, size) for row, box in zip(drawn, ends, strict=True)):
                signs += ends
                break
    homes = {box: _home(box, letters, size) for box in signs}
    lonely = [box for box, home in homes.items() if home is None]
    rows = layout.groups([(a - _COLUMN * size, b, c + _COLUMN * size, d) for a, b, c, d in lonely], 0.0)
    alone = [around([lonely[at] for at in row]) for row in rows]  # lines of formulas only
    alone = [box for box in alone if max(box[2] - box[0], box[3] - box[1]) > 2 * layout.SMALL]
    for box, home in homes.items():
        if not any(_within(box, other) for other in alone):
            raw.glyphs = [g for g in raw.glyphs if not layout.contains(box, *g.centre)] + [_placed(box, home, size)]
    raw.shapes = [*_outside(raw.shapes, signs), *(Shape("image", *box) for box in alone)]
    raw.rules = _outside(raw.rules, signs)
    return signs


def _reach(part: Shape | Rule, strokes: Sequence[Shape], size: float) -> Bounds:
    """The room of other parts of its formula: beside it, and over and under a bar."""
    aside = (layout.NEAR - _ROW) / 2
    over, under = _at_bar(part, strokes, size) if isinstance(part, Rule) and part.flat else (False, False)
    off = max(0.0, _BAR * size - _ROW)
    return part.left - aside, part.top - off * over, part.right + aside, part.bottom + off * under


def _at_bar(rule: Rule, strokes: Sequence[Shape], size: float) -> tuple[bool, bool]:
    span = [s for s in strokes if rule.left - 2 < (s.left + s.right) / 2 < rule.right + 2]
    over = any(-1 < rule.top - s.bottom < _BAR * size for s in span)
    return over, any(-1 < s.top - rule.bottom < _BAR * size for s in span)


def _is_stroke(shape: Shape, letters: Sequence[Glyph], size: float) -> bool:
    """A picture low enough for a line, or a stroke that is no bigger than a sign and no ground of text."""
    wide, tall = shape.right - shape.left, shape.bottom - shape.top
    inner = [g.text[0] for g in letters if layout.contains(shape.box, *g.centre)]  # the line of a root is long
    inside = any(shape.filled or ideographic(letter) or "가" <= letter <= "힣" for letter in inner)
    if shape.kind == "image":
        return tall < _HIGHEST * size
    return not inside and tall < _STROKE * size and (bool(inner) or wide < _STROKE * size)


def _is_part(rule: Rule, strokes: Sequence[Shape], size: float) -> bool:
    """A minus, a dot, the bar of a fraction, a root or letters: short, or right over strokes."""
    if rule.length < _SIGN_RULE * size:
        return True
    if not rule.flat:
        level = [s for s in strokes if rule.top - 2 < (s.top + s.bottom) / 2 < rule.bottom + 2]
        return rule.length < _STROKE * size and any(max(s.left - rule.right, rule.left - s.right) < size for s in level)
    return _at_bar(rule, strokes, size)[1]


def _is_sign(parts: Sequence[Shape | Rule], box: Bounds, letters: Sequence[Glyph], size: float) -> bool:
    """Strokes of signs on one line; pictures, and strokes of one sign alone, have text of one line beside them."""
    shapes = [part for part in parts if isinstance(part, Shape)]
    biggest = max((max(s.right - s.left, s.bottom - s.top) for s in shapes), default=0.0)
    if not shapes or box[3] - box[1] > _HIGHEST * size or biggest < 0.1 * size:
        return False
    beside = [g for g in letters if max(g.left - box[2], box[0] - g.right) < _ASIDE * size and g.size > 0.8 * size]
    level = [g for g in beside if box[1] < g.base - AXIS * g.size < box[3]]
    bases = [g.base for g in level if not "①" <= g.text[0] <= "⑳"]  # what is an option is a figure
    drawn = all(shape.kind != "image" for shape in shapes)
    around_text = any(layout.contains(box, *g.centre) for g in beside)
    near = any(layout.overlaps(box, g.box, size) and not layout.contains(box, *g.centre) for g in beside)
    woven = near if around_text else len(shapes) > 1
    return (drawn and woven) or (bool(bases) and max(bases) - min(bases) < 0.5 * size)


def _show(raw: RawPage, ink: Sequence[Bounds], size: float) -> list[Bounds]:
    """Puts a `PICTURE` in the text for unexplained ink within a line that is no part of a letter; returns the rest."""
    letters = [g for g in raw.glyphs if g.text.strip()]
    rest: list[Bounds] = []
    for group in layout.groups(ink, _BAR * size):
        box = around([ink[at] for at in group])
        home = _home(box, letters, size)
        fits = 0.2 * size < max(box[2] - box[0], box[3] - box[1]) and box[3] - box[1] < _HIGHEST * size
        near = [g for g in letters if layout.overlaps(box, g.box, 0.35 * size)]
        formula = any(g.math or not g.sound for g in near)
        beside = home is not None and max(home.left - box[2], box[0] - home.right) < _ASIDE * size
        if fits and beside and formula and not any(ideographic(g.text[0]) for g in near):
            raw.glyphs.append(_placed(box, home, size))
        else:
            rest += [ink[at] for at in group]
    return rest


def _home(box: Bounds, letters: Sequence[Glyph], size: float) -> Glyph | None:
    """The letter whose line a picture belongs to: one in it, level with it, or right under or over it."""
    near: list[tuple[float, Glyph]] = []
    for g in letters:
        axis = g.base - AXIS * g.size
        aside, off = max(g.left - box[2], box[0] - g.right, 0.0), max(box[1] - axis, axis - box[3], 0.0)
        script = box[3] - box[1] < size and aside < 0.4 * size and off < 0.8 * size
        if layout.contains(box, *g.centre):
            near.append((-g.size, g))
        elif aside < 12 * size and (off == 0 or script):
            near.append((aside + 2 * off + 0.3 * abs(axis - (box[1] + box[3]) / 2), g))
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _placed(box: Bounds, home: Glyph | None, size: float) -> Glyph:
    base, size = (home.base, home.size) if home else ((box[1] + box[3]) / 2 + AXIS * size, size)
    return Glyph(PICTURE, *box, base, size, box[2], "", sound=False)


def _is_ring(shape: Shape, size: float) -> bool:
    wide, tall = shape.right - shape.left, shape.bottom - shape.top
    on_border = (min(x - shape.left, shape.right - x, y - shape.top, shape.bottom - y) for x, y in shape.points)
    square = 0.4 * size < wide < 1.8 * size and abs(wide - tall) < 0.1 * tall
    return shape.kind != "image" and square and all(off < 0.1 * wide for off in on_border)


def _within(box: Bounds, outer: Bounds) -> bool:
    left, top, right, bottom = outer
    return left - 1 < box[0] and top - 1 < box[1] and box[2] < right + 1 and box[3] < bottom + 1


def _outside(parts: Sequence[_Ink], boxes: Sequence[Bounds]) -> list[_Ink]:
    return [part for part in parts if not any(_within(part.box, box) for box in boxes)]


def _parted(box: Bounds, parts: Sequence[_Ink]) -> tuple[list[_Ink], list[_Ink]]:
    inside = [layout.contains(box, *part.centre) for part in parts]
    return [*compress(parts, inside)], [*compress(parts, map(not_, inside))]


def enclosing(shapes: Sequence[Shape], glyphs: Sequence[Glyph]) -> list[Bounds]:
    """Outlines and grounds with letters in their middle."""
    boxes = []
    for shape in shapes:
        inside = [g for g in glyphs if g.text.strip() and layout.contains(shape.box, *g.centre)]
        if not inside or shape.kind == "image":
            continue
        left, top, right, bottom = hull(inside)
        size = max(g.size for g in inside)
        even = abs(left + right - shape.left - shape.right) < 0.4 * size
        level = abs(top + bottom - shape.top - shape.bottom) < 0.9 * size
        crossed = any(left < x < right and top < y < bottom for x, y in shape.outline) or len(shape.points) < 4
        wider = shape.left < left + 0.1 * size and shape.right > right - 0.1 * size
        higher = shape.top < top + 0.1 * size and shape.bottom > bottom - 0.1 * size
        if even and level and wider and higher and (shape.filled or not crossed):
            boxes.append(shape.box)
    return boxes


def name_numbers(raw: RawPage, frames: Sequence[Bounds]) -> None:
    """Adds a full stop to ringed or boxed numbers at the beginning of a line, as questions have."""
    letters = sorted((g for g in raw.glyphs if g.text.strip()), key=lambda g: g.left)
    named: set[int] = set()
    shapes = [*raw.shapes, *(Shape("frame", *box, filled=True) for box in frames)]
    for shape in (shape for shape in shapes if max(shape.width, shape.height) < _RINGED):
        inside = [g for g in letters if layout.contains(shape.box, *g.centre)]
        number = 0 < len(inside) < 3 and all(g.text.isdecimal() for g in inside)
        if not (number and enclosing([shape], inside)):
            continue
        row = [g for g in letters if g.top - 2 < shape.centre[1] < g.bottom + 2 and g not in inside]
        size = inside[0].size
        near = [g for g in row if 0 <= g.left - shape.right < 3 * size]
        if not near or any(0 <= shape.left - g.right < size for g in row):
            continue
        line = [g for g in row if g.left >= shape.right and g.size > 0.8 * size][:8] or near
        base = mode(round(g.base) for g in line)  # a root or a bracket right behind the number has one of its own
        after = next(g for g in line if round(g.base) == base)
        for glyph in inside:
            glyph.base, glyph.size = after.base, after.size
        digit = inside[-1]
        if id(digit) not in named:  # a ground and its border hold the same number
            raw.glyphs.append(replace(digit, text="．", left=min(digit.right, digit.advance), math=False))
        named.add(id(digit))


def _near(glyphs: Sequence[Glyph], shape: Shape, size: float) -> list[Glyph]:
    left, top, right, bottom = shape.box
    if shape.kind == "image" or not (3 <= len(shape.points) < MOST_POINTS and 1.0 < bottom - top < _TALLEST * size):
        return []
    level = (g for g in glyphs if g.text.strip() and g.bottom > top - size and g.top < bottom + size)
    return [g for g in level if left - size < (g.left + g.right) / 2 < right + 60 * size]


# ---- roots and braces ----


def _fence(shape: Shape) -> str:
    """The brace of an outline with a tip in its middle and both ends on the other side; "" for none."""
    wide, tall = shape.width, shape.height
    if wide > 0.4 * tall:
        return ""
    points = [((x - shape.left) / wide, (y - shape.top) / tall) for x, y in shape.points]
    for sign, aside in (("{", [*points]), ("}", [(1 - x, y) for x, y in points])):
        tip, ends = [y for x, y in aside if x < _TIP], [y for x, y in aside if x > 1 - _TIP]
        hooked = min(ends) < _TIP and max(ends) > 1 - _TIP and not any(_TIP < y < 1 - _TIP for y in ends)
        if hooked and min(tip) > 0.5 - _TIP and max(tip) < 0.5 + _TIP:
            return sign
    return ""


_TIP: Final = 0.15
"""Share of a brace's width and height that its tip and its ends take, at most."""


def _root(shape: Shape, rules: Sequence[Rule], near: Sequence[Glyph]) -> tuple[Glyph, Rule | None] | None:
    """The sign, and the line over its content if the outline, which goes down and then up to its highest, has it."""
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
    level = (rule for rule in rules if rule.flat and abs(rule.centre[1] - top) < 1.5)
    drawn = next((rule for rule in level if abs(rule.left - begins) < 1.5), None)
    over = drawn is None and max(high) - begins > 0.3 * tall
    line = Rule(begins, top, right, top + 0.5) if over else drawn
    room = (line.left - 1, line.top, line.right + 1, bottom + 1) if line else (0.0, 0.0, 0.0, 0.0)
    size = max((g.size for g in near if layout.contains(room, *g.centre)), default=0.0)
    if line is None or not size:
        return None
    sign = Glyph("√", left, top, begins, bottom, bottom, size, begins, shape.kind, math=True)
    return sign, line if over else None


_ANCHOR: Final = re.compile(r"[①-⑳㉑-㉟]|[(（]?[A-H]\s*[.．、)）]|[(（][a-h][)）].|\(?\d{1,2}\s*[.．、)]")
_LONGEST_LABEL: Final = 30
"""Letters of a label within the width of its figure that no column of text begins at."""
_SLANTED, LARGEST = 1.5, 200
"""Letters of the page's ordinary size, and points: what is set slanted and bigger, and whatever is, is a watermark."""
_DRAWN: Final = 100
"""A page without letters and with more drawings than these has its text as outlines."""
_ODD_SIGNS, _ODD_SHARE, _CODED = 2, 0.15, 0.1
"""Odd letters of a font, and their share, that show an encoding of its own; share of the page set in such fonts."""
_PICTURED, _MARKED, _FEWEST = 0.4, 0.8, 40
"""Shares of a page that pictures of a scan cover: without letters, and beside fewer than these, a scanner's mark."""


def sound(raw: RawPage) -> bool:
    """Checks that a text layer has letters, of scripts that go together."""
    letters = [glyph for glyph in raw.glyphs if glyph.text.strip() and not glyph.slanted]  # no watermark's
    pictures = sum(layout.area(shape.box) for shape in raw.shapes if shape.kind == "image")
    if pictures > (_MARKED if letters else _PICTURED) * raw.width * raw.height and len(letters) < _FEWEST:
        return False
    if not letters:
        return sum(shape.kind == "drawing" for shape in raw.shapes) <= _DRAWN
    lost = sum(not glyph.sound and not glyph.math for glyph in letters)  # formulas have pictures
    odd = Counter(glyph.font for glyph in letters if glyph.sound and _odd(glyph.text))
    fonts = Counter(glyph.font for glyph in letters)
    coded = sum(many for font, many in fonts.items() if odd[font] > max(_ODD_SIGNS, _ODD_SHARE * many))
    limits = ((raw.hidden, 0.5), (lost, 0.3), (odd.total(), 0.25), (coded, _CODED))
    return all(many < share * len(letters) for many, share in limits)


def turned(raw: RawPage) -> int:
    """Degrees (0, 90, 180, 270) by which to turn a page clockwise for its text to run from left to right."""
    letters = [glyph for glyph in raw.glyphs if glyph.text.strip()]
    steps = [
        (b.left - a.left, b.top - a.top)
        for a, b in pairwise(letters)
        if max(abs(b.left - a.left), abs(b.top - a.top)) < 2 * max(a.size, b.size)
    ]
    ways = Counter(
        (0 if along > 0 else 180) if abs(along) >= abs(down) else (270 if down > 0 else 90) for along, down in steps
    )
    return next((way for way, many in ways.items() if len(steps) > 10 and many > 0.6 * len(steps)), 0)


def _odd(text: str) -> bool:
    code = ord(text[0])
    return 0xA8 <= code <= 0x17F and unicodedata.category(text[0])[0] in "LSP" and text[0] not in "°±·×÷§®©«»´"


@dataclass(frozen=True)
class Reading:
    """A page's blocks, and the state for the next page: gutter, and columns of its last grid of questions."""

    blocks: list[Block] = field(default_factory=list)
    middle: float | None = None
    grid: Sequence[float] = ()
    loose: list[Box] = field(default_factory=list)


def blocks_of(raw: RawPage, number: int, crop: Crop, before: Reading, seen: Sight | None = None) -> Reading:
    """The blocks of a page, after the reading of the page before; unread ink is found if the printed page is given."""
    turned = [glyph for glyph in raw.glyphs if glyph.slanted or glyph.size >= LARGEST]
    ground = [glyph.box for glyph in turned]
    raw.glyphs = [glyph for glyph in raw.glyphs if not glyph.slanted and glyph.size < LARGEST]
    draw_points(raw)
    size = layout.body_size(raw.glyphs)
    line_dotted(raw)
    mark_highlighted(raw, size)
    drawn = [*read_drawn(raw, size), *read_choices(raw, size), *read_dots(raw, size), *read_signs(raw, size)]
    parts = layout.find(raw, before.grid)
    small = [box for box, glyph in zip(ground, turned, strict=True) if glyph.size < _SLANTED * size]
    parts.figures = [_whole(box, small, size, parts, seen) for box in parts.figures]
    name_numbers(raw, parts.frames)
    unread = seen.unexplained(raw.glyphs, [*drawn, *ground, *_explained(raw, parts)]) if seen else []
    unread = _show(raw, unread, size)
    glyphs = raw.glyphs
    for grid in parts.asked:
        glyphs = dissolve(grid, glyphs)
    tables: list[Piece] = []
    for table in (table for table in parts.tables if not any(_within(table.box, box) for box in parts.figures)):
        inside, glyphs = _parted(table.box, glyphs)
        rules, parts.rules = _parted(table.box, parts.rules)
        tables.append(Piece("table", table.box, table_lines(table, inside, rules)))
    pieces, glyphs = _labels(parts.figures, glyphs)
    pieces += tables
    sheet = Sheet(
        number, raw.width, raw.height, "text_layer", glyphs, pieces, parts.rules, parts.frames, parts.dividers, unread
    )
    blocks, middle = assembled(sheet, crop, before.middle)
    loose = [around([sheet.unread[at] for at in group]) for group in layout.groups(sheet.unread, layout.NEAR)]
    last = max((grid.box[3], grid.xs) for grid in parts.asked)[1] if parts.asked else ()
    return Reading(blocks, middle, last, [box_of(box, sheet) for box in loose])


def _explained(raw: RawPage, parts: layout.Found) -> list[Bounds]:
    boxes = [*parts.figures, *parts.ground, *(rule.box for rule in raw.rules)]
    boxes += enclosing(raw.shapes, raw.glyphs)
    grounds = {shape.box for shape in raw.shapes if shape.filled}
    boxes += [frame for frame in parts.frames if frame in grounds]
    for left, top, right, bottom in parts.frames:
        boxes += [(left, top, right, top), (left, bottom, right, bottom)]
        boxes += [(left, top, left, bottom), (right, top, right, bottom)]
    return boxes


# ---- figures and tables ----


def _labels(figures: list[Bounds], glyphs: list[Glyph]) -> tuple[list[Piece], list[Glyph]]:
    if not figures:
        return [], glyphs
    runs = layout.runs(glyphs)
    long = [hull(run) for run in runs if not _is_short(run)]
    size = layout.body_size(glyphs)
    pieces: list[Piece] = []
    taken: set[int] = set()
    for box in figures:
        free = [run for run in runs if id(run[0]) not in taken]
        own = [run for run in free if _belongs(run, box) or _stands_alone(run, box, glyphs, long, size)]
        outside = [g for g in glyphs if own and g.text.strip() and not layout.contains(box, *g.centre)]
        labels, many = set[int](), -1
        while many != len(own):  # what is set with a line is its own, and what is set with that
            labels, many = {id(glyph) for run in own for glyph in run}, len(own)
            others = [glyph for glyph in outside if id(glyph) not in labels]
            own = [run for run in own if not _set_with(run, box, others)]
        taken |= labels
        inside = [glyph for run in own for glyph in run]
        whole = around([box, *([hull(inside)] if inside else [])])
        pieces.append(Piece("figure", whole, lines_of(inside, [])))
    return pieces, [glyph for glyph in glyphs if id(glyph) not in taken]


def _whole(figure: Bounds, letters: Sequence[Bounds], size: float, parts: layout.Found, seen: Sight | None) -> Bounds:
    words = [around([letters[at] for at in word]) for word in layout.groups(letters, 0.5 * size)]
    short = [word for word in words if max(word[2] - word[0], word[3] - word[1]) < 0.5 * (figure[2] - figure[0])]
    whole = around([figure, *(word for word in short if layout.overlaps(word, figure, size))])
    ruled = any(layout.overlaps(whole, table.box) for table in parts.tables)
    return seen.whole(whole) if seen and not ruled else whole


def _is_short(run: Sequence[Glyph]) -> bool:
    return len(run) <= layout.FEWEST_LETTERS and run[-1].right - run[0].left < 5 * run[0].size


def _stands_alone(
    run: Sequence[Glyph], box: Bounds, glyphs: Sequence[Glyph], long: Sequence[Bounds], size: float
) -> bool:
    left, top, right, bottom = hull(run)
    room = (left - 3 * size, top - 1.2 * size, right + 3 * size, bottom + 1.2 * size)
    text = "".join(glyph.text for glyph in run)
    is_other = bool(_ANCHOR.match(text)) or is_caption(text)
    others = [other for other in long if other != (left, top, right, bottom)]
    amid = box[0] - size < left and right < box[2] + size and all(abs(other[0] - left) > size for other in others)
    amid = amid and len(run) < _LONGEST_LABEL and "=" not in text
    if is_other or not (_is_short(run) or amid) or not layout.overlaps((left, top, right, bottom), box, 1.2 * size):
        return False
    close = (left - 0.6 * size, top - 0.3 * size, right + 0.6 * size, bottom + 0.3 * size)
    near = (g for g in glyphs if g.text.strip() and layout.overlaps(close, g.box) and g not in run)
    return not any(layout.overlaps(room, other) for other in others) and all(
        layout.contains(box, *glyph.centre) for glyph in near
    )


_TOUCHES, _LEVEL, _TYPED = 0.3, 3.0, 12.0
"""Letter sizes between what is set together, and between words of one line, in a typewriter's font too."""


def _set_with(run: Sequence[Glyph], box: Bounds, others: Sequence[Glyph]) -> bool:
    """Letters reaching out of a figure right beside text are the line's."""
    left, top, right, bottom = hull(run)
    if box[0] <= left and right <= box[2] and box[1] <= top and bottom <= box[3]:
        return False
    first = run[0]
    near = [g for g in others if min(bottom, g.bottom) - max(top, g.top) > 0.2 * (bottom - top)]
    line = (g for g in near if g.font == first.font and abs(g.size - first.size) + abs(g.base - first.base) < 0.2)
    reach = [*((g, _TOUCHES) for g in near), *((g, _TYPED if g.pitch else _LEVEL) for g in line)]
    return any(max(g.left - right, left - g.right) < sizes * first.size for g, sizes in reach)


def _belongs(run: list[Glyph], box: Bounds) -> bool:
    left, top, right, bottom = hull(run)
    size = run[0].size
    beside = right - left < 2.2 * size and box[1] < (top + bottom) / 2 < box[3]
    reach = (box[0] - 1.2 * size, box[1], box[2] + 1.2 * size, box[3]) if beside else box
    if len(run) <= 3 and all(glyph.text.isdecimal() for glyph in run):  # numbers along an axis
        reach = (box[0] - 1.2 * size, box[1] - 0.6 * size, box[2] + 1.2 * size, box[3] + 0.6 * size)
    if not layout.overlaps((left, top, right, bottom), reach, 0.0 if beside else 0.6 * size):
        return False
    shared = max(0.0, min(right, box[2]) - max(left, box[0])) * max(0.0, min(bottom, box[3]) - max(top, box[1]))
    inside = shared > 0.5 * (right - left) * (bottom - top)
    if not inside and right - left > 3.2 * run[0].size:
        return False
    label = _ANCHOR.match("".join(glyph.text for glyph in run))
    return not label or (inside and left > box[0] + 0.1 * (box[2] - box[0]))


def table_lines(table: PageTable, glyphs: Sequence[Glyph], rules: Sequence[Rule]) -> list[TextLine]:
    """Rows of a table, cells divided by tabs; a merged cell's text stands in its first."""
    cells: dict[tuple[int, int], list[Glyph]] = {}
    for glyph in glyphs:
        cells.setdefault(table.cell_of(glyph), []).append(glyph)
    own_rules = {cell: [rule for rule in rules if table.cell_of(rule) == cell] for cell in cells}
    read = {cell: lines_of(inside, own_rules[cell]) for cell, inside in cells.items()}
    lines = []
    for row in range(len(table.ys) - 1):
        own = {cell[1]: read[cell] for cell in read if cell[0] == row}
        box = (table.box[0], table.ys[row], table.box[2], table.ys[row + 1])
        for some in _rows_without_rules(table, row, own) or [own]:
            cell_texts = (" ".join(line.text for line in some.get(at, ())) for at in range(len(table.xs) - 1))
            printed = [line for at in sorted(some) for line in some[at]]
            whole = all(line.sound for line in printed)
            shown = tuple(box for line in printed for box in line.shown)
            other = ", ".join(line.other for line in printed if line.other)
            size = printed[0].size if printed else 0.0
            lines.append(TextLine("\t".join(cell_texts), box, size, box[3], False, whole, other=other, shown=shown))
    return lines


def _rows_without_rules(
    table: PageTable, row: int, cells: Mapping[int, list[TextLine]]
) -> list[dict[int, list[TextLine]]]:
    """The lines of a row as rows of their own, if they are level in several cells."""
    many = max(map(len, cells.values()), default=0)
    full = [lines for lines in cells.values() if len(lines) == many]
    if many < 2 or len(full) < 2 or any(cell[0] > row and home[0] == row for cell, home in table.merged.items()):
        return []
    bases = [line.base for line in full[0]]
    scripted = min(below - base for base, below in pairwise(bases)) < 1.1 * max(line.size for line in full[0])
    rows: list[dict[int, list[TextLine]]] = [{} for _ in bases]
    wraps = [column for column, lines in cells.items() if _may_wrap(table, (row, column), lines)]
    listed = sum(len(lines) == many and column not in wraps for column, lines in cells.items())
    if scripted or (wraps and (many < _LISTED or not listed)):
        return []
    for column, lines in cells.items():
        for line in lines:
            at = min(range(many), key=lambda place: abs(bases[place] - line.base))
            if abs(bases[at] - line.base) > 0.4 * line.size or column in rows[at]:
                return []
            rows[at][column] = [line]
    return rows


_LETTER: Final = re.compile(r"[^\W\d_]")
_LISTED: Final = 4
"""Level lines of a column that is no wrapped text and of others: rows."""


def _may_wrap(table: PageTable, cell: tuple[int, int], lines: Sequence[TextLine]) -> bool:
    edge = max(table.xs[at + 1] for (_, at), home in table.merged.items() if home == cell)
    several = len(lines) > 1 and any(" " in line.text or ideographic(line.text[:1]) for line in lines)
    if len({len(line.text.split()) for line in lines}) == 1 and not any(_LETTER.search(line.text) for line in lines):
        return False  # rows of numbers
    return several and all(line.box[2] + _first_word(below) > edge for line, below in pairwise(lines))


def _first_word(line: TextLine) -> float:
    letters = 1 if ideographic(line.text[:1]) else len(line.text.split(" ")[0])
    return (line.box[2] - line.box[0]) * letters / max(1, len(line.text)) + line.size / 2
