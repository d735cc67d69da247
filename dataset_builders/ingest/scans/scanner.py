"""Scanned pages as blocks.

Contract: a `Scanner` serves one paper. Boxes are of the straightened picture.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from PIL.Image import Image as Picture

from livek12.core.records import Language
from livek12.dataset_builders.ingest.pages import layout
from livek12.dataset_builders.ingest.pages.assemble import Piece, Sheet, assembled
from livek12.dataset_builders.ingest.pages.blocks import Block
from livek12.dataset_builders.ingest.pages.formulas import lines_of
from livek12.dataset_builders.ingest.pages.geometry import Bounds, Rule, around
from livek12.dataset_builders.ingest.pages.glyphs import AXIS, Glyph, RawPage
from livek12.dataset_builders.ingest.pages.pdf import png
from livek12.dataset_builders.ingest.pages.text_layer import table_lines
from livek12.dataset_builders.ingest.scans import ocr, scan
from livek12.dataset_builders.ingest.scans.formulas import formulas
from livek12.dataset_builders.ingest.scans.scan import Dark, Read, line_height


def tables(dark: Dark, reads: Sequence[Read], letter: float, points: float) -> tuple[list[Piece], list[Bounds]]:
    """Tables of a page, and their boxes in pixels; a pixel has `points`."""
    flat = scan.bars(dark, int(3 * letter))
    upright = [Rule(rule.top, rule.left, rule.bottom, rule.right) for rule in scan.bars(dark.T, int(1.3 * letter))]
    if len(flat) < 2 or len(upright) < 2:
        return [], []
    tall, wide = dark.shape
    cells = [_glyph(read, letter, points) for read in reads]
    raw = RawPage(wide * points, tall * points, cells)
    raw.rules = [Rule(*_scaled(rule.box, points)) for rule in (*flat, *upright)]
    pieces: list[Piece] = []
    grid = layout.find(raw)
    for table in (*grid.tables, *grid.asked):
        inside = [g for g in raw.glyphs if layout.contains(table.box, *g.centre)]
        pieces.append(Piece("table", table.box, table_lines(table, inside, [])))
    return pieces, [_scaled(piece.box, 1 / points) for piece in pieces]


DPI: Final = 150
_LABEL: Final = re.compile(r"[A-H][.．、)]|[①-⑳]|[(（]?\d{1,2}[.．、)）]")
_TALL: Final = 1.5
"""Heights to a width from which several letters run up or down the page."""
POOR: Final = 0.8
"""Mean confidence below which a page may lie upside down."""


class Scanner:
    """Reads the pictures of one paper's pages."""

    def __init__(self, language: Language | None) -> None:
        """Loads nothing yet; without a language the first page's script decides."""
        self.language = language
        self._reader: ocr.Reader | None = None
        self._middle: float | None = None

    def page(self, picture: Picture, number: int, dpi: float) -> tuple[Picture, list[Block], list[str]]:
        """The upright picture, its blocks, and notes; UserError if an engine is not installed."""
        picture, reads, notes = self._read(picture)
        sheet = _sheet(picture, reads, number, 72 / dpi)

        def crop(box: Bounds) -> bytes:
            margin = 0.01 * sheet.width
            edges = (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin)
            left, top, right, bottom = (max(0, round(value * dpi / 72)) for value in edges)
            return png(picture.crop((left, top, min(picture.width, right), min(picture.height, bottom))))

        blocks, self._middle = assembled(sheet, crop, self._middle)
        lines = ([replace(line, text=formulas(line.text)) for line in block.lines] for block in blocks)
        return picture, [replace(block, lines=own) for block, own in zip(blocks, lines, strict=True)], notes

    def _read(self, picture: Picture) -> tuple[Picture, list[Read], list[str]]:
        """The picture upright and level, its text, and notes; turned further while it reads badly."""
        sideways = scan.sideways(scan.ink(scan.grey(picture)))
        degrees, korean = ocr.orientation(picture) if sideways or self._reader is None else (0, False)
        if degrees is None or (degrees % 180 == 90 and not sideways):
            degrees = 90 if sideways else 0
        turn = degrees  # a page that surely stands upright has a line between its columns that parts it like text
        best: tuple[float, Picture, list[Read], list[str]] = (-1.0, picture, [], [])
        for angle in (turn, (turn + 180) % 360):
            level, askew = scan.straightened(picture.rotate(-angle, expand=True) if angle else picture)
            if self._reader is None:
                korean = not self.language and (korean or ocr.is_korean(level))
                self._reader = ocr.Reader(self.language or ("ko" if korean else "zh"))
            reads = self._reader.read(level)
            letters = sum(len(read.text) for read in reads)
            sure = sum(read.confidence * len(read.text) for read in reads) / letters if letters else 0.0
            notes = [f"turned by {angle} degrees"] * bool(angle)
            notes += [f"straightened by {askew:.1f} degrees"] * bool(askew)
            if sure > best[0] + 0.1:
                best = (sure, level, reads, notes)
            if sure > POOR or not reads or (angle == turn and ocr.is_korean(level)):
                break
        return best[1:]


def _sheet(picture: Picture, reads: list[Read], number: int, points: float) -> Sheet:
    dark = scan.ink(scan.grey(picture))
    letter = line_height([read.box for read in reads])
    pieces, grids = tables(dark, reads, letter, points)
    reads = [read for read in reads if not any(layout.contains(box, *read.centre) for box in grids)]
    regions = layout.whole(scan.drawings(dark, [*(read.box for read in reads), *grids], letter))
    drawn = [box for box in regions if not _text_frame(box, reads)]
    labelled = [around([box, *(run.box for run in reads if _belongs(run, box, letter))]) for box in drawn]
    drawn = layout.whole(labelled)  # parts of a figure may be joined by its labels alone
    rest = reads
    for box in drawn:
        inside = [read for read in rest if _belongs(read, box, letter)]
        rest = [read for read in rest if read not in inside]
        whole = around([box, *(read.box for read in inside)])
        lines = lines_of([_glyph(read, letter, points) for read in inside], [])
        pieces.append(Piece("figure", _scaled(whole, points), lines))
    bars = scan.bars(dark, max(8, int(0.45 * letter)))
    free = [bar.box for bar in bars if not any(layout.overlaps(bar.box, region) for region in (*drawn, *grids))]
    rules = [Rule(*_scaled(box, points)) for box in free]
    glyphs = [_glyph(read, letter, points) for read in rest]
    return Sheet(number, picture.width * points, picture.height * points, "ocr", glyphs, pieces, rules, [], [])


def _belongs(read: Read, box: Bounds, letter: float) -> bool:
    """A text in a drawing, or a short label that touches it."""
    if layout.contains(box, *read.centre):
        return True
    short = len(read.text) <= 3 and not _LABEL.match(read.text)
    return short and layout.overlaps(read.box, box, 0.5 * letter)


def _scaled(box: Bounds, points: float) -> Bounds:
    return (box[0] * points, box[1] * points, box[2] * points, box[3] * points)


def _glyph(read: Read, letter: float, points: float) -> Glyph:
    """A run as one glyph; ordinary runs count as equally big."""
    size = 0.75 * (letter if 0.6 * letter < read.height < 1.4 * letter else read.height) * points
    left, top, right, bottom = _scaled(read.box, points)
    base = (top + bottom) / 2 + AXIS * size
    upright = len(read.text) == 1 or read.height < _TALL * read.width
    return Glyph(
        read.text, left, top, right, bottom, base, size, right, "", confidence=read.confidence, upright=upright
    )


def _text_frame(box: Bounds, reads: list[Read]) -> bool:
    inside = [read for read in reads if layout.contains(box, *read.centre)]
    covered = sum(read.width * read.height for read in inside)
    return covered > 0.3 * (box[2] - box[0]) * (box[3] - box[1]) and sum(len(read.text) for read in inside) > 25
