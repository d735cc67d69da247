"""Who does what, where several processes work on one run folder at once.

Contract: before a process does a piece of work it claims its key; of two living processes only one gets it. A claim
lives as long as the process does: it names the journal file that the process holds locked, and is void once nobody
holds that file, so that the work of a killed process is free again without any clean-up.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Collection
from pathlib import Path

from livek12.core.errors import UserError


class Claims:
    """The claims on the keys of one kind of work in a run folder.

    Args:
        owner: the journal file that this process holds (`JournalWriter.path`).
        stem: the kind of work: the stem of that journal.
        stored: reads the keys whose work is done, whoever did it.

    Attributes:
        done: the keys whose work was done when last looked at.
    """

    def __init__(self, owner: Path, stem: str, stored: Callable[[], Collection[str]]) -> None:
        self._owner = owner
        self._stored = stored
        self._path = owner.with_name(f".claims-{stem}.jsonl")
        self._holders: dict[str, str] = {}
        self._offset = 0
        self.done: Collection[str] = stored()

    def take(self, key: str) -> bool:
        """Whether this process is to do the work; then it has claimed it.

        Raises:
            UserError: the claims cannot be read or written.
        """
        if key in self.done:
            return False
        try:
            with self._path.open("ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._read(file.fileno())
                holder = self._holders.get(key, self._owner.name)
                if holder != self._owner.name:
                    if _held(self._owner.with_name(holder)):
                        return False
                    self.done = self._stored()  # the other may have done it before it ended
                    if key in self.done:
                        return False
                file.write(json.dumps([key, self._owner.name]).encode() + b"\n")
                self._holders[key] = self._owner.name
                return True
        except OSError as error:
            raise UserError(f"{self._path}: cannot be used ({error.strerror}); make room or another --out") from error

    def _read(self, fd: int) -> None:
        """Takes in what has been claimed since the last look."""
        size = os.fstat(fd).st_size
        text = os.pread(fd, size - self._offset, self._offset)
        end = text.rfind(b"\n") + 1  # a kill can leave half a line, which the next claim then ends up on
        self._offset += end
        for line in text[:end].splitlines():
            try:
                key, holder = json.loads(line)
            except ValueError:
                continue
            self._holders[key] = holder


def _held(file: Path) -> bool:
    """Whether a living process holds the journal file."""
    try:
        fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
