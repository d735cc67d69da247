"""A file of whole lines that one process appends to, safe against `kill -9` at any moment.

Contract: a line is written whole by one `write`, alone or with others; one that stands (ends in a newline) is never
touched again. Whoever opens the file next heals what a kill or a full disk left at its end. Data reaches the disk
(fsync) at most once a second and on close.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from livek12.core.errors import UserError
from livek12.core.locks import close_own, lock_own, owns

_BLOCK = 1 << 16
_SYNC_SECONDS = 1.0


class LineFile:
    """A file of whole lines, held by this process alone; a context manager. One thread at a time may use it.

    Args:
        path: the file; made where it is missing, and its torn last line healed.

    Raises:
        UserError: the file cannot be opened, its file system has no locks, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        fd = lock_own(path)
        if fd is None:
            raise UserError(f"{path}: another process writes it; wait for it or choose another file")
        heal(fd)
        self._use(path, fd)

    def _use(self, path: Path, fd: int) -> None:
        self.path, self._fd = path, fd
        self._synced = time.monotonic()

    def write_line(self, text: str) -> None:
        """Writes the text as one line; raises as `write_lines`."""
        self.write_lines([text])

    def write_lines(self, texts: Sequence[str]) -> None:
        """Writes each text as one line.

        Raises:
            UserError: the disk is full or fails; what was stored before still stands.
        """
        line = "".join(text + "\n" for text in texts).encode("utf-8", "replace")
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
        if owns(self._fd):
            try:
                os.fsync(self._fd)
            finally:
                close_own(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def heal(fd: int) -> None:
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
