"""Who does what, where several processes work on one run folder at once.

Contract: before a process does a piece of work it claims it; of two living processes only one gets it. What belongs
together (`unit`) is claimed as one. A claim lives as long as the process does: it names the journal file that the
process holds locked, and is void once nobody holds that file, so that the work of a killed process is free again
without any clean-up. A process that has gone is noticed within `LOOK_SECONDS`.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.journal import journal_files
from livek12.core.locks import close_own, is_held, open_own

LOOK_SECONDS = 1.0
TOGETHER = 64
"""Trials of a question that go together, and that engines draw from one prompt (`engines.common.grouped`)."""
_ME = ""


class Claims:
    """The claims on the keys of one kind of work in a run folder. One thread at a time may use it.

    Args:
        owner: the journal file that this process holds (`JournalWriter.path`).
        stem: the kind of work: the stem of that journal.
        stored: reads the keys whose work is done, whoever did it.
        unit: names what is claimed with a key; default the key alone.

    Attributes:
        done: the keys whose work was done when last looked at.
        refused: whether some of the work was left to another process because that was alive.

    Raises:
        UserError: the claims cannot be kept in this folder.
    """

    def __init__(
        self,
        owner: Path,
        stem: str,
        stored: Callable[[], Collection[str]],
        unit: Callable[[str], str] = str,
    ) -> None:
        self._owner = owner
        self._stored = stored
        self._unit = unit
        self._path = owner.with_name(f".claims-{stem}.jsonl")
        self._holders: dict[str, str] = {}  # by unit: the file its holder holds, or _ME for what this process claimed
        self._seen_alive: dict[str, float] = {}
        self._read_to_end: set[str] = set()  # the gone whose work is in `done`
        self._offset = 0
        with self._told():
            # Kept open: opening a file for every claim would cost more than all the rest of it.
            self._fd = open_own(self._path)
        weakref.finalize(self, close_own, self._fd)
        self.done: Collection[str] = stored()
        self.refused = False

    def take(self, key: str) -> bool:
        """Whether this process is to do the work; then it has claimed it, and all that belongs to it.

        Raises:
            UserError: the claims cannot be read or written.
        """
        if key in self.done:
            return False
        unit = self._unit(key)
        holder = self._holders.get(unit)
        if holder == _ME:
            return True
        with self._told():
            # Who lives has not given up a claim: only of the gone does the file have to be asked.
            if holder is not None and holder != self._owner.name and self._lives(holder):
                self.refused = True
                return False
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            try:
                return self._claim(unit) and key not in self.done
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _claim(self, unit: str) -> bool:
        self._read()
        holder = self._holders.get(unit, self._owner.name)
        if holder != self._owner.name:
            if self._lives(holder):
                self.refused = True
                return False
            if holder not in self._read_to_end:
                self.done = self._stored()  # the other may have done some of it before it ended
                self._read_to_end.add(holder)
        torn = os.fstat(self._fd).st_size > self._offset  # a kill can leave half a line: it must not spoil this one
        _append(self._fd, b"\n" * torn + json.dumps([unit, self._owner.name]).encode() + b"\n")
        self._holders[unit] = _ME
        return True

    def _read(self) -> None:
        """Takes in what has been claimed since the last look."""
        size = os.fstat(self._fd).st_size
        if size <= self._offset:
            return
        text = os.pread(self._fd, size - self._offset, self._offset)
        end = text.rfind(b"\n") + 1
        self._offset += end
        for line in text[:end].splitlines():
            try:
                unit, holder = map(str, json.loads(line))
            except (ValueError, TypeError):
                continue
            if self._holders.get(unit) != _ME:
                self._holders[unit] = holder
                self._read_to_end.discard(holder)  # somebody holds its file anew

    def _lives(self, holder: str) -> bool:
        """Whether somebody holds the journal file, as of at most `LOOK_SECONDS` ago."""
        now = time.monotonic()
        if now - self._seen_alive.get(holder, -LOOK_SECONDS) < LOOK_SECONDS:
            return True
        if not is_held(self._owner.with_name(holder)):
            return False
        self._seen_alive[holder] = now
        return True

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(f"{self._path}: cannot be used ({error.strerror}); make room or another --out") from error


def at_work(folder: Path, stem: str) -> list[str]:
    """The journals of one kind of work that living processes hold, this one among them."""
    return [file.name for file in journal_files(folder, stem) if is_held(file)]


def with_its_trials(key: str) -> str:
    """The unit of a key `task/question/trial`: the question, so many trials of it at a time."""
    name, _, trial = key.rpartition("/")
    return f"{name}/{int(trial) // TOGETHER}"


def _append(fd: int, line: bytes) -> None:
    while line:
        line = line[os.write(fd, line) :]
