"""Tables of a scanned page: lines that cross in a grid, and what was read in its cells.

Contract: `tables` gives a piece for each grid with text in it; what was read across several cells is parted at their
lines. Boxes go in as pixels and come out as points.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from livek12.dataset_builders.ingest import layout, scan
from livek12.dataset_builders.ingest.assemble import Piece
from livek12.dataset_builders.ingest.geometry import Bounds, Rule
from livek12.dataset_builders.ingest.glyphs import Glyph, RawPage
from livek12.dataset_builders.ingest.ocrread import Read
from livek12.dataset_builders.ingest.text_layer import table_lines

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.scan import Dark


def tables(
    dark: Dark, reads: Sequence[Read], letter: float, points: float, glyph: Callable[[Read], Glyph]
) -> tuple[list[Piece], list[Bounds]]:
    """The tables of a page, and their boxes in pixels.

    Args:
        dark: where there is ink.
        reads: what was read.
        letter: height of a line of text, in pixels.
        points: that a pixel has.
        glyph: a run of text as one glyph.
    """
    flat = scan.bars(dark, int(3 * letter))
    upright = [Rule(rule.top, rule.left, rule.bottom, rule.right) for rule in scan.bars(dark.T, int(1.3 * letter))]
    if len(flat) < 2 or len(upright) < 2:
        return [], []
    parts = [part for read in reads for part in _parted(read, upright)]
    tall, wide = dark.shape
    raw = RawPage(wide * points, tall * points, [glyph(part) for part in parts])
    raw.rules = [
        Rule(rule.left * points, rule.top * points, rule.right * points, rule.bottom * points)
        for rule in (*flat, *upright)
    ]
    pieces: list[Piece] = []
    found = layout.find(raw)
    for table in (*found.tables, *found.asked):
        inside = [g for g in raw.glyphs if layout.contains(table.box, (g.left + g.right) / 2, (g.top + g.bottom) / 2)]
        pieces.append(Piece("table", table.box, table_lines(table, inside, [])))
    boxes = [(a / points, b / points, c / points, d / points) for a, b, c, d in (piece.box for piece in pieces)]
    return pieces, boxes


def _parted(read: Read, upright: Sequence[Rule]) -> list[Read]:
    """A run of text, cut where a line of the grid goes through it."""
    left, top, right, bottom = read.box
    middle = (top + bottom) / 2
    cuts = sorted((rule.left + rule.right) / 2 for rule in upright if rule.top < middle < rule.bottom)
    cuts = [cut for cut in cuts if left + 2 < cut < right - 2]
    if not cuts or len(read.places) != len(read.text):
        return [read]
    done = []
    for start, end in zip([left, *cuts], [*cuts, right], strict=True):
        text = "".join(letter for letter, x in zip(read.text, read.places, strict=True) if start <= x < end).strip()
        if text:
            done.append(dataclasses.replace(read, text=text, box=(start, top, end, bottom), places=()))
    return done
