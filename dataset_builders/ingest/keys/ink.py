"""Ink of the answer: what a solved paper sets otherwise than its questions.

Contract: most questions have something in the ink, each another text, and none begins in it. In a bracket or on a rule
it fills a blank; an option in it is chosen; the rest is the solution.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from livek12.core.records import Option
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, TICKED, Line
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import begins_answer
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.ingest.questions.segment import Body, segment
from livek12.dataset_builders.ingest.questions.stream import Item, Stream

FEWEST: Final = 3
"""Questions that make a habit."""
_AMID: Final = 4
"""So many answers in the ink outweigh one word of a question in it."""
_NEW: Final = 0.7
"""Share of the words in the ink that a paper without answers does not have."""
_BEGIN: Final = 20
"""Letters of an option's first line that tell it from the others'."""
_LABEL: Final = re.compile(rf"\s*(?:{CHOICE}|[(（]?[A-Ha-h]\s?[)）.．、]|[①-⑩])\s*")
PART: Final = re.compile(r"[ \t]*([(（]?([a-z]|[ivx]{1,4}|\d{1,2})\s?[)）.．])(?!\d)")
"""The label of a part."""
_SIGN: Final = re.compile(r"[^\W_]|[√×✓✗∎]|\\[a-z]")
_OPEN, _CLOSED = "(（[【", ")）]】"


@dataclass
class Inked:
    """A question's items without what is in the ink.

    Attributes:
        fills: of blanks.
        lines: of the solution.
        chosen: labels of options; `options`: their texts.
        amid: words left in a sentence.
        begins: the question itself does.
    """

    rest: list[Item] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)
    lines: list[Item] = field(default_factory=list)
    chosen: str = ""
    options: list[str] = field(default_factory=list)
    amid: int = 0
    begins: bool = False

    @property
    def text(self) -> str:
        """All in the ink, without numbers."""
        pieces = [*self.fills, *(item.text for item in self.lines), *self.options]
        return re.sub(r"\d", "", " ".join(filter(None, pieces))) or " ".join(pieces)

    def __bool__(self) -> bool:
        printed = [item.text for item in self.lines if not (says_worth(item.text) or "://" in item.text)]
        return bool(self.fills or self.chosen or printed) and not self.begins


def looks_of(line: Line | None) -> Iterator[tuple[int, int, set[str]]]:
    """Places and looks of a line's parts."""
    if line is None:
        return
    at = 0
    whole = f"{line.look} bold" if line.bold else line.look
    for look, text in line.inks or ((whole, line.text),):
        bare = text.strip()
        start = line.text.find(bare, at)
        if start >= 0 and bare:
            at = start + len(bare)
            ring = line.text.find(CHOICE, at) if TICKED in look else -1
            yield start, (ring if ring > 0 else len(line.text)) if TICKED in look else at, {*look.split()}


def _spans(line: Line | None, ink: str, skip: int = 0) -> list[tuple[int, int]]:
    """Places in the ink, behind a number."""
    spans: list[tuple[int, int]] = []
    last = False
    for start, end, look in looks_of(line):
        inked = ink in look and end > skip
        if inked and last:
            spans[-1] = spans[-1][0], end
        elif inked:
            spans.append((max(start, skip), end))
        last = inked
    return [(a, b) for a, b in spans if line and _SIGN.search(line.text[a:b])]


def _is_whole(line: Line, spans: Sequence[tuple[int, int]], skip: int) -> bool:
    """Checks that only a line's number is set otherwise."""
    ends = [skip, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(line.text)]
    return bool(spans) and not any(_SIGN.search(line.text[a:b]) for a, b in zip(ends, starts, strict=True))


def take_ink(items: Sequence[Item], skip: int, options: Sequence[Option], ink: str) -> Inked:
    """Takes what is in the ink out of a question's items, in place."""
    taken = Inked()
    part = ""
    parted: list[tuple[str, Item]] = []
    spans = [_spans(item.line, ink, skip * (place == 0)) for place, item in enumerate(items)]
    set_so = _options_in(items, spans, options)
    if 2 * len(set_so) < len(options):
        taken.chosen = "".join(option.label for option in options if option.label in set_so)
        taken.options = [option.text for option in options if option.label in set_so]
    kept = {*set_so.values()}
    for place, item in enumerate(items):
        line, begin = item.line, skip * (place == 0)
        own = [span for at, span in enumerate(spans[place]) if (place, at) not in kept]
        part = match[1] if line and (match := PART.match(line.text[begin:])) else part
        if line is None or not own:
            taken.rest.append(item)
        elif place and (_is_whole(line, own, 0) or begins_answer(item.text)):
            parted.append((part, item))
        elif place == 0 and _is_whole(line, own, begin):
            taken.begins = True
            taken.rest.append(item)
        else:
            rest, tail = _without(line, own, taken)
            if tail:
                parted.append((part, replace(item, line=replace(line, text=tail, inks=(), pictures=[]))))
            item.line = replace(line, text=rest, inks=())
            taken.rest.append(item)
    labelled = len({part for part, _ in parted}) > 1
    for part, group in groupby(parted, key=lambda pair: pair[0]):
        first, *others = [item for _, item in group]
        if labelled and part and first.line and not PART.match(first.text):
            first.line = replace(first.line, text=f"{part} {first.text}", inks=())
        taken.lines += [first, *others]
    return taken


def _without(line: Line, spans: Sequence[tuple[int, int]], taken: Inked) -> tuple[str, str]:
    """A line's text without what is in the ink, and the part at its end; the others fill blanks."""
    text, tail = line.text, ""
    for start, end in reversed(spans):
        piece, before, behind = text[start:end].strip(), text[:start].rstrip(), text[end:].lstrip()
        lined = any(piece in own or own in piece for own in line.lined) or before.endswith("__") or behind[:2] == "__"
        if before[-1:] in _OPEN and behind[:1] in _CLOSED and before and behind:
            text = f"{before}    {behind}"
        elif lined:
            text = f"{before.rstrip('_')} {BLANK} {behind.lstrip('_')}"
        elif not _SIGN.search(behind) and not tail:
            text, tail = before, f"{piece}{behind}"
            continue
        else:
            taken.amid += 1
            continue
        taken.fills.insert(0, piece.strip("_ "))
    return text, tail


def _options_in(
    items: Sequence[Item], spans: Sequence[Sequence[tuple[int, int]]], options: Sequence[Option]
) -> dict[str, tuple[int, int]]:
    """Places of the parts in the ink that are options, by label."""
    set_so: dict[str, tuple[int, int]] = {}
    pieces = [
        (place, at, squeezed(_LABEL.sub("", text, count=1)), squeezed(text))
        for place, item in enumerate(items)
        for at, (start, end) in enumerate(spans[place])
        if item.line and (text := item.line.text[start:end])
    ]
    for option in options:
        text = squeezed(option.text)
        alike = (at for *at, bare, own in pieces if text in (bare, own) or _begins(text, bare) or _begins(text, own))
        if piece := next(((place, at) for place, at in alike if (place, at) not in set_so.values()), None):
            set_so[option.label] = piece
    return set_so


def _begins(text: str, piece: str) -> bool:
    """Checks for the first line of an option."""
    return len(piece) > _BEGIN and text.startswith(piece)


def inks_of(
    questions: Sequence[tuple[Sequence[Item], int, Sequence[Option]]], is_new: Callable[[int, str], bool] | None = None
) -> list[str]:
    """The inks of questions (items, end of the number, options); `is_new`: a paper without answers lacks it."""
    lines = [item.line for items, _, _ in questions for item in items if item.line and not item.line.pitch]
    looks = {look for line in lines for *_, own in looks_of(line) for look in own}
    return [look for look in sorted(looks) if _is_ink(look, questions, is_new)]


def _is_ink(
    look: str,
    questions: Sequence[tuple[Sequence[Item], int, Sequence[Option]]],
    is_new: Callable[[int, str], bool] | None,
) -> bool:
    taken = [take_ink([*map(replace, items)], end, own, look) for items, end, own in questions]
    answered = [own for own in taken if own]
    usual = max(Counter(own.text for own in answered).values(), default=0)
    strange = sum(own.begins for own in taken) + (sum(own.amid for own in taken) + _AMID - 1) // _AMID
    if 2 * usual > max(len(answered), 2) or _AMID * strange > len(answered):
        return False
    choices = sum(bool(options) for *_, options in questions)
    habit = len(answered) >= max(FEWEST, len(questions) / 2)
    habit = habit or sum(bool(own.chosen) for own in answered) >= max(FEWEST, choices / 2)
    if is_new is None or not any(own.fills or own.lines for own in answered):
        return habit
    pieces = [(at, text) for at, own in enumerate(taken) for text in (*own.fills, *(item.text for item in own.lines))]
    many = [(len(text), is_new(at, text)) for at, text in pieces]
    many += [(len(text), True) for own in answered for text in own.options]
    return sum(size for size, new in many if new) > _NEW * sum(size for size, _ in many)


def segment_solved(stream: Stream, body: Body, inks: Collection[str]) -> Body:
    """A body whose questions begin where they do without the lines in the ink, if none is lost so."""
    inked = {id(item) for item in stream.items if any(_is_line(item, ink) for ink in inks)}
    inked &= {at for at, owner in body.owners.items() if owner >= 0}
    again = segment(replace(stream, items=[item for item in stream.items if id(item) not in inked]))
    owners = {id(each.items[0]): each for each in again.segments}
    if {id(each.items[0]) for each in body.segments} - {*owners} - inked:
        return body
    places = {id(item): place for place, item in enumerate(stream.items)}
    last = None
    for item in stream.items:
        last = owners.get(id(item), last)
        if last and id(item) in inked:
            last.items.append(item)
            last.items.sort(key=lambda own: places.get(id(own), 0))
    return again


def _is_line(item: Item, ink: str) -> bool:
    line = item.line
    return line is not None and not _LABEL.match(line.text) and _is_whole(line, _spans(line, ink), 0)
