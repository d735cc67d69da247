"""Pictures of a source: its page images, and the check of a picture's integrity and size.

Contract: pages are in `pages/`, one file per page, PAPER_N.png (or .jpg, .jpeg, .webp), N from 1. The size is read from
the header before decoding.
"""

from __future__ import annotations

import io
import os
import re
import warnings
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from livek12.core.files import pointer_note
from livek12.dataset_builders.base import BadRow, PageKey, one_line

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
MAX_PIXELS = 89_478_485
"""Pillow's own bound against decompression bombs; an A4 page at 600 dpi has 35 million."""
MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM")
ENDS = 2048
"""Bytes at each end of a picture that distinguish it."""
_PAGE = re.compile(r"(.+)_0*([1-9]\d{0,4})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_MARKER, _SCAN, _END = 0xFF, 0xDA, b"\xff\xd9"


def is_picture(file: Path) -> bool:
    """True if the file name is that of a readable picture."""
    return file.suffix.lower() in _SUFFIXES


def unused_pictures(root: Path, used: Collection[str]) -> list[str]:
    """The pictures below a source's folder, except pages, whose names are not in `used`."""
    unused = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "pages")
        names = (name for name in sorted(files) if name not in used and is_picture(Path(name)))
        unused += [str(Path(folder, name).relative_to(root)) for name in names]
    return unused


def find_pages(root: Path) -> dict[PageKey, Path]:
    """The files below `root/pages` by paper and page number, in order."""
    pages = {}
    for file in sorted((root / "pages").glob("*")):
        if match := _PAGE.fullmatch(file.name):
            pages[match[1], int(match[2])] = file
    return dict(sorted(pages.items()))


class Look(NamedTuple):
    """Measurements of a picture; `outline` is its length and a checksum of its ends, where a PNG keeps checksums."""

    size: int
    pixels: tuple[int, int] | None
    outline: str


def look_at(data: bytes, pixels: tuple[int, int] | None = None) -> Look:
    """Measures a picture, whose width and height may be known."""
    return Look(len(data), pixels or pixels_of(data), f"{len(data)} {zlib.crc32(data[:ENDS] + data[-ENDS:])}")


def pixels_of(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None if unknown."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data)) as picture:
            return picture.size
    except Exception:  # a damaged picture is for `validate` to report
        return None


def check_image(data: bytes, name: str, *, decode: bool = False) -> tuple[int, int]:
    """Checks that the bytes are a picture and returns its width and height; BadRow names the picture."""
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    shown = f"image {one_line(name, 120)}"
    Pillow.init()  # otherwise it knows only some of the formats
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images; the bound here is our own
            picture = Pillow.open(io.BytesIO(data), formats=FORMATS)
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise BadRow(f"{shown} is too large: {width} x {height} pixels, at most {MAX_PIXELS}")
            if decode:
                picture.load()
            elif picture.format == "PNG":
                picture.verify()
            elif not _is_whole(data, picture.format or ""):
                raise BadRow(f"{shown} is damaged: it breaks off")
            return width, height
    except BadRow:
        raise
    except Pillow.DecompressionBombError:
        raise BadRow(f"{shown} is too large: more than {2 * MAX_PIXELS} pixels") from None
    except Exception as error:  # Pillow's decoders raise whatever a hostile file makes them raise
        head = data[:256].lstrip().lower()
        if not data:
            raise BadRow(f"{shown} is empty") from None
        if note := pointer_note(data):
            raise BadRow(f"{shown} is {note}") from None
        if head.startswith((b"<!doctype html", b"<html")):
            raise BadRow(f"{shown} is an HTML page, not a picture") from None
        if not data.startswith(MAGIC):
            raise BadRow(f"{shown} is not a picture ({', '.join(FORMATS)})") from None
        # Pillow's text names a Python object, which is of no use to a reader.
        why = "" if isinstance(error, UnidentifiedImageError) else f" ({error or type(error).__name__})"
        raise BadRow(f"{shown} is damaged: its bytes are no readable picture{why}") from None


def _is_whole(data: bytes, format: str) -> bool:
    match format:
        case "JPEG":
            return data.find(_END, _scan_of(data)) >= 0
        case "WEBP":
            return len(data) >= int.from_bytes(data[4:8], "little") + 8
        case "GIF":
            return data.rstrip(b"\0").endswith(b";")
        case _:
            return len(data) >= int.from_bytes(data[2:6], "little")


def _scan_of(data: bytes) -> int:
    """The offset of a JPEG's image data, after its headers (which may hold a thumbnail)."""
    offset = 2
    while offset + 4 <= len(data) and data[offset] == _MARKER:
        if data[offset + 1] == _SCAN:
            return offset
        if data[offset + 1] == _MARKER:
            offset += 1  # a fill byte
        else:
            offset += 2 + int.from_bytes(data[offset + 2 : offset + 4], "big")
    return len(data)
