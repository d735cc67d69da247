"""Pictures of questions and pages as data URIs, each stored once in a page.

A picture is flattened on white, scaled to its reading width and stored as PNG or JPEG, whichever is smaller; invalid or
too large ones give a line of text. Paths in records are never opened.
"""

from __future__ import annotations

import base64
import hashlib
import io
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from livek12.core.lazy import PIL
from livek12.core.records import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Bitmap

FIGURE_WIDTH = 900
PAGE_WIDTH = 1240
MAX_PIXELS = 60_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
JPEG_QUALITY = 80


@dataclass(frozen=True)
class Encoded:
    """A picture for a page; sizes in pixels."""

    uri: str
    width: int
    height: int


def size_of(path: Path) -> tuple[int, int] | None:
    """Width and height of a stored picture in pixels, by its head; None if it is damaged."""
    try:
        with PIL.Image.open(path, formats=("PNG", "JPEG")) as bitmap:
            return bitmap.size
    except Exception:  # whatever a reader of pictures raises
        return None


def sides_of(path: Path) -> Markup:
    """Attributes with the size of a stored picture; "" if it is damaged."""
    size = size_of(path)
    return Markup(' width="{}" height="{}"').format(*size) if size else Markup("")


class PictureFiles:
    """Pictures of one page; repeated ones are stored once and referred to."""

    def __init__(self, occurring: Iterable[Image]) -> None:
        self._times = Counter(image.sha256 for image in occurring if image.bytes)
        self._encoded: dict[str, Encoded | str] = {}

    def show(self, image: Image, label: str, width: int = FIGURE_WIDTH) -> Markup:
        """The picture as HTML."""
        if not image.bytes:
            return _missing(f"{label}: the picture is not in the run folder")
        encoded = self._encode(image, width)
        if isinstance(encoded, str):
            return _missing(f"{label}: {encoded}")
        if self._times[image.sha256] > 1:
            return Markup(
                '<svg class="picture" role="img" aria-label="{}" viewBox="0 0 {w} {h}" width="{w}" height="{h}">'
                '<use href="#picture-{}"/></svg>'
            ).format(label, image.sha256[:16], w=encoded.width, h=encoded.height)
        return Markup('<img class="picture" alt="{}" src="{}" width="{}" height="{}">').format(
            label, encoded.uri, encoded.width, encoded.height
        )

    def shared(self) -> list[tuple[str, Encoded]]:
        """Id and picture of repeated ones."""
        return [
            (f"picture-{sha[:16]}", encoded)
            for sha, encoded in self._encoded.items()
            if self._times[sha] > 1 and isinstance(encoded, Encoded)
        ]

    def _encode(self, image: Image, width: int) -> Encoded | str:
        if image.sha256 not in self._encoded:
            self._encoded[image.sha256] = encode(image.bytes or b"", width)
        return self._encoded[image.sha256]


def encode(data: bytes, width: int) -> Encoded | str:
    """Picture at most `width` pixels wide, or its fault."""
    small = scaled(data, width)
    if isinstance(small, str):
        return small
    uri = f"data:{small.mime};base64,{base64.b64encode(small.data).decode()}"
    return Encoded(uri, small.width, small.height)


@dataclass(frozen=True)
class Scaled:
    """A picture as the bytes of a file; sizes in pixels."""

    mime: str
    data: bytes
    width: int
    height: int


_MOST_KEPT = 128
_kept: dict[tuple[bytes, int], Scaled | str] = {}
_lock = threading.Lock()


def scaled(data: bytes, width: int) -> Scaled | str:
    """Picture at most `width` pixels wide as PNG or JPEG, or its fault.

    The latest are kept, for several runs of one exam.
    """
    key = hashlib.sha256(data).digest(), width
    if (kept := _kept.get(key)) is None:
        kept = _scale(data, width)
        with _lock:
            while len(_kept) >= _MOST_KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = kept
    return kept


def _scale(data: bytes, width: int) -> Scaled | str:
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as bitmap:
            if bitmap.width * bitmap.height > MAX_PIXELS:
                return f"the picture is too large to show ({bitmap.width} × {bitmap.height} pixels)"
            small = _flat(bitmap)
    except Exception as error:  # Pillow's decoders raise what they happen to run into
        return f"not a picture that can be read ({type(error).__name__})"
    small.thumbnail((width, 3 * width), PIL.Image.Resampling.LANCZOS)
    mime, stored = min((_stored(small, kind) for kind in ("PNG", "JPEG")), key=lambda candidate: len(candidate[1]))
    return Scaled(mime, stored, small.width, small.height)


def _flat(bitmap: Bitmap) -> Bitmap:
    """On white, and grey if nothing has a colour."""
    if bitmap.mode in ("1", "L"):
        return bitmap.convert("L")
    layered = bitmap.convert("RGBA")
    flat = PIL.Image.new("RGB", layered.size, "white")
    flat.paste(layered, mask=layered.getchannel("A"))
    red, green, blue = flat.split()
    grey = all(PIL.ImageChops.difference(red, other).getbbox() is None for other in (green, blue))
    return red if grey else flat


def _stored(bitmap: Bitmap, kind: str) -> tuple[str, bytes]:
    buffer = io.BytesIO()
    if kind == "PNG":
        bitmap.save(buffer, "PNG")
    else:
        bitmap.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return f"image/{kind.lower()}", buffer.getvalue()


def _missing(text: str) -> Markup:
    return Markup('<span class="missing">{}</span>').format(text)
