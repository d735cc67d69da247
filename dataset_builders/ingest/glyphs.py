"""The text layer and the drawings of a page as pdfium gives them, in points from the top left of the page as shown.

Contract: `read` gives every printed glyph once (fake bold prints some twice), with where it stands, and every path
and picture as a `Rule` (a thin line along an axis) or a `Shape`. Nothing here knows what a paper is.
"""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from livek12.dataset_builders.ingest import drawings
from livek12.dataset_builders.ingest.blocks import UNREAD
from livek12.dataset_builders.ingest.geometry import Affine, Rule, Shape

_SAME_PLACE: Final = 0.2
"""Points between the left edges of two codes of one glyph, at most."""
MAX_GLYPHS: Final = 20_000
"""Of a page; the densest A3 sheet has 8,000."""


@dataclass(slots=True)
class Glyph:
    """One printed character.

    Attributes:
        text: Unicode; `UNREAD` where the font does not say.
        left, top, right, bottom: of its ink, in points.
        base: y of the base line.
        size: of the font, in points, as printed.
        advance: x where the next character begins.
        math: set in a font for formulas.
        sound: whether `text` can be believed.
        confidence: of the reading, 0 to 1; `text` is a whole run of letters where OCR read it.
        item: address of the text object it is of; 0 where there is none.
        upright: whether its line runs across the page.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float
    size: float
    advance: float
    font: str
    bold: bool = False
    math: bool = False
    sound: bool = True
    confidence: float = 1.0
    item: int = 0
    upright: bool = True


@dataclass(slots=True)
class RawPage:
    """What stands on one page.

    Attributes:
        hidden: letters that are not printed (the text layer OCR puts behind a scan).
        notes: what was left out, for a person.
    """

    width: float
    height: float
    glyphs: list[Glyph] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    hidden: int = 0
    notes: list[str] = field(default_factory=list)


def read(page: Any) -> RawPage:
    """All of a page of pdfium."""
    width, height = page.get_size()
    shown = _shown(page, width, height)
    raw = RawPage(width, height)
    bars: list[Rule] = []
    raw.glyphs = _once(_glyphs(page, shown, bars, raw))
    _part_ligatures(raw.glyphs)
    raw.rules, raw.shapes, whole = drawings.read(page, shown, raw.width, raw.height, bars)
    if not whole:
        raw.notes.append(f"only the first {drawings.MAX_OBJECTS} drawings were looked at: no exam's page has so many")
    return raw


def _shown(page: Any, width: float, height: float) -> Affine:
    """From the page's own coordinates to points from the top left, with its rotation and crop applied."""
    import pypdfium2.raw as c

    many = 1000
    points = []
    for x, y in ((0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0)):
        left, top = ctypes.c_int(), ctypes.c_int()
        c.FPDF_PageToDevice(page.raw, 0, 0, int(width * many), int(height * many), 0, x, y, left, top)
        points.append((left.value / many, top.value / many))
    (e, f), (ax, ay), (cx, cy) = points
    return Affine((ax - e) / 1000, (ay - f) / 1000, (cx - e) / 1000, (cy - f) / 1000, e, f)


def _glyphs(page: Any, shown: Affine, bars: list[Rule], raw: RawPage) -> Iterator[Glyph]:
    import pypdfium2.raw as c

    _unmark(page)
    text = page.get_textpage()
    layer = text.raw
    count = c.FPDFText_CountChars(layer)
    total = min(count, MAX_GLYPHS)
    if count > total:
        raw.notes.append(f"of {count} characters only the first {total} were read: no exam's page has so many")
    fonts: dict[bytes, tuple[str, bool, bool]] = {}
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    loose, matrix, flags = c.FS_RECTF(), c.FS_MATRIX(), ctypes.c_int()
    name = ctypes.create_string_buffer(128)
    index = -1
    while index + 1 < total:
        index += 1
        at = index
        code = c.FPDFText_GetUnicode(layer, at)
        if 0xD800 <= code < 0xDC00 and at + 1 < total:
            low = c.FPDFText_GetUnicode(layer, at + 1)
            if 0xDC00 <= low < 0xE000 and _one_place(layer, at):
                code, index = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), index + 1
        if c.FPDFText_IsGenerated(layer, at) == 1 or not c.FPDFText_GetCharBox(layer, at, left, right, bottom, top):
            continue
        c.FPDFText_GetFontInfo(layer, at, name, 128, flags)
        if name.value not in fonts:
            fonts[name.value] = _font(name.value)
        font, bold, math_font = fonts[name.value]
        c.FPDFText_GetMatrix(layer, at, matrix)
        c.FPDFText_GetCharOrigin(layer, at, x, y)
        c.FPDFText_GetLooseCharBox(layer, at, loose)
        scale = math.hypot(matrix.c, matrix.d) * math.hypot(shown.c, shown.d)
        size = c.FPDFText_GetFontSize(layer, at) * scale
        box = shown.bounds(left.value, bottom.value, right.value, top.value)
        base = shown.point(x.value, y.value)[1]
        around = shown.bounds(loose.left, loose.bottom, loose.right, loose.top)
        along = abs(matrix.a * shown.a + matrix.b * shown.c)
        upright = along >= abs(matrix.a * shown.b + matrix.b * shown.d)
        character = _character(code)
        if character == "" or size <= 0 or not all(map(math.isfinite, (*box, base, size))):
            continue
        item = c.FPDFText_GetTextObject(layer, at)
        raw.hidden += bool(item) and c.FPDFTextObj_GetTextRenderMode(item) == c.FPDF_TEXTRENDERMODE_INVISIBLE
        known = _known(font, code)
        unmapped = known is None and c.FPDFText_HasUnicodeMapError(layer, at) == 1
        flat = box[3] - box[1] < 0.12 * size < box[2] - box[0]
        sound = known is not None or not (unmapped or _unsound(code) or (flat and character in _TALL))
        if known == _BAR or (not sound and flat):
            bars.append(Rule(*box))
            continue
        yield Glyph(
            known or character, *box, base, size, max(around[2], box[2]), font,
            bold or c.FPDFText_GetFontWeight(layer, at) >= 600, math_font, sound, item=drawings.address(item),
            upright=upright,
        )  # fmt: skip


def _one_place(layer: Any, at: int) -> bool:
    """Whether two codes stand for one glyph: a font may give a glyph the first half of a letter, the next the other."""
    import pypdfium2.raw as c

    lefts = [ctypes.c_double(), ctypes.c_double()]
    rest = [ctypes.c_double() for _ in range(3)]
    boxed = [c.FPDFText_GetCharBox(layer, at + step, left, *rest) for step, left in enumerate(lefts)]
    return not all(boxed) or abs(lefts[0].value - lefts[1].value) < _SAME_PLACE


def _unmark(page: Any) -> None:
    """Forgets texts written over spans (ActualText): pdfium gives all of one to its first glyph, the rest get none."""
    import pypdfium2.raw as c

    for index in range(min(c.FPDFPage_CountObjects(page.raw), drawings.MAX_OBJECTS)):
        item = c.FPDFPage_GetObject(page.raw, index)
        if c.FPDFPageObj_GetType(item) != c.FPDF_PAGEOBJ_TEXT:
            continue
        for at in reversed(range(c.FPDFPageObj_CountMarks(item))):
            mark = c.FPDFPageObj_GetMark(item, at)
            if c.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") == c.FPDF_OBJECT_STRING:
                c.FPDFPageObj_RemoveMark(item, mark)


def _character(code: int) -> str:
    if 0xFE00 <= code < 0xFE10:  # says which form of the letter before it is meant
        return ""
    if code in (0xAD, 0xD, 0xA) or code > 0x10FFFF:
        return ""
    return UNREAD if _unsound(code) else chr(code)


_TALL: Final = frozenset('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!"#$%&()*+/:;<>?@[]{}|\\')
"""What no font sets flat: a flat glyph that is called one of these has another meaning."""


def _unsound(code: int) -> bool:
    """Whether a code says nothing: none, private, a control sign, or half of a pair."""
    return code in (0, 0xFFFD) or (code != 0x9 and unicodedata.category(chr(code)) in ("Co", "Cn", "Cc", "Cs"))


_MATH_FONTS: Final = tuple("math cmmi cmsy cmex msbm msam eufm hyhwpeq mt-extra mtextra euclid symbol".split())


def _font(name: bytes) -> tuple[str, bool, bool]:
    """Its name without the subset's mark; whether it is bold; whether it sets formulas."""
    try:
        plain = name.decode("utf-8")
    except UnicodeDecodeError:
        plain = name.decode("euc-kr", "replace")
    plain = plain.partition("+")[2] or plain
    lower = plain.lower().replace(" ", "")
    heavy = any(word in lower for word in ("bold", "heavy", "black", "simhei", "-bd", "견명조", "견고딕", "태고딕"))
    return plain, heavy, any(word in lower for word in _MATH_FONTS)


def _once(glyphs: Iterator[Glyph]) -> list[Glyph]:
    """Each glyph once: fake bold prints it two or more times, some fonts name it twice."""
    kept: list[Glyph] = []
    seen: dict[tuple[str, int, int], list[Glyph]] = {}
    for glyph in glyphs:
        column, row = int(glyph.left // 4), int(glyph.base // 4)
        near = (
            other
            for across in (-1, 0, 1)
            for down in (-1, 0, 1)
            for other in seen.get((glyph.text, column + across, row + down), ())
        )
        slack = 0.12 * glyph.size
        if glyph.text.strip() and any(
            abs(other.left - glyph.left) < slack and abs(other.base - glyph.base) < slack / 2
            for other in near
            if not (other.text == "f" and glyph.right - glyph.left > 0.45 * glyph.size)
        ):
            continue
        seen.setdefault((glyph.text, column, row), []).append(glyph)
        kept.append(glyph)
    return kept


def _part_ligatures(glyphs: list[Glyph]) -> None:
    """Gives each letter of a ligature its share of the box that they all have, in place, so that their order holds."""
    boxes = ((glyph.item, glyph.left, glyph.right, glyph.base) for glyph in glyphs)
    for _, group in groupby(zip(boxes, glyphs, strict=True), key=lambda pair: pair[0]):
        letters = [glyph for _, glyph in group]
        left, step = letters[0].left, (letters[0].right - letters[0].left) / len(letters)
        if len(letters) > 1 and all(glyph.text.isalpha() for glyph in letters):
            for place, glyph in enumerate(letters):
                glyph.left, glyph.right = left + place * step, left + (place + 1) * step


_BAR: Final = "BAR"
"""A horizontal line: of a fraction, a root or over letters."""


def _italic(first: int, count: int) -> list[str]:
    """Mathematical italic letters; the italic h has a place of its own."""
    return ["\u210e" if code == 0x1D455 else chr(code) for code in range(first, first + count)]


def _hyhwpeq() -> dict[int, str]:
    table = {0xE05B: "∫", 0xE05C: "√", 0xE067: "∑", 0xE06D: _BAR, 0xE06E: "\u20d7", 0xE101: "|"}
    runs: tuple[tuple[int, str | list[str]], ...] = (
        (0xE000, _italic(0x1D434, 26)),
        (0xE034, "1234567890"),
        (0xE044, "()−=+[]{}"),
        (0xE04F, ":"),
        (0xE052, ",./<>"),
        (0xE078, "⎧⎨⎩⎪"),
        (0xE09D, "αβγδεζηθικλμνξοπ"),
        (0xE0E5, _italic(0x1D44E, 26)),
    )
    for first, characters in runs:
        table.update(zip(range(first, first + len(characters)), characters, strict=True))
    return table


_HYHWPEQ: Final = _hyhwpeq()
"""The font of the equation editor of Hangul, the word processor Korean papers are set with; its code is the same in
every file."""


def _known(font: str, code: int) -> str | None:
    """What a private-use code prints in a known equation font; None where it is not known: nothing is guessed."""
    if not 0xE000 <= code < 0xF900:
        return None
    return _HYHWPEQ.get(code) if font.lower() == "hyhwpeq" else None
