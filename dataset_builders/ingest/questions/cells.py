"""Cells: options beside each other, in the order of their labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from livek12.dataset_builders.ingest.pages.blocks import PICTURE, Block
from livek12.dataset_builders.ingest.questions.labels import GAP, ListLabel, first_label
from livek12.dataset_builders.ingest.questions.stream import Item

_FEWEST, _LEVEL, _CELL = 3, 0.005, 0.03
"""Labels of a list; shares of the page by which lines of a row and left edges of a cell differ."""


def rejoin_columns(items: Sequence[Item], heads: Sequence[int]) -> list[int]:
    """The order of items in which the cells of other columns follow those of the first that they are level with.

    No question begins in it, its lists lack their first label, and each label is level with one of the first column.
    """
    order: list[int] = []
    for _, page in groupby(range(len(items)), key=lambda place: items[place].box.page):
        places = [*page]
        begun = [place for place in heads if place in places]
        labels = [(items[at], label) for at in places if (label := first_label(items[at].text))]
        own = [pair for pair in labels if pair[0].column]
        left = [pair for pair in labels if not pair[0].column]
        if begun and own and not any(items[at].column for at in begun) and all(_follows(*pair, left) for pair in own):
            places.sort(key=lambda place: items[place].box.top + _LEVEL * items[place].column)
        order += places
    return order


def _follows(item: Item, label: ListLabel, left: Sequence[tuple[Item, ListLabel]]) -> bool:
    level = (first for other, first in left if abs(other.box.top - item.box.top) < _LEVEL)
    return any(first.style == label.style and first.rank < label.rank for first in level)


def in_cells(block: Block) -> list[str]:
    """The cells of a table in the order of their labels, if each has the one of a list."""
    cells = [cell.strip() for line in block.lines for cell in line.text.split("\t") if cell.strip()]
    labels = [label for cell in cells if (label := first_label(cell))]
    ranks = [label.rank for label in labels]
    alike = len({label.style for label in labels}) == 1 and sorted(ranks) == list(range(len(cells)))
    whole = alike and len(cells) >= _FEWEST and block.kind == "table" and PICTURE not in "".join(cells)
    return [cell for _, cell in sorted(zip(ranks, cells, strict=True))] if whole else []


def in_label_order(items: Sequence[Item]) -> list[Item]:
    """Items with the cells of each list in the order of their labels."""
    cells = [cell for item in items for cell in _cells(item)]
    begins = [place for place, cell in enumerate(cells) if first_label(cell.text)]
    runs: list[list[int]] = []
    for place in begins:
        label = first_label(cells[place].text)
        last = first_label(cells[runs[-1][0]].text) if runs else None
        if label and last and label.style == last.style and label.rank:
            runs[-1].append(place)
        else:
            runs.append([place])
    for run in runs:
        ranks = [label.rank for place in run if (label := first_label(cells[place].text))]
        if len(run) < _FEWEST or sorted(ranks) != list(range(len(ranks))):
            continue
        level = any(abs(cells[a].box.top - cells[b].box.top) < _LEVEL for a, b in pairwise(run))
        if ranks != sorted(ranks) or (level and run[-1] - run[0] >= len(run)):
            return _sorted(cells, run, ranks)
    return list(items)


def _cells(item: Item) -> list[Item]:
    """The cells of a line: each begins with a label, or all of them are one."""
    if item.line is None or not GAP.search(item.text):
        return [item]
    pieces: list[tuple[int, str]] = []
    at = 0
    for piece in re.split(rf"({GAP.pattern})", item.text):
        if piece.strip() and (first_label(piece) or not pieces):
            pieces.append((at, piece))
        elif pieces:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + piece)
        at += len(piece)
    if len(pieces) < 2 or not first_label(pieces[0][1]):
        return [item]
    wide = (item.box.right - item.box.left) / max(1, len(item.text))
    boxes = [replace(item.box, left=item.box.left + wide * start) for start, _ in pieces]
    line, pictures = item.line, list(item.line.pictures)
    made = []
    for box, (_, piece) in zip(boxes, pieces, strict=True):
        own = [pictures.pop(0) for _ in range(min(len(pictures), piece.count(PICTURE)))]
        made.append(Item(replace(line, text=piece.strip(), box=box, pictures=own), item.block, box, item.column))
    return made


def _sorted(cells: Sequence[Item], run: Sequence[int], ranks: Sequence[int]) -> list[Item]:
    """Cells by rank, with the lines below each that go on with it."""
    whole: list[list[Item]] = [[cells[place]] for place in run]
    rest: list[Item] = []
    for place in range(run[0], len(cells)):
        if place in run:
            continue
        near = [
            at
            for at, begin in enumerate(run)
            if begin < place and abs(cells[begin].box.left - cells[place].box.left) < _CELL and not rest
        ]
        below = near and cells[place].line and not GAP.search(cells[place].text)
        (whole[near[-1]] if below else rest).append(cells[place])
    by_rank = [items for _, items in sorted(zip(ranks, whole, strict=True), key=lambda pair: pair[0])]
    return [*cells[: run[0]], *(item for items in by_rank for item in items), *rest]
