"""Append-only files of records, safe against `kill -9` at any moment.

Contract: a record is one line, written whole by one `write`; a line that stands (ends in a newline) is never
touched again. Each writer has a file of its own (`STEM-0.jsonl`, `STEM-1.jsonl`, …), held by a lock that dies with
its process; whoever opens a file next heals what a kill or a full disk left at its end. Readers need no lock:
they pass over an unfinished last line. Data reaches the disk (fsync) at most once a second and on close.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

from livek12.core.errors import UserError
from livek12.core.records import Record

R = TypeVar("R", bound=Record)
_BLOCK = 1 << 16
_SYNC_SECONDS = 1.0
_OWN: set[int] = set()
"""What this process has open for its own; a forked child does not keep it."""


class Place(NamedTuple):
    """Where a line stands: its file, its first byte and the one after its last."""

    path: Path
    start: int
    end: int


class JournalWriter:
    """Appends records to the first file of the stem that no living writer holds.

    Use as a context manager. One writer may be used by one thread at a time.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        self.path, self._fd = _take_file(folder, stem)
        self._synced = time.monotonic()

    def append(self, record: Record) -> None:
        """Writes the record as one line.

        Raises:
            UserError: the disk is full or fails; what was stored before still stands.
        """
        line = (record.model_dump_json() + "\n").encode()
        end = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            if time.monotonic() - self._synced >= _SYNC_SECONDS:
                self.sync()
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise UserError(
                f"{self.path}: cannot store a record ({error.strerror}); everything before it is stored: "
                "make room and run the same command again"
            ) from error

    def sync(self) -> None:
        """Has the disk hold everything appended so far."""
        os.fsync(self._fd)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Flushes to the disk and lets the file go; safe to call twice."""
        if self._fd in _OWN:
            try:
                os.fsync(self._fd)
            finally:
                close_own(self._fd)
                self._fd = -1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(
    folder: Path, stem: str, model: type[R], on_problem: Callable[[str], None] | None = None
) -> Iterator[R]:
    """The records of all files of a stem, file by file, in the order they were written.

    An unfinished last line is passed over. Any other line that holds no valid record is reported to
    `on_problem` in one line naming file and line, and passed over.

    Raises:
        UserError: a file cannot be read.
    """
    return (record for _, record in placed_records(folder, stem, model, on_problem))


def placed_records(
    folder: Path, stem: str, model: type[R], on_problem: Callable[[str], None] | None = None
) -> Iterator[tuple[Place, R]]:
    """The same as `read_journal`, each record with its place."""
    for path in journal_files(folder, stem):
        start = 0
        for number, line in enumerate(_lines(path), 1):
            end = start + len(line)
            if line.strip():
                try:
                    record = model.model_validate_json(line)
                except ValueError as error:
                    if line.endswith(b"\n") and on_problem is not None:
                        on_problem(f"{path}:{number}: not a {model.__name__} record, passed over ({_first(error)})")
                else:
                    yield Place(path, start, end), record
            start = end


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as lines:
            yield from lines
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def journal_files(folder: Path, stem: str) -> list[Path]:
    """The files of a stem, in the order of their numbers."""
    return sorted(folder.glob(f"{stem}-*.jsonl"), key=lambda path: (len(path.name), path.name))


def write_atomically(path: Path, text: str) -> None:
    """Writes a whole file so that a kill leaves either the old text or the new.

    Raises:
        UserError: the disk is full or fails.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written ({error.strerror}); make room or choose another folder") from error


def open_own(path: Path) -> int:
    """Opens a file to read and append; forked children let go of it, for a lock lasts until all have closed it."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    _OWN.add(fd)
    return fd


def close_own(fd: int) -> None:
    """Closes such a file; in a forked child it is closed already."""
    if fd in _OWN:
        _OWN.discard(fd)
        os.close(fd)


def _forget_own() -> None:
    while _OWN:
        os.close(_OWN.pop())


os.register_at_fork(after_in_child=_forget_own)


def _take_file(folder: Path, stem: str) -> tuple[Path, int]:
    """Heals every file whose writer is gone and keeps the first of them, or starts a new one."""
    taken: tuple[Path, int] | None = None
    for path in journal_files(folder, stem):
        fd = _lock(path)
        if fd is None:
            continue
        _heal(fd)
        if taken is None:
            taken = (path, fd)
        else:
            close_own(fd)
    number = 0
    while taken is None:
        path = folder / f"{stem}-{number}.jsonl"
        if not path.exists() and (fd := _lock(path)) is not None:
            taken = (path, fd)
        number += 1
    return taken


def _lock(path: Path) -> int | None:
    """Opens the file for appending and locks it; None where another writer holds it."""
    try:
        fd = open_own(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened for writing ({error.strerror})") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        close_own(fd)
        return None
    except OSError as error:
        close_own(fd)
        raise UserError(f"{path}: this file system has no locks ({error.strerror}); use another folder") from error
    return fd


def _heal(fd: int) -> None:
    """Ends the file in a whole line: a last line without a newline gets it if it is whole, else it goes."""
    size = os.lseek(fd, 0, os.SEEK_END)
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        step = min(_BLOCK, start)
        start -= step
        tail = os.pread(fd, step, start) + tail
    torn = tail[tail.rfind(b"\n") + 1 :]
    if not torn:
        return
    try:
        json.loads(torn)
    except ValueError:
        os.ftruncate(fd, size - len(torn))
    else:
        os.write(fd, b"\n")


def _first(error: Exception) -> str:
    return str(error).splitlines()[0]
