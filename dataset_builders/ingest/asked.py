"""Grids whose rows are questions: a number, what is asked with its figures and tables, and perhaps its points.

Contract: such a grid is no table of data. `is_asked` tells one by its shape and by what its first cells say; `dissolve`
turns its letters into running text: numbers and points stand on the first line of their rows, with the signs that they
have on papers without a grid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from livek12.dataset_builders.ingest.geometry import Bounds
from livek12.dataset_builders.ingest.glyphs import Glyph

_NUMBER: Final = re.compile(r"(?:No\.?|Q|第)?(\d{1,3})[.．、)）题]?", re.IGNORECASE)
_POINTS: Final = re.compile(r"\d{1,2}")
_NARROW, _WIDE, _PAGE = 0.15, 0.5, 0.55
"""Shares: of the grid that its numbers take at most, and what is asked at least; of the page that the grid does."""
_SAME: Final = 3.0
"""Points by which the columns of one grid differ from page to page, at most."""
_SHORTEST: Final = 12
"""Letters of the longest that is asked: the cells of a key have fewer."""


@dataclass(slots=True)
class PageTable:
    """Cells by rules: positions of the lines, and for each cell which one it is merged into."""

    box: Bounds
    xs: list[float]
    ys: list[float]
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def cell_of(self, glyph: Glyph) -> tuple[int, int]:
        """The cell a glyph stands in."""
        x, y = (glyph.left + glyph.right) / 2, (glyph.top + glyph.bottom) / 2
        column = max(0, min(len(self.xs) - 2, sum(1 for at in self.xs if at <= x) - 1))
        row = max(0, min(len(self.ys) - 2, sum(1 for at in self.ys if at <= y) - 1))
        return self.merged[(row, column)]

    def cells(self, glyphs: Sequence[Glyph]) -> dict[tuple[int, int], list[Glyph]]:
        """The letters in each cell that has some."""
        left, top, right, bottom = self.box
        found: dict[tuple[int, int], list[Glyph]] = {}
        for glyph in glyphs:
            x, y = (glyph.left + glyph.right) / 2, (glyph.top + glyph.bottom) / 2
            if glyph.text.strip() and left <= x <= right and top <= y <= bottom:
                found.setdefault(self.cell_of(glyph), []).append(glyph)
        return found


def is_asked(
    table: PageTable, cells: dict[tuple[int, int], list[Glyph]], width: float, before: Sequence[float] = ()
) -> bool:
    """Whether the rows of a grid are questions.

    Args:
        table: the grid.
        cells: its letters.
        width: of the page, in points.
        before: where the columns of such a grid part at the end of the page before; one with the same columns goes on
            with it, and its first row may be the rest of that page's last.
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
        said = _text(cells.get((row, 0), ()))
        if number := _NUMBER.fullmatch(said):
            numbers.append(int(number[1]))
            longest = max(longest, len(_text(cells.get((row, 1), ()))))
        elif said and row and table.merged[row, 1] != (row, 0):
            return False  # only the first row may name the columns, and a title go over them
    return longest >= _SHORTEST and all(later == one + 1 for one, later in pairwise(numbers))


def dissolve(table: PageTable, glyphs: Sequence[Glyph]) -> list[Glyph]:
    """The letters of a page, with numbers and points of a grid of questions before what their rows ask."""
    gone: set[int] = set()
    cells = table.cells(glyphs)
    for row in range(len(table.ys) - 1):
        asked, inside = cells.get((row, 1)), cells.get((row, 0), [])
        number = _NUMBER.fullmatch(_text(inside))
        if not asked or not number:
            continue
        worth = [cells.get((row, column), []) for column in range(2, len(table.xs) - 1)]
        worth = [cell for cell in worth if _POINTS.fullmatch(_text(cell))]
        inside.sort(key=lambda glyph: glyph.left)
        edge = min(glyph.left for glyph in asked)
        first = min((g for g in asked if g.left < edge + g.size), key=lambda glyph: glyph.base)
        one, down = inside[0], first.base - inside[0].base
        one.text = f"{number[1]}．" + "".join(f"[{_text(cell)} points]" for cell in worth)
        one.base, one.top, one.bottom, one.right = first.base, one.top + down, one.bottom + down, inside[-1].right
        gone.update(id(glyph) for cell in (inside[1:], *worth) for glyph in cell)
    return [glyph for glyph in glyphs if id(glyph) not in gone]


def _text(glyphs: Sequence[Glyph]) -> str:
    return "".join(glyph.text for glyph in sorted(glyphs, key=lambda glyph: glyph.left)).strip()
