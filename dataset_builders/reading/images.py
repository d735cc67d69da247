"""Pictures of a source: finds, fetches, checks and measures the images that rows refer to, and refuses invalid ones.

Contract: a returned image holds complete encoded bytes in a format that models read, of bounded size (read from the
header before decoding); its path is a bare file name. Nothing outside the source's folder is read. Only named hosts are
contacted, by http and https (redirects too), for at most `MAX_BYTES` and `MAX_SECONDS` per image.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import os
import re
import stat
import time
import urllib.error
import urllib.request
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from livek12.core.errors import UserError
from livek12.core.files import pointer_note
from livek12.core.lazy import PIL
from livek12.core.records import Image
from livek12.dataset_builders.base import BadRow, Log, PageKey, one_line

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
MAX_PIXELS = 89_478_485
"""Pillow's own bound against decompression bombs; an A4 page at 600 dpi has 35 million."""
MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"GIF8", b"BM")
ENDS = 2048
"""Bytes at each end of a picture that distinguish it."""
_PAGE = re.compile(r"(.+)_0*([1-9]\d{0,4})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_MARKER, _SCAN, _END = 0xFF, 0xDA, b"\xff\xd9"


def roots(root: Path) -> tuple[Path, ...]:
    """Resolved folders that may hold files of a source.

    The Hub's cache links into `blobs`, so that folder is included.
    """
    root = root.resolve()
    return (root, root.parent.parent / "blobs") if root.parent.name == "snapshots" else (root,)


def is_picture(file: Path) -> bool:
    """True if the file name is that of a readable picture."""
    return file.suffix.lower() in _SUFFIXES


def unused_pictures(root: Path, used: Collection[str]) -> list[str]:
    """Pictures below a folder, except pages, with names not in `used`."""
    unused = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "pages")
        names = (name for name in sorted(files) if name not in used and is_picture(Path(name)))
        unused += [str(Path(folder, name).relative_to(root)) for name in names]
    return unused


def find_pages(root: Path) -> dict[PageKey, Path]:
    """Files below `root/pages` by paper and page number, in order."""
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


def _look_at(data: bytes, pixels: tuple[int, int] | None = None) -> Look:
    return Look(len(data), pixels or _pixels_of(data), f"{len(data)} {zlib.crc32(data[:ENDS] + data[-ENDS:])}")


def _pixels_of(data: bytes) -> tuple[int, int] | None:
    """Width and height."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    try:
        with PIL.Image.open(io.BytesIO(data)) as picture:
            return picture.size
    except Exception:  # a damaged picture is for `validate` to report
        return None


def check_image(data: bytes, name: str, *, decode: bool = False) -> tuple[int, int]:
    """Checks that the bytes are a picture and returns its width and height; BadRow names the picture."""
    from PIL import UnidentifiedImageError

    shown = f"image {one_line(name, 120)}"
    PIL.Image.init()  # otherwise it knows only some of the formats
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images; the bound here is our own
            picture = PIL.Image.open(io.BytesIO(data), formats=FORMATS)
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
    except PIL.Image.DecompressionBombError:
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
        # Pillow's text names a Python object.
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
    """Offset of a JPEG's image data, after its headers (which may hold a thumbnail)."""
    offset = 2
    while offset + 4 <= len(data) and data[offset] == _MARKER:
        if data[offset + 1] == _SCAN:
            return offset
        if data[offset + 1] == _MARKER:
            offset += 1  # a fill byte
        else:
            offset += 2 + int.from_bytes(data[offset + 2 : offset + 4], "big")
    return len(data)


MAX_BYTES = 64 << 20
MAX_SECONDS = 60.0
WAIT_SECONDS = 20.0
"""Timeout for one answer of the host, or one piece of it."""
_PIECE = 1 << 16


def is_allowed(url: str, hosts: Collection[str]) -> bool:
    """True if a URL is http(s) on one of the hosts, given as HOST (any port) or HOST:PORT."""
    try:
        parts = urlsplit(url)
        names = {parts.hostname or "", f"{parts.hostname}:{parts.port}"} if parts.port else {parts.hostname or ""}
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(names & {host.lower() for host in hosts})


def _fetch(url: str, hosts: Collection[str]) -> bytes:
    shown = f"image {one_line(url, 120)}"
    if not is_allowed(url, hosts):
        raise BadRow(
            f"{shown} is an address on another host and was not fetched; allow its host or put the file beside the rows"
        )
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _AllowedRedirects(hosts),
    ):
        opener.add_handler(handler)
    try:
        with opener.open(url, timeout=WAIT_SECONDS) as answer:
            return _download(answer, shown)
    except urllib.error.HTTPError as error:
        raise BadRow(
            f"{shown} could not be fetched: the host answers {error.code} {one_line(error.reason, 60)}"
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, BadRow):
            raise
        raise BadRow(f"{shown} could not be fetched: {one_line(getattr(error, 'reason', error), 120)}") from None


def _download(answer: Any, shown: str) -> bytes:
    end = time.monotonic() + MAX_SECONDS
    pieces, size = [], 0
    while piece := answer.read1(_PIECE):
        size += len(piece)
        pieces.append(piece)
        if size > MAX_BYTES:
            raise BadRow(f"{shown} has more than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > end:
            raise BadRow(f"{shown} could not be fetched: it takes more than {MAX_SECONDS:.0f} seconds")
    if (stated := answer.headers.get("Content-Length")) and stated.isdigit() and size < int(stated):
        raise BadRow(f"{shown} could not be fetched: {size} of {stated} bytes came")
    return b"".join(pieces)


class _AllowedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to allowed hosts only."""

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = hosts

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not is_allowed(newurl, self._hosts):
            here, there = one_line(req.full_url, 120), one_line(newurl, 120)
            raise BadRow(f"image {here} was not fetched: it leads to {there}, on another host")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
MOST_KNOWN = 50_000
"""Checked pictures that are remembered: some 20 MB."""
FileState = tuple[int, int, int, int]
"""Device, inode, size and modification time: while these are the same, so is the content."""
_DATA_URL = re.compile(r"data:[\w/+.;=-]*;base64,", re.IGNORECASE)


class FileBytes(bytes):
    """Placeholder for a file's bytes, read where unpickled."""

    file: str
    size: int
    look: Look
    state: FileState
    picture: PictureFile

    @classmethod
    def of(cls, file: str, state: FileState, data: bytes, pixels: tuple[int, int] | None = None) -> FileBytes:
        """Placeholder for a file with these bytes and, if known, pixels."""
        proxy = cls()
        proxy.file, proxy.size, proxy.look, proxy.state = file, len(data), _look_at(data, pixels), state
        proxy.picture = PictureFile(file, len(data))
        return proxy

    def __reduce__(self) -> tuple[Callable[[str, int], bytes], tuple[str, int]]:
        return read_again, (self.file, self.size)


def read_again(file: str, size: int) -> bytes:
    """Reads a file that another process checked; UserError if it changed."""
    try:
        data, _ = _contents(file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(data) != size:
        raise UserError(f"{file}: changed while it was read; start again")
    return data


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture between processes: its file and size."""

    file: str
    size: int

    def __len__(self) -> int:
        return self.size

    def read_into(self, place: memoryview) -> None:
        """Reads the file into a buffer of its size; UserError if it changed."""
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                read = os.readv(descriptor, [place, bytearray(1)])
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UserError(f"{self.file}: cannot be read: {error.strerror or error}") from None
        if read != self.size:
            raise UserError(f"{self.file}: changed while it was read; start again")


Picture = PictureFile | bytes | None


def picture_of(image: Image) -> Picture:
    """Picture in its form for pickling."""
    return image.bytes.picture if isinstance(image.bytes, FileBytes) else image.bytes


def opened(picture: Picture) -> bytes | None:
    """Bytes of a picture; UserError if its file changed."""
    return read_again(picture.file, picture.size) if isinstance(picture, PictureFile) else picture


def look_of(image: Image) -> Look:
    """Measurements of a picture."""
    return image.bytes.look if isinstance(image.bytes, FileBytes) else _look_at(image.bytes or b"")


def _contents(file: str) -> tuple[bytes, FileState]:
    """Reads at most one byte more than allowed."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        data = os.read(descriptor, min(status.st_size, MAX_BYTES) + 1)
    finally:
        os.close(descriptor)
    return data, _state(status)


def _state(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


class ImageLoader:
    """Loads images for the rows below one folder; each distinct picture is checked once.

    `taken` maps files in the folder to the addresses they replace; with `by_name`, files are returned as `FileBytes`
    once they are checked.
    """

    def __init__(self, root: Path, hosts: Collection[str] = ()) -> None:
        self._roots = roots(root)
        self._hosts = hosts
        self._folders: dict[Path, Path] = {}
        self._insides: dict[tuple[Path, str], str] = {}
        self._good: dict[bytes | FileState, FileBytes | None] = {}
        self._loaded: dict[tuple[Path, object], Image] = {}
        self._state: FileState | None = None
        self._file = ""
        self.taken: dict[str, str] = {}
        self.by_name = False

    def __getstate__(self) -> dict[str, Any]:
        """Drops the caches: a placeholder would be pickled as the bytes of its file."""
        return {**vars(self), "_good": {}, "_loaded": {}}

    def load(self, ref: object, folder: Path) -> Image:
        """Loads the image of a reference.

        `ref` is a path below `folder` or the root, base64 text, a data URL, bytes, {"bytes", "path"}, or an address.
        For an address on an unnamed host, the local file with the longest matching path suffix is used.
        """
        if isinstance(ref, str) and (again := self._again(ref, folder)):
            return again
        self._state, self._file = None, ""
        data, name = self._bytes_of(ref, folder)
        if not isinstance(data, FileBytes):
            data = self._checked(data, name)
        image = Image(bytes=data, path=re.split(r"[/\\]", name)[-1] or "image")
        if isinstance(ref, str) and isinstance(data, FileBytes) and data.file == self._among_others(ref, folder):
            if len(self._loaded) == MOST_KNOWN:
                self._loaded.clear()
            self._loaded[folder, ref] = image
        return image

    def _again(self, ref: str, folder: Path) -> Image | None:
        image = self._loaded.get((folder, ref))
        if image is not None and isinstance(content := image.bytes, FileBytes):
            with suppress(OSError):
                if _state(os.lstat(content.file)) == content.state:
                    return image
        return None

    def _checked(self, data: bytes, name: str) -> bytes:
        identity = self._state or hashlib.sha256(data).digest()
        if identity not in self._good:
            pixels = check_image(data, name)
            if len(self._good) == MOST_KNOWN:
                self._good.clear()
            named = self._state if self.by_name else None
            self._good[identity] = FileBytes.of(self._file, named, data, pixels) if named else None
        placeholder = self._good[identity]
        return data if placeholder is None else placeholder

    def take(self, file: str, url: str) -> None:
        """Records that a local file replaces an address; BadRow if it already replaces another."""
        if self.taken.setdefault(file, url) != url:
            name = Path(file).name
            raise BadRow(f"image {one_line(url, 120)}: {name} beside the rows is already another address's file")

    def report(self, log: Log, source: str) -> None:
        """Logs the count of addresses replaced by files."""
        if self.taken:
            log.note(source, None, f"{len(self.taken)} images were taken from files beside the rows, not fetched")

    def _bytes_of(self, ref: object, folder: Path) -> tuple[bytes, str]:
        if isinstance(ref, bytes):
            return ref, "image"
        if isinstance(ref, Mapping):
            path = ref.get("path")
            if isinstance(ref.get("bytes"), bytes | str):
                data, _ = self._bytes_of(ref["bytes"], folder)
                return data, path if isinstance(path, str) and path else "image"
            return self._bytes_of(path or ref.get("url") or ref.get("src"), folder)
        if not isinstance(ref, str) or not ref.strip():
            raise BadRow(f"an image is a path, base64 or {{bytes, path}}, not {type(ref).__name__}")
        if url := _DATA_URL.match(ref):
            return _decode(ref[url.end() :]), "image"
        if _is_base64(ref):
            return _decode(ref), "image"
        if "://" in ref[:64] or ref.startswith("//"):
            return self._at(ref.strip(), folder)
        return self._read(ref, folder), ref

    def _at(self, url: str, folder: Path) -> tuple[bytes, str]:
        try:
            parts = [part for part in unquote(urlsplit(url).path).split("/") if part not in ("", ".", "..")]
        except ValueError as error:
            raise BadRow(f"image {one_line(url, 120)} is no address: {error}") from None
        name = parts[-1] if parts else "image"
        if not is_allowed(url, self._hosts) and (file := self._beside(url, parts, folder)):
            return self._read(file, folder), name
        return _fetch(url, self._hosts), name

    def _beside(self, url: str, parts: list[str], folder: Path) -> str | None:
        ends = ["/".join(parts[first:]) for first in range(max(0, len(parts) - 6), len(parts))]
        for end in [*ends, *(f"images/{name}" for name in ends[-1:])]:
            try:
                file = self._find(end, folder)
            except (OSError, ValueError, RuntimeError):
                continue
            if file:
                self.take(file, url)
                return end
        return None

    def _find(self, ref: str, folder: Path) -> str | None:
        if file := self._among_others(ref, folder):
            return file
        candidates = [self._place(base, ref) for base in dict.fromkeys((self._real(folder), self._roots[0]))]
        inside = [c for c in candidates if any(c.is_relative_to(root) for root in self._roots)]
        if Path(ref).is_absolute() or not inside:
            raise BadRow(f"image {one_line(ref, 120)} lies outside the source's folder")
        return next((str(candidate) for candidate in inside if candidate.is_file()), None)

    def _among_others(self, ref: str, folder: Path) -> str | None:
        parent, slash, name = ref.rpartition("/")
        if name in ("", ".", "..") or (slash and not parent) or parent.startswith("/"):
            return None
        if (folder, parent) not in self._insides:
            place = self._real(self._real(folder) / parent)
            inside = any(place.is_relative_to(root) for root in self._roots)
            self._insides[folder, parent] = str(place) if inside else ""
        if place_name := self._insides[folder, parent]:
            with suppress(OSError):
                if stat.S_ISREG(os.lstat(file := f"{place_name}/{name}").st_mode):
                    return file
        return None

    def _place(self, base: Path, ref: str) -> Path:
        parent, _, name = ref.rpartition("/")
        place = self._real(base / parent) / name
        plain = name not in ("", ".", "..") and place.is_file() and not place.is_symlink()
        return place if plain else (base / ref).resolve()

    def _real(self, folder: Path) -> Path:
        if folder not in self._folders:
            self._folders[folder] = folder.resolve()
        return self._folders[folder]

    def _read(self, ref: str, folder: Path) -> bytes:
        try:
            file = self._find(ref, folder)
            if file is None:
                raise BadRow(f"image {one_line(ref, 120)} is missing")
            if self.by_name and (checked := self._good.get(_state(os.lstat(file)))) is not None:
                return checked
            data, self._state = _contents(file)
            if len(data) > MAX_BYTES:
                raise BadRow(f"image {one_line(ref, 120)} has more than {MAX_BYTES >> 20} MiB")
            self._file = file
            return data
        except (OSError, RuntimeError) as error:
            raise BadRow(f"image {one_line(ref, 120)} cannot be read: {error}") from None
        except ValueError as error:
            if isinstance(error, BadRow):
                raise
            raise BadRow(f"image {one_line(ref, 120)} is not a path: {error}") from None


def _is_base64(text: str) -> bool:
    if len(text) < 64 or not _BASE64.fullmatch(text[:64]):
        return False
    head = "".join(text[:64].split())[:16]
    return len(head) == 16 and base64.b64decode(head).startswith(MAGIC)


def _decode(text: str) -> bytes:
    if len(text) > MAX_BYTES * 4 // 3:
        raise BadRow(f"an image in base64 has more than {MAX_BYTES >> 20} MiB")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRow(f"an image in base64 is damaged: {error}") from None
