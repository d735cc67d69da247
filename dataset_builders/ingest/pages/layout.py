"""Figures, tables and frames of a page, in points from the top left."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from livek12.core.scripts import both_scripts
from livek12.dataset_builders.ingest.pages.geometry import (
    Bounds,
    Placed,
    Rule,
    Shape,
    around,
    chains,
    connected,
    hull,
)
from livek12.dataset_builders.ingest.pages.glyphs import Glyph, RawPage

_NUMBER: Final = both_scripts(r"(?:No\.?|Q|第)?(\d{1,3})[.．、)）题]?", re.IGNORECASE)
_POINTS: Final = re.compile(r"\d{1,2}")
_NARROW, _WIDE, _PAGE = 0.15, 0.5, 0.55
"""Shares: of the grid that its numbers take at most, and what is asked at least; of the page that the grid does."""
_SAME: Final = 3.0
"""Points by which the columns of one grid differ from page to page, at most."""
_SHORTEST: Final = 12
"""Letters of the longest that is asked: the cells of a key have fewer."""


@dataclass(slots=True)
class PageTable:
    """Cells by rules: positions of the lines, and the first cell of each merged group."""

    box: Bounds
    xs: list[float]
    ys: list[float]
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def cell_of(self, ink: Placed) -> tuple[int, int]:
        """The cell a glyph or a rule stands in."""
        row, column = (
            max(0, min(len(lines) - 2, bisect_right(lines, place) - 1))
            for lines, place in zip((self.ys, self.xs), reversed(ink.centre), strict=True)
        )
        return self.merged[row, column]

    def cells(self, glyphs: Sequence[Glyph]) -> dict[tuple[int, int], list[Glyph]]:
        """The letters in each cell that has some."""
        cells: dict[tuple[int, int], list[Glyph]] = {}
        for glyph in glyphs:
            if glyph.text.strip() and contains(self.box, *glyph.centre):
                cells.setdefault(self.cell_of(glyph), []).append(glyph)
        return cells


def is_asked(
    table: PageTable, cells: dict[tuple[int, int], list[Glyph]], width: float, before: Sequence[float] = ()
) -> bool:
    """Checks whether the rows of a grid are questions.

    A grid with the columns of the last one on the page `before` goes on with it, perhaps within a row.
    """
    wide = table.xs[-1] - table.xs[0]
    if len(table.xs) not in (3, 4) or wide < _PAGE * width or table.xs[1] - table.xs[0] > _NARROW * wide:
        return False
    if table.xs[2] - table.xs[1] < _WIDE * wide:
        return False
    numbers: list[int] = []
    goes_on = len(before) == len(table.xs) and all(abs(x - y) < _SAME for x, y in zip(before, table.xs, strict=True))
    longest = _SHORTEST if goes_on else 0
    for row in range(len(table.ys) - 1):
        label = _text(cells.get((row, 0), ()))
        if number := _NUMBER.fullmatch(label):
            numbers.append(int(number[1]))
            longest = max(longest, len(_text(cells.get((row, 1), ()))))
        elif label and row and table.merged[row, 1] != (row, 0):
            return False  # only the first row may name the columns, and a title go over them
    return longest >= _SHORTEST and all(later == earlier + 1 for earlier, later in pairwise(numbers))


def dissolve(table: PageTable, glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Turns a grid of questions into running text: numbers and points stand first in their rows, as on other papers."""
    gone: set[int] = set()
    cells = table.cells(glyphs)
    for row in range(len(table.ys) - 1):
        question, inside = cells.get((row, 1)), cells.get((row, 0), [])
        number = _NUMBER.fullmatch(_text(inside))
        if not question or not number:
            continue
        worth = [cells.get((row, column), []) for column in range(2, len(table.xs) - 1)]
        worth = [cell for cell in worth if _POINTS.fullmatch(_text(cell))]
        inside.sort(key=lambda glyph: glyph.left)
        edge = min(glyph.left for glyph in question)
        first = min((g for g in question if g.left < edge + g.size), key=lambda glyph: glyph.base)
        digit, down = inside[0], first.base - inside[0].base
        digit.text = f"{number[1]}．" + "".join(f"[{_text(cell)} points]" for cell in worth)
        digit.base, digit.right = first.base, inside[-1].right
        digit.top, digit.bottom = digit.top + down, digit.bottom + down
        gone.update(id(glyph) for cell in (inside[1:], *worth) for glyph in cell)
    return [glyph for glyph in glyphs if id(glyph) not in gone]


def _text(glyphs: Sequence[Glyph]) -> str:
    return "".join(glyph.text for glyph in sorted(glyphs, key=lambda glyph: glyph.left)).strip()


_MEET: Final = 2.6
"""Points: lines that come closer than this meet."""
_FEWEST, _GRID, _CORNERS = 3, 5, 4
"""Lines of the smallest sketch, and of one whose lines are all equally long: a box is none; corners of the latter."""
_CLOSED: Final = 0.8
"""Share of each side of a table that is drawn."""
_FULL, _LABELLED = 0.35, 0.06
"""Share of a sketch, and of one of few lines, that letters cover, at most: what has more is a form."""
Cells = Mapping[tuple[int, int], tuple[int, int]]


def is_grid(xs: Sequence[float], ys: Sequence[float], merged: Cells, rules: Sequence[Rule]) -> bool:
    """Checks whether lines make a table: closed on all sides, each cell, also a merged one, a rectangle."""
    parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for cell, home in merged.items():
        parts.setdefault(home, []).append(cell)
    for cells in parts.values():
        rows, columns = ({cell[axis] for cell in cells} for axis in (0, 1))
        if len(cells) != (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1):
            return False
    flat = [(rule.left, rule.right, (rule.top + rule.bottom) / 2) for rule in rules if rule.flat]
    upright = [(rule.top, rule.bottom, (rule.left + rule.right) / 2) for rule in rules if not rule.flat]
    level = all(_is_drawn(flat, y, xs[0], xs[-1]) >= _CLOSED for y in (ys[0], ys[-1]))
    return level and all(_is_drawn(upright, x, ys[0], ys[-1]) >= _CLOSED for x in (xs[0], xs[-1]))


def _is_drawn(lines: Sequence[tuple[float, float, float]], place: float, first: float, last: float) -> float:
    at, covered = first, 0.0
    for start, end, across in sorted(lines):
        if abs(across - place) < 3 and end > at:
            covered += max(0.0, min(end, last) - max(start, at))
            at = max(at, end)
    return covered / (last - first)


def is_sketch(rules: Sequence[Rule], letters: Sequence[Bounds], size: float) -> bool:
    """Checks whether neighbouring lines make a drawing."""
    upright = [rule for rule in rules if not rule.flat]
    flat = [rule for rule in rules if rule.flat]
    corners = sum(meet(line, other) for line in upright for other in flat)
    gridded = _are_even([(r.left, r.right) for r in flat]) and _are_even([(r.top, r.bottom) for r in upright])
    if not corners or len(rules) < _FEWEST or (gridded and (len(rules) < _GRID or corners < _CORNERS)):
        return False
    left, top, right, bottom = hull(rules)
    if min(right - left, bottom - top) < 2.5 * size:
        return False
    inside = [box for box in letters if left < (box[0] + box[2]) / 2 < right and top < (box[1] + box[3]) / 2 < bottom]
    full = _FULL if len(rules) >= _GRID and corners >= _CORNERS and min(len(upright), len(flat)) > 1 else _LABELLED
    return sum(map(area, inside)) < full * area(hull(rules))


def _are_even(spans: Sequence[tuple[float, float]]) -> bool:
    return all(max(ends) - min(ends) < _SAME for ends in zip(*spans, strict=True))


def meet(upright: Rule, flat: Rule) -> bool:
    """Checks that two lines touch or cross."""
    x, y = (upright.left + upright.right) / 2, (flat.top + flat.bottom) / 2
    return flat.left - _MEET < x < flat.right + _MEET and upright.top - _MEET < y < upright.bottom + _MEET


NEAR: Final = 7.0
"""Points: parts of one drawing stand closer than this."""
MAX_PARTS: Final = 3000
SMALL: Final = 14.0
"""Points: what is smaller both ways is no figure."""


@dataclass(slots=True)
class Found:
    """Non-text of a page; `asked` are grids of questions, whose letters are text, `ground` is under text."""

    figures: list[Bounds] = field(default_factory=list)
    tables: list[PageTable] = field(default_factory=list)
    asked: list[PageTable] = field(default_factory=list)
    frames: list[Bounds] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    dividers: list[Rule] = field(default_factory=list)
    ground: list[Bounds] = field(default_factory=list)


def contains(box: Bounds, x: float, y: float) -> bool:
    """Checks for a point in the box."""
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


_NODE, _GROUND, FEWEST_LETTERS = 0.5, 0.3, 8
"""Shares of a figure that a frame of its own takes, and of a page that a figure's ground does, at most; letters of a
label."""
_MOST_FRAMES: Final = 100


def overlaps(box: Bounds, other: Bounds, slack: float = 0.0) -> bool:
    """Checks whether two boxes come closer than `slack`."""
    across = box[0] - slack < other[2] and other[0] - slack < box[2]
    return across and box[1] - slack < other[3] and other[1] - slack < box[3]


def groups(boxes: Sequence[Bounds], slack: float) -> list[list[int]]:
    """Indices of connected boxes, by a sweep from top to bottom."""

    def near() -> Iterator[tuple[int, int]]:
        active: list[int] = []
        for at in sorted(range(len(boxes)), key=lambda at: boxes[at][1]):
            active = [other for other in active if boxes[other][3] + slack > boxes[at][1]]
            yield from [(at, other) for other in active if overlaps(boxes[at], boxes[other], slack)]
            active.append(at)

    return connected(len(boxes), near())


# ---- figures, tables, frames ----


def find(raw: RawPage, before: Sequence[float] = ()) -> Found:
    """Splits the drawings of a page into figures, tables, frames and free rules; `before` as for `is_asked`."""
    parts = Found()
    raw.rules, raw.shapes = raw.rules[:MAX_PARTS], raw.shapes[:MAX_PARTS]
    body = body_size(raw.glyphs)
    lines = [hull(run) for run in runs(raw.glyphs) if len(run) > FEWEST_LETTERS] if raw.shapes else []
    ground = _ground(raw, lines)
    parts.ground = [shape.box for shape in raw.shapes if id(shape) in ground]
    shapes = [shape for shape in raw.shapes if id(shape) not in ground and _drawn(shape, raw, parts)]
    borders = [*parts.frames, *parts.ground][:_MOST_FRAMES]
    shapes = [shape for shape in shapes if not any(_on_border(shape, frame) for frame in borders)]
    loose = [r for r in _tables(raw, parts, before) if not any(_on_border(r, frame) for frame in borders)]
    drawings = [shape for shape in shapes if shape.kind == "drawing" and not shape.filled]
    strokes = [shape for shape in drawings if any(_parts_cell(shape.box, table) for table in parts.tables)]
    parts.ground += [shape.box for shape in strokes]
    shapes = [shape for shape in shapes if shape not in strokes]
    boxes: list[Bounds] = [shape.box for shape in shapes]
    images = {shape.box for shape in shapes if shape.kind == "image"}
    seeds = len(boxes)
    boxes += [rule.box for rule in loose]
    letters = [glyph.box for glyph in raw.glyphs if glyph.text.strip()]
    for group in groups(boxes, NEAR):
        drawn = [boxes[at] for at in group if at < seeds]
        rules = [loose[at - seeds] for at in group if at >= seeds]
        sketch = _sketch(rules, raw, letters, body)
        drawn += [rule.box for rule in sketch]
        if not drawn:
            parts.rules += rules
            continue
        core = around(drawn)
        members = list(drawn)
        for rule in (rule for rule in rules if rule not in sketch):
            fits = rule.length < 1.6 * max(core[2] - core[0], core[3] - core[1]) + 8
            if fits and overlaps(core, rule.box, NEAR):
                members.append(rule.box)
            else:
                parts.rules.append(rule)
        boxed = _joined(members, lines) if images.issuperset(members) else [around(members)]
        for box in boxed:
            _add_figure(parts, box, len(drawn), raw)
    grounds = [frame for frame in parts.frames if area(frame) < _GROUND * raw.width * raw.height]
    grounds = [frame for frame in grounds if not any(overlaps(frame, line) for line in lines)]
    for _ in range(2):  # nodes of a graph have text in them, and join its lines
        figures = whole(parts.figures, lines)
        nodes = [
            [f for f in parts.frames if overlaps(f, box, 1.0) and (f in grounds or area(f) < _NODE * area(box))]
            for box in figures
        ]
        parts.figures = whole([around([box, *own]) for box, own in zip(figures, nodes, strict=True)], lines)
        joined = [frame for own in nodes for frame in own]
        parts.frames = [frame for frame in parts.frames if frame not in joined]
    return parts


def _on_border(ink: Rule | Shape, frame: Bounds) -> bool:
    left, top, right, bottom = frame
    off = (left - ink.left, top - ink.top, ink.right - right, ink.bottom - bottom)
    return max(off) < _MEET and min(ink.right - left, right - ink.left, ink.bottom - top, bottom - ink.top) < _SAME


def _parts_cell(box: Bounds, table: PageTable) -> bool:
    sides = ((box[0], box[2], table.xs), (box[1], box[3], table.ys))
    return all(any(abs(start - a) + abs(end - b) < _SAME for a, b in pairwise(at)) for start, end, at in sides)


def area(box: Bounds) -> float:
    """In square points."""
    return (box[2] - box[0]) * (box[3] - box[1])


def _sketch(rules: Sequence[Rule], raw: RawPage, letters: Sequence[Bounds], body: float) -> list[Rule]:
    short = [rule for rule in rules if _short(rule, raw)]
    near = ([short[at] for at in group] for group in groups([rule.box for rule in short], NEAR))
    return [rule for parts in near if is_sketch(parts, letters, body) for rule in parts]


def _short(rule: Rule, raw: RawPage) -> bool:
    return rule.length < (0.6 * raw.width if rule.flat else 0.35 * raw.height)


def _ground(raw: RawPage, lines: Sequence[Bounds]) -> set[int]:
    faint = [shape for shape in raw.shapes if shape.faint]
    ground: set[int] = set()
    for group in groups([shape.box for shape in faint], NEAR):
        if any(any(overlaps(faint[at].box, line) for line in lines) for at in group):
            ground |= {id(faint[at]) for at in group}
    return ground


def _drawn(shape: Shape, raw: RawPage, parts: Found) -> bool:
    box, width, height = shape.box, shape.width, shape.height
    step = 1 + len(raw.glyphs) * len(raw.shapes) // 3_000_000
    inside = step * sum(contains(box, *glyph.centre) for glyph in raw.glyphs[::step])
    if width > 0.85 * raw.width and height > 0.6 * raw.height:
        return False
    if max(width, height) < 1.5 or (shape.kind == "image" and min(width, height) < 6):
        return False
    if shape.kind == "frame" or (shape.kind == "drawing" and inside >= 12 and width > 0.2 * raw.width):
        if inside:
            parts.frames.append(box)
            return False
        return width < 0.5 * raw.width and height < 0.5 * raw.height
    return True


def body_size(glyphs: Sequence[Glyph]) -> float:
    """Size of a page's ordinary letters, in points."""
    sizes = sorted(glyph.size for glyph in glyphs if glyph.text.strip())
    return sizes[len(sizes) // 2] if sizes else 10.0


def _add_figure(layout: Found, box: Bounds, parts: int, raw: RawPage) -> None:
    width, height = box[2] - box[0], box[3] - box[1]
    if max(width, height) < SMALL or min(width, height) < 5 or (parts == 1 and width * height < 300):
        return
    clipped = (max(0.0, box[0]), max(0.0, box[1]), min(raw.width, box[2]), min(raw.height, box[3]))
    if clipped[2] - clipped[0] > 4 and clipped[3] - clipped[1] > 4:
        layout.figures.append(clipped)


def _joined(boxes: Sequence[Bounds], lines: Sequence[Bounds]) -> list[Bounds]:
    """One box in place of all, unless it has a line of text that none has and each is big enough."""
    whole = around(boxes)
    apart = (line for line in lines if not any(overlaps(line, box) for box in boxes))
    covers = any(contains(whole, (line[0] + line[2]) / 2, (line[1] + line[3]) / 2) for line in apart)
    big = all(max(box[2] - box[0], box[3] - box[1]) >= SMALL for box in boxes)
    return [*boxes] if covers and big else [whole]


def whole(figures: list[Bounds], lines: Sequence[Bounds] = ()) -> list[Bounds]:
    """Joins overlapping figures without lines of text between them."""
    while True:
        merged = [box for group in groups(figures, 1.0) for box in _joined([figures[at] for at in group], lines)]
        if len(merged) == len(figures):
            return merged
        figures = merged


def _tables(raw: RawPage, parts: Found, before: Sequence[float]) -> list[Rule]:
    loose: list[Rule] = []
    boxes = [rule.box for rule in raw.rules]
    for group in groups(boxes, _MEET):
        rules = [raw.rules[at] for at in group]
        flat = [rule for rule in rules if rule.flat and rule.length > 8]
        upright = [rule for rule in rules if not rule.flat and rule.length > 6]
        tall = [rule for rule in upright if rule.length > 0.35 * raw.height]
        xs, ys = _positions([r.middle for r in upright]), _positions([r.centre[1] for r in flat])
        table = PageTable((xs[0], ys[0], xs[-1], ys[-1]), xs, ys, {}) if min(len(xs), len(ys)) > 1 else None
        if table:
            table.merged = _merge(xs, ys, flat, upright)
            filled = table.cells(raw.glyphs)
            if is_asked(table, filled, raw.width, before):
                parts.asked.append(table)
                before = xs  # the grid of the next section has the same columns, however short what it asks
                continue
        box = around([boxes[at] for at in group])
        parts.dividers += tall
        if not table or area(box) > 0.5 * raw.width * raw.height:
            loose += rules
            continue
        cells, texts = set(table.merged.values()), len(filled)
        own = around([rule.box for rule in rules if _short(rule, raw)] or [box])
        hugs = max(xs[0] - own[0], own[2] - xs[-1], ys[0] - own[1], own[3] - ys[-1]) < NEAR
        odd = len(cells) < 9 or texts < 0.6 * len(cells)  # a big table may have steps in its outline
        torn = len(cells) > 1 and odd and not is_grid(xs, ys, table.merged, rules)
        if not texts or torn or (len(cells) == 1 and not hugs):
            loose += rules
        elif len({column for _, column in cells}) > 1:
            parts.tables.append(table)
            parts.dividers = [rule for rule in parts.dividers if rule not in tall]  # they part cells
        else:
            parts.frames.append(box)
    return loose


def _positions(values: list[float]) -> list[float]:
    return [first for first, *_ in chains(sorted(values), lambda near, value: value - near[0] <= 3.0)]


def _merge(
    xs: list[float], ys: list[float], flat: list[Rule], upright: list[Rule]
) -> dict[tuple[int, int], tuple[int, int]]:
    across, down = len(xs) - 1, len(ys) - 1

    def open_sides() -> Iterator[tuple[int, int]]:
        for at in range(across * down):
            row, column = divmod(at, across)
            x, y = (xs[column] + xs[column + 1]) / 2, (ys[row] + ys[row + 1]) / 2
            beside = (r for r in upright if abs(r.middle - xs[column + 1]) < 3 and r.top - 1 <= y <= r.bottom + 1)
            below = (r for r in flat if abs(r.centre[1] - ys[row + 1]) < 3 and r.left - 1 <= x <= r.right + 1)
            yield from [(at, at + 1)] * (column + 1 < across and not any(beside))
            yield from [(at, at + across)] * (row + 1 < down and not any(below))

    groups = connected(across * down, open_sides())
    return {divmod(at, across): divmod(group[0], across) for group in groups for at in group}


def runs(glyphs: Sequence[Glyph], gap: float = 0.9) -> list[list[Glyph]]:
    """Letters with less than `gap` letter sizes between them; by default the words of a line are together."""

    def goes_on(run: list[Glyph], glyph: Glyph) -> bool:
        near = -2 * glyph.size < glyph.left - run[-1].right < gap * glyph.size
        return near and abs(run[-1].base - glyph.base) < 4

    letters = sorted((g for g in glyphs if g.text.strip()), key=lambda g: (round(g.base / 3), g.left))
    return chains(letters, goes_on)
