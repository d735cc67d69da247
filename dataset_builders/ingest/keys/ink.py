"""Ink of the answer: what a solved paper sets otherwise than its questions.

Contract: most questions have something in the ink, each another text, and none begins in it. In a bracket or on a rule
it fills a blank; an option in it is chosen; the rest is the solution.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from livek12.core.records import Option
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.keys.answers import LABEL_FIRST, PART, SERIES
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, TICKED, Line
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import begins_answer
from livek12.dataset_builders.ingest.questions.options import begins_option
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.ingest.questions.segment import Body, segment
from livek12.dataset_builders.ingest.questions.stream import Item, Stream

FEWEST, _AMID, _MOST_LOOKS = 3, 4, 12
"""Questions that make a habit; answers in the ink that outweigh one word of a question in it; looks of one paper."""
_SHORT, _BEGIN = 3, 20
"""Letters of a label or sign, which may come again, and of an option's first line that tell it from the others'."""
_LABEL: Final = re.compile(rf"(?:\A\s*|(?<!\S))(?:{CHOICE}|[(（]?[A-Ha-h]\s?[)）.．、]|[①-⑩])\s*")
_BELOW, _FILLED, _RULED = "below", "filled", "ruled"
"""Signs that are no looks: a head or a letter below the options; a letter in a bracket; on a rule, with or without a
habit."""
NEW: Final = "new"
"""The look of what a copy has beyond its paper."""
_SIGNS: Final = (_BELOW, _FILLED, _RULED, TICKED)
_HEAD: Final = re.compile(
    r"\s*(?:解|解答|答|풀이|답|(?:Solution|Answer|Proof)s?(?: sketch| outline)?)(?:\s[a-h])?\s*"
    r"(?:[.．:：]|(?=\s*(?:[(（①]|$)))\s*"
)
_LETTER: Final = re.compile(r"(?:[(（]|__)\s*([A-H]{1,4})\s*(?:[)）]|__)")
_TICKS: Final = re.compile(r"(?<!\s)\s*(?:\$\\sqrt\$|[√✓✔☑])(?![\w(（])\s*")
"""A root of nothing is one, too."""
_SIGN: Final = re.compile(r"[^\W_]|[√×✓✗∎]|\\[a-z]")
_LINK: Final = re.compile(
    r"(?:[a-z]{1,9}://|www\.)\S{1,300}|\b\w[\w.-]{0,60}\.(?:com|org|net|edu|io|kr|cn)\b(?:/\S{0,300})?"
)
_REFERENCE: Final = re.compile(
    r"(?:(?:Fig(?:ure|s)?|Tables?|Eq(?:uation|s|n)?)\b\.?|[图圖表]|그림|표)\s*[(（]?\d[\w.\-]{0,9}", re.I
)
_MARKS: Final = re.compile(r"\s*(?:\(\d{1,2}\)|（\d{1,2}）|\[\d{1,2}\])\s*")
"""Bare points: with links and references, the question's in any ink."""
_OPEN, _CLOSED = "(（[【", ")）]】"


@dataclass
class Inked:
    """A question's items without what is in the ink.

    Attributes:
        fills: of blanks.
        lines: of the solution, with the labels of their parts.
        parts: labels of the question's parts.
        chosen: labels of options; `options`: their texts.
        amid: words left in a sentence.
        begins: the question itself does.
    """

    rest: list[Item] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)
    lines: list[tuple[str, Item]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    chosen: str = ""
    options: list[str] = field(default_factory=list)
    amid: int = 0
    begins: bool = False

    @property
    def text(self) -> str:
        """All in the ink, without the numbers of words alone."""
        lines = re.sub(r"(?<=[a-z]) ?\d", "", " ".join(item.text for _, item in self.lines))
        return " ".join([*self.fills, lines, *self.options])

    def __bool__(self) -> bool:
        answers = [item for _, item in self.lines if not (says_worth(item.text) or _is_asked(item.text))]
        return bool(self.fills or self.chosen or answers) and not self.begins

    @property
    def is_plain(self) -> bool:
        """Checks for a label of an option or the head of an answer."""
        return bool(self.chosen) or any(_begins_below(item.text, False) for _, item in self.lines)

    @property
    def answered(self) -> set[str]:
        """Labels of the parts with an answer, and of those around them."""
        labels = [part.split(" ") for part, _ in self.lines]
        return {" ".join(own[: end + 1]) for own in labels for end in range(len(own))}

    def is_answer(self, ink: str) -> bool:
        """Checks for something in the ink: what is in bold alone may be emphasis."""
        return bool(self) and (ink != "bold" or self.is_plain)


def looks_of(line: Line, opened: bool = False) -> Iterator[tuple[int, int, set[str]]]:
    """Places and looks of a line's parts; a bracket is `opened` at the end of the line above."""
    at = 0
    ticks = [match.start() for match in _TICKS.finditer(line.text)]
    cells = [match.start() for match in _LABEL.finditer(line.text)]
    for look, text in line.inks or ((f"{line.look} bold" if line.bold else line.look, line.text),):
        bare = text.strip()
        start = line.text.find(bare, at)
        if start >= 0 and bare:
            at = start + len(bare)
            yield start, at, {*look.split()} - {TICKED}
            ticks += [start] if TICKED in look and (line.inks or len(cells) == 1) else []
    for tick in ticks if cells else ():
        before = sum(start <= tick for start in cells)  # or the tick stands before the first
        starts = [0, *cells, len(line.text)]
        yield starts[before], starts[max(before, 1) + 1], {TICKED}
    for match in _LETTER.finditer("(" * opened + line.text) if opened or not begins_option(line.text) else ():
        yield match.start(1) - opened, match.end(1) - opened, {_RULED if match[0][0] == "_" else _FILLED}


def _spans(line: Line, ink: str, skip: int = 0, opened: bool = False) -> list[tuple[int, int]]:
    """Places in the ink, behind a number."""
    spans: list[tuple[int, int]] = []
    for start, end, look in looks_of(line, opened):
        if ink in look and end > skip:
            if spans and not line.text[spans[-1][1] : start].strip():
                spans[-1] = spans[-1][0], end
            else:
                spans.append((max(start, skip), end))
    texts = (line.text[start:end] for start, end in spans)
    return [span for span, text in zip(spans, texts, strict=True) if ink == NEW or _says_something(text)]


def _says_something(text: str) -> bool:
    """Checks for more than signs, a link, a reference, or points, whose bracket may be in another look."""
    bare = text.strip("()（）[] .,;:。，")
    points = not re.search(r"[(（\[]", bare) and says_worth(f"({bare})")
    return bool(_SIGN.search(text)) and not (points or _is_asked(text))


def _is_asked(text: str) -> bool:
    """Checks for bare points, little more than a link, or a reference, which are the question's in any ink."""
    bare = text.strip("()（）[] .,;:。，")
    link = _LINK.search(text)
    return bool(_MARKS.fullmatch(text) or (link and 2 * len(link[0]) > len(bare)) or _REFERENCE.fullmatch(bare))


def _are_labels(text: str, labels: str) -> bool:
    """Checks for letters of labels in their order: an acronym has others."""
    places = [labels.find(letter) for letter in text.strip()]
    return places == sorted({*places} - {-1})


def _is_whole(line: Line, spans: Sequence[tuple[int, int]], skip: int) -> bool:
    """Checks that only a line's number is set otherwise."""
    ends = [skip, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(line.text)]
    return bool(spans) and not any(_SIGN.search(line.text[a:b]) for a, b in zip(ends, starts, strict=True))


def take_ink(items: Sequence[Item], skip: int, options: Sequence[Option], ink: str) -> Inked:
    """Takes what is in the ink out of a question's items, in place."""
    taken = Inked()
    parts: list[str] = []
    lines = [item.line or Line(text="", box=item.box) for item in items]
    opened = [False, *(item.text.endswith((*_OPEN,)) for item in items)]
    spans = [_spans(line, ink, skip * (place == 0), opened[place]) for place, line in enumerate(lines)]
    if ink in (_FILLED, _RULED):
        letters = "".join(option.label for option in options)
        each = zip(lines, spans, strict=True)
        spans = [[span for span in own if _are_labels(line.text[slice(*span)], letters)] for line, own in each]
        spans = spans if sum(map(len, spans)) == 1 else [[] for _ in items]
    if ink == TICKED and sum(bool(PART.match(item.text)) for item in items[1:]) > 1:
        options = ()  # each part has its own
    set_so = _options_in(lines, spans, options)
    if 2 * len(set_so) < len(options):
        taken.chosen = "".join(option.label for option in options if option.label in set_so)
        taken.options = [option.text for option in options if option.label in set_so]
    kept, begun, lettered = {*set_so.values()}, False, False
    for place, (item, line) in enumerate(zip(items, lines, strict=True)):
        begin = skip * (place == 0)
        label = PART.match(line.text[begin:])
        due = _parts_behind(parts, label[1], not begun) if label else []
        if ink == _BELOW:
            begun = bool(place and (_begins_below(item.text, lettered) or (begun and not due)))
            lettered |= place > 0 and begins_option(item.text)
        drawn = [ink == TICKED and not _TICKS.search(line.text[slice(*span)]) for span in spans[place]]
        own = [s for at, s in enumerate(spans[place]) if drawn[at] or ((place, at) in kept) == (ink == TICKED)]
        whole = (ink not in (TICKED, _FILLED, _RULED) and _is_whole(line, own, begin)) or begun
        if place and (whole or (own and begins_answer(item.text))):
            taken.lines.append((" ".join(parts), item))
            continue
        parts = due or parts
        taken.parts += [" ".join(parts)] if label else []
        taken.begins |= whole
        if own and not whole:
            if ink == TICKED:
                rest, tail = _marked(line, own[0], not kept.isdisjoint((place, at) for at in range(len(drawn))))
            else:
                rest, tail = _without(line, own, taken, opened[place])
            tails = [replace(item, line=replace(line, text=tail, inks=(), pictures=[]))] if tail else []
            tails += map(replace, _below_option(items, place) if tails and ink == TICKED else ())
            taken.lines += [(" ".join(parts), each) for each in tails]
            item.line = replace(line, text=rest, inks=())
        taken.rest.append(item)
    return taken


def solution_of(each: Sequence[Inked]) -> list[Item]:
    """The lines of a solution, each part's behind its label."""
    lines = [line for taken in each for line in taken.lines]
    if len(each) > 1:
        lines.sort(key=lambda line: (line[1].box.page, line[1].column, line[1].box.top))
    labelled = len({part for part, _ in lines}) > 1
    for part, group in groupby(lines, key=lambda line: line[0]):
        first = next(group)[1]
        if labelled and part and first.line and not PART.match(first.text):
            first.line = replace(first.line, text=f"{part} {_HEAD.sub('', first.line.text, count=1)}", inks=())
    return [item for _, item in lines]


def is_guessed(ink: str, taken: Inked) -> bool:
    """Checks that nothing but its look says that something is the answer."""
    return ink not in _SIGNS and not taken.is_plain


def unanswered(each: Sequence[Inked]) -> str:
    """The parts of a question without an answer, where others have one each."""
    answered = set[str]().union(*(taken.answered for taken in each))
    lacking = dict.fromkeys(part for taken in each for part in taken.parts if part not in answered)
    return ", ".join(lacking) if len({part for taken in each for part, _ in taken.lines}) > 1 else ""


def _below_option(items: Sequence[Item], place: int) -> list[Item]:
    """The other lines of an option that another follows."""
    end = next((at for at in range(place + 1, len(items)) if _LABEL.match(items[at].text)), len(items))
    return [*items[place + 1 : end]] if end < len(items) and items[end].text.startswith(CHOICE) else []


def _begins_below(text: str, lettered: bool) -> bool:
    """Checks for the head of an answer, or a letter below `lettered` options."""
    return bool(_HEAD.match(text) or begins_answer(text) or (lettered and LABEL_FIRST.match(text)))


def _parts_behind(parts: Sequence[str], label: str, within: bool) -> list[str]:
    """The labels of the part behind the last, or the first `within` it, and of those around it; [] for others."""
    bare, *around = (own.strip("()（） .．") for own in (label, *parts))
    before = {series[at - 1] for series in SERIES if bare in series and (at := series.index(bare))}
    at = next((at for at, own in enumerate(around) if own in before or (within and own == bare)), len(around))
    return [*parts[:at], label] if at < len(around) or (within and bare in ("a", "i", "1")) else []


def _marked(line: Line, span: tuple[int, int], is_chosen: bool) -> tuple[str, str]:
    """A line's text with its ticked option, without a tick of letters, and the remark behind this, or the option."""
    cell = line.text[slice(*span)]
    text, *remark = _TICKS.split(cell, maxsplit=1)
    text, remark = (text, remark) if text else ("".join(remark), [""])
    rest = f"{line.text[: span[0]]}{text}{line.text[span[1] :]}" if remark else line.text
    return rest, "".join(remark).strip() if is_chosen else _LABEL.sub("", text, count=1)


def _without(line: Line, spans: Sequence[tuple[int, int]], taken: Inked, opened: bool) -> tuple[str, str]:
    """A line's text, perhaps in a bracket, without what is in the ink, and its end; the others fill blanks."""
    text, tail = line.text, ""
    for start, end in reversed(spans):
        piece, before, behind = text[start:end].strip(), text[:start].rstrip(), text[end:].lstrip()
        bracketed = bool(behind and behind[0] in _CLOSED and (before[-1:] in _OPEN if before else opened))
        if bracketed:
            text = f"{text[:start]}{text[end:]}"
        elif before.endswith("__") or behind.startswith("__"):
            text = f"{before.rstrip('_')}{BLANK}{behind.lstrip('_')}"
        elif any(piece in own or own in piece for own in line.lined):
            text = f"{before} {BLANK} {behind}"
        elif not _SIGN.search(behind) and not tail:
            text, tail = before, f"{piece}{behind}"
            continue
        else:
            taken.amid += 1
            continue
        taken.fills.insert(0, piece.strip("_ "))
    return text, tail


def _options_in(
    lines: Sequence[Line], spans: Sequence[Sequence[tuple[int, int]]], options: Sequence[Option]
) -> dict[str, tuple[int, int]]:
    """Places of the parts in the ink that are options, or the first lines of options, by label."""
    set_so: dict[str, tuple[int, int]] = {}
    pieces = {
        (place, at): [squeezed(own) for own in (text, _bare(text), _bare(_TICKS.sub(" ", text)))]
        for place, line in enumerate(lines)
        for at, (start, end) in enumerate(spans[place])
        if (text := line.text[start:end])
    }
    for option in options:
        text = squeezed(option.text)
        for place, own in pieces.items():
            begins = len(own[1]) > _BEGIN and text.startswith(own[1])
            if place not in set_so.values() and (begins or text in own):
                set_so[option.label] = place
                break
    return set_so


def _bare(option: str) -> str:
    """An option's text without its label."""
    return _LABEL.sub("", option, count=1)


Question = tuple[Sequence[Item], int, Sequence[Option]]
"""Items, the end of the number in the first, options."""


def inks_of(questions: Sequence[Question]) -> list[str]:
    """The inks that most questions have, of all or with options or without them, or together the `_SIGNS`."""
    lines = [item.line for items, _, _ in questions for item in items if item.line and not item.line.pitch]
    usual = Counter(look for line in lines for *_, own in looks_of(line) for look in own)
    looks = {_BELOW, *(look for look, _ in usual.most_common(_MOST_LOOKS))}
    answered = {look: _answered_in(look, questions) for look in sorted(looks)}
    signed = {at for look, own in answered.items() if look in _SIGNS and len(own) >= FEWEST for at in own}
    choices = {at for at, (*_, options) in enumerate(questions) if options}
    kinds = [choices, {*range(len(questions))} - choices]
    inks = []
    for look, own in answered.items():
        habit = len(signed if look in _SIGNS else own) >= max(FEWEST, len(questions) / 2)
        habit |= any(len(own & of) >= max(FEWEST, len(of) / 2) for of in kinds)
        inks += [look] if own and (habit or look == _RULED) else []
    return inks


def _answered_in(look: str, questions: Sequence[Question]) -> set[int]:
    """Places of the questions with something in a look, if it may be the ink."""
    taken = [take_ink([*map(replace, items)], end, own, look) for items, end, own in questions]
    answered = {at for at, own in enumerate(taken) if own.is_answer(look)}
    texts = Counter(taken[at].text for at in answered)
    usual = max((many for text, many in texts.items() if len(text) > _SHORT), default=0)
    strange = sum(own.begins for own in taken) + (sum(own.amid for own in taken) + _AMID - 1) // _AMID
    is_ink = (len(texts) > 1 or look == _RULED) and 2 * usual <= len(answered) and _AMID * strange <= len(answered)
    return answered if is_ink else set()


def segment_solved(stream: Stream, body: Body, inks: Collection[str]) -> Body:
    """A body whose questions begin where they do without the lines in the ink, if none is lost so."""
    inked = {id(item) for item in stream.items if any(_is_line(item.line, ink) for ink in inks)}
    inked &= {at for at, owner in body.owners.items() if owner >= 0}
    again = segment(replace(stream, items=[item for item in stream.items if id(item) not in inked]))
    owners = {id(each.items[0]): each for each in again.segments}
    if {id(each.items[0]) for each in body.segments} - {*owners} - inked:
        return body
    last = None
    for item in stream.items:
        last = owners.get(id(item), last)
        if last and id(item) in inked:
            last.items.append(item)
    places = {id(item): place for place, item in enumerate(stream.items)}
    for each in again.segments:
        if not inked.isdisjoint(map(id, each.items)):
            each.items.sort(key=lambda item: places.get(id(item), 0))
    return again


def _is_line(line: Line | None, ink: str) -> bool:
    return bool(line and not _LABEL.match(line.text) and _is_whole(line, _spans(line, ink), 0))
