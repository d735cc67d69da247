"""Text layer and drawings of a page by pdfium, in points from the top left of the page as shown.

Contract: `read` gives every printed glyph once (fake bold prints some twice), and every path and picture as a `Rule` or
a `Shape`; forms are opened, objects bounded, white or clear ones left out.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby, pairwise
from statistics import median, median_high
from typing import Any, Final

from livek12.dataset_builders.ingest.pages.blocks import CHOICE, RINGED, TICKED, UNREAD
from livek12.dataset_builders.ingest.pages.geometry import UNMOVED, Affine, Bounds, Placed, Rule, Shape, chains, hull

MAX_OBJECTS: Final = 20_000
MAX_DEPTH: Final = 8
MOST_POINTS: Final = 120
"""Points of an outline that are kept: a sign of a formula has fewer."""
_FAINT: Final = 90
"""Grey values (of 255) from white: what is filled lighter than this can be printed over."""
_BRIGHT: Final = 200
"""The least of a highlighter's strongest colour, of 255."""
THIN, _HAIR, _CORNERS = 2.6, 1.2, 6
"""Points: what is thinner is a line, what is thinner than a hair whatever its shape; corners of a line's outline."""


def _read_drawings(page: Any, shown: Affine, raw: RawPage) -> None:
    import pypdfium2.raw as c

    objects, whole = page_objects(page, shown)
    for item, kind, to_page in objects:
        if kind in (c.FPDF_PAGEOBJ_IMAGE, c.FPDF_PAGEOBJ_SHADING):
            box = bounds_of(item, to_page)
            if box and _is_line([], box[2] - box[0], box[3] - box[1]):
                raw.rules.append(Rule(*box))
            elif box:
                raw.shapes.append(Shape("image", *box))
        elif kind == c.FPDF_PAGEOBJ_PATH:
            _path(c, item, to_page, raw)
    raw.rules = _merged(raw.rules)
    if not whole:
        raw.notes.append(f"only the first {MAX_OBJECTS} drawings were looked at: no exam's page has so many")


def page_objects(page: Any, shown: Affine) -> tuple[list[tuple[Any, int, Affine]], bool]:
    """Objects of a page and its forms in the order of painting, with kinds and maps to `shown`; false if some lack."""
    import pypdfium2.raw as c

    objects: list[tuple[Any, int, Affine]] = []
    left = iter(range(MAX_OBJECTS))

    def add(count: int, get: Callable[[int], Any], to_page: Affine, depth: int) -> None:
        for index, _ in zip(range(count), left, strict=False):
            item, active = get(index), ctypes.c_int()
            if c.FPDFPageObj_GetIsActive(item, active) and not active.value:
                continue
            kind = c.FPDFPageObj_GetType(item)
            if kind == c.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                inner = to_page.after(_matrix(c, item))
                add(c.FPDFFormObj_CountObjects(item), partial(c.FPDFFormObj_GetObject, item), inner, depth + 1)
            else:
                objects.append((item, kind, to_page))

    add(c.FPDFPage_CountObjects(page.raw), partial(c.FPDFPage_GetObject, page.raw), shown, 0)
    return objects, next(left, None) is not None


def address(item: Any) -> int:
    """The identity of an object; 0 for none."""
    return ctypes.cast(item, ctypes.c_void_p).value or 0


def _matrix(c: Any, item: Any) -> Affine:
    matrix = c.FS_MATRIX()
    c.FPDFPageObj_GetMatrix(item, matrix)
    return Affine(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def bounds_of(item: Any, to_page: Affine) -> Bounds | None:
    """Around an object; None if pdfium knows none."""
    import pypdfium2.raw as c

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not c.FPDFPageObj_GetBounds(item, left, bottom, right, top):
        return None
    return to_page.bounds(left.value, bottom.value, right.value, top.value)


def paint(item: Any, *, stroke: bool = False) -> tuple[int, int, int, int]:
    """Red, green, blue and opacity (0 to 255) of an object's fill or stroke; black by default."""
    import pypdfium2.raw as c

    get = c.FPDFPageObj_GetStrokeColor if stroke else c.FPDFPageObj_GetFillColor
    values = [ctypes.c_uint() for _ in range(4)]
    if not get(item, *values):
        return (0, 0, 0, 255)
    red, green, blue, alpha = (value.value for value in values)
    return (red, green, blue, alpha)


def is_pale(item: Any, *, stroke: bool = False) -> bool:
    """Checks for an object filled, or drawn, with white or next to it, or with nothing."""
    *colour, opacity = paint(item, stroke=stroke)
    return opacity < 20 or min(colour) > 236


def _path(c: Any, item: Any, to_page: Affine, drawn: RawPage) -> None:
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    c.FPDFPath_GetDrawMode(item, mode, stroke)
    filled = mode.value != 0 and not is_pale(item)
    stroked = bool(stroke.value) and not is_pale(item, stroke=True)
    if not filled and not stroked:
        return
    *colour, opacity = paint(item)
    ground = filled and not stroked
    faint = ground and max((255 - value) * opacity for value in colour) < _FAINT * 255
    bright = ground and max(colour) > _BRIGHT and max(colour) - min(colour) > _COLOURED
    for points, curved in _subpaths(c, item, to_page.after(_matrix(c, item))):
        _subpath(points, curved, {"filled": filled, "faint": faint, "bright": bright}, drawn)


def _subpaths(c: Any, item: Any, own: Affine) -> Iterator[tuple[list[tuple[float, float]], bool]]:
    points: list[tuple[float, float]] = []
    curved = False
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(min(c.FPDFPath_CountSegments(item), 5000)):
        segment = c.FPDFPath_GetPathSegment(item, index)
        kind = c.FPDFPathSegment_GetType(segment)
        c.FPDFPathSegment_GetPoint(segment, x, y)
        point = own.point(x.value, y.value)
        if kind == c.FPDF_SEGMENT_MOVETO:
            if len(points) > 1:
                yield points, curved
            points, curved = [point], False
            continue
        points.append(point)
        curved = curved or kind == c.FPDF_SEGMENT_BEZIERTO
        if c.FPDFPathSegment_GetClose(segment) and points[0] != points[-1]:
            points.append(points[0])
    if len(points) > 1:
        yield points, curved


def is_ruled(item: Any) -> bool:
    """Checks for a path of thin lines alone, which may part columns and cells."""
    import pypdfium2.raw as c

    drawn = RawPage(math.inf, math.inf)
    if c.FPDFPageObj_GetType(item) == c.FPDF_PAGEOBJ_PATH:
        _path(c, item, UNMOVED, drawn)
    return bool(drawn.rules) and not drawn.shapes


def _subpath(points: list[tuple[float, float]], curved: bool, look: Mapping[str, bool], drawn: RawPage) -> None:
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    outside = right < 0 or bottom < 0 or left > drawn.width or top > drawn.height
    if outside or not math.isfinite(left + right + top + bottom):
        return
    if _is_line(points, right - left, bottom - top) and not (look["faint"] and min(right - left, bottom - top) > _HAIR):
        drawn.rules.append(Rule(left, top, right, bottom))
        return
    straight = not curved and all(abs(x0 - x1) < 0.5 or abs(y0 - y1) < 0.5 for (x0, y0), (x1, y1) in pairwise(points))
    if straight and not look["filled"]:
        for (x0, y0), (x1, y1) in pairwise(points):
            drawn.rules.append(Rule(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
    elif straight or max(right - left, bottom - top) > 1.0:
        framed = len(points) <= 6 if straight else _hugs(points, left, top, right, bottom) and not _is_ellipse(points)
        kind = "frame" if framed else "drawing"
        drawn.shapes.append(Shape(kind, left, top, right, bottom, tuple(points[:MOST_POINTS]), **look))


def _is_line(points: list[tuple[float, float]], wide: float, tall: float) -> bool:
    if min(wide, tall) >= THIN or max(wide, tall) <= 1.0:
        return False
    slants = any(abs(x0 - x1) > 0.8 and abs(y0 - y1) > 0.8 for (x0, y0), (x1, y1) in pairwise(points))
    return min(wide, tall) < _HAIR or len(points) < 3 or not (slants or len(points) > _CORNERS)


def _hugs(points: list[tuple[float, float]], left: float, top: float, right: float, bottom: float) -> bool:
    short = min(right - left, bottom - top)
    if short < 8 or len(points) < 8:
        return False
    corner = short * (0.5 if max(right - left, bottom - top) > 1.6 * short else 0.22)
    sides = [sorted((min(x - left, right - x), min(y - top, bottom - y))) for x, y in points]
    return all(near < 1.2 or far < corner for near, far in sides)


def _is_ellipse(points: list[tuple[float, float]]) -> bool:
    """Four curves that touch the middles of a box bigger than one around a number."""
    across, down = ({round(point[axis]) for point in points[::3]} for axis in (0, 1))
    big = min(max(side) - min(side) for side in (across, down)) > _RING_SIZE
    return len(points) == _FOUR_CURVES and len(across) == len(down) == 3 and big


_FOUR_CURVES, _RING_SIZE = 13, 24
"""Points of four curves; points across of a ring that may be around a number."""
_ABUTS: Final = 0.6
"""Points between two lines that meet."""


def _merged(rules: list[Rule]) -> list[Rule]:
    done: list[Rule] = []
    for flat in (True, False):
        lines = (rule for rule in rules if rule.flat == flat and rule.length > 0)
        for rule in sorted(lines, key=lambda rule: (round(rule.centre[flat]), rule.left, rule.top)):
            for last in reversed(done[-6:]):
                if last.flat == flat and _continues(last, rule, flat):
                    last.joints += (rule.left,) if flat and abs(rule.left - last.right) < _ABUTS else ()
                    last.left, last.top, last.right, last.bottom = hull((last, rule))
                    break
            else:
                done.append(Rule(*rule.box))
    return done


def _continues(last: Rule, rule: Rule, flat: bool) -> bool:
    along, off = (0, 1) if flat else (1, 0)
    line, other = last.box, rule.box
    same = abs(line[off] + line[off + 2] - other[off] - other[off + 2]) < 1.6
    return same and other[along] <= line[along + 2] + _ABUTS and line[along] <= other[along + 2] + _ABUTS


_COLOURED: Final = 80
"""Between the strongest and the weakest of a letter's red, green and blue, of 255: with less it is black or grey."""
AXIS: Final = 0.26
"""Height of the fraction bar over the base line, in letter sizes."""
MAX_GLYPHS: Final = 20_000
"""Of a page; the densest A3 sheet has 8,000."""


@dataclass(slots=True)
class Glyph(Placed):
    """A printed character; its edges are those of its ink, in points.

    Attributes:
        text: Unicode; `UNREAD` if the font does not say; a whole run where OCR read it.
        base: y of the base line.
        advance: x of the next character, which may be left of the ink (f) or far right of it (full-width commas).
        math: set in a font for formulas.
        sound: `text` can be believed.
        item: address of its text object; 0 for none.
        upright: its line runs across the page; `slanted`: neither across nor down.
        start: x of its origin, left of its ink by its own white space; None: its ink's.
        pitch: width of all letters of a typewriter's font; else 0.
        place: in the text layer; -1 for none.
        parted: by pdfium, from the letter before.
        colour: "#rgb" for no grey; "" otherwise.
        marked: on a highlighter's ground.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float
    size: float
    advance: float = 0.0
    font: str = ""
    bold: bool = False
    math: bool = False
    sound: bool = True
    confidence: float = 1.0
    item: int = 0
    upright: bool = True
    start: float | None = None
    pitch: float = 0.0
    place: int = -1
    parted: bool = False
    colour: str = ""
    marked: bool = False
    slanted: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """X from its origin to that of the next letter."""
        right = min(self.advance, self.right + self.size) if self.advance else self.right
        return self.left if self.start is None else self.start, right

    @property
    def cell(self) -> tuple[float, float]:
        """X from its origin to that of the next letter, whatever its ink."""
        return self.left if self.start is None else self.start, self.advance

    @property
    def axis(self) -> float:
        """Y of its centre line."""
        return self.base - AXIS * self.size


@dataclass(slots=True)
class RawPage:
    """A page's content.

    Attributes:
        hidden: letters that are not printed (the text layer OCR puts behind a scan).
        notes: omissions, for a person.
    """

    width: float
    height: float
    glyphs: list[Glyph] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    hidden: int = 0
    notes: list[str] = field(default_factory=list)


def read(page: Any, unnamed: Collection[tuple[str, str, int]] = ()) -> RawPage:
    """All of a page of pdfium; `unnamed` as from `pdf.unnamed_codes`."""
    width, height = page.get_size()
    shown = _shown(page, width, height)
    raw = RawPage(width, height)
    glyphs = _long(_stacked(_composed(_once([*_glyphs(page, shown, raw, unnamed)]))))
    _trust_nameless(glyphs)
    _distrust(glyphs)  # before tall brackets, whose pieces have shapes of their own, are whole
    raw.glyphs = _ringed(_brackets(glyphs))
    _part_ligatures(raw.glyphs)
    _name_code(raw.glyphs)
    _read_drawings(page, shown, raw)
    return raw


def _shown(page: Any, width: float, height: float) -> Affine:
    import pypdfium2.raw as c

    many = 1000
    points = []
    for x, y in ((0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0)):
        left, top = ctypes.c_int(), ctypes.c_int()
        c.FPDF_PageToDevice(page.raw, 0, 0, int(width * many), int(height * many), 0, x, y, left, top)
        points.append((left.value / many, top.value / many))
    (e, f), (ax, ay), (cx, cy) = points
    return Affine((ax - e) / 1000, (ay - f) / 1000, (cx - e) / 1000, (cy - f) / 1000, e, f)


def _glyphs(page: Any, shown: Affine, raw: RawPage, unnamed: Collection[tuple[str, str, int]]) -> Iterator[Glyph]:
    import pypdfium2.raw as c

    _unmark(page)
    text = page.get_textpage()
    layer = text.raw
    count = c.FPDFText_CountChars(layer)
    total = min(count, MAX_GLYPHS)
    if count > total:
        raw.notes.append(f"of {count} characters only the first {total} were read: no exam's page has so many")
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    loose, matrix, flags = c.FS_RECTF(), c.FS_MATRIX(), ctypes.c_int()
    name = ctypes.create_string_buffer(128)
    colours: dict[int, str] = {}
    korean = any(0xAC00 <= c.FPDFText_GetUnicode(layer, at) < 0xD400 for at in range(total))
    index, parted = 0, True
    while index < total:
        at, code = index, _code(layer, index)
        index += 1 + (code > 0xFFFF)
        parted |= c.FPDFText_IsGenerated(layer, at) == 1 or chr(code).isspace()
        if c.FPDFText_IsGenerated(layer, at) == 1 or not c.FPDFText_GetCharBox(layer, at, left, right, bottom, top):
            continue
        c.FPDFText_GetFontInfo(layer, at, name, 128, flags)
        font, bold, math_font = _font(name.value)
        c.FPDFText_GetMatrix(layer, at, matrix)
        c.FPDFText_GetCharOrigin(layer, at, x, y)
        c.FPDFText_GetLooseCharBox(layer, at, loose)
        scale = math.hypot(matrix.c, matrix.d) * math.hypot(shown.c, shown.d)
        size = c.FPDFText_GetFontSize(layer, at) * scale
        start, base = shown.point(x.value, y.value)
        box = _squared(shown.bounds(left.value, bottom.value, right.value, top.value), start, code)
        around = shown.bounds(loose.left, loose.bottom, loose.right, loose.top)
        along, down = (abs(matrix.a * x + matrix.b * y) for x, y in ((shown.a, shown.c), (shown.b, shown.d)))
        code += 0x10000 * (0xD400 <= code < 0xD800 and (math_font or not korean))  # letters cut to 16 bits
        code *= (font, chr(code), round((around[2] - around[0]) / max(size, _INK) * 1000)) not in unnamed
        prints = box[3] - box[1] >= _INK
        code = ord(" ") if _unsound(code) and not prints else code * (chr(code) != " " or not (prints and math_font))
        character = _character(code)
        if character == "" or size <= 0 or not all(map(math.isfinite, (*box, base, size))):
            continue
        item = c.FPDFText_GetTextObject(layer, at)
        raw.hidden += (mode := c.FPDFTextObj_GetTextRenderMode(item)) == c.FPDF_TEXTRENDERMODE_INVISIBLE
        unmapped = c.FPDFText_HasUnicodeMapError(layer, at) == 1
        advance = _advance(around, box, size)
        meaning = known_sign(font, code, unmapped) or (
            _measured(font, (around, box), (advance, base), size) if prints and _unsound(code) else None
        )
        flat = along >= down and box[3] - box[1] < _FLAT * size < box[2] - box[0]
        sound = (meaning or UNREAD) != UNREAD or not (
            meaning or unmapped or _unsound(code) or (flat and character in _TALL)
        )
        if meaning == _BAR or (
            flat
            and not sound
            and (font or character not in _DASHES)
            and box[3] - box[1] < _LINE * size < box[2] - box[0]
        ):
            raw.rules.append(Rule(*box))
            continue
        yield from (Glyph(
            letter, *box, base, size, advance, font or f"#{address(c.FPDFTextObj_GetFont(item))}",
            bold or mode == c.FPDF_TEXTRENDERMODE_FILL_STROKE or c.FPDFText_GetFontWeight(layer, at) >= 600,
            math_font and CHOICE not in (meaning, character), sound, item=address(item), upright=along >= down,
            place=at, parted=parted, start=around[0] if 0 < box[0] - around[0] < size else None,
            colour=meaning if meaning == TICKED else _colour_of(item, colours),
            slanted=min(along, down) > _SLANT * max(along, down),
        ) for letter in (CHOICE if meaning == TICKED else meaning or character))  # fmt: skip
        parted = parted and chr(code).isspace()


def _colour_of(item: Any, colours: dict[int, str]) -> str:
    if address(item) not in colours:
        red, green, blue, _ = paint(item)
        grey = max(red, green, blue) - min(red, green, blue) < _COLOURED
        colours[address(item)] = "" if grey else f"#{red >> 4:x}{green >> 4:x}{blue >> 4:x}"
    return colours[address(item)]


def _squared(ink: Bounds, start: float, code: int) -> Bounds:
    wide = unicodedata.east_asian_width(chr(code)) == "W" and 0 < start - ink[0] < ink[2] - start
    return (start, *ink[1:]) if wide else ink


def _advance(loose: Bounds, ink: Bounds, size: float) -> float:
    return loose[2] if loose[2] > max(loose[0], ink[0], ink[2] - _OVERHANG * size) else ink[2]


def _left(layer: Any, at: int) -> float:
    import pypdfium2.raw as c

    left, *others = (ctypes.c_double() for _ in range(4))
    c.FPDFText_GetCharBox(layer, at, left, *others)
    return left.value


def _code(layer: Any, at: int) -> int:
    import pypdfium2.raw as c

    code = int(c.FPDFText_GetUnicode(layer, at))
    if code == _HYPHENATED and c.FPDFText_IsHyphen(layer, at) == 1:
        return ord("‐")
    if 0xD800 <= code < 0xDC00:
        low = c.FPDFText_GetUnicode(layer, at + 1)
        if 0xDC00 <= low < 0xE000 and _left(layer, at) == _left(layer, at + 1):  # WPS gives two letters a half each
            return 0x10000 + ((code - 0xD800) << 10) + (int(low) - 0xDC00)
    return code


def _unmark(page: Any) -> None:
    """Removes texts written over spans (ActualText): pdfium gives all of one to its first glyph, the rest get none."""
    import pypdfium2.raw as c

    for index in range(min(c.FPDFPage_CountObjects(page.raw), MAX_OBJECTS)):
        item = c.FPDFPage_GetObject(page.raw, index)
        if c.FPDFPageObj_GetType(item) != c.FPDF_PAGEOBJ_TEXT:
            continue
        for at in reversed(range(c.FPDFPageObj_CountMarks(item))):
            mark = c.FPDFPageObj_GetMark(item, at)
            if c.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") == c.FPDF_OBJECT_STRING:
                c.FPDFPageObj_RemoveMark(item, mark)


def _character(code: int) -> str:
    if 0xFE00 <= code < 0xFE10 or code in (0xAD, 0xD, 0xA) or code > 0x10FFFF:  # forms of the letter before, ends
        return ""
    if 0x2E80 <= code < 0x2FE0 or 0xF900 <= code < 0xFB00:  # radicals, and letters of old sets a second time
        return _RADICALS.get(code) or unicodedata.normalize("NFKC", chr(code))
    return UNREAD if _unsound(code) else "○" if code == _RING else chr(RINGED.get(code, code))


_RING: Final = 0x20DD
"""A circle around the letter before it; TeX's \\bigcirc has this code, and none."""
_SLANT: Final = 0.15
"""Rise of a line, of its length, that no line of running text has."""
_INK: Final = 0.05
"""Points: what is lower prints nothing."""
_FLAT, _LINE = 0.12, 0.07
"""Letter sizes: what is lower than the one is no letter, and than the other a line; an arrow is between them."""
_OVERHANG: Final = 0.35
_HYPHENATED: Final = 2
"""Pdfium's code of a hyphen that parts a word at the end of a line."""
_DASHES: Final = frozenset("-–—_")
_TALL: Final = frozenset('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!"#$%&()*+/:;<>?@[]{}|\\')
"""Characters that no font sets flat: a flat glyph with such a code has another meaning."""


def _unsound(code: int) -> bool:
    """A code without meaning: none, private, a control sign, or half of a pair."""
    return code in (0, 0xFFFD) or (code != 0x9 and unicodedata.category(chr(code)) in ("Co", "Cn", "Cc", "Cs"))


_MATH_FONTS: Final = tuple(
    "math cmmi cmsy cmex txmi txsy txex pxmi pxsy pxex msbm msam eufm hyhwpeq hancomeqn mt-extra mtextra euclid "
    "symbol".split()
)


@lru_cache(maxsize=256)
def _font(name: bytes) -> tuple[str, bool, bool]:
    """Name without the subset's mark; bold; for formulas."""
    try:
        plain = name.decode("utf-8")
    except UnicodeDecodeError:
        plain = name.decode("euc-kr", "replace")
    plain = plain.partition("+")[2] or plain
    lower = plain.lower().replace(" ", "")
    heavy = any(word in lower for word in ("bold", "heavy", "black", "simhei", "-bd", "견명조", "견고딕", "태고딕"))
    return plain, heavy, any(word in lower for word in _MATH_FONTS)


def _once(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Each glyph once: fake bold prints it twice or more, some fonts name it twice."""
    widths: dict[tuple[str, str], float] = {}
    for glyph in glyphs:
        sign, wide = (glyph.font, glyph.text), (glyph.right - glyph.left) / glyph.size
        widths[sign] = min(wide, widths.get(sign, _PAIR if glyph.text in "ft" else wide))
    kept: list[Glyph] = []
    seen: dict[tuple[str, int, int], list[Glyph]] = {}
    for glyph in glyphs:
        column, row = int(glyph.left // 4), int(glyph.base // 4)
        cells = ((glyph.text, column + across, row + down) for across in (-1, 0, 1) for down in (-1, 0, 1))
        slack, narrowest = 0.12 * glyph.size, widths[glyph.font, glyph.text] * glyph.size
        near = (g for cell in cells for g in seen.get(cell, ()) if abs(g.left - glyph.left) < slack)
        twins = (g for g in near if abs(g.base - glyph.base) < slack / 2 and not _is_pair(g, glyph, narrowest))
        if not glyph.text.strip() or next(twins, None) is None:
            seen.setdefault((glyph.text, column, row), []).append(glyph)
            kept.append(glyph)
    return kept


_PAIR, _WIDER = 0.32, 1.4
"""Letter sizes of an f or t, at most; a ligature of two is wider than one by this factor."""


def _is_pair(glyph: Glyph, after: Glyph, narrowest: float) -> bool:
    same = glyph.box == after.box and glyph.item == after.item
    if glyph.place == after.place:  # one sign that means several letters
        return same
    return same and glyph.place + 1 == after.place and glyph.right - glyph.left > _WIDER * narrowest


_SHAPES: Final = {
    sign: bounds
    for signs, bounds in (
        ("acemnorsuvwxz", (0.3, 0.64, -0.15, 1, 0, 2)),
        ("bdhklt", (0.45, 2, -0.15, 1, 0, 2)),
        ("gpqy", (0, 2, -2, -0.05, 0, 2)),
        ("ABCDEFGHIKLMNOPRSTUVWXYZ", (0.48, 1.05, -0.2, 1, 0, 2)),
        ("0123456789", (0.35, 0.95, -2, 1, 0, 2)),
        (".,", (-1, 0.5, -2, 2, 0, 0.42)),
        (":;!", (-1, 1.2, -2, 2, 0, 0.42)),
        ("/", (0.5, 1.2, -0.5, 2, 0, 2)),
        ("|", (-1, 2, -9, 2, 0, 0.3)),
        ("()[]{}", (-1, 2, -9, -0.03, 0, 0.6)),
        ("\"'", (-1, 2, 0.25, 2, 0, 2)),
        ("$", (0, 2, -2, -0.02, 0, 2)),
        ("=<>≤≥≠≈+∩∪∈", (-1, 1.2, -1, 2, 0.36, 2)),
        ("→←", (0.33, 2, -1, 2, 0.36, 2)),
        ("↑↓", (0.55, 1.4, -1, 0.1, 0, 0.58)),
        ("↔", (-1, 1.2, -1, 2, 0.7, 2)),
        ("…⋯", (-1, 0.7, -2, 2, 0.45, 2)),
    )
    for sign in signs
}
"""Least and most height over the base line, of the foot, and width, in letter sizes, of all fonts for text."""
_FEWEST_SHAPES, _TRUE = 15, 0.95
"""Letters of nameless fonts, and the share of those on a page, that show by their shapes that the codes are theirs."""
_LIES, _LYING = 2, 0.25
"""Letters of a font in other shapes, and their share, that show that the file gives it other letters."""


def _trust_nameless(glyphs: Sequence[Glyph]) -> None:
    """Believes the letters of a page's nameless fonts, in place, if they have the shapes of their codes."""
    nameless = [glyph for glyph in glyphs if glyph.font[:1] == "#" and not glyph.sound and glyph.text != UNREAD]
    shaped = [glyph for glyph in nameless if glyph.text in _SHAPES]
    even = [glyph for glyph in shaped if _is_shaped(glyph)]
    if len({glyph.text for glyph in even}) >= _FEWEST_SHAPES and len(even) > _TRUE * len(shaped):
        for glyph in nameless:
            glyph.sound = True


def _distrust(glyphs: Sequence[Glyph]) -> None:
    """Doubts signs in other shapes than their own, and fonts with such letters (not one: small capitals), in place.

    Not if most of the page has.
    """
    shaped = [g for g in glyphs if g.text in _SHAPES and g.sound and g.upright and not g.slanted and g.height > _INK]
    odd = {id(glyph): glyph for glyph in shaped if not _is_shaped(glyph)}
    if 2 * len(odd) > len(shaped):
        return
    signs: dict[str, tuple[set[str], set[str]]] = {}
    for glyph in shaped:
        signs.setdefault(glyph.font, (set(), set()))[id(glyph) in odd].add(glyph.text)
    lying = {font for font, (even, others) in signs.items() if len(others) >= max(_LIES, _LYING * len(even | others))}
    for glyph in glyphs:
        other = id(glyph) in odd and not glyph.text.isalnum()
        meaning = known_sign(glyph.font, ord(glyph.text)) if other else None
        if meaning:
            glyph.text = meaning
        elif other or (glyph.font in lying and glyph.text.strip()):
            glyph.sound = False


def _is_shaped(glyph: Glyph) -> bool:
    least, most, deepest, highest, narrow, wide = _SHAPES[glyph.text]
    top, foot = (glyph.base - glyph.top) / glyph.size, (glyph.base - glyph.bottom) / glyph.size
    return least < top < most and deepest < foot < highest and narrow <= (glyph.right - glyph.left) / glyph.size < wide


def _part_ligatures(glyphs: list[Glyph]) -> None:
    boxes = ((glyph.item, glyph.left, glyph.right, glyph.base) for glyph in glyphs)
    for _, group in groupby(zip(boxes, glyphs, strict=True), key=lambda pair: pair[0]):
        letters = [glyph for _, glyph in group]
        left, step = letters[0].left, (letters[0].right - letters[0].left) / len(letters)
        if len(letters) > 1 and all(glyph.text.isalpha() for glyph in letters):
            for place, glyph in enumerate(letters):
                glyph.left, glyph.right = left + place * step, left + (place + 1) * step
                glyph.start, glyph.advance = None, max(glyph.right, glyph.advance if place + 1 == len(letters) else 0)


def _name_code(glyphs: Sequence[Glyph]) -> None:
    """Gives letters of typewriter fonts (none is Chinese), and of listings in columns, their pitch, in place."""
    by_font: dict[str, list[Glyph]] = {}
    by_size: dict[float, dict[int, list[Glyph]]] = {}
    for glyph in sorted((g for g in glyphs if g.text.strip() and g.upright), key=lambda g: (round(g.base), g.left)):
        by_font.setdefault(glyph.font, []).append(glyph)
        by_size.setdefault(round(glyph.size, 1), {}).setdefault(round(glyph.base), []).append(glyph)
    for letters in by_font.values():
        if _is_fixed(letters):
            for glyph in letters:
                glyph.pitch = glyph.cell[1] - glyph.cell[0]
    for size, lines in by_size.items():
        if pitches := [pitch for line in lines.values() if (pitch := _column(line, size))]:
            _set_in_columns(lines, median(pitches), size)


def _set_in_columns(lines: Mapping[int, Sequence[Glyph]], pitch: float, size: float) -> None:
    """Puts letters in columns of a width: lines with spread words, and short ones at them."""
    words = {base: [*_spread(line, pitch, size)] for base, line in lines.items()}

    def fits(base: int) -> bool:
        letters = sum(len(word) for word in words[base] if word[1:])
        return len(lines[base]) < _FEWEST_WORDS or letters > _SPREAD * len(lines[base])

    for block in chains(filter(fits, lines), lambda block, base: base - block[-1] < _NEXT_LINE * size):
        own = [word for base in block for word in words[base]]
        for word in own if any(word[1:] and abs(_gap(word, 1)) > _EVEN / 2 * size for word in own) else ():
            left = (word[0].cell[0] + word[-1].cell[1] - len(word) * pitch) / 2
            for place, glyph in enumerate(word):
                glyph.pitch, glyph.start, glyph.advance = pitch, left + place * pitch, left + (place + 1) * pitch
                glyph.text, glyph.math, glyph.parted = glyph.text.translate(_TYPED), False, not place


def _spread(line: Sequence[Glyph], pitch: float, size: float) -> Iterator[Sequence[Glyph]]:
    """Words that take as many columns as they have letters; other letters one by one."""
    place = 0
    while place < len(line):
        end = place + 1
        for last in range(place + 2, min(place + _LONGEST_WORD, len(line)) + 1):
            if abs(_gap(line, last - 1) - _gap(line, place + 1)) > _EVEN * size:
                break
            end = last if abs(_slot(line[place:last]) - pitch) < _EVEN / 3 * size else end
        yield line[place:end]
        place = end


def _column(line: Sequence[Glyph], size: float) -> float:
    """The width of the columns over which a line's words are spread; 0.0 for none."""

    def goes_on(word: list[int], place: int) -> bool:
        usual = _gap(line, word[1]) if word[1:] else _gap(line, place)
        return usual < _WIDEST_GAP * size and abs(_gap(line, place) - usual) < _EVEN * size / 2

    words = [word for word in chains(range(len(line)), goes_on) if len(word) >= _FEWEST_WORDS]
    if len(words) < _FEWEST_WORDS or max(glyph.text for glyph in line) >= _WIDE:
        return 0.0
    slots, gaps = [_slot(line[word[0] : word[-1] + 1]) for word in words], [_gap(line, word[1]) for word in words]
    even, unlike = (max(values) - min(values) < _EVEN * size for values in (slots, gaps))
    return median(slots) if even and not unlike and median(slots) > _TYPED_WIDTH * size else 0.0


def _gap(line: Sequence[Glyph], place: int) -> float:
    return line[place].cell[0] - line[place - 1].cell[1]


def _slot(word: Sequence[Glyph]) -> float:
    return (sum(end - start for start, end in (g.cell for g in word)) + (len(word) + 1) * _gap(word, 1)) / len(word)


def _is_fixed(letters: Sequence[Glyph]) -> bool:
    signs = {glyph.text for glyph in letters}
    if max(signs) >= _WIDE or len(signs & _NARROW) < _FEWEST_SIGNS > len(signs - _NARROW):
        return False
    own = [(g.text in _NARROW, (g.advance - g.start) / g.size) for g in letters if g.start is not None]
    widths, narrow = ([width for is_narrow, width in own if is_narrow is side] for side in (False, True))
    usual = median_high(widths) if widths else 0.0
    return bool(narrow) and usual > 0 and all(abs(width - usual) < _EVEN * usual for width in (*widths, *narrow))


_NARROW: Final = frozenset("ijl.,:;'!|()[]")
_FEWEST_SIGNS: Final = 2
_WIDE: Final = "\u2e80"
_EVEN: Final = 0.05
"""Share by which widths of a typewriter's letters, and of columns of letters, differ."""
_FEWEST_WORDS, _LONGEST_WORD, _WIDEST_GAP = 3, 40, 0.35
"""Letters of a word, and words, that show columns; letters of a word and letter sizes between them, at most."""
_SPREAD, _NEXT_LINE, _TYPED_WIDTH = 0.3, 1.6, 0.55
"""Share of a line of code that such words take; letter sizes to the next line of code, and of a letter, at least."""
_TYPED: Final = str.maketrans("−∗∼", "-*~")
"""Signs of code that are set in a font for formulas."""


def _composed(glyphs: list[Glyph]) -> list[Glyph]:
    """Joins pieces of a syllable, an accented letter or a struck sign that are set one over the other."""
    done: list[Glyph] = []
    for glyph in glyphs:
        last = done[-1] if done else glyph
        if last is not glyph and "\u2e80" <= last.text < "\u2f00" and last.box == glyph.box:
            last.text = glyph.text  # a radical that is the letter behind it too
            continue
        accent = "" if last.math or glyph.math else _MARKS.get(last.text, "")
        slash = last.text == _SLASH or (last.text == "/" and glyph.left < last.right - 0.3 * (last.right - last.left))
        mark = _SLASH if slash else accent
        pair = glyph.text.replace("ı", "i") + mark if mark else last.text + glyph.text
        whole = unicodedata.normalize("NFC", pair)
        left, right = [sum(last.box[::2]) / 2] * 2 if accent else (last.left, last.right)
        near = max(glyph.left - right, left - glyph.right) < (0.1 if accent else 0.4) * glyph.size
        if last is not glyph and len(whole) == 1 < len(pair) and near and abs(last.base - glyph.base) < glyph.size:
            last.left, last.top, last.right, last.bottom = hull((last, glyph))
            last.text, last.advance = whole, max(last.advance, glyph.advance)
            if mark:
                last.font, last.base, last.size, last.start = glyph.font, glyph.base, glyph.size, glyph.start
            last.sound = last.sound and glyph.sound
        else:
            done.append(glyph)
    return done


_STACKED: Final = {"⊂≠": "⊊", "⊃≠": "⊋", "∼=": "≅"}
"""Signs that are set as two, one over the other."""


def _stacked(glyphs: list[Glyph]) -> list[Glyph]:
    uppers, lowers = ([g for g in glyphs if g.text in {pair[at] for pair in _STACKED}] for at in (0, 1))
    gone: set[int] = set()
    for upper in uppers:
        for lower in lowers if len(uppers) * len(lowers) < MAX_GLYPHS else ():
            near = 0.1 * lower.size
            level = abs(upper.middle - lower.middle) < near and -2 * near < lower.top - upper.bottom < 2 * near
            if level and (sign := _STACKED.get(upper.text + lower.text)):
                upper.left, upper.top, upper.right, upper.bottom = hull((upper, lower))
                upper.text, upper.base = sign, upper.centre[1] + AXIS * upper.size
                gone.add(id(lower))
    return [glyph for glyph in glyphs if id(glyph) not in gone]


_CIRCLED: Final = {
    unicodedata.normalize("NFKC", chr(code)): chr(code)
    for code in (*range(0x2460, 0x2474), *range(0x24B6, 0x24EA), *range(0x3251, 0x3260), *range(0x32D0, 0x32FF))
}


def _ringed(glyphs: list[Glyph]) -> list[Glyph]:
    gone: set[int] = set()
    rings = [glyph for glyph in glyphs if glyph.text == "○"]
    centres = [(glyph, *glyph.centre) for glyph in glyphs if glyph.text.strip()] if rings else []
    for ring in rings:
        left, top, right, bottom = ring.box
        inner = [g for g, x, y in centres if left < x < right and top < y < bottom and g is not ring]
        text = "".join(g.text for g in inner if g.text != "○")
        sign = _CIRCLED.get(text, "" if text.isalnum() else CHOICE)
        if id(ring) not in gone and 0 < len(inner) < 3 and sign:
            gone |= set(map(id, inner))
            ring.text, ring.base, ring.size, ring.math = sign, inner[0].base, max(ring.size, inner[0].size), False
    return [glyph for glyph in glyphs if id(glyph) not in gone]


_LONG: Final = (("-+→", "⟶"), ("←-+", "⟵"), ("←-*→", "⟷"), ("=+⇒", "⟹"), ("⇐=+", "⟸"), ("⇐=*⇒", "⟺"), ("[7⊦]→", "↦"))
"""Long arrows of pieces that touch."""
_TOUCH: Final = 0.05


def _long(glyphs: list[Glyph]) -> list[Glyph]:

    def goes_on(run: list[Glyph], glyph: Glyph) -> bool:
        last = run[-1]
        piece = glyph.text in "−-⎯=←→⇐⇒" and last.text in "−-⎯=←⇐7⊦"
        near = abs(last.base - glyph.base) < 0.1 * glyph.size and glyph.left < last.right + _TOUCH * glyph.size
        return piece and near and last.left < glyph.right

    runs = chains(glyphs, goes_on)
    for run in runs:
        text = re.sub("[−⎯]", "-", "".join(glyph.text for glyph in run))
        if sign := next((sign for form, sign in _LONG if len(run) > 1 and re.fullmatch(form, text)), ""):
            run[0].text, run[0].math, run[0].advance = sign, True, run[-1].advance
            run[0].left, run[0].top, run[0].right, run[0].bottom = hull(run)
            del run[1:]
    return [glyph for run in runs for glyph in run]


_FORMS: Final = {"{": "⎧⎨⎩⎪", "}": "⎫⎬⎭", "(": "⎛⎜⎝", ")": "⎞⎟⎠", "[": "⎡⎢⎣", "]": "⎤⎥⎦"}
_BRACKET_OF: Final = {piece: bracket for bracket, pieces in _FORMS.items() for piece in pieces}
_STROKES, _THIN = frozenset("|()[]{}"), 0.13
"""Names of a bracket's stroke; letter sizes that it is wide at most."""
_FEET: Final = "⎩⎭⎝⎠⎣⎦"
_OPEN_GAP: Final = 2.0
"""Letter sizes between the pieces of a bracket that has no foot yet."""


def _brackets(glyphs: list[Glyph]) -> list[Glyph]:
    """Joins tall brackets stacked from pieces; some fonts name their stroke like the bracket."""
    pieces = [glyph for glyph in glyphs if glyph.text in _BRACKET_OF]
    stacks: list[list[Glyph]] = []
    for piece in sorted(pieces, key=lambda glyph: glyph.top):
        for stack in stacks:
            first, bottom = stack[0], max(glyph.bottom for glyph in stack)
            beside = abs(piece.left + piece.right - first.left - first.right) < piece.size
            gap = (0.35 if any(glyph.text in _FEET for glyph in stack) else _OPEN_GAP) * piece.size
            if beside and piece.top < bottom + gap:
                stack.append(piece)
                break
        else:
            stacks.append([piece])
    for stack in stacks:
        bracket = stack[0]
        bracket.text = next((_BRACKET_OF[g.text] for g in stack if g.text != "⎪" and g.text in _BRACKET_OF), "|")
        bracket.left, bracket.top, bracket.right, bracket.bottom = hull(stack)
        bracket.math, bracket.advance = True, bracket.right
    gone = {id(glyph) for stack in stacks for glyph in stack[1:]}
    for stroke in (g for g in glyphs if g.text in _STROKES and g.width < _THIN * g.size) if stacks else ():
        x, y = stroke.centre
        whole = (stack[0] for stack in stacks if len(stack) > 1 and stack[0] is not stroke)
        gone |= {
            id(stroke)
            for bracket in whole
            if bracket.left - 1 < x < bracket.right + 1 and bracket.top < y < bracket.bottom
        }
    return [glyph for glyph in glyphs if id(glyph) not in gone]


def _run(first: int, characters: str) -> dict[int, str]:
    return {first + at: sign for at, sign in enumerate(characters) if sign != " "}


_SLASH: Final = "\u0338"
"""Strikes the sign that it is printed over."""
_MARKS: Final = {sign: chr(code) for code, sign in (_run(0x300, "`´ˆ˜¯ ˘˙¨ ˚˝ˇ") | {0x327: "¸"}).items()}
"""Accents set as signs of their own."""
_BAR: Final = "BAR"
"""A horizontal line: of a fraction, a root or over letters."""


_HYHWPEQ: Final = (
    _run(0xE000, "𝐴𝐵𝐶𝐷𝐸𝐹𝐺𝐻𝐼𝐽𝐾𝐿𝑀𝑁𝑂𝑃𝑄𝑅𝑆𝑇𝑈𝑉𝑊𝑋𝑌𝑍")
    | _run(0xE034, "1234567890      ()−=+[]{}  :  ,./<>    ∫√          ∑")
    | {0xE043: "∗", 0xE04D: "|", 0xE06A: "⋂", 0xE06B: "⋃", 0xE06D: _BAR}
    | _run(0xE06E, "\u20d7         ⎧⎨⎩⎪" + " " * 9 + "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρστυφχψω")
    | _run(0xE0E5, "𝑎𝑏𝑐𝑑𝑒𝑓𝑔ℎ𝑖𝑗𝑘𝑙𝑚𝑛𝑜𝑝𝑞𝑟𝑠𝑡𝑢𝑣𝑤𝑥𝑦𝑧 ⎡|⎤⎣⎦⎪")
)
_CAMBRIA: Final = {
    tuple(map(int, row[1:].split(","))): row[0]
    for row in (
        "ℎ555,45,543,708,-7 𝐴638,0,584,684,0 𝐵656,28,601,677,0 𝐶597,66,582,684,-7 𝐷692,28,626,677,0 𝐸625,28,605,677,0 "
        "𝐹611,28,596,677,0 𝐺629,66,590,684,-7 𝐻728,28,700,677,0 𝐼378,28,351,677,0 𝐽471,0,443,677,-188 "
        "𝐾698,28,691,677,0 𝐿531,28,490,677,0 𝑀851,27,823,677,0 𝑁732,27,705,677,0 𝑂676,66,610,684,-7 𝑃620,28,576,677,0 "
        "𝑄676,66,610,684,-186 𝑅637,28,583,677,0 𝑆529,7,515,684,-7 𝑇595,34,581,677,0 𝑉625,46,618,677,-7 "
        "𝑋654,0,647,677,0 𝑌603,51,595,677,0 𝑍592,5,578,677,0 𝑎557,51,545,482,-7 𝑏539,45,488,708,-7 𝑐460,51,443,482,-7 "
        "𝑑580,51,545,708,-7 𝑒496,51,450,482,-7 𝑓556,0,548,711,-217 𝑔612,15,555,482,-217 𝑖317,68,283,668,-7 "
        "𝑗436,0,402,668,-217 𝑘552,45,525,708,-7 𝑙316,67,282,708,-7 𝑚838,12,827,482,-7 𝑛574,12,562,482,-7 "
        "𝑝558,12,506,482,-209 𝑞539,51,494,482,-209 𝑟476,11,458,482,0 𝑠462,24,430,482,-7 𝑡394,57,380,596,-7 "
        "𝑣543,34,529,484,-7 𝑤739,27,725,474,-7 𝑥532,15,518,482,-7 𝑦560,3,545,482,-212 𝑧483,12,471,474,0 "
        "𝛤608,28,593,677,0 𝛼599,51,583,482,-7 𝛽605,7,562,709,-209 𝜃563,56,506,695,-7 𝜇548,7,537,474,-195 "
        "𝜋593,17,585,474,-7 𝜎584,44,578,474,-7 𝜏458,17,451,474,-7 "
    ).split()
}
"""Letters of Cambria Math, which WPS leaves without names: advance, left and right edge, top and foot over the base
line, in 1/1000 of the size."""
_MEASURED: Final = 2
"""Thousandths of the size by which a letter differs from its measures, at most."""


def _measured(font: str, boxes: tuple[Bounds, Bounds], ends: tuple[float, float], size: float) -> str | None:
    """The letter of a known font with the measures of a glyph without a name, by its loose box and that of its ink."""
    if not font.replace(" ", "").startswith("CambriaMath"):
        return None
    (start, *_), (left, top, right, foot) = boxes
    begin, (advance, base) = start if 0 < left - start < size else left, ends
    own = [edge / size * 1000 for edge in (advance - begin, left - begin, right - begin, base - top, base - foot)]
    off, sign = min((max(abs(a - b) for a, b in zip(own, edges, strict=True)), at) for edges, at in _CAMBRIA.items())
    return sign if off < _MEASURED else None


_RADICALS: Final = _run(
    0x2EC4, "西见角角讠贝足车辶辶辶 钅長镸长门   青韦页风飞食  饣 马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)
"""Radicals that look like a letter, by code."""
_PIECES: Final = _run(0xF8EB, "⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ ⎞⎟⎠⎤⎥⎦⎫⎬⎭")
"""Adobe's codes for the pieces of tall brackets, in all fonts."""
_EXTRA: Final = {
    0x26: "˙", 0x3A: "∼", 0x4B: "…", 0x4C: "⋯", 0x4D: "⋮", 0x4F: "⋱", 0x68: "ℏ", 0x6C: "ℓ", 0x76: "\u20d7", 0xA1: "ℝ",
    0x43: "∐", 0x49: "⋂", 0x55: "⋃", 0x56: "△", 0x6F: "∘", 0x72: "\u20d7", 0x75: "\u20d7",
}  # fmt: skip
"""MathType's Extra."""


def _alphabet(*styles: str) -> dict[int, str]:
    codes = (*range(0x2100, 0x2150), *range(0x1D49C, 0x1D4D0), *range(0x1D504, 0x1D56C))
    signs = [sign for sign in map(chr, codes) if any(style in unicodedata.name(sign, "") for style in styles)]
    letters = ((unicodedata.normalize("NFKC", sign), sign) for sign in signs)
    return {ord(letter): sign for letter, sign in letters if letter.isascii() and letter.isalpha()}


_DOUBLE, _SCRIPT = _alphabet("DOUBLE-STRUCK CAPITAL"), _alphabet("SCRIPT CAPITAL")
_FRAKTUR = _alphabet("FRAKTUR", "BLACK-LETTER")
_SYMBOL: Final = (
    _run(0xF021, "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_")
    | _run(0xF061, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
    | _run(0xF0A2, "′≤/∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇   ∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨   ∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ ⟩∫   ⎞⎟⎠⎤⎥⎦⎫⎬⎭")
)
_LATIN: Final = {
    code - 0xF000: sign
    for code, sign in _SYMBOL.items()
    if (code > 0xF0A0 or chr(code - 0xF000).isalpha()) and chr(code - 0xF000) not in "¬µ·×÷"
}
_GREEK: Final = "ΓΔΘΛΞΠΣΥΦΨΩ"
_LIGATURES: Final = ("ff", "fi", "fl", "ffi", "ffl")


def _moved(first: str) -> dict[int, str]:
    """TeX's first codes, and where old files have them: behind 160, for they were no letters."""
    return _run(0, first) | {code + (0xA1 if code < 10 else 0xA3): sign for code, sign in _run(0, first[:33]).items()}


_TEX_ITALIC: Final = _moved(_GREEK + "αβγδϵζηθικλμνξπρστυϕχψωεϑϖϱςφ") | _run(0x2E, "▷◁")
_TEX_POINTS: Final = {0x3A: ".", 0x3B: ",", 0x3D: "/", 0x3F: "⋆", 0x40: "∂", 0x60: "ℓ", 0x7E: "\u20d7"}
_TEX_SIGNS: Final = _moved("−·×∗÷⋄±∓⊕⊖⊗⊘⊙○∘•≍≡⊆⊇≤≥⪯⪰∼≈⊂⊃≪≫≺≻←→↑↓↔↗↘≃⇐⇒⇑⇓⇔↖↙∝′∞∈∋△▽" + _SLASH + "⊦∀∃¬∅ℜℑ⊤⊥ℵ") | _run(
    0x5B, "∪∩⊎∧∨⊢⊣⌊⌋⌈⌉{}⟨⟩|‖↕⇕\\≀√⨿∇∫⊔⊓⊑⊒§†‡¶♣♢♡♠"
)
_TEX_TALL: Final = _moved("()[]⌊⌋⌈⌉{}⟨⟩⎪‖/\\" + "()" * 2 + "[]⌊⌋⌈⌉{}⟨⟩/\\()[]⌊⌋⌈⌉{}⟨⟩/\\/\\") | _run(
    0x30, "⎛⎞⎡⎤⎣⎦⎢⎥⎧⎫⎩⎭⎨⎬⎪|⎝⎠⎜⎟⟨⟩  ∮∮  ⊕⊕⊗⊗∑∏∫⋃⋂ ⋀⋁∑∏∫⋃⋂ ⋀⋁  ˆˆˆ˜˜˜[]⌊⌋⌈⌉{}√√√√"
)
_AMS_SIGNS: Final = (
    {0x29: "∴", 0x2A: "∵", 0x35: "≦", 0x36: "⩽", 0x3D: "≧", 0x3E: "⩾"} | _run(0x58, "✓   ∠∡∢") | {0x7B: "∁"}
)
_NAMELESS: Final = {code: sign for first in (0x0B, 0x1B) for code, sign in enumerate(_LIGATURES, first)} | {
    0x10: "“",
    0x11: "”",
    0x15: "–",
    0x16: "—",
    0x88: "•",
}
"""TeX's fonts of dots (Type 3) have no name; their letters have the codes of ASCII."""
_WINGDINGS: Final = (
    _run(0xF06C, f"●{CHOICE}■{4 * CHOICE}⬧⧫◆❖")
    | _run(0xF081, "①②③④⑤⑥⑦⑧⑨⑩ ❶❷❸❹❺❻❼❽❾❿" + " " * 8 + f"·• {CHOICE}" + " " * 5 + f"▪{CHOICE}  ★")
    | _run(0xF0D8, "➢      ←→↑↓↖↗↙↘ ➔      ⇦⇨⇧⇩" + " " * 8 + "✗✓")
    | dict.fromkeys((0xF0FD, 0xF0FE), TICKED)
)
_WINGDINGS_2: Final = {0xF04F: "✗", 0xF050: "✓", 0xF0A3: CHOICE} | dict.fromkeys(range(0xF051, 0xF055), TICKED)
_DINGBATS: Final = tuple({code - 0xF000: sign for code, sign in table.items()} for table in (_WINGDINGS_2, _WINGDINGS))
_ENCODINGS: Final[tuple[tuple[str, dict[int, str]], ...]] = (
    ("wingdings2", _WINGDINGS_2),
    ("wingdings3", {}),
    ("wingdings", _WINGDINGS),
    ("hyhwpeq hancomeqn", _HYHWPEQ),
    ("mt-extra euclidextra", _EXTRA | {0xF000 + code: sign for code, sign in _EXTRA.items()}),
    ("cmex txex pxex mathextension10 mathextension- math-extension", _TEX_TALL),
    ("newmathextn", _run(0, "()") | _run(0x40, "()")),
    ("cmr cmbx cmti cmss cmsl", _run(0, _GREEK) | dict(enumerate(_LIGATURES, 0x0B))),
    ("europeancomputermodern ecrm ecbx ecti sfrm sfbx sfti", dict(enumerate(_LIGATURES, 0x1B))),
    ("wasy", {0x20: TICKED, 0x23: CHOICE, 0x32: CHOICE}),
    ("msam lasy", {0x03: CHOICE, 0x32: CHOICE} | _AMS_SIGNS),
    ("cmmi txmi pxmi", _TEX_ITALIC | _TEX_POINTS),
    ("msbm", _DOUBLE | _run(0x02, "≰≱≮≯⊀⊁≨≩≰≱") | _run(0x1C, "≁≇") | _run(0x20, "⊊⊋⊈⊉⫋⫌⊊⊋⊊⊋⊈⊉∦∤∤∦⊬⊮⊭⊯")),
    ("cmsy cmbsy txsy pxsy mathsymbols math-symbols", _TEX_SIGNS),
    ("symbol", _SYMBOL),
)
"""Fonts that have the same code in every file: Hangul's equation editor, Symbol, Wingdings and MathType's Extra as
Windows gives them, and TeX's for what has no name in Unicode's list."""


_RENAMED: Final[tuple[tuple[str, dict[int, str]], ...]] = (
    ("wingdings2", _DINGBATS[0]),
    ("wingdings3", {}),
    ("wingdings", _DINGBATS[1]),
    ("cmex", {code: sign for code, sign in _TEX_TALL.items() if chr(code).isalpha() or code > 0x7E}),
    ("cmsy cmbsy", {code: sign for code, sign in _TEX_SIGNS.items() if chr(code) not in "{}|\\*-/·±×÷¬§¶"} | _SCRIPT),
    ("cmmi", {code: sign for code, sign in _TEX_ITALIC.items() if chr(code) > "~" and chr(code) != "µ"} | _TEX_POINTS),
    ("mt-extra mtextra euclidextra", _EXTRA),
    ("msam", _AMS_SIGNS),
    ("symbol", _LATIN),
    ("msbm tex_ams mathjax_ams", _DOUBLE),
    ("eufm", _FRAKTUR),
    ("lmmathsymbols rsfs eusm tex_cal mathjax_cal", _SCRIPT),
)
"""Beginnings of the names of fonts whose Latin codes are no Latin letters, whatever the file says."""


def known_sign(font: str, code: int, unmapped: bool = True) -> str | None:
    """The meaning of a code without one of its own, in a known font; None elsewhere: nothing is guessed."""
    lower = font.lower()
    if code and not unmapped and not _unsound(code):
        meanings = next((table for names, table in _RENAMED if lower.startswith(tuple(names.split()))), {})
        return meanings.get(code, UNREAD if meanings in (_EXTRA, *_DINGBATS) and chr(code).isalpha() else None)
    if not font:
        return _NAMELESS.get(code)
    tables = (table for names, table in _ENCODINGS if any(name in lower for name in names.split()))
    return _PIECES.get(code) or next(tables, {}).get(code)
