"""Paragraphs and tables of a source as the blocks of a page.

Contract: all blocks are on one page without a picture, one below the other. Nothing outside the source is read. What is
not understood becomes `UNREAD` in its line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.languages import HANGUL
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Block, Box, Line, PageBlocks

MAX_FILE: Final = 32 << 20
MAX_TEXT: Final = 4_000_000  # characters of a source, formulas and expanded macros included
MAX_PARAGRAPH: Final = 100_000  # characters; a text that grows piece by piece takes the square of its length
MAX_PICTURES: Final = 64 << 20
MAX_PIXELS: Final = 24_000_000
BLANK: Final = "____"
_HEIGHT, _LETTER, _LEVEL, _WIDEST = 0.01, 0.002, 0.03, 0.4  # shares of the page: line, letter, indent, widest line
_SHORT_LINE = 40  # characters that a line counts at least, so that lines have a limit too
_LAYOUT, _CELL = 3, 400  # paragraphs, or characters, of a cell that make its table one for layout
OPTION: Final = re.compile(r"\s*(?:[(（]?[A-H][.．、)）]|[①-⑩])")
_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_ALONE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")  # letters of a Western code page
_HANGUL: Final = re.compile(f"[{HANGUL}]")
_MARK: Final = re.compile(r"\W*\w{1,3}\W*")
_FORMULA: Final = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)*\$")
_WITHIN: Final = re.compile(r"(?<!\\)\$([^$]*)\$")  # a formula in the text of a formula
_ROOM: Final = r"(?:\\(?:q?quad|displaystyle|\s)|[~\s])"
_LABEL: Final = rf"\\(?:text|math)(?:bf|rm)?\s*\{{\s*(\([A-H]\))\s*\}}{_ROOM}*"
_LABELLED: Final = re.compile(f"{_ROOM}+(?:{_LABEL})?|{_LABEL}")  # room, and the label of an option, within a formula
_SCRIPTED: Final = re.compile(r"\$([^$]*)\$$")
_SCRIPT_BASE: Final = re.compile(r"(?:[A-Za-z]+|\d+|[)\]）])$")


@dataclass
class Paragraph:
    """Text of a paragraph with the pictures of its marks; raises UserError if it becomes too long."""

    text: str = ""
    level: int = 0  # of indentation
    heading: int = 0  # its rank among headings, from 6 for the title of the paper; 0 for other text
    bold: bool = False
    unread: bool = False
    wraps: bool = False  # the next paragraph may continue it
    verbatim: bool = False
    pictures: list[bytes] = field(default_factory=list)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "text" and isinstance(value, str) and len(value) > MAX_PARAGRAPH:
            raise UserError(f"a paragraph in it has more than {MAX_PARAGRAPH:,} characters: split it")
        super().__setattr__(name, value)

    def gap(self) -> None:
        """Adds a placeholder for what was not understood."""
        self.text += UNREAD
        self.unread = True

    def picture(self, data: bytes) -> bool:
        """Adds an embedded picture; false for one that cannot be drawn."""
        drawn = _drawn(data)
        if drawn:
            self.text += PICTURE
            self.pictures.append(drawn)
        return bool(drawn)

    def formula(self, latex: str) -> None:
        """Adds a formula."""
        latex = _WITHIN.sub(r"}\1\\text{", " ".join(latex.split()))
        self.text += f"${latex}$" if latex else ""

    def script(self, sign: str, text: str) -> None:
        """Adds an index, "_" or "^", to the letters before it."""
        if not (inner := text.strip()):
            return
        near = len(self.text) - 2000  # where its base is looked for
        inner = inner if inner.isascii() and (len(inner) == 1 or not inner.isalpha()) else f"\\text{{{inner}}}"
        if before := _SCRIPTED.search(self.text, near):
            self.text = f"{self.text[: before.start()]}${before[1]}{sign}{{{inner}}}$"
            return
        base = _SCRIPT_BASE.search(self.text, near)
        letters = base[0] if base else ""
        head = self.text[: base.start()] if base else self.text
        more = _SCRIPTED.search(head, near) if letters and "_" in head[-12:] + "^" and head.endswith("$") else None
        plain = f"\\mathrm{{{letters}}}" if letters.isalpha() and len(letters) > 1 else letters.replace("）", ")")
        front = f"{head[: more.start()]}${more[1]}" if more else f"{head}$"
        self.text = f"{front}{plain or '{}'}{sign}{{{inner}}}$"


Cell = list[Paragraph]


class Writer:
    """Builds the page of a source; UserError if there is more of it than a paper has."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.notes: dict[str, None] = {}
        self.answers, self.solutions = list[str](), list[str]()  # that the paper hides, of the question that is read
        self._size = self._bytes = 0
        self._top = 0.0

    def add(self, paragraph: Paragraph) -> None:
        """Adds a paragraph; each of its lines is a block."""
        pictures, whole = iter(paragraph.pictures), paragraph.text
        listing = ["```\n" + whole.strip("\n") + "\n```"] if paragraph.verbatim else None
        for text in listing or _FORMULA.sub(_opened, whole).split("\n"):
            if text.strip():
                own = [picture for _, picture in zip(range(text.count(PICTURE)), pictures, strict=False)]
                if own and not text.replace(PICTURE, "").strip():
                    for picture in own:
                        box = self._line(PICTURE, paragraph, [picture]).box
                        self.blocks.append(Block(kind="figure", box=box, picture=picture, origin="source"))
                else:
                    line = self._line(text.rstrip(), paragraph, own)
                    self.blocks.append(Block(kind="text", box=line.box, lines=[line], origin="source"))

    def reveal(self, put: Callable[[Paragraph], None] | None = None) -> None:
        """Adds what a paper hides of the question above, or puts it elsewhere."""
        sign = "" if all(re.fullmatch("[A-H]", answer) for answer in self.answers) else "；"
        for head, texts, join in (("【答案】", self.answers, sign), ("【解析】", self.solutions, "\n")):
            text = re.sub(r"(?m)^(\d{1,2})[.．、](?=\s)", r"(\1)", join.join(filter(None, texts)))  # begins no question
            if text:
                is_unread = UNREAD in text or PICTURE in text
                (put or self.add)(Paragraph(head + text.replace(PICTURE, UNREAD), unread=is_unread))
            texts.clear()

    def table(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Adds a table; one that only lays out paragraphs as those."""
        filled = [own for row in rows if (own := [cell for cell in row if any(p.text.strip() for p in cell)])]
        cells = [cell for row in filled for cell in row]
        sizes = [(sum(len(p.text) for p in cell), len(cell) >= _LAYOUT) for cell in cells]
        layout = 2 * sum(size for size, high in sizes if high or size > _CELL) > sum(size for size, _ in sizes)
        if (len(rows) == 1 and not layout) or (cells and all(OPTION.match(cell[0].text) for cell in cells)):
            for row in filled:
                self.add(joined(row, "    "))
            return
        if layout or max(map(len, filled), default=0) < 2:
            for row in filled:
                if len(row) > 1 and _MARK.fullmatch(row[0][0].text):  # the number of what is beside it
                    mark, first = row[0].pop(0), row[1][0]
                    first.text = f"{mark.text.strip()} {first.text}"
                    first.pictures[:0] = mark.pictures
                    first.unread |= mark.unread
                for paragraph in (paragraph for cell in row for paragraph in cell):
                    self.add(paragraph)
            return
        lines = [self._line(whole.text, whole, whole.pictures) for whole in (joined(row, "\t") for row in rows)]
        if any(line.text.strip() for line in lines):
            box = lines[0].box.joined(lines[-1].box)
            self.blocks.append(Block(kind="table", box=box, lines=lines, origin="source"))

    def page(self) -> PageBlocks:
        """The page of all blocks; as nothing of it is drawn, it has no width."""
        return PageBlocks(number=1, width=0.0, height=0.0, image=b"", blocks=self.blocks, notes=list(self.notes))

    def _line(self, text: str, paragraph: Paragraph, pictures: list[bytes]) -> Line:
        self._size += max(len(text), _SHORT_LINE)
        self._bytes += sum(map(len, pictures))
        if self._size > MAX_TEXT or self._bytes > MAX_PICTURES:
            limit = f"{MAX_TEXT:,} characters or {MAX_PICTURES >> 20} MiB of pictures"
            raise UserError(f"it holds more than {limit}: split it")
        left = min(_WIDEST, _LEVEL * paragraph.level)
        right = 1.0 if paragraph.wraps else left + min(_WIDEST, _LETTER * len(text))
        box = Box(page=1, left=left, top=self._top, right=right, bottom=self._top + 0.8 * _HEIGHT)
        self._top += _HEIGHT
        size = _HEIGHT * (1 + paragraph.heading / 6 if paragraph.heading else 0.5)
        return Line(text=text, box=box, size=size, bold=paragraph.bold, unread=paragraph.unread, pictures=pictures)


def decoded(path: Path) -> str:
    """The text of a file in its own encoding, UTF-8 or a code page; UserError if it is too large."""
    data = path.read_bytes()
    if len(data) > MAX_FILE:
        raise UserError(f"it has more than {MAX_FILE >> 20} MiB: split it")
    charset = _CHARSET.search(data[:2048])
    for encoding in ("utf-8-sig", charset[1].decode() if charset else "utf-8", "gb18030"):
        if encoding == "gb18030" and 2 * len(_ALONE.findall(data)) > len(re.findall(rb"[\x80-\xff]+", data)):
            return data.decode("cp1252", "replace")
        try:
            text = data.decode("gb18030" if encoding.lower() in ("gb2312", "gbk") else encoding)
        except (UnicodeError, LookupError):
            continue
        korean = data.decode("cp949", "ignore") if encoding == "gb18030" else ""
        return korean if 4 * len(_HANGUL.findall(korean)) > len(korean) else text
    return data.decode("utf-8", "replace")


def _opened(formula: re.Match[str]) -> str:
    labelled = _LABELLED.sub(lambda room: f"$    {room[room.lastindex]} $" if room.lastindex else room[0], formula[0])
    options = re.sub(r"(?<!\\)\$\$", "", labelled)
    return options.replace("    (A)", "\n(A)") if "(A)" in options and "(B)" in options else formula[0]


def joined(row: Sequence[Cell], sign: str) -> Paragraph:
    """The cells of a row as one paragraph, a sign between two."""
    texts = [" ".join(p.text.replace("\n", " ").replace("\t", " ").strip() for p in cell) for cell in row]
    inner = [paragraph for cell in row for paragraph in cell]
    pictures = [picture for p in inner for picture in p.pictures]
    return Paragraph(sign.join(texts), unread=any(p.unread for p in inner), pictures=pictures)


def _drawn(data: bytes) -> bytes | None:
    """A picture as PNG or JPEG; None if it is none, too large, or not drawn here."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"]) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                return None
            picture.load()
            if picture.format in ("PNG", "JPEG"):
                return data
            buffer = io.BytesIO()
            clear = "transparency" in picture.info or picture.mode == "RGBA"
            picture.convert("RGBA" if clear else "RGB").save(buffer, "PNG")
            return buffer.getvalue()
    except Exception:  # whatever a broken picture leads its decoder to raise
        return None
