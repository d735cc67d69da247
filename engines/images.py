"""Checks and decodes pictures in threads (Pillow's decoders release the GIL)."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from livek12.core.lazy import PIL
from livek12.core.records import Image, Key, Request
from livek12.engines.base import Outcome

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_PIXELS = 100_000_000
"""Larger pictures are refused: an A3 page at 600 dpi has 70 million pixels."""
KEPT_PIXELS = 64_000_000
"""Pixels that `Pictures` keeps decoded (192 MB): enough for the pages of one paper."""
LOOK_AHEAD = 16
"""Prompts whose pictures are decoded ahead."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""Formats that Pillow may open: hostile bytes should reach few of its decoders."""


class BadImage(Exception):
    """A refused picture."""


def check_image(image: Image, max_pixels: int = MAX_PIXELS) -> Picture:
    """Decodes a picture fully, as RGB on white.

    Raises:
        BadImage: not one of `FORMATS`, broken, or too large.
    """
    if not image.bytes:
        raise BadImage(f"has no bytes (path {image.path!r})")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = PIL.Image.open(io.BytesIO(image.bytes), formats=FORMATS)
            width, height = picture.size
            if width * height > max_pixels:
                raise BadImage(f"is too large: {width} x {height} pixels, at most {max_pixels} are read")
            return _on_white(PIL.ImageOps.exif_transpose(picture))
    except PIL.UnidentifiedImageError:
        head = f"its bytes are no readable one (they begin with {image.bytes[:16]!r})"
        raise BadImage(f"is not a {'/'.join(FORMATS)} picture: {head}") from None
    except PIL.Image.DecompressionBombError as error:
        raise BadImage(f"is too large: {error}") from None
    except BadImage:
        raise
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error, ...
        raise BadImage(
            f"cannot be decoded: its bytes are no readable picture ({error or type(error).__name__})"
        ) from None


def _on_white(picture: Picture) -> Picture:
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        return PIL.Image.alpha_composite(PIL.Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    if picture.mode.startswith("I"):  # 16-bit grey, which convert() would clip to white
        picture = picture.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
    return picture.convert("RGB")


def mime_of(image: Image) -> str:
    """Media type of a checked picture."""
    picture = PIL.Image.open(io.BytesIO(image.bytes or b""), formats=FORMATS)
    return picture.get_format_mimetype() or "image/png"


class InHand:
    """Counts distinct pixels in hand."""

    def __init__(self) -> None:
        self.pixels = 0
        self._requests: dict[Key, Request] = {}
        self._shown = Counter[str]()

    def taking(self, groups: Iterable[list[Request]]) -> Iterator[list[Request]]:
        """Counts the pictures of passing requests."""
        for group in groups:
            for request in group:
                self._requests[request.key] = request
                self._shown.update(request.images.keys())
                self.pixels += sum(pixels_of(image) for name, image in request.images.items() if self._shown[name] == 1)
            yield group

    def done(self, outcome: Outcome) -> Outcome:
        """Forgets the outcome's request."""
        if request := self._requests.pop(outcome.key, None):
            self._shown.subtract(request.images.keys())
            for name in request.images:
                if not self._shown[name]:
                    del self._shown[name]
                    self.pixels -= pixels_of(request.images[name])
        return outcome


class Pictures:
    """Decodes pictures once; a thread-safe cache."""

    def __init__(self, kept_pixels: int = KEPT_PIXELS) -> None:
        self._kept: OrderedDict[str, tuple[Future[Picture], int]] = OrderedDict()
        self._ahead: dict[str, int] = {}  # pixels decoded ahead and not requested yet
        self._pixels = 0
        self._limit = kept_pixels
        self._lock = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None

    def of(self, request: Request) -> dict[str, Picture]:
        """Pictures of the messages, by name."""
        shown = _shown(request)
        decoded: dict[str, Picture] = {}
        for place, name in enumerate(shown, start=1):
            where = f"question {request.key.question_id}: image {place} of {len(shown)}"
            if name is None or name not in request.images:
                raise BadImage(f"{where} is missing from the request")
            try:
                decoded[name] = self._decoded(name, request.images[name])
            except BadImage as error:
                raise BadImage(f"{where} {error}") from None
        return decoded

    def decoding(self, groups: Iterable[list[Request]]) -> Iterator[list[Request]]:
        """Passes on requests while threads decode the next pictures, up to half of the cache."""
        waiting: deque[list[Request]] = deque()
        try:
            for group in groups:
                self._begin(group[0])
                waiting.append(group)
                while waiting and (len(waiting) > LOOK_AHEAD or not _shown(waiting[0][0])):
                    yield waiting.popleft()
            yield from waiting
        finally:
            self._ahead.clear()

    def close(self) -> None:
        """Ends the threads and clears the cache."""
        if self._workers is not None:
            self._workers.shutdown(cancel_futures=True)
        self._workers = None
        self._kept.clear()
        self._pixels = 0

    def _begin(self, request: Request) -> None:
        for name in _shown(request):
            image = request.images.get(name or "")
            if name is None or image is None:
                continue
            with self._lock:
                if name in self._kept:
                    continue
                pixels = pixels_of(image)
                if pixels == 0 or sum(self._ahead.values()) + pixels > self._limit // 2:
                    continue
                self._workers = self._workers or ThreadPoolExecutor(min(8, os.cpu_count() or 1))
                self._ahead[name] = pixels
                self._keep(name, self._workers.submit(check_image, image), pixels)

    def _decoded(self, name: str, image: Image) -> Picture:
        with self._lock:
            self._ahead.pop(name, None)
            if name in self._kept:
                self._kept.move_to_end(name)
                begun = self._kept[name][0]
            else:
                begun = None
        if begun is not None:
            return begun.result()
        done: Future[Picture] = Future()
        done.set_result(picture := check_image(image))
        with self._lock:
            self._keep(name, done, picture.width * picture.height)
        return picture

    def _keep(self, name: str, picture: Future[Picture], pixels: int) -> None:
        if name not in self._kept:
            self._kept[name] = picture, pixels
            self._pixels += pixels
        for old in list(self._kept)[:-1] if self._pixels > self._limit else ():
            if self._pixels > self._limit and old not in self._ahead:
                self._pixels -= self._kept.pop(old)[1]


def _shown(request: Request) -> list[str | None]:
    return [part.image for message in request.messages for part in message.content if part.type == "image"]


def pixels_of(image: Image) -> int:
    """Pixels by the header, or 0."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            width, height = PIL.Image.open(io.BytesIO(image.bytes or b""), formats=FORMATS).size
    except Exception:  # check_image reports the problem
        return 0
    return int(width * height) if width * height <= MAX_PIXELS else 0
