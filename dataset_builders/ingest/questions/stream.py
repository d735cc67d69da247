"""A paper as one stream of lines, tables and pictures in reading order.

Contract: only headers, footers, page numbers and lines to write on are left out. Headers and footers are given apart: a
header may name the part of the paper.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from livek12.core.languages import HANGUL
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.blocks import Block, Box, Line, PageBlocks, figure_names, is_label
from livek12.dataset_builders.ingest.questions.headings import (
    CANDIDATE,
    FORM,
    OPTIONS,
    begins_answers,
    counts_questions,
    is_section,
    passage_range,
)
from livek12.dataset_builders.ingest.questions.points import says_worth

MAX_ITEMS = 60_000
"""More lines than this are no exam paper."""
_BEGINS = re.compile(r"(?:[(（]\s*[)）]\s*)?(?:[(（]?\d{1,3}[)）.．、]|①|[(（]?[Aa][)）.．、])")
"""Begins a question, a part or its options."""
ENDS = re.compile(r"(?:[^\w\s,，、+=＝]|[다라오_])\s*$")
"""The end of a line that may end a sentence."""
_MOST_CAPTIONS = 200
_OF_QUESTION = both_scripts(
    r"\s*[(（]?\s*(?:第\s*(\d{1,3})\s*题|(\d{1,3})\s*题(?=\s*图)|题\s*(\d{1,3})(?=\s*图))\s*(?:备?用?图\s*[\d一二三①-③]?)?\s*[)）]?\s*"
)
_BEGINS_QUESTION = re.compile(r"^\s*(\d{1,3})\s*[.．、](?!\d)")
"""The caption of a question's picture, and the question that it names."""
_CAPTION = 0.1
"""Of the page's height: a caption is no further below its picture."""
_MOST_BESIDE, _MOST_BELOW = 200, 4
"""Lines beside a picture, and below them to the end of a sentence, that are looked at."""
_HANGUL = re.compile(f"[{HANGUL}]+")
_PARTICLE = re.compile(
    "은|는|을|를|에|에서|에게|으로|로|의|와|과|까지|부터|보다|이다|이고|이며|이라고|하다|한다|하는|하여|하고|된다|되는|되어"
)
"""Beginnings of no Korean word."""
_WORD, _PARTED = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*"), re.compile(r"(?<![A-Za-z-])([A-Za-z]+(?:-[A-Za-z]+)*)‐$")
_EDGE_MARK = re.compile(
    r"(?P<gap>^|(?<=\S)\s{4,})?(?(gap)|(?<=[^\s:：=+×-]) )"
    r"(?P<marks>\d{1,2}(?:\.5)?(?:\s?[+＋]\s?\d{1,2}){0,3}(?:\s*(?:points?|marks?))?)\s*$"
)
OF_OPTIONS = re.compile(r"(?:^|\s)(?:[(（]?[A-H][)）.．、]|[①-⑩])|\s{3,}[A-H]\s|^\s*[A-D]\s", re.MULTILINE)
"""A line of options is no sentence, and may end in a number."""
_TYPED = 0.8
_LEVEL, _AT_EDGE, _SEVERAL, _A_COLUMN = 0.003, 0.02, 4, 8
"""Shares of the page by which right edges of marks differ, and lie from that of the column; how many are no chance."""
_SET_LABEL = re.compile(
    r"(?P<gap>^\s*|\s{3})\$\s*(?P<font>\\(?:mathrm|mathbf|boldsymbol|text)\s*\{)?(?P<name>[A-H]|(?P<digits>\d{1,3}))"
    r"(?:\s*[.．、](?:\s*(?P<all>\}?\s*\$)|\s*(?(digits)(?!\d))(?=[^\s$}]))|(?(digits)(?P<behind>\}?\s*\$\s*[.．、](?!\d))|(?!)))\s*"
)
"""The number of a question or the label of an option that is set as a formula or as part of one."""
_SET_ROOM = re.compile(r"(\$)?([(（])(?(1)\$)(\s+)(\$)?([)）])(?(4)\$)")
"""An empty bracket, so set."""
_SET_SIGN = re.compile(r"^\s*\$([^\w\s$\\]{1,2})\$(?=\s)")
"""A bullet or box before a line, set as a formula."""
_SET_MARK = re.compile(r"(?<=\s{3})\$\s*(\[\s*\d{1,2}\s*\])\s*\$\s*$")
"""Marks behind a formula, read as one."""
_SCORE_BOX = both_scripts(
    r"\s*得\s*分(?:\s*[评阅][卷分阅]人)?\s*(?=[一二三四五六七八九十]{1,3}\s*[、．.]|(?i:question)\s|第|\d{1,2}[.．、])"
)
"""The box for the score beside a title or number."""
_CANDIDATE = both_scripts("准考证号|수험번호")
_WORTH_BOX = both_scripts(r"题\s*分|满\s*分|分\s*值|배\s*점|[Mm]arks|[Pp]oints")
"""What a box says of the number in it, where it is not the candidate's score."""
_MARKS_BEFORE = re.compile(
    r"^\s*(?![(（]\s*\d\s*[)）]\s{0,2}\d)[\[(（]\s*\$?(\d{1,2}(?:\s*\+\s*\d{1,2})*)(?:[\s^{_]*(?:pts?|points?|marks?|ea|分)"
    r"[\w^{}.]*)?\s{0,9}\$?\s{0,9}[\])）]\s*((?:Problem|Question)\s*\d{1,2}\s*[.:：]?|\d{1,2}[.．](?=\s))\s*"
)
"""Points in brackets before a number, or before the word that names it."""
_DASHED = re.compile(r"^\s*[-–]\s+(?=[A-H]\s?[)）.．、])")
"""A dash before the label of an option."""
_NAMED = re.compile(r"(?:Question|Q|문항|문제)\s?\d{1,3}")
_DOTS = re.compile(r"[.．·‥…](?:[ \u00a0]?[.．·‥…]){7,}")
_CONTENTS, _FEWEST_CONTENTS = re.compile(r"(?:[.·‥…][ \u00a0]?){4,}\s*(\d{1,3})\s*$"), 4
"""A line of a table of contents, and how many make one."""
_GAP = "\ue000"
"""Stands for a run of dots while a line is looked at."""
_MARK = r"(?P<mark>[\[(（]\s*\d{1,3}\s*[\])）])?\s*"
_RULED = re.compile(rf"\s*(?:\d{{1,2}}\s+)?(?:{_GAP}|_{{4}})[{_GAP}_＿\s.]*{_MARK}")
"""A line to write on: dots or rules, perhaps a number before them and marks behind."""
_LABELLED_RULE = re.compile(rf"(?P<label>[^\s{_GAP}]+(?: [^\s{_GAP}]+)?)\s*{_GAP}[{_GAP}\s.]*{_MARK}")
_BEFORE_BRACKET = re.compile(rf"\s*{_GAP}[{_GAP}\s.]*(?=[(（]\s*[)）]\s*$)")
"""Dots that lead to the bracket for the answer."""
_WIDE = 0.3
"""Of the page's width: a line of rules alone that is as wide is to be written on; a shorter one is a blank."""
_FEWEST_ALIKE, _MOST_PAGES = 3, 0.6
"""Pages, and their share, that have the same at the same place: it is no part of what is asked on one of them."""
_TOP = 0.25
"""Lines over several columns in this part of a page, from above, are its headings."""


@dataclass
class Item:
    """A line of text, or a block with a picture or a table."""

    line: Line | None
    block: Block
    box: Box
    column: int

    @property
    def text(self) -> str:
        """Of the line; "" for a picture."""
        return self.line.text.strip() if self.line else ""

    @property
    def rank(self) -> float:
        """Height of the letters of a source's heading, higher than its line; 0 for others."""
        size = self.line.size if self.line is not None and self.block.origin == "source" else 0.0
        return size if size > self.box.bottom - self.box.top else 0.0

    @property
    def is_heading(self) -> bool:
        """True for a heading of a source."""
        return self.rank > 0


@dataclass
class Stream:
    """The paper in reading order.

    Attributes:
        items: of the body.
        headings: headers and footers by page.
        titles: lines over several columns at the top of a page; they are among the headings too.
        columns: left and right edges, by page and column.
        worth: points that stand in boxes, and these.
        examples: first lines of questions that a person named.
    """

    items: list[Item] = field(default_factory=list)
    headings: dict[int, list[str]] = field(default_factory=dict)
    titles: list[Item] = field(default_factory=list)
    columns: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    worth: list[tuple[Box, str]] = field(default_factory=list)
    examples: tuple[str, ...] = ()


def flatten(pages: Sequence[PageBlocks]) -> Stream:
    """The stream of a paper."""
    stream = Stream()
    ground = _ground(pages)
    for page in map(_without_contents, pages):
        stream.headings[page.number] = []
        labels = {block.caption for block in page.blocks if block.kind == "figure" and is_label(block.caption)}
        for block in page.blocks:
            # Where a page has several, the text has to say which figure is which.
            if block.kind == "caption" and labels == {block.text.strip()}:
                continue
            _add(block, page, ground, stream)
    _worth_in_boxes(stream)
    _edges(stream)
    stream.columns |= {(page.number, 0): (0.0, 1.0) for page in pages if not page.width}
    _spaced(stream.items)
    _hyphenated(stream.items)
    _edge_marks(stream)
    _typed(stream.items)
    _pictures_behind_lines(stream.items)
    _pictures_behind_names(stream.items)
    return stream


def _without_contents(page: PageBlocks) -> PageBlocks:
    """A page whose lines with leaders and the numbers of pages, which go up, are headings."""
    pairs = [(block, _CONTENTS.search(line.text)) for block in page.blocks for line in block.lines]
    numbers = [int(match[1]) for _, match in pairs if match]
    if len(numbers) < _FEWEST_CONTENTS or numbers != sorted(numbers) or len({*numbers}) < 2:
        return page
    own = {id(block) for block, match in pairs if match}
    return replace(page, blocks=[replace(each, kind="header") if id(each) in own else each for each in page.blocks])


def _edge_marks(stream: Stream) -> None:
    """Puts bare points at the right of a column in brackets.

    They end several lines at the very same place, behind a wide gap: at the edge, or so many that they are a column.
    """
    bare = [
        (item, match)
        for item in stream.items
        if item.line and (match := _EDGE_MARK.search(item.line.text)) and not OF_OPTIONS.search(item.line.text)
    ]
    counted: dict[int, list[int]] = {}
    for item, match in bare:
        counted.setdefault(item.box.page, []).append(int(match["marks"]) if match["marks"].isdecimal() else 0)
    of_lines = {page for page, values in counted.items() if _count_lines(values)}
    bare = [(item, match) for item, match in bare if item.box.page not in of_lines]
    rights = Counter(round(item.box.right / _LEVEL) for item, match in bare if match["gap"])
    halves = max(rights.values(), default=0) >= _SEVERAL
    for item, match in bare:
        many = sum(rights[round(item.box.right / _LEVEL) + off] for off in (-1, 0, 1))
        _, edge = stream.columns.get((item.box.page, item.column), (0.0, item.box.right))
        at_edge = abs(edge - item.box.right) < _AT_EDGE and bool(match["gap"])
        half = at_edge and halves and "." in match["marks"]
        if item.line and (half or many >= (_SEVERAL if at_edge else _A_COLUMN)):
            text = f"{item.line.text[: match.start()]}    [{match['marks']}]"
            item.line = replace(item.line, text=text)


def _count_lines(values: Sequence[int]) -> bool:
    """Checks for numbers of lines: so many multiples of five or ten, one after the other, are no marks."""
    steps = {b - a for a, b in pairwise(values)}
    return len(values) >= _SEVERAL and steps in ({5}, {10}) and not values[0] % max(steps)


def _typed(items: Sequence[Item]) -> None:
    """In a paper that a typewriter's font sets as a whole, no line is code."""
    lines = [item.line for item in items if item.line]
    if sum(line.pitch > 0 for line in lines) > _TYPED * len(lines):
        for item in items:
            item.line = replace(item.line, pitch=0.0) if item.line else None


def _pictures_behind_lines(items: list[Item]) -> None:
    """Moves a picture beside lines behind the last of them that ends a sentence, else the next, else the first line."""
    for place in range(len(items) - 2, -1, -1):
        picture, lines = items[place], items[place + 1 : place + _MOST_BESIDE]
        if picture.line is not None or not _stands_beside(picture, lines[0]):
            continue
        own = [bool(line.line) and line.column == picture.column for line in lines]
        others = (at for at, line in enumerate(lines) if not own[at] or (at and _BEGINS.match(line.text)))
        lines = lines[: next(others, len(lines))]
        beside = [at for at, line in enumerate(lines, 1) if _stands_beside(picture, line)]
        ends = [at for at, line in enumerate(lines[: beside[-1] + _MOST_BELOW], 1) if ENDS.search(line.text)]
        level = [at for at in ends if at <= beside[-1]]
        items.insert(place + (level[-1] if level else ends[0] if ends else 1), items.pop(place))


def _pictures_behind_names(items: list[Item]) -> None:
    """Moves a picture and its caption to the one paragraph that names it, or the question that it names: "第4题"."""
    _caption_by_questions(items)
    named: dict[tuple[int, str], list[Item]] = {}
    for item in items:
        own_names = figure_names(item.text) if item.block.kind == "text" else []
        for name in {*own_names, *_BEGINS_QUESTION.findall(item.text)}:
            named.setdefault((item.box.page, name), []).append(item)
    for picture in [item for item in items if item.line is None and names_of(item.block.caption)][:_MOST_CAPTIONS]:
        names, page = names_of(picture.block.caption), picture.box.page
        lines = named.get((page, names[0])) or named.get((page - names[0].isdecimal(), names[0]), [])
        if len(names) > 1 or len(lines) != 1:
            continue
        captions = [item for item in items if item.block.kind == "caption" and item.box.page == page]
        moved = [picture, *(item for item in captions if names_of(item.text) == names)]
        own = set(map(id, moved))
        page = lines[0].box.page
        at_name = next(at for at, item in enumerate(items) if item is lines[0])
        end = next((at for at in range(at_name + 1, len(items)) if _begins(items[at], page)), len(items))
        places = [at for at, item in enumerate(items) if id(item) in own]
        if at_name < places[0] and places[-1] < end:
            continue
        if end == len(items) or items[end].box.page != page:
            end = 1 + max(at for at, item in enumerate(items) if item.block is lines[0].block)
        before, behind = ([item for item in part if id(item) not in own] for part in (items[:end], items[end:]))
        items[:] = [*before, *moved, *behind]


def names_of(caption: str) -> list[str]:
    """The question that a caption names, else its figures."""
    question = _OF_QUESTION.fullmatch(caption)
    return [next(filter(None, question.groups()))] if question else figure_names(caption) if is_label(caption) else []


def _caption_by_questions(items: list[Item]) -> None:
    """Gives pictures the captions that name their questions: those within them, and those of a row below them."""
    pictures = [item for item in items if item.line is None and item.block.kind == "figure"]
    pairs = [(item, text) for item in pictures for text in item.block.text.split("\n") if _OF_QUESTION.fullmatch(text)]
    for line in [item for item in items if item.line]:
        names = re.split(r"\s{3,}|\t", line.text)
        if all(map(_OF_QUESTION.fullmatch, names)):
            near = [each for each in pictures if each.box.page == line.box.page]
            near = [each for each in near if -_CAPTION / 4 < line.box.top - each.box.bottom < _CAPTION]
            near = sorted(near, key=lambda each: each.box.bottom)[-len(names) :]
            if len(near) == len(names):
                pairs += zip(sorted(near, key=lambda each: each.box.left), names, strict=True)
                items.remove(line)
    for picture, name in pairs:
        picture.block = replace(picture.block, caption=name)


def _begins(item: Item, page: int) -> bool:
    """Checks for the beginning of another question, part, options, section or the key, or of another page."""
    text = item.text
    heads = _BEGINS.match(text) or counts_questions(text) or is_section(text) or begins_answers(text)
    return bool(heads) or item.box.page != page


def _stands_beside(picture: Item, line: Item) -> bool:
    if line.line is None or (picture.box.page, picture.column) != (line.box.page, line.column):
        return False
    height = line.box.bottom - line.box.top
    shared = min(picture.box.bottom, line.box.bottom) - max(picture.box.top, line.box.top)
    goes_on = picture.box.bottom > line.box.bottom and line.box.top - height < picture.box.top <= line.box.top
    return picture.box.left > line.box.left + height and (shared > height / 2 or goes_on)


def _spaced(items: Sequence[Item]) -> None:
    """Marks by a space each line in Hangul that ends with its word.

    Korean breaks lines within words. The paper's own words decide: the pieces stand elsewhere as one word, or as two.
    Else a particle or an ending belongs to the word before it.
    """
    lines = [item for item in items if item.line]
    words = {word for item in lines for word in _HANGUL.findall(item.text)[1:-1]}
    for item, following in pairwise(lines):
        begins = _HANGUL.match(following.text)
        if item.line and begins and (last := _HANGUL.search(item.line.text.rstrip()[::-1])) and last.start() == 0:
            end, start = last[0][::-1], begins[0]
            joined, two = end + start in words, {end, start} <= words
            apart = two if joined != two else item.line.text.endswith(" ") or not _PARTICLE.fullmatch(start)
            item.line = replace(item.line, text=item.line.text.rstrip() + " " * apart)


def _hyphenated(items: Sequence[Item]) -> None:
    """Keeps the hyphen of a compound at the end of a line, if the paper has it, or both of its words alone."""
    lines = [item for item in items if item.line]
    parts = {at for at, item in enumerate(lines) if _PARTED.search(item.text)}
    whole = (_WORD.findall(_PARTED.sub("", item.text))[at - 1 in parts :] for at, item in enumerate(lines))
    words = {word.lower() for own in whole for word in own}
    for item, following in pairwise(lines):
        parted, rest = _PARTED.search(item.text), _WORD.match(following.text)
        if item.line and parted and rest:
            first, last = parted[1].lower(), rest[0].lower()
            both = {first, last} <= words and first + last not in words
            if both or f"{first}-{last}" in words:
                item.line = replace(item.line, text=item.line.text.rstrip()[:-1] + "-")


def _add(block: Block, page: PageBlocks, ground: set[_Place], stream: Stream) -> None:
    if block.kind in ("header", "footer"):
        options = [place for place, line in enumerate(block.lines, 1) if OPTIONS.match(line.text)]
        end = options[-1] if options and options[0] == 1 else 0
        stream.headings[page.number] += (
            ["\n".join(line.text for line in block.lines[end:])] if block.lines[end:] else []
        )
        block = replace(block, lines=block.lines[:end])
    if len(stream.items) >= MAX_ITEMS:
        return
    if block.kind in ("text", "caption", "header", "footer") or (block.kind == "formula" and block.lines):
        for line in block.lines:
            again = page.width and _place(line.text, line.box) in ground
            named = any(counts(line.text) for counts in (is_section, counts_questions, passage_range, says_worth))
            if again and not named:
                stream.headings[page.number].append(line.text)
            elif (kept := _without_ruling(line)) and (kept.text.strip() or kept.unread):
                stream.items.append(Item(_numbered(kept), block, kept.box, block.column))
    elif block.kind == "figure" and _place("", block.box) in ground:
        return
    elif block.kind in ("table", "figure") and FORM.sub("", text := squeezed(block.text)) != text:
        _add_form(block, page, stream)
    elif block.picture or block.lines:
        stream.items.append(Item(None, block, block.box, block.column))


def _add_form(block: Block, page: PageBlocks, stream: Stream) -> None:
    """Adds a table of boxes for marks, or a drawing of them: the section's title in it, and what else it has."""
    cells = [(line, cell.strip()) for line in block.lines for cell in line.text.split("\t")]
    form = CANDIDATE if _CANDIDATE.search(squeezed(block.text)) else FORM
    cells = [(line, form.sub("", cell, count=1) if form.match(cell) else cell) for line, cell in cells]
    others = [(line, cell) for line, cell in cells if cell]
    titles = [(line, cell) for line, cell in others if is_section(cell)]
    if len(titles) == 1 and (len(others) == 1 or block.kind == "figure"):
        title = replace(titles[0][0], text=titles[0][1])
        stream.items.append(Item(title, replace(block, kind="text", lines=[title]), title.box, block.column))
        others = others[1:]
    if others and not (len(others) == 1 and others[0][1].isdecimal()):
        stream.items.append(Item(None, block, block.box, block.column))
    elif not titles:
        stream.headings[page.number].append(block.text)
        stream.worth += [(block.box, others[0][1])] if others and _WORTH_BOX.search(block.text) else []


def _worth_in_boxes(stream: Stream) -> None:
    """Writes points that stand in a box behind the first line beside it: a title or the head of a question."""
    for box, worth in stream.worth:
        level = (each for each in stream.items if each.box.page == box.page and box.top < each.box.bottom < box.bottom)
        if (item := next(level, None)) and item.line:
            item.line = replace(item.line, text=f"{item.line.text}（{worth}分）")


def _without_ruling(line: Line) -> Line | None:
    """A line without dots and rules to write on; None if nothing else is left.

    Dots within a sentence are a blank; marks behind dots are kept.
    """
    text = _DOTS.sub(_GAP, line.text)
    dotted = text != line.text
    if (ruled := _RULED.fullmatch(text)) and (dotted or line.box.right - line.box.left > _WIDE):
        mark = ruled["mark"] or ""
        box = replace(line.box, left=max(line.box.left, line.box.right - len(mark) * line.size))
        return replace(line, text=mark, box=box) if mark else None
    if not dotted:
        return line
    text = _BEFORE_BRACKET.sub(" ", text)
    if labelled := _LABELLED_RULE.fullmatch(text):
        text = "    ".join(filter(None, (labelled["label"], labelled["mark"])))
    return replace(line, text=text.replace(_GAP, " ____ "))


def _before_formula(label: re.Match[str]) -> str:
    rest = "" if label["all"] or label["behind"] else f"${label['font'] or ''}"
    return f"{label['gap']}{label['name']}. {rest}"


def _numbered(line: Line) -> Line:
    """A line with its number first: not in its formula, behind a box for the score, marks or a label; so its labels."""
    text = _SCORE_BOX.sub("", _SET_SIGN.sub(r"\1", line.text))
    if _SET_LABEL.match(text):
        text = _SET_LABEL.sub(_before_formula, text)
    text = _SET_ROOM.sub(r"\2\3\5", text)
    text = _DASHED.sub("", _MARKS_BEFORE.sub(r"\2 (\1 marks) ", text))
    pieces = re.split(r"\s{3,}", text)
    names = [piece for piece in pieces if _NAMED.fullmatch(piece)]
    text = "    ".join([*names, *(piece for piece in pieces if piece not in names)]) if len(names) == 1 else text
    return replace(line, text=_SET_MARK.sub(r"\1", text))


_Place = tuple[str, int, int, int]
"""Text, digits aside, and place: left, top and right in hundredths of the page."""


def _place(text: str, box: Box) -> _Place:
    return shape_of(text), round(100 * box.left), round(100 * box.top), round(100 * box.right)


def _ground(pages: Sequence[PageBlocks]) -> set[_Place]:
    """Items at the same place of most pages: stamps, watermarks, bar codes, words in the margins."""
    seen: Counter[_Place] = Counter()
    for page in pages:
        lines = [line for block in page.blocks for line in block.lines]
        places = {_place(line.text, line.box) for line in lines if len(line.text) > 3 and not OPTIONS.match(line.text)}
        places |= {_place("", block.box) for block in page.blocks if block.kind == "figure"}
        seen.update(places)
    fewest = max(_FEWEST_ALIKE, _MOST_PAGES * len(pages))
    return {place for place, many in seen.items() if many >= fewest}


def shape_of(text: str) -> str:
    """A text without its numbers and spaces."""
    return re.sub(r"[\d□]+", "#", squeezed(text))


def _edges(stream: Stream) -> None:
    """The columns' edges, from all pages with as many columns: a short page does not fill its own.

    Without the outermost twentieth of the lines. A line over several columns belongs to none: at the top of a page it
    is a heading, unless it is a section's title.
    """
    count: dict[int, int] = {}
    for item in stream.items:
        count[item.box.page] = max(count.get(item.box.page, 1), item.column + 1)
    begins = _quantiles((count[item.box.page], item.column, item.box.left) for item in stream.items)
    over = [item for item in stream.items if _crosses(item, begins.get((count[item.box.page], item.column + 1)))]
    spans = set(map(id, over))
    begun: set[int] = set()
    for item in over:
        begun |= {item.box.page} if counts_questions(item.text) or is_section(item.text) else set()
        if item.box.bottom < _TOP and item.box.page not in begun:
            stream.headings[item.box.page] += [item.text] if item.line else []
            stream.titles.append(item)
    tops = set(map(id, stream.titles))
    stream.items = [item for item in stream.items if id(item) not in tops]
    inside = [item for item in stream.items if id(item) not in spans]
    ends = _quantiles((count[item.box.page], item.column, -item.box.right) for item in inside)
    for page, columns in count.items():
        for column in range(columns):
            if (columns, column) in ends:
                stream.columns[page, column] = begins[columns, column], -ends[columns, column]


def _crosses(item: Item, next_column: float | None) -> bool:
    return next_column is not None and item.box.right > next_column + 0.02


def _quantiles(edges: Iterable[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
    by_column: dict[tuple[int, int], list[float]] = {}
    for columns, column, edge in edges:
        by_column.setdefault((columns, column), []).append(edge)
    return {key: sorted(values)[len(values) // 20] for key, values in by_column.items()}
