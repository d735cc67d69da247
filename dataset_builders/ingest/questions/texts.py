"""Texts of questions from lines, tables and pictures.

Contract: wrapped lines are joined, others begin a line; a picture is an image mark, never within a paragraph; a table
is a pipe table. Only spaces and marks are added; empty pictures and numbers of answer blanks alone are left out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from statistics import median

from livek12.core.records import IMAGE_MARK
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, PICTURE, Block, Box, Line
from livek12.dataset_builders.ingest.questions.cells import in_cells, in_label_order
from livek12.dataset_builders.ingest.questions.headings import begins_answer
from livek12.dataset_builders.ingest.questions.options import bare_labels, begins_option
from livek12.dataset_builders.ingest.questions.stream import Item

LABEL = r"(?:[(（]?[A-Ha-h][)）]|[A-HＡ-Ｈ][.．、]|[①-⑩])"
_OWN_LINE = both_scripts(
    rf"\s*(?:{LABEL}|{CHOICE}|[a-h][.．]\s+\S|a[.．].{{1,40}}\sb[.．]|[(（]\s*(?:\d{{1,2}}|[ivxⅰ-ⅹⅠ-Ⅹ]{{1,4}})\s*[)）]|[ㄱ-ㅎ]\s?[.．]|[(（][가-하][)）]\s|[<＜〈【]\s*보\s*기|注\s*[:：]|[【\[]"
    r"|Q\s?\d{1,2}\.\d|\d{1,2}\s?[-–]\s?\d{1,2}\s?[.．)]\s|(?:Part|PART)\s+[A-H1-9]\b|证明\s*[:：]|材料[一二三四五]|[甲乙丙丁]\s*[:：])"
)
_ITEM = re.compile(r"\s*[1-9][.．]\s+[^\W\d]")
"""Of a list, behind a whole sentence."""
_ONLY_LABELS = re.compile(rf"\s*(?:{LABEL}\s*){{1,8}}")
_EACH_LABEL = re.compile(LABEL)
_EAST_ASIAN = re.compile(r"[　-〿一-鿿＀-￯“”‘’…—]")
_ENDS = re.compile(r"[。．.!?！？；;:：]\s*$")
_WRAPS = 0.06
"""Distance of a wrapping line from the column's right edge, of its width."""
_MARKED = re.compile(r"(?:^|\s{3,})\[\d{1,2}(?:\.5)?(?:\s?[+＋]\s?\d{1,2}){0,3}(?:\s*(?:points?|marks?))?\]$")
"""The points at the right edge end a paragraph."""
_LONGEST_OPEN = 2000
"""Characters of a paragraph within a bracket."""
_CLOSING = 5
"""Letters: a character of CJK with the sign behind it, which may not begin a line."""
_INDENT = 2.5
"""Letters by which the first line of a paragraph stands further in."""
_SAME_ROW = 0.004
_FEWEST_CELLS, _OPTION_LINES = 3, 2
"""Options, and lines of code below the first of each, that are no listing."""
_SMALL = 1000
"""Bytes of a picture that may be empty."""
_MARKS = re.compile(r"<\s*im(?:age|g)\b|!\[", re.IGNORECASE)
_BRACKETS = str.maketrans("（）［］｛｝〔〕【】", "()[]{}()[]")
_LABEL_ENDS = re.compile(r"(?:^|[\s,;:.、，；：。])(?:[A-Za-z]|[ivxIVX]{1,4}|\d{1,2}(?:[.-]\d)?|[一-十가-하ㄱ-ㅎ])$")


@dataclass
class Text:
    """A text with its pictures in the order of their marks.

    Attributes:
        unread_at: lines of which pieces are in the picture only.
        others: words that another reading does not have.
        readings: by the rules and a model, where they differ.
    """

    text: str = ""
    pictures: list[Block] = field(default_factory=list)
    unread: bool = False
    unread_at: list[str] = field(default_factory=list)
    confidence: float = 1.0
    by_ocr: bool = False
    others: list[str] = field(default_factory=list)
    readings: list[tuple[str, str]] = field(default_factory=list)


class _Writer:
    """Builds paragraphs; pictures wait for the end of theirs."""

    def __init__(self, edges: dict[tuple[int, int], tuple[float, float]]) -> None:
        self.edges = edges
        self.paragraphs: list[str] = []
        self.waiting: list[Block] = []
        self.found = Text()
        self.last: Item | None = None
        self.lines: list[Item] = []  # of the last paragraph

    def line(self, item: Item, text: str, own: bool = False) -> None:
        """Adds a printed line, to the paragraph before if that wraps; `own` begins one."""
        text = text.replace(PICTURE, IMAGE_MARK)
        if not own and self.last is not None and self.paragraphs and self._goes_on(self.last, item, text):
            self.paragraphs[-1] = join(self.paragraphs[-1], text)
            self.lines.append(item)
        else:
            self.release()
            self.paragraphs.append(text)
            self.lines = [item]
        self.last = item
        if item.line:
            self._account(item.line, item.block)

    def _account(self, line: Line, block: Block) -> None:
        """Notes the pictures of a line, what of it was not read, and how sure it is."""
        self.found.pictures += [Block(kind="figure", box=line.box, picture=picture) for picture in line.pictures]
        if line.unread:
            self.found.unread = True
            where = "" if block.origin == "source" else f"page {line.box.page}, "
            self.found.unread_at.append(f"{where}{one_line(line.text.replace(PICTURE, IMAGE_MARK), 40)!r}")
        self.found.others += [line.other] if line.other else []
        self.found.readings += [line.readings] if line.readings else []
        self.found.by_ocr |= block.origin == "ocr"
        self.found.confidence = min(self.found.confidence, line.confidence)

    def listing(self, items: Sequence[Item], texts: Sequence[str]) -> None:
        """Adds lines of code, with their indentation and blank lines."""
        self.release()
        boxes = [item.box for item in items]
        edges = {
            (item.box.page, item.column): min(box.left for box in boxes if box.page == item.box.page) for item in items
        }
        steps = [below.top - above.top for above, below in pairwise(boxes) if below.top > above.top]
        usual = max([median(steps or [1.0]), *(item.line.size for item in items if item.line)])
        rows = ["```"]
        above = boxes[0]
        for item, text in zip(items, texts, strict=True):
            pitch = (item.line.pitch if item.line else 0.0) or 1.0
            rows += [""] * (round((item.box.top - above.top) / usual) - 1 if item.box.top > above.top else 0)
            rows.append(" " * round((item.box.left - edges[item.box.page, item.column]) / pitch) + text)
            above = item.box
            if item.line:
                self._account(item.line, item.block)
        self.paragraphs.append("\n".join([*rows, "```"]))
        self.last = None

    def labels(self, pictured: Sequence[tuple[str, Block]]) -> None:
        """Adds options that are pictures."""
        self.release()
        for label, picture in pictured:
            self.paragraphs.append(f"{label} {IMAGE_MARK}")
            self.found.pictures.append(picture)
        self.last = None

    def block(self, block: Block) -> None:
        """Adds a table as a paragraph; a picture waits."""
        if rows := in_cells(block) or [*filter(None, [table(block)])]:
            self.release()
            self.paragraphs += [row.replace(PICTURE, IMAGE_MARK) for row in rows]
            self.last = None
        elif block.picture and not is_empty(block.picture):
            self.waiting.append(block)
        for line in block.lines if block.origin == "source" or block.kind == "table" else ():
            self._account(line, block)

    def release(self) -> None:
        """Writes the marks of the pictures that wait."""
        for block in self.waiting:
            self.paragraphs.append(IMAGE_MARK)
            self.found.pictures.append(block)
        self.waiting = []

    def _goes_on(self, last: Item, item: Item, text: str) -> bool:
        before = self.paragraphs[-1]
        listed = _ITEM.match(text) and _ENDS.search(before.rstrip('”’")'))
        begins = _OWN_LINE.match(text) or listed or begins_answer(text)
        if begins and (len(before) > _LONGEST_OPEN or not half_bracket(before, "()").startswith("(")):
            return False
        same_row = last.box.page == item.box.page and abs(last.box.top - item.box.top) < _SAME_ROW
        return same_row or (wraps(last, self.edges, item) and not self._indented(item))

    def _indented(self, item: Item) -> bool:
        """A line further in than its paragraph's others begins another."""
        same = [other for other in self.lines[1:] if (other.box.page, other.column) == (item.box.page, item.column)]
        return bool(same) and item.box.left > max(other.box.left for other in same) + _INDENT * _letter(item)


ASKS_OF_LINED = both_scripts(r"밑줄|underlin|加点|[划画][横橫]?[线線]|劃線", re.IGNORECASE)
"""A question about what is underlined."""
_LABELLED = re.compile(r"^(?:[①-⑳㉠-㉻ⓐ-ⓩ]|[(（]?[A-Ha-h][)）.])\s*")


def compose(
    items: Sequence[Item],
    edges: dict[tuple[int, int], tuple[float, float]],
    skip: int = 0,
    *,
    lined: bool = False,
) -> Text:
    """The text of items in reading order; `skip` characters of the first line are its number.

    `lined` marks what is underlined, by `<u>` and `</u>`.
    """
    writer = _Writer(edges)
    items = in_label_order(items)
    pictured = _labelled_pictures(items)
    used = {id(block) for pairs in pictured.values() for _, block in pairs}
    own = {place for place, _ in bare_labels([item.text for item in items])}
    listings = _listings(items)
    head = re.escape(squeezed(items[0].text[:skip])) if items else ""
    again = re.compile(rf"(?:^|\s{{3,}}|\s+(?={head}\s*_)){head}[\s_]*$" if re.search(r"\d\W", head) else r"(?!)")
    for place, item in enumerate(items):
        if item.line is None:
            if id(item.block) not in used:
                writer.block(item.block)
            continue
        if place in listings:
            if rows := listings[place]:
                writer.listing(rows, [row.line.text.rstrip() for row in rows if row.line])
            continue
        text = again.sub("", harmless(item.line.text[skip if place == 0 else 0 :].lstrip()))
        if place in pictured:
            if pictured[place]:
                writer.labels(pictured[place])
        elif text.strip() or item.line.unread:
            for part in item.line.lined if lined else ():
                bare = _LABELLED.sub("", part)
                text = text.replace(bare, f"<u>{bare}</u>", 1) if text.count(bare) == 1 else text
            writer.line(item, text, place in own)
    writer.release()
    writer.found.text = "\n".join(paragraph.rstrip() for paragraph in writer.paragraphs if paragraph.strip())
    return writer.found


def is_empty(picture: bytes) -> bool:
    """Checks for a picture of one colour."""
    from PIL import Image

    with suppress(OSError, Image.DecompressionBombError):
        return len(picture) < _SMALL and len(Image.open(io.BytesIO(picture)).convert("L").getcolors() or ()) == 1
    return False


def _listings(items: Sequence[Item]) -> dict[int, list[Item]]:
    """Lines of code by the place of their first; the others of a run have none.

    A single one is text.
    """
    runs: dict[int, list[Item]] = {}
    first = 0
    options = [place for place, item in enumerate(items) if begins_option(item.text)]
    options = options if len(options) >= _FEWEST_CELLS else []
    for place, item in enumerate(items):
        number = bool(runs) and item.text.isdecimal() and bool(items[place + 1 : place + 2])
        of_option = any(at <= place <= at + _OPTION_LINES and all(map(_is_code, items[at:place])) for at in options)
        code = _is_code(item) or (number and _is_code(items[place - 1]) and _is_code(items[place + 1]))
        if place and item.line and code and not of_option:
            first = first or place
            runs.setdefault(first, []).append(item)
        else:
            first = 0
    runs = {place: run for place, run in runs.items() if len(run) > 1}
    return {at: run if at == place else [] for place, run in runs.items() for at in range(place, place + len(run))}


def _is_code(item: Item) -> bool:
    return item.line is not None and item.line.pitch > 0


def wraps(item: Item, edges: Mapping[tuple[int, int], tuple[float, float]], following: Item | None = None) -> bool:
    """Checks whether a line reaches the right edge of its column, so that the next may continue it.

    One within a sentence does if the first word of `following` has no room.
    """
    left, right = edges.get((item.box.page, item.column), (item.box.left, item.box.right))
    room = right - item.box.right
    if room <= _WRAPS * max(right - left, 0.1):
        return not _MARKED.search(item.text)
    if following is None or _ENDS.search(item.text):
        return False
    word = following.text.split(maxsplit=1)[:1]
    wide = bool(word) and bool(_EAST_ASIAN.match(word[0]) or "가" <= word[0][0] <= "힣")
    if not word or not (wide or word[0][0].islower()):
        return False
    least = _CLOSING if wide else len(word[0]) + 1
    return room < least * _letter(item)


def _letter(item: Item) -> float:
    """Width of a Latin letter, as a fraction of the page; CJK is twice as wide."""
    many = sum(2 if _EAST_ASIAN.match(letter) or "가" <= letter <= "힣" else 1 for letter in item.text)
    return (item.box.right - item.box.left) / max(1, many)


def join(before: str, after: str) -> str:
    """Joins two lines: a space between words, none between Chinese characters or in Korean words."""
    if not before or not after:
        return before + after
    if before.endswith("____") and after.startswith("____"):  # one blank over the end of a line
        return before + after.lstrip("_")
    if "가" <= before[-1] <= "힣" and "가" <= after[0] <= "힣":
        return before + after
    if _EAST_ASIAN.match(before[-1]) or _EAST_ASIAN.match(after[0]):
        return before.rstrip() + after.lstrip()
    if re.search(r"[A-Za-z][-‐]$", before) and after[0].islower():
        return before.removesuffix("‐") + after
    return f"{before.rstrip()} {after.lstrip()}"


def table(block: Block) -> str:
    """A block's rows as a pipe table; "" where it is none."""
    rows = [[cell.strip().replace("|", "\\|") for cell in line.text.split("\t")] for line in block.lines]
    width = max(map(len, rows), default=0)
    if block.kind != "table" or width < 2:
        return "" if block.picture else "\n".join(line.text for line in block.lines)
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])


def harmless(text: str) -> str:
    """Breaks printed text that looks like an image mark."""
    return _MARKS.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def half_bracket(text: str, kinds: str = "{}") -> str:
    """The text before a bracket without its other half; the labels a) and intervals [0, 1) are whole."""
    plain = re.sub(r"\\[{}]|(['\"])[()\[\]{}]+\1", "", text).translate(_BRACKETS)
    opening, depth, last = kinds[::2], 0, 0
    for match in re.finditer(rf"[{re.escape(kinds)}]", plain):
        depth += 1 if match[0] in opening else -1
        last = match.start() if depth == 1 and match[0] in opening else last
        if depth < 0 and match[0] == ")" and _LABEL_ENDS.search(plain[max(0, match.start() - 9) : match.start()]):
            depth = 0
        if depth < 0:
            return re.split(r"[()\[\]{}]", plain[max(0, match.start() - 30) : match.start()])[-1] + match[0]
    return plain[last:] if depth else ""


def _labelled_pictures(items: Sequence[Item]) -> dict[int, list[tuple[str, Block]]]:
    """Pictures that are options, and their labels, by lines of labels alone: beside, else above, else below these.

    The first line has all, in the order of the labels, whichever column they stand in.
    """
    by_line: dict[int, list[Block]] = {}
    used: set[int] = set()
    figures = [item for item in items if item.line is None and item.block.picture and not table(item.block)]
    lines = [
        (place, item) for place, item in enumerate(items) if place and item.line and _ONLY_LABELS.fullmatch(item.text)
    ]
    rows = _rows_of(lines)
    for how in (_beside, _above, lambda figure, label: _above(label, figure)):
        for row in rows if figures else ():
            box = reduce(Box.joined, (item.box for _, item in row))
            free = [f for f in figures if id(f) not in used and f.box.page == box.page]
            near = sorted((f for f in free if how(f.box, box)), key=lambda f: f.box.left)
            counts = [len(_EACH_LABEL.findall(item.text)) for _, item in row]
            if counts == [1] and how is _beside:
                near = near[:1]
            if row[0][0] not in by_line and len(near) == sum(counts):
                used |= {id(f) for f in near}
                for (place, _), count in zip(row, counts, strict=True):
                    by_line[place] = [f.block for f in near[:count]]
                    near = near[count:]
    pairs = [
        pair
        for place, blocks in sorted(by_line.items())
        for pair in zip(_EACH_LABEL.findall(items[place].text), blocks, strict=True)
    ]
    if len(dict(pairs)) == len(pairs):
        pairs.sort(key=lambda pair: pair[0])
    return {place: pairs if place == min(by_line) else [] for place in by_line}


def _rows_of(lines: Sequence[tuple[int, Item]]) -> list[list[tuple[int, Item]]]:
    """Lines side by side in a column, from left to right."""
    rows: list[list[tuple[int, Item]]] = []
    for place, item in lines:
        last = rows[-1][-1][1] if rows else None
        same = last and (last.box.page, last.column) == (item.box.page, item.column)
        if last and same and last.box.top < (item.box.top + item.box.bottom) / 2 < last.box.bottom:
            rows[-1].append((place, item))
        else:
            rows.append([(place, item)])
    return [sorted(row, key=lambda pair: pair[1].box.left) for row in rows]


def _beside(figure: Box, label: Box) -> bool:
    return figure.top < (label.top + label.bottom) / 2 < figure.bottom and figure.left > label.left - 0.01


def _above(figure: Box, label: Box) -> bool:
    return 0 <= label.top - figure.bottom + 0.005 < 0.03
