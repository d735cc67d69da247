"""A page with a sound text layer, as blocks in reading order.

Contract: `blocks_of` takes what `glyphs.read` gave and finds figures, tables and running text; letters inside a figure
stay with it, as its lines. `sound` says whether a text layer can be believed at all. `name_brackets` tells tall
brackets from their shape where their font does not say what they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from livek12.dataset_builders.ingest import layout, marks, pdf
from livek12.dataset_builders.ingest.asked import PageTable, dissolve
from livek12.dataset_builders.ingest.assemble import Crop, Piece, Sheet, assembled, box_of, centre
from livek12.dataset_builders.ingest.blocks import Block, Box
from livek12.dataset_builders.ingest.geometry import Bounds, Rule, Shape
from livek12.dataset_builders.ingest.glyphs import Glyph, RawPage
from livek12.dataset_builders.ingest.mathlines import TextLine, lines_of

if TYPE_CHECKING:
    import numpy as np

    from livek12.dataset_builders.ingest.sight import Sight

_BRACKET_DPI: Final = 360
_MOST_BRACKETS: Final = 400
_ANCHOR: Final = re.compile(r"[①-⑳㉑-㉟]|[A-H]\s*[.．、)]|\(?\d{1,2}\s*[.．、)]")
_DRAWN: Final = 100
"""A page without letters and with more drawings than these has its text as outlines."""
LARGEST: Final = 200
"""Points: what is set bigger is a watermark."""


def sound(raw: RawPage) -> bool:
    """Whether the text layer says what is printed: letters, and of scripts that go together."""
    letters = [glyph for glyph in raw.glyphs if glyph.text.strip()]
    if not letters:
        drawn = sum(shape.kind == "drawing" for shape in raw.shapes) > _DRAWN
        return not drawn and not any(shape.kind == "image" and _covers(shape, raw) for shape in raw.shapes)
    if raw.hidden > 0.5 * len(letters):
        return False
    lost = sum(1 for glyph in letters if not glyph.sound)
    odd = sum(1 for glyph in letters if glyph.sound and _odd(glyph.text))
    return lost < 0.3 * len(letters) and odd < 0.25 * len(letters)


def turned(raw: RawPage) -> int:
    """By how many degrees (0, 90, 180, 270) a page is to be turned clockwise for its text to run from left to right."""
    letters = [glyph for glyph in raw.glyphs if glyph.text.strip()]
    steps = [(b.left - a.left, b.top - a.top) for a, b in pairwise(letters) if _next_to(a, b)]
    ways = {0: 0, 90: 0, 180: 0, 270: 0}
    for along, down in steps:
        upright = abs(along) >= abs(down)
        ways[(0 if along > 0 else 180) if upright else (270 if down > 0 else 90)] += 1
    way = max(ways, key=lambda way: ways[way])
    return way if len(steps) > 10 and ways[way] > 0.6 * len(steps) else 0


def _next_to(one: Glyph, other: Glyph) -> bool:
    return max(abs(other.left - one.left), abs(other.top - one.top)) < 2 * max(one.size, other.size)


def _covers(shape: Shape, raw: RawPage) -> bool:
    return (shape.right - shape.left) * (shape.bottom - shape.top) > 0.5 * raw.width * raw.height


def _odd(text: str) -> bool:
    """Letters that papers do not use and wrong encodings are full of."""
    code = ord(text[0])
    return 0xA8 <= code <= 0x17F and unicodedata.category(text[0])[0] in "LSP" and text[0] not in "°±·×÷§®©«»´"


@dataclass(frozen=True)
class Reading:
    """What was read of a page.

    Attributes:
        blocks: in reading order.
        middle: where its columns part, for the next page.
        grid: where the columns of its last grid of questions part, for the next page; empty without one.
        loose: boxes of ink, as fractions of the page, that is in no block.
    """

    blocks: list[Block] = field(default_factory=list)
    middle: float | None = None
    grid: Sequence[float] = ()
    loose: list[Box] = field(default_factory=list)


def blocks_of(raw: RawPage, number: int, crop: Crop, before: Reading, seen: Sight | None = None) -> Reading:
    """The blocks of a page.

    Args:
        raw: what stands on it.
        number: of the page.
        crop: cuts out a picture.
        before: what the page before says of its columns and grids; an empty one where there is none.
        seen: the page as it is printed, to tell what was not read.
    """
    size = layout.body_size(raw.glyphs)
    drawn = marks.read_drawn(raw, size)
    found = layout.find(raw, before.grid)
    marks.name_numbers(raw, found.frames)
    for box in marks.in_lines(found.figures, raw.glyphs, size):
        found.figures.remove(box)
        if not any(layout.contains(box, *centre(glyph)) for glyph in raw.glyphs):
            raw.glyphs.append(marks.unread(box, raw.glyphs, size))
    unread = seen.unexplained(raw.glyphs, [*drawn, *_explained(raw, found)]) if seen else []
    glyphs = [glyph for glyph in raw.glyphs if glyph.size < LARGEST]
    for grid in found.asked:
        glyphs = dissolve(grid, glyphs)
    pieces, glyphs = _labels(found.figures, glyphs)
    for table in found.tables:
        inside = [glyph for glyph in glyphs if layout.contains(table.box, *centre(glyph))]
        glyphs = [glyph for glyph in glyphs if not layout.contains(table.box, *centre(glyph))]
        pieces.append(Piece("table", table.box, table_lines(table, inside, found.rules)))
    sheet = Sheet(
        number, raw.width, raw.height, "text_layer", glyphs, pieces, found.rules, found.frames, found.dividers, unread
    )
    blocks, middle = assembled(sheet, crop, before.middle)
    loose = [layout.around([sheet.unread[at] for at in group]) for group in layout.groups(sheet.unread, layout.NEAR)]
    last = max((grid.box[3], grid.xs) for grid in found.asked)[1] if found.asked else ()
    return Reading(blocks, middle, last, [box_of(box, sheet) for box in loose])


def _explained(raw: RawPage, found: layout.Found) -> list[Bounds]:
    """What ink needs no letter: figures, lines, the borders of frames, outlines and grounds around letters."""
    boxes = [*found.figures, *((rule.left, rule.top, rule.right, rule.bottom) for rule in raw.rules)]
    boxes += marks.enclosing(raw.shapes, raw.glyphs)
    grounds = {shape.box for shape in raw.shapes if shape.filled}
    for left, top, right, bottom in found.frames:
        if (left, top, right, bottom) in grounds:
            boxes.append((left, top, right, bottom))
        boxes += [
            (left, top, right, top),
            (left, bottom, right, bottom),
            (left, top, left, bottom),
            (right, top, right, bottom),
        ]
    return boxes


# ---- figures and tables ----


def _labels(figures: list[Bounds], glyphs: list[Glyph]) -> tuple[list[Piece], list[Glyph]]:
    """Letters in and at a figure belong to it; labels of options never do."""
    if not figures:
        return [], glyphs
    runs = layout.runs(glyphs, 0.9)
    pieces: list[Piece] = []
    taken: set[int] = set()
    for box in figures:
        inside: list[Glyph] = []
        for run in runs:
            if id(run[0]) not in taken and _belongs(run, box) and not _set_with(run, box, glyphs):
                taken.update(id(glyph) for glyph in run)
                inside += run
        whole = layout.around([box, *((g.left, g.top, g.right, g.bottom) for g in inside)])
        pieces.append(Piece("figure", whole, lines_of(inside, [])))
    return pieces, [glyph for glyph in glyphs if id(glyph) not in taken]


def _set_with(run: list[Glyph], box: Bounds, glyphs: Sequence[Glyph]) -> bool:
    """Whether letters that reach out of a figure are set right beside text out of it: an index below a line is its."""
    left, top, right, bottom = layout.around([(g.left, g.top, g.right, g.bottom) for g in run])
    if box[0] <= left and right <= box[2] and box[1] <= top and bottom <= box[3]:
        return False
    own = set(map(id, run))
    near = 0.3 * run[0].size
    return any(
        id(g) not in own
        and g.text.strip()
        and max(g.left - right, left - g.right) < near
        and min(bottom, g.bottom) - max(top, g.top) > 0.2 * (bottom - top)
        and not layout.contains(box, *centre(g))
        for g in glyphs
    )


def _belongs(run: list[Glyph], box: Bounds) -> bool:
    """Whether a run of letters stands in a figure, or is a short one that touches it."""
    left, top, right, bottom = layout.around([(g.left, g.top, g.right, g.bottom) for g in run])
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
    texts = {cell: " ".join(line.text for line in lines_of(inside, rules)) for cell, inside in cells.items()}
    lines = []
    for row in range(len(table.ys) - 1):
        columns = range(len(table.xs) - 1)
        text = "\t".join(texts.get((row, at), "") if table.merged[row, at] == (row, at) else "" for at in columns)
        inside = [glyph for cell, some in cells.items() if cell[0] == row for glyph in some]
        box = (table.box[0], table.ys[row], table.box[2], table.ys[row + 1])
        size = inside[0].size if inside else 0.0
        lines.append(TextLine(text, box, size, box[3], False, all(glyph.sound for glyph in inside)))
    return lines


def name_brackets(page: Any, raw: RawPage) -> None:
    """Names, in place, the tall brackets whose font does not say what they are; what is not clear stays unsound.

    Fonts for formulas stretch these signs and give no Unicode for them.
    """
    tall = [
        g
        for g in raw.glyphs
        if not g.sound and g.bottom - g.top > 1.15 * g.size and g.right - g.left < 0.75 * (g.bottom - g.top)
    ]
    if not tall:
        return
    import numpy as np

    for glyph in tall[:_MOST_BRACKETS]:
        box = (glyph.left - 0.2, glyph.top - 0.2, glyph.right + 0.2, glyph.bottom + 0.2)
        picture = pdf.drawn(page, _BRACKET_DPI, box).convert("L")
        text = _bracket(np.asarray(picture) < 140)
        if text:
            glyph.text, glyph.sound, glyph.math = text, True, True


def _bracket(ink: np.ndarray[Any, Any]) -> str:
    """The bracket a picture shows; "" where it is not clear.

    Args:
        ink: rows of a picture, true where it is black.
    """
    import numpy as np

    rows = np.flatnonzero(ink.any(axis=1))
    columns = np.flatnonzero(ink.any(axis=0))
    if len(rows) < 20 or not len(columns):
        return ""
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = ink.shape
    filled = ink.any(axis=1)
    if filled.mean() < 0.97:
        return ""
    x = np.arange(width)
    centres = np.array([x[row].mean() if row.any() else np.nan for row in ink])
    if width < 0.1 * height and ink.mean() > 0.6:
        return "|"

    def at(share: float) -> float:
        one = int(share * (height - 1))
        here: float = np.nanmean(centres[max(0, one - 1) : one + 2]) / max(1, width - 1)
        return here

    end, quarter, inner, middle = (at(0.03) + at(0.97)) / 2, (at(0.25) + at(0.75)) / 2, (at(0.4) + at(0.6)) / 2, at(0.5)
    if abs(at(0.03) - at(0.97)) > 0.3 or abs(at(0.25) - at(0.75)) > 0.25:
        return ""
    ends = (ink[: max(1, height // 40)].any(axis=0).mean() + ink[-max(1, height // 40) :].any(axis=0).mean()) / 2
    if abs(middle - quarter) < 0.06 and abs(inner - middle) < 0.06 and ends > 0.7 and abs(end - middle) > 0.12:
        return "[" if end > middle else "]"
    turn = abs(middle - quarter)
    if turn > 0.18 and abs(inner - quarter) < 0.6 * turn and (end - quarter) * (quarter - middle) > 0:
        return "{" if quarter > middle else "}"
    if abs(end - middle) > 0.35 and (end - quarter) * (quarter - middle) > 0 and abs(inner - middle) < 0.15:
        return "(" if end > middle else ")"
    return ""
