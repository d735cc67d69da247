"""Sums of a run's files, for `livek12 check`: `.NAME.sums` has the SHA-256 of what was written to NAME.

Contract: a journal has a line for each stretch of bytes on the disk; a whole file one for its content and, while it is
replaced, one for that before.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from livek12.core.errors import UserError
from livek12.core.files import Content, heal, open_file, write_atomically
from livek12.core.records import Record

STRETCH = 1 << 20
_Offset = Annotated[int, Field(strict=True, ge=0, le=1 << 50)]


class Sum(Record):
    """SHA-256 of the bytes from `start` to `end`; `file` names a page of the file's own."""

    start: _Offset = 0
    end: _Offset
    sha256: str
    file: str = ""


def sums_path(path: Path) -> Path:
    """Path of the sums of a file."""
    return path.with_name(f".{path.name}.sums")


def summed_name(name: str) -> str | None:
    """Name of the file that has these sums; None for other files."""
    return name[1 : -len(".sums")] if name.startswith(".") and name.endswith(".sums") else None


def read_sums(path: Path) -> list[Sum]:
    """Sums of a file, without a last line that a killed process left torn; ValueError where a line is none."""
    try:
        *lines, last = sums_path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    with suppress(ValueError):
        json.loads(last)
        lines.append(last)
    return [Sum.model_validate_json(line) for line in lines]


class RunningSum:
    """Sums what this process, and a killed one, appended."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._digest = path, hashlib.sha256()
        self._start = self._end = self._noted()
        while block := os.pread(fd, STRETCH, self._end):
            self.add(block)

    def add(self, written: bytes) -> bool:
        """Adds bytes; returns true if it is time to note them."""
        self._digest.update(written)
        self._end += len(written)
        return self._end - self._start >= STRETCH

    def note(self) -> None:
        """Notes the bytes so far, once on the disk."""
        if self._end == self._start:
            return
        line = Sum(start=self._start, end=self._end, sha256=self._digest.hexdigest()).model_dump_json() + "\n"
        with suppress(OSError, UserError):  # `check` says that no sum covers them
            fd = open_file(sums_path(self._path))
            try:
                heal(fd)
                os.write(fd, line.encode())
            finally:
                os.close(fd)
            self._start, self._digest = self._end, hashlib.sha256()

    def _noted(self) -> int:
        with suppress(OSError, ValueError):
            return max((row.end for row in read_sums(self._path)), default=0)
        return 0


def write_summed(path: Path, content: Content, *, new: bool = False, before: Callable[[], None] = lambda: None) -> None:
    """Writes a whole file of a run with its sum; `before` as for `write_atomically`, and once the sum is noted."""
    digest, size = hashlib.sha256(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal size
        for piece in [content] if isinstance(content, str | bytes) else content:
            data = piece.encode() if isinstance(piece, str) else piece
            digest.update(data)
            size += len(data)
            yield data

    def note() -> None:
        _store(path, [written(), *_whole(path)])
        before()

    def written() -> Sum:
        return Sum(end=size, sha256=digest.hexdigest())

    try:
        write_atomically(path, pieces(), new=new, before=note)
        _store(path, [written()])
        before()
    except UserError:
        with suppress(OSError, UserError):  # another command may have written the file and its sum meanwhile
            _store(path, [sum_of(path)])
        raise


def note_whole(path: Path, source: Path | None = None, pages: Iterable[Path] = ()) -> None:
    """Notes a file with its pages, or one whose `source` will take its place."""
    rows = [sum_of(source or path), *(_whole(path) if source else [])]
    rows += [sum_of(page).model_copy(update={"file": str(page.relative_to(path.parent))}) for page in pages]
    _store(path, rows)


def sums_line(content: bytes) -> bytes:
    """Sums of a file with this content."""
    row = Sum(end=len(content), sha256=hashlib.sha256(content).hexdigest())
    return (row.model_dump_json(exclude_defaults=True) + "\n").encode()


def sum_of(path: Path, start: int = 0, end: int | None = None) -> Sum:
    """Sum of a file or a stretch of it, as far as it goes."""
    digest, place = hashlib.sha256(), start
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(STRETCH if end is None else min(STRETCH, end - place)):
            digest.update(block)
            place += len(block)
    return Sum(start=start, end=place, sha256=digest.hexdigest())


def damage(path: Path) -> list[tuple[int, int]]:
    """Changed stretches of a journal; ValueError for an unreadable sum."""
    rows = [row for row in read_sums(path) if not row.file]
    return [(row.start, row.end) for row in rows if sum_of(path, row.start, row.end) != row]


def _whole(path: Path) -> list[Sum]:
    with suppress(OSError, ValueError):
        return [row for row in read_sums(path) if not row.file][:1]
    return []


def _store(path: Path, rows: list[Sum]) -> None:
    lines = [row.model_dump_json(exclude_defaults=True) + "\n" for row in rows]
    write_atomically(sums_path(path), lines)
