"""Takes in the images that rows refer to, and refuses what is not a picture of theirs.

Contract: an image that is returned holds the encoded bytes, is whole, in a format models read, and at most
`MAX_PIXELS` large; its path is a bare file name. Everything else raises BadRow saying what is wrong with which
image. Nothing outside the source's folder is read and nothing is fetched.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
import warnings
from collections.abc import Mapping
from pathlib import Path

from livek12.core.records import Image
from livek12.dataset_builders.base import BadRow, one_line

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MAX_PIXELS = 89_478_485
"""Pillow's own bound against decompression bombs; an A4 page at 600 dpi has 35 million."""
MAX_BYTES = 64 << 20
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_DATA_URL = re.compile(r"data:[\w/+.-]*;base64,", re.IGNORECASE)


class ImageLoader:
    """Loads images for the rows below one folder; each distinct picture is checked once."""

    def __init__(self, root: Path) -> None:
        root = root.resolve()
        # A snapshot in the Hub's cache is a folder of links into `blobs` beside it.
        blobs = root.parent.parent / "blobs"
        self._roots = (root, blobs) if root.parent.name == "snapshots" else (root,)
        self._good: set[bytes] = set()

    def load(self, ref: object, folder: Path) -> Image:
        """The image a row refers to.

        Args:
            ref: a path below `folder` or the root, base64 text, a data URL, bytes, or {"bytes", "path"}.
            folder: where the row's file lies.

        Raises:
            BadRow: the reference is none of these, or not a whole picture.
        """
        data, name = self._fetch(ref, folder)
        digest = hashlib.sha256(data).digest()
        if digest not in self._good:
            check_image(data, name)
            self._good.add(digest)
        return Image(bytes=data, path=re.split(r"[/\\]", name)[-1] or "image")

    def _fetch(self, ref: object, folder: Path) -> tuple[bytes, str]:
        if isinstance(ref, bytes):
            return ref, "image"
        if isinstance(ref, Mapping):
            path = ref.get("path")
            if isinstance(ref.get("bytes"), bytes | str):
                data, _ = self._fetch(ref["bytes"], folder)
                return data, path if isinstance(path, str) and path else "image"
            return self._fetch(path, folder)
        if not isinstance(ref, str) or not ref.strip():
            raise BadRow(f"an image is a path, base64 or {{bytes, path}}, not {type(ref).__name__}")
        if url := _DATA_URL.match(ref):
            return _decode(ref[url.end() :]), "image"
        if "://" in ref[:64]:
            raise BadRow(f"image {one_line(ref, 120)} is an address; download it and give its path")
        if _is_base64(ref):
            return _decode(ref), "image"
        return self._read(ref, folder), ref

    def _read(self, ref: str, folder: Path) -> bytes:
        shown = f"image {one_line(ref, 120)}"
        try:
            candidates = [(base / ref).resolve() for base in (folder, self._roots[0])]
            inside = [c for c in candidates if any(c.is_relative_to(root) for root in self._roots)]
            if Path(ref).is_absolute() or not inside:
                raise BadRow(f"{shown} lies outside the source's folder")
            file = next((candidate for candidate in inside if candidate.is_file()), None)
            if file is None:
                raise BadRow(f"{shown} is missing")
            if file.stat().st_size > MAX_BYTES:
                raise BadRow(f"{shown} has more than {MAX_BYTES >> 20} MiB")
            return file.read_bytes()
        except (OSError, RuntimeError) as error:
            raise BadRow(f"{shown} cannot be read: {error}") from None
        except ValueError as error:
            if isinstance(error, BadRow):
                raise
            raise BadRow(f"{shown} is not a path: {error}") from None


def check_image(data: bytes, name: str, *, decode: bool = False) -> None:
    """Proves that the bytes are a whole picture of a known format and an acceptable size.

    A PNG carries checksums, so verifying them is enough to know that nothing was lost; other formats are
    decoded. `decode` decodes a PNG as well.

    Raises:
        BadRow: they are not.
    """
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
            if picture.format == "PNG" and not decode:
                picture.verify()
            else:
                picture.load()
    except BadRow:
        raise
    except Pillow.DecompressionBombError:
        raise BadRow(f"{shown} is too large: more than {2 * MAX_PIXELS} pixels") from None
    except Exception as error:  # Pillow's decoders raise whatever a hostile file makes them raise
        head = data[:256].lstrip().lower()
        if not data:
            raise BadRow(f"{shown} is empty") from None
        if head.startswith((b"<!doctype html", b"<html")):
            raise BadRow(f"{shown} is an HTML page, not a picture") from None
        if not data.startswith(_MAGIC):
            raise BadRow(f"{shown} is not a picture ({', '.join(FORMATS)})") from None
        # Pillow names the object it read from, which says nothing to a person.
        why = "" if isinstance(error, UnidentifiedImageError) else f" ({error or type(error).__name__})"
        raise BadRow(f"{shown} is damaged: its bytes are no readable picture{why}") from None


def _is_base64(text: str) -> bool:
    """Whether a text is an encoded picture: its first bytes must be those of one."""
    if len(text) < 64 or not _BASE64.fullmatch(text[:64]):
        return False
    head = "".join(text[:64].split())[:16]
    return len(head) == 16 and base64.b64decode(head).startswith(_MAGIC)


def _decode(text: str) -> bytes:
    if len(text) > MAX_BYTES * 4 // 3:
        raise BadRow(f"an image in base64 has more than {MAX_BYTES >> 20} MiB")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRow(f"an image in base64 is damaged: {error}") from None
