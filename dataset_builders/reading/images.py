"""Loads the images that rows refer to, and refuses invalid ones.

Contract: a returned image holds complete encoded bytes in a format that models read, of bounded size; its path is a
bare file name. Nothing outside the source's folder is read, and only named hosts are contacted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from livek12.core.errors import UserError
from livek12.core.records import Image
from livek12.dataset_builders.base import BadRow, Log, one_line
from livek12.dataset_builders.reading.fetching import MAX_BYTES, fetch, is_address, is_allowed
from livek12.dataset_builders.reading.pictures import MAGIC, Look, check_image, look_at
from livek12.dataset_builders.reading.rows import roots

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
MOST_KNOWN = 50_000
"""Checked pictures that are remembered: some 20 MB."""
FileState = tuple[int, int, int, int]
"""Device, inode, size and modification time: while these are the same, so is the content."""
_DATA_URL = re.compile(r"data:[\w/+.;=-]*;base64,", re.IGNORECASE)


class FileBytes(bytes):
    """Placeholder for a file's bytes, read only by the process that unpickles it, so that no picture is pickled."""

    file: str
    size: int
    look: Look
    state: FileState
    picture: PictureFile

    @classmethod
    def of(cls, file: str, state: FileState, data: bytes, pixels: tuple[int, int] | None = None) -> FileBytes:
        """The placeholder for a file with these bytes and, if known, pixels."""
        proxy = cls()
        proxy.file, proxy.size, proxy.look, proxy.state = file, len(data), look_at(data, pixels), state
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
    """A picture on its way between processes: its file and size."""

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
    """The picture in its form for pickling."""
    return image.bytes.picture if isinstance(image.bytes, FileBytes) else image.bytes


def opened(picture: Picture) -> bytes | None:
    """The bytes of a picture; UserError if its file changed."""
    return read_again(picture.file, picture.size) if isinstance(picture, PictureFile) else picture


def look_of(image: Image) -> Look:
    """The measurements of a picture."""
    return image.bytes.look if isinstance(image.bytes, FileBytes) else look_at(image.bytes or b"")


def _contents(file: str) -> tuple[bytes, FileState]:
    """Reads at most one byte more than allowed; takes half the time of `Path.read_bytes`."""
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
        For an address on a host that is not named, the local file with the longest matching path suffix is used.
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
        """Records that a local file replaces an address; BadRow if it already replaces another one."""
        if self.taken.setdefault(file, url) != url:
            name = Path(file).name
            raise BadRow(f"image {one_line(url, 120)}: {name} beside the rows is already another address's file")

    def report(self, log: Log, source: str) -> None:
        """Logs the number of addresses replaced by local files."""
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
        if is_address(ref):
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
        return fetch(url, self._hosts), name

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
