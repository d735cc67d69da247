"""A page with a sound text layer, as blocks in reading order.

Contract: `blocks_of` takes what `glyphs.read` gave and finds figures, tables and running text; letters inside a figure
stay with it, as its lines. `sound` says whether a text layer can be believed at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from livek12.dataset_builders.ingest import layout
from livek12.dataset_builders.ingest.assemble import Crop, Piece, Sheet, assembled, centre
from livek12.dataset_builders.ingest.blocks import Block
from livek12.dataset_builders.ingest.geometry import Bounds, Rule, Shape
from livek12.dataset_builders.ingest.glyphs import Glyph, RawPage
from livek12.dataset_builders.ingest.mathlines import TextLine, lines_of

_ANCHOR: Final = re.compile(r"[①-⑳㉑-㉟]|[A-H]\s*[.．、)]|\(?\d{1,2}\s*[.．、)]")
LARGEST: Final = 200
"""Points: what is set bigger is a watermark."""


def sound(raw: RawPage) -> bool:
    """Whether the text layer says what is printed: letters, and of scripts that go together."""
    letters = [glyph for glyph in raw.glyphs if glyph.text.strip()]
    if not letters:
        return not any(shape.kind == "image" and _covers(shape, raw) for shape in raw.shapes)
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


def blocks_of(raw: RawPage, number: int, crop: Crop, before: float | None = None) -> tuple[list[Block], float | None]:
    """The blocks of a page, and where its columns part (for the next page)."""
    found = layout.find(raw)
    glyphs = [glyph for glyph in raw.glyphs if glyph.size < LARGEST]
    pieces, glyphs = _labels(found.figures, glyphs)
    for table in found.tables:
        inside = [glyph for glyph in glyphs if layout.contains(table.box, *centre(glyph))]
        glyphs = [glyph for glyph in glyphs if not layout.contains(table.box, *centre(glyph))]
        pieces.append(Piece("table", table.box, table_lines(table, inside, found.rules)))
    sheet = Sheet(
        number, raw.width, raw.height, "text_layer", glyphs, pieces, found.rules, found.frames, found.dividers
    )
    return assembled(sheet, crop, before)


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
            if id(run[0]) not in taken and _belongs(run, box):
                taken.update(id(glyph) for glyph in run)
                inside += run
        whole = layout.around([box, *((g.left, g.top, g.right, g.bottom) for g in inside)])
        pieces.append(Piece("figure", whole, lines_of(inside, [])))
    return pieces, [glyph for glyph in glyphs if id(glyph) not in taken]


def _belongs(run: list[Glyph], box: Bounds) -> bool:
    """Whether a run of letters stands in a figure, or is a short one that touches it."""
    left, top, right, bottom = layout.around([(g.left, g.top, g.right, g.bottom) for g in run])
    size = run[0].size
    beside = right - left < 2.2 * size and box[1] < (top + bottom) / 2 < box[3]
    reach = (box[0] - 1.2 * size, box[1], box[2] + 1.2 * size, box[3]) if beside else box
    if not layout.overlaps((left, top, right, bottom), reach, 0.0 if beside else 0.6 * size):
        return False
    shared = max(0.0, min(right, box[2]) - max(left, box[0])) * max(0.0, min(bottom, box[3]) - max(top, box[1]))
    inside = shared > 0.5 * (right - left) * (bottom - top)
    if not inside and right - left > 3.2 * run[0].size:
        return False
    label = _ANCHOR.match("".join(glyph.text for glyph in run))
    return not label or (inside and left > box[0] + 0.1 * (box[2] - box[0]))


def table_lines(table: layout.Table, glyphs: Sequence[Glyph], rules: Sequence[Rule]) -> list[TextLine]:
    """Rows of a table, cells divided by tabs; a merged cell's text stands in its first."""
    cells: dict[tuple[int, int], list[Glyph]] = {}
    for glyph in glyphs:
        cells.setdefault(layout.cell_of(table, glyph), []).append(glyph)
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
