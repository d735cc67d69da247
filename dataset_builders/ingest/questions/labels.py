"""Lists of labels, "(a) … (b) …", "A. … B. …", "① … ②": the options, parts and statements of a question.

Contract: a list is complete: one style, from the first name on, each once, in order. Formulas hold no labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from livek12.core.text import CIRCLED
from livek12.dataset_builders.ingest.questions.stream import Item
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import mask_formulas, plain_width

_LABEL = re.compile(
    rf"(?P<ring>[{CIRCLED[:10]}])|(?<!\S)(?:[(（]\s?(?P<in>[A-HＡ-Ｈa-h]|[1-9])\s?[)）]"
    r"|(?P<closed>[A-HＡ-Ｈa-h])\s?[)）]|(?P<dotted>[A-HＡ-Ｈa-h])\s?[.．、])|(?<![^\n])(?P<item>[1-8])[.．](?=\s+\S)"
)
_NAMES = (CIRCLED[:10], "ABCDEFGH", "abcdefgh", "123456789")
_GAP = re.compile(r"\s{3,}|\t")
"""Between the cells of a line."""
_FEWEST, _LEVEL, _CELL = 3, 0.005, 0.03
"""Labels of a list; shares of the page by which lines of a row differ, and the left edges of one cell."""
_LONGEST_WITHIN = 80


@dataclass(frozen=True)
class Label:
    """A label in a text.

    Attributes:
        style: its signs and kind of name.
        rank: from 0.
        start, end: in the text.
        apart: begins a line, or stands behind a wide gap.
    """

    name: str
    style: str
    rank: int
    start: int
    end: int
    apart: bool

    @property
    def is_number(self) -> bool:
        """True for (1) and 1."""
        return self.style[-1] == "3"

    @property
    def keyed_by_number(self) -> bool:
        """True for a name that keys write as a number."""
        return self.style[-1] in "03"


@dataclass(frozen=True)
class LabelList:
    """A complete list: its labels, and the text behind each up to the next."""

    labels: tuple[Label, ...]
    texts: tuple[str, ...]

    @property
    def style(self) -> str:
        """Of all its labels."""
        return self.labels[0].style

    @property
    def start(self) -> int:
        """Place of its first label."""
        return self.labels[0].start

    @property
    def names(self) -> list[str]:
        """As keys name them: ① and (a) are 1 and A."""
        return [plain_label(label.name) for label in self.labels]

    @property
    def begins_line(self) -> bool:
        """True if its first label does."""
        return self.labels[0].apart

    @property
    def is_within_line(self) -> bool:
        """True for a) … b) … c) … that is no longer than options within a line are."""
        short = max(map(len, self.texts)) <= _LONGEST_WITHIN
        return not self.begins_line and self.style.startswith("closed") and short

    @property
    def is_capital(self) -> bool:
        """True for A and ①, which are seldom parts."""
        return self.style[-1] in "01"

    @property
    def is_ring(self) -> bool:
        """True for ①."""
        return self.style[-1] == "0"

    @property
    def is_step(self) -> bool:
        """True for the only kind without a bracket that is a number."""
        return self.style.startswith("item")

    @property
    def is_number(self) -> bool:
        """True for (1) and 1."""
        return self.labels[0].is_number


def labels_of(text: str) -> list[Label]:
    """All labels of a text, at any place."""
    labels = []
    masked = zip(text, mask_formulas(text), strict=True)  # two amounts, ① $100 ② $150, are no formula
    for match in _LABEL.finditer("".join(sign if sign in _NAMES[0] else mask for sign, mask in masked)):
        sign = match.lastgroup or ""
        name = plain_width(match[sign])
        kind = next(place for place, names in enumerate(_NAMES) if name in names)
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        apart = not before.strip() or bool(_GAP.search(before[-3:]))
        if not apart and sign == "dotted" and name.islower():
            continue  # "as in b." ends a sentence
        labels.append(Label(name, f"{sign}{kind}", _NAMES[kind].index(name), match.start(), match.end(), apart))
    return labels


def label_lists(text: str) -> list[LabelList]:
    """The last complete list of each style."""
    by_style: dict[str, list[Label]] = {}
    for label in labels_of(text):
        by_style.setdefault(label.style, []).append(label)
    lists = []
    for labels in by_style.values():
        first = max((place for place, label in enumerate(labels) if not label.rank), default=len(labels))
        run = labels[first:]
        if len(run) >= _FEWEST and [label.rank for label in run] == list(range(len(run))):
            ends = [*(label.start for label in run[1:]), len(text)]
            texts = (text[label.end : end].strip() for label, end in zip(run, ends, strict=True))
            lists.append(LabelList(tuple(run), tuple(texts)))
    return lists


def first_label(text: str) -> Label | None:
    """The label that a line begins with."""
    labels = labels_of(text.lstrip())
    return labels[0] if labels and not labels[0].start else None


def stray_labels(text: str) -> list[str]:
    """Names of labels that begin lines or cells and follow none: the list that they are of is not whole."""
    ranks: dict[str, int] = {}
    stray = []
    for label in labels_of(text):
        last = ranks.get(label.style, -1)
        if label.apart and label.rank > last + 1:
            stray.append(text[label.start : label.end].strip())
        ranks[label.style] = max(last, label.rank)
    return stray


# ---- of items ----


def rejoin_columns(items: Sequence[Item], heads: Sequence[int]) -> list[int]:
    """The order of items in which cells of lists beside each other are read with the question that they are level with.

    A page's second column is one of cells if no question begins in it, each of its lists lacks its first label, and
    each of its labels is level with one in the column before.
    """
    order = list(range(len(items)))
    pages: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        pages.setdefault(item.box.page, []).append(place)
    for places in pages.values():
        for column in sorted({items[place].column for place in places} - {0}):
            own = [place for place in places if items[place].column == column]
            others = [place for place in places if items[place].column < column]
            begun = [place for place in heads if place in others]
            if begun and not {*heads} & {*own} and _are_cells([items[p] for p in own], [items[p] for p in others]):
                order = _with_rows(order, own, begun, items)
    return order


def _are_cells(own: Sequence[Item], others: Sequence[Item]) -> bool:
    labels = [(item, label) for item in own if (label := first_label(item.text))]
    left = [(item, label) for item in others if (label := first_label(item.text))]
    return bool(labels) and all(
        label.rank
        and any(
            abs(other.box.top - item.box.top) < _LEVEL and first.style == label.style and first.rank < label.rank
            for other, first in left
        )
        for item, label in labels
    )


def _with_rows(order: list[int], own: Sequence[int], heads: Sequence[int], items: Sequence[Item]) -> list[int]:
    """Puts each item of a column behind the last of the column before that is level with it or above."""
    rest = [place for place in order if place not in own]
    page = {place for place in rest if items[place].box.page == items[heads[0]].box.page}
    for place in sorted(own, key=lambda place: (items[place].box.top, items[place].box.left)):
        above = [at for at in page if items[at].box.top < items[place].box.top + _LEVEL]
        rest.insert(max((rest.index(at) for at in above), default=rest.index(heads[0]) - 1) + 1, place)
        page.add(place)
    return rest


def in_label_order(items: Sequence[Item]) -> list[Item]:
    """Items with the cells of each list in the order of their labels, which columns may be filled by."""
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
    if item.line is None or not _GAP.search(item.text):
        return [item]
    pieces: list[tuple[int, str]] = []
    at = 0
    for piece in re.split(rf"({_GAP.pattern})", item.text):
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
        own = [pictures.pop(0) for _ in range(min(len(pictures), piece.count("\ufffc")))]
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
        below = near and cells[place].line and not _GAP.search(cells[place].text)
        (whole[near[-1]] if below else rest).append(cells[place])
    by_rank = [items for _, items in sorted(zip(ranks, whole, strict=True), key=lambda pair: pair[0])]
    return [*cells[: run[0]], *(item for items in by_rank for item in items), *rest]
