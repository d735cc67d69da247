"""Pictures checked once, before any engine sees them: bytes that open, decode and have a bounded size."""

from __future__ import annotations

import io
import threading
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING

from livek12.core.records import Image, Request

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_PIXELS = 100_000_000
"""Larger pictures are refused: an A3 page at 600 dpi has 70 million pixels."""
KEPT_PIXELS = 64_000_000
"""How many pixels `Pictures` keeps decoded (192 MB): enough for the pages of one paper."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""What Pillow may open for an engine: the fewer of its decoders hostile bytes can reach, the better."""


class BadImage(Exception):
    """A picture that no engine should be given; the message says why on one line."""


def check_image(image: Image, max_pixels: int = MAX_PIXELS) -> Picture:
    """Decodes a picture fully, as RGB on white.

    Raises:
        BadImage: no bytes, not a picture, not one of `FORMATS`, truncated, or too large.
    """
    from PIL import Image as PIL
    from PIL import ImageOps, UnidentifiedImageError

    if not image.bytes:
        raise BadImage(f"has no bytes (path {image.path!r})")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = PIL.open(io.BytesIO(image.bytes), formats=FORMATS)
            width, height = picture.size
            if width * height > max_pixels:
                raise BadImage(f"is too large: {width} x {height} pixels, at most {max_pixels} are read")
            return _on_white(ImageOps.exif_transpose(picture))
    except UnidentifiedImageError:
        head = f"its bytes are no readable one (they begin with {image.bytes[:16]!r})"
        raise BadImage(f"is not a {'/'.join(FORMATS)} picture: {head}") from None
    except PIL.DecompressionBombError as error:
        raise BadImage(f"is too large: {error}") from None
    except BadImage:
        raise
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error, ...
        raise BadImage(
            f"cannot be decoded: its bytes are no readable picture ({error or type(error).__name__})"
        ) from None


def _on_white(picture: Picture) -> Picture:
    from PIL import Image as PIL

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        return PIL.alpha_composite(PIL.new("RGBA", picture.size, "white"), picture).convert("RGB")
    if picture.mode.startswith("I"):  # 16-bit grey, which convert() would clip to white
        picture = picture.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
    return picture.convert("RGB")


def mime_of(image: Image) -> str:
    """The media type of a checked picture, from its bytes."""
    from PIL import Image as PIL

    picture = PIL.open(io.BytesIO(image.bytes or b""), formats=FORMATS)
    return picture.get_format_mimetype() or "image/png"


class Pictures:
    """Decodes the pictures of requests and keeps the latest: a page of twenty questions is decoded once.

    Safe to use from several threads.
    """

    def __init__(self, kept_pixels: int = KEPT_PIXELS) -> None:
        self._kept: OrderedDict[str, Picture] = OrderedDict()
        self._pixels = 0
        self._limit = kept_pixels
        self._lock = threading.Lock()

    def of(self, request: Request) -> dict[str, Picture]:
        """The pictures that the messages show, by the name they are shown under.

        Raises:
            BadImage: names the question, and which of its images is missing or broken.
        """
        shown = [part.image for message in request.messages for part in message.content if part.type == "image"]
        found: dict[str, Picture] = {}
        for place, name in enumerate(shown, start=1):
            where = f"question {request.key.question_id}: image {place} of {len(shown)}"
            if name is None or name not in request.images:
                raise BadImage(f"{where} is missing from the request")
            try:
                found[name] = self._decoded(name, request.images[name])
            except BadImage as error:
                raise BadImage(f"{where} {error}") from None
        return found

    def _decoded(self, name: str, image: Image) -> Picture:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        picture = check_image(image)
        with self._lock:
            if name not in self._kept:
                self._kept[name] = picture
                self._pixels += picture.width * picture.height
            while self._pixels > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._pixels -= dropped.width * dropped.height
        return picture
