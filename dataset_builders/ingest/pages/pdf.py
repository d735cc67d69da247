"""Opening and drawing of hostile PDFs, within bounds."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from livek12.core.errors import UserError, install
from livek12.core.files import pointer_note

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from livek12.dataset_builders.ingest.pages.blocks import Box

MAX_BYTES: Final = 512 << 20
MAX_PIXELS: Final = 24_000_000
"""Of one rendered page: an A3 page at 300 dpi has 17 million."""
MAX_PAGES: Final = 400
"""More pages than any paper has; a file with more is read in parts (`pages`)."""

_KINDS: Final = (
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x89PNG", "a PNG picture"),
    (b"PK\x03\x04", "a ZIP archive (or a Word or Hangul document)"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Hangul document"),
    (b"GIF8", "a GIF picture"),
    (b"{\\rtf", "an RTF document"),
)
_ERRORS: Final = {
    "password": "it is encrypted and needs a password: save it without one",
    "format": "it is damaged or cut off: get the file again",
    "success": "it has no pages",
    "security": "its encryption is not supported: save it without any",
}


def needed(how: str) -> None:
    """Checks for the packages of `how`, without importing them.

    Raises:
        UserError: one is not installed.
    """
    names = ["pypdfium2", *(("rapidocr", "cv2") if how == "ocr" else ())]
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise UserError(f"reading papers needs {', '.join(missing)}: {install('ingest')}")


def checked(path: Path, magic: bytes = b"%PDF-") -> None:
    """Checks the file before anything parses it; `magic` stands in its head.

    Raises:
        UserError: it is missing, empty, too big or no PDF.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if not size:
        raise UserError(f"{path}: the file is empty")
    if size > MAX_BYTES:
        raise UserError(f"{path}: {size >> 20} MiB, more than the limit of {MAX_BYTES >> 20} MiB: split the file")
    if note := pointer_note(head):
        raise UserError(f"{path}: is {note}")
    if magic not in head:
        raise UserError(f"{path}: not a PDF but {_kind(head)}: save it as PDF")


def _kind(head: bytes) -> str:
    for magic, name in _KINDS:
        if head.startswith(magic):
            return name
    if b"<html" in head.lower() or b"<!doctype html" in head.lower():
        return "a web page"
    return "something else"


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The document, closed afterwards.

    Raises:
        UserError: no PDF, encrypted, damaged, or without pages.
    """
    checked(path)
    needed("text")
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(str(path))
    except pypdfium2.PdfiumError as error:
        reasons = (reason for word, reason in _ERRORS.items() if word in str(error).lower())
        raise UserError(f"{path}: {next(reasons, f'it cannot be read ({error})')}") from None
    try:
        if not len(document):
            raise UserError(f"{path}: it has no pages")
        yield document
    finally:
        document.close()


_DICTIONARY: Final = re.compile(rb"<<([^<>]*)>>")
_PACKED: Final = re.compile(rb"/ObjStm\b[^<>O]{0,300}>>\s{0,9}stream\r?\n")
_FONT_FIELD: Final = re.compile(
    rb"/(?:(BaseFont)\s*/([^\s/<>()\[\]]+)|(FirstChar|ToUnicode)\s+(\d{1,9})\b|(Widths)\s*\[([\s\d.]*)\]|(Encoding)\b())"
)
_WIDTH: Final = re.compile(rb"(\d{1,9})(?:\.\d*)?")
"""Pdfium takes the whole part."""
_OBJECT, _HEAD = re.compile(rb"[\r\n](\d{1,9}) \d{1,5} obj\b"), re.compile(rb"[^>]{0,300}>>\s{0,9}stream\r?\n")
_TARGETS, _CODE = re.compile(rb"\[[^\[\]]*\]|<\s*>"), re.compile(rb"<\s*([0-9A-Fa-f]{1,8})")
_MOST_STREAMS, _MOST_FONTS, _MOST_INFLATED, _MOST_NAMES, _MOST_READ = 1000, 200, 1 << 20, 1 << 15, 64 << 20
"""Limits: object streams, fonts, bytes inflated per stream and per ToUnicode map, bytes read of the file."""


def unnamed_codes(path: Path) -> set[tuple[str, str, int]]:
    """Codes that nothing in the file names: font without the subset's mark, Latin-1 letter, width (1/1000 of the size).

    A TrueType font without an encoding has no names but its ToUnicode map's, and readers of PDF take a code that is not
    in it for its Latin-1 letter.
    """
    with path.open("rb") as file:
        data = file.read(_MOST_READ)
    packed = islice(_PACKED.finditer(data), _MOST_STREAMS)
    texts = chain([data], (_inflated(data, match.end()) for match in packed))
    dictionaries = (match[1] for text in texts for match in _DICTIONARY.finditer(text))
    simple = islice((font for font in dictionaries if b"/TrueType" in font and b"/Widths" in font), _MOST_FONTS)
    fonts = [{a + c + e + g: b + d + f + h for a, b, c, d, e, f, g, h in _FONT_FIELD.findall(font)} for font in simple]
    numbers = {int(fields.get(b"ToUnicode", b"0")) for fields in fonts}
    places = {int(match[1]): match.end() for match in _OBJECT.finditer(data) if int(match[1]) in numbers}
    named = {number: _names(data, place) for number, place in places.items()}
    unnamed, encoded = set[tuple[str, str, int]](), set[tuple[str, str, int]]()
    for fields in (fields for fields in fonts if {b"BaseFont", b"FirstChar", b"Widths"} <= fields.keys()):
        name = fields[b"BaseFont"].decode("latin-1").rpartition("+")[2]
        widths = zip(range(int(fields[b"FirstChar"]), 256), _WIDTH.findall(fields[b"Widths"]), strict=False)
        letters = {code: (name, chr(code), int(width)) for code, width in widths}
        if b"Encoding" in fields:
            encoded.update(letters.values())
        elif (codes := named.get(int(fields.get(b"ToUnicode", b"0")))) is not None:
            unnamed.update(letter for code, letter in letters.items() if code not in codes)
    return unnamed - encoded


def _inflated(data: bytes, place: int, most: int = _MOST_INFLATED) -> bytes:
    try:
        return zlib.decompressobj().decompress(data[place : place + most], most)
    except zlib.error:
        return b""


def _names(data: bytes, place: int) -> Collection[int]:
    """Codes of one byte that the ToUnicode map at a place names; all of them, if it cannot be read."""
    head = _HEAD.match(data, place)
    table = _inflated(data, head.end(), _MOST_NAMES) if head else b""
    named: set[int] = set() if 0 < len(table) < _MOST_NAMES else {*range(256)}
    for part in table.split(b"beginbf")[1:]:
        body = part.partition(b"endbf")[0]
        step = 2 if body.startswith(b"char") else 3
        codes = [int(code, 16) for code in _CODE.findall(_TARGETS.sub(b"<0>", body))]
        for first, last in zip(codes[::step], codes[step - 2 :: step], strict=False):
            named.update(range(first, min(last, 255) + 1))
    return named


def drawn(
    page: Any, dpi: float, crop: tuple[float, float, float, float] | None = None, *, annotated: bool = True
) -> Picture:
    """The page as a picture of at most `MAX_PIXELS`; `crop` is in points from the top left."""
    width, height = page.get_size()
    left, top, right, bottom = crop or (0.0, 0.0, width, height)
    left, top = max(0.0, min(left, width - 2)), max(0.0, min(top, height - 2))
    # A rule as thin as a hair has pixels too.
    right, bottom = max(right, left + 2), max(bottom, top + 2)
    points = max(1.0, (right - left) * (bottom - top))
    scale = min(dpi / 72, (MAX_PIXELS / points) ** 0.5)
    margins = (left, height - bottom, width - right, top)
    bitmap = page.render(scale=scale, crop=tuple(max(0.0, value) for value in margins), draw_annots=annotated)
    picture: Picture = bitmap.to_pil().convert("RGB")
    return picture


def printed(page: Any, dpi: float, crop: tuple[float, float, float, float] | None = None) -> Picture:
    """The page as `drawn`, without annotations where some write over it."""
    return drawn(page, dpi, crop, annotated=not has_annotations(page))


def crop_to(page: Any, box: Box) -> Callable[[], None]:
    """Makes a box all of a page, as it is shown; returns what undoes it."""
    left, bottom, right, top = page.get_bbox()
    before = page.get_mediabox(), page.get_cropbox()
    corners = [_unturned(x, y, page.get_rotation()) for x, y in ((box.left, box.top), (box.right, box.bottom))]
    xs, ys = (sorted(values) for values in zip(*corners, strict=True))
    edges = [left + xs[0] * (right - left), top - ys[1] * (top - bottom)]
    edges += [left + xs[1] * (right - left), top - ys[0] * (top - bottom)]

    def resize(media: Sequence[float], crop: Sequence[float]) -> None:
        page.set_mediabox(*media)
        page.set_cropbox(*crop)

    resize(edges, edges)
    return partial(resize, *before)


def _unturned(x: float, y: float, degrees: int) -> tuple[float, float]:
    """A point of a page that is shown turned clockwise, as fractions of the page as it is stored."""
    return {0: (x, y), 90: (y, 1 - x), 180: (1 - x, 1 - y), 270: (1 - y, x)}[degrees]


def has_annotations(page: Any) -> bool:
    """Checks for text or ink that an annotation writes over the page."""
    import pypdfium2.raw as c

    for place in range(c.FPDFPage_GetAnnotCount(page)):
        annotation = c.FPDFPage_GetAnnot(page, place)
        kind = c.FPDFAnnot_GetSubtype(annotation)
        c.FPDFPage_CloseAnnot(annotation)
        if kind in (c.FPDF_ANNOT_FREETEXT, c.FPDF_ANNOT_INK):
            return True
    return False


def png(picture: Picture) -> bytes:
    """PNG, in grey if there is little colour (print is mostly grey)."""
    if picture.mode == "RGB" and not _coloured(picture):
        picture = picture.convert("L")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=False)
    return buffer.getvalue()


def _coloured(picture: Picture) -> bool:
    from PIL import ImageChops

    small = picture.resize((max(1, picture.width // 4), max(1, picture.height // 4)))
    red, green, blue = small.split()
    differences = (ImageChops.difference(red, green), ImageChops.difference(green, blue))
    return any(difference.point(lambda value: 255 * (value > 40)).getbbox() is not None for difference in differences)
