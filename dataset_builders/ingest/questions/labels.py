"""Lists of labels, "(a) … (b) …", "A. … B. …", "① … ②": the options, parts and statements of a question.

Contract: a list is complete: one style, from the first name on, each once, in order. Formulas hold no labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from livek12.core.scripts import both_scripts
from livek12.core.text import CIRCLED
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import mask_formulas, plain_width

_ROMAN = "i ii iii iv v vi vii viii ix x".split()
_NAMES: tuple[Sequence[str], ...] = (CIRCLED[:10], "ABCDEFGH", "abcdefgh", "123456789", "ⓐⓑⓒⓓⓔⓕⓖⓗ", "㉠㉡㉢㉣㉤㉥㉦㉧")
_NAMES += (_ROMAN, [name.upper() for name in _ROMAN], "가나다라마바사아", "ㄱㄴㄷㄹㅁㅂㅅㅇ", "一二三四五六七八九")
_USUAL = "0123"
"""Kinds of names that options may have."""
_RINGS, _LETTERS, _NUMERALS = (
    "".join(f"{names}" for names in _NAMES if names[0] in firsts) for firsts in ("①ⓐ㉠", "Aa가ㄱ", "1一")
)
_NAME = rf"[{_LETTERS}Ａ-Ｈ]|[ivx]{{1,4}}|[IVX]{{1,4}}"
_LABEL = re.compile(
    rf"(?P<ring>[{_RINGS}])|(?<!\S)(?:[(（]\s?(?P<in>{_NAME}|[{_NUMERALS}])\s?[)）](?![가-힣])"
    rf"|(?P<closed>{_NAME}|[1-9])\s?[)）]|(?P<dotted>{_NAME})\s?[.．、])|(?<![^\n])(?P<item>[1-8])[.．](?=\s+\S|$)"
)
GAP = re.compile(r"\s{3,}|\t")
"""Between the cells of a line."""
_FEWEST = 3
"""Labels of a list."""
OPPOSITE = both_scripts(
    r"\W*(?:true|false|yes|no|right|wrong|(?:in)?correct|[TFOX]|对|错|正确|错误|是|否|√|×|○|예|아니오|참|거짓)\W*",
    re.IGNORECASE,
)
"""The text of a label of two: a) True b) False."""
_SOFT = "dotted2"
"""The style of "b.", which ends sentences too."""


@dataclass(frozen=True)
class ListLabel:
    """A label: its style (signs and kind), rank from 0, place, and if it begins a line or cell."""

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


@dataclass(frozen=True)
class LabelList:
    """A complete list and its texts."""

    labels: tuple[ListLabel, ...]
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
        """As keys name them."""
        return [plain_label(label.name) for label in self.labels]

    @property
    def begins_line(self) -> bool:
        """Its first label does."""
        return self.labels[0].apart

    @property
    def is_capital(self) -> bool:
        """True for A and ①."""
        return self.style[-1] in "01"

    @property
    def is_ring(self) -> bool:
        """True for ①."""
        return self.style[-1] == "0"

    @property
    def is_step(self) -> bool:
        """True for 1. and 1)."""
        return self.style.startswith("item") or self.style == "closed3"

    @property
    def is_number(self) -> bool:
        """True for (1) and 1."""
        return self.labels[0].is_number


def labels_of(text: str, kinds: str = _USUAL) -> list[ListLabel]:
    """All labels of a text; "" as `kinds` for those of any alphabet."""
    labels = []
    rows: dict[int, list[ListLabel]] = {}  # soft ones of each line
    masked = zip(text, mask_formulas(text), strict=True)  # two amounts, ① $100 ② $150, are no formula
    for match in _LABEL.finditer("".join(sign if sign in _NAMES[0] else mask for sign, mask in masked)):
        sign = match.lastgroup or ""
        name = plain_width(match[sign])
        kind = next((f"{place:x}" for place, names in enumerate(_NAMES) if name in names), "")
        if not kind or (kinds and kind not in kinds):
            continue
        begin = text.rfind("\n", 0, match.start()) + 1
        before = text[begin : match.start()]
        apart = not before.strip() or bool(GAP.search(before[-3:]))
        label = ListLabel(name, f"{sign}{kind}", _NAMES[int(kind, 16)].index(name), match.start(), match.end(), apart)
        labels.append(label)
        if label.style == _SOFT:
            rows.setdefault(begin, []).append(label)
    ends = {id(label) for row in rows.values() if not _counts_on(row) for label in row if not label.apart}
    return [label for label in labels if id(label) not in ends]


def _counts_on(row: Sequence[ListLabel]) -> bool:
    """Checks for labels of a line each once and in order: "as in b." ends a sentence."""
    several = len(row) >= _FEWEST or (len(row) > 1 and row[0].apart)
    return several and all(after.rank == before.rank + 1 for before, after in pairwise(row))


def label_lists(text: str) -> list[LabelList]:
    """The last complete list of each style."""
    by_style: dict[str, list[ListLabel]] = {}
    for label in labels_of(text):
        by_style.setdefault(label.style, []).append(label)
    lists = []
    for labels in by_style.values():
        firsts = sorted((label.apart, place) for place, label in enumerate(labels) if not label.rank)
        run: list[ListLabel] = []
        for label in labels[firsts[-1][1] :] if firsts else ():
            if label.apart or label.rank >= len(run):  # else "both (c) and (d)" names labels
                run.append(label)
        if len(run) > 1 and [label.rank for label in run] == list(range(len(run))):
            ends = [*(label.start for label in run[1:]), len(text)]
            texts = tuple(text[label.end : end].strip() for label, end in zip(run, ends, strict=True))
            if len(run) >= _FEWEST or (all(map(OPPOSITE.fullmatch, texts)) and len({*texts}) > 1):
                lists.append(LabelList(tuple(run), texts))
    return lists


def are_several(text: str) -> bool:
    """Checks for several lists of capital letters or circles of one style, or of a to d: those of several questions."""
    ranks: dict[str, str] = {}
    for label in labels_of(text):
        if label.rank or label.apart:  # else an option that names statements, A. ①②③
            ranks[label.style] = ranks.get(label.style, "") + f"{label.rank}"
    least = {"0": "012", "1": "012", "2": "0123"}
    return any(own.count(least.get(style[-1], "-")) > 1 for style, own in ranks.items())


def first_label(text: str) -> ListLabel | None:
    """The label that a line begins with."""
    labels = labels_of(text.lstrip())
    return labels[0] if labels and not labels[0].start else None


def stray_labels(text: str, whole: bool = True) -> list[str]:
    """Labels of any alphabet at the beginning of lines or cells without the one before them.

    `whole`: the first is the first of its list; else it may be a reference, and the others go up from it.
    """
    ranks: dict[str, int] = {}
    stray = []
    for label in labels_of(text, ""):
        last = ranks.get(label.style, -1 if whole else label.rank - 1)
        if label.apart and (label.rank > last + 1 or (not whole and label.rank <= last)):
            stray.append(text[label.start : label.end].strip())
        ranks[label.style] = max(last, label.rank)
    return stray
