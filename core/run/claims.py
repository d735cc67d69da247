"""Work claims: distributes a run's keys over processes that join, leave or are killed.

Contract: of two living processes only one gets a unit of work. A claim names the journal file that its process holds
locked and is void without that lock: the work of a killed process is free within `LOOK_SECONDS`. Where locks may not
reach other machines a claim is a hard link (`core.run.locks`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from livek12.core.errors import UserError, explain_errors
from livek12.core.run.journal import journal_files
from livek12.core.run.locks import SECONDS, close_own, in_doubt, is_held, lease_of, named, open_own, owner_of

LOOK_SECONDS = 1.0
TOGETHER = 64
"""Trials of a question that go together, and that engines draw from one prompt (`engines.common.grouped`)."""
_ME, _NOT_SEEN = "", "?"


class Claims:
    """Claims on the keys of one kind of work in a run folder; not thread-safe.

    Args:
        owner: this process's journal file (`JournalWriter.path`).
        stored: reads the finished keys of all processes.
        unit: names the unit claimed with a key; default the key alone.

    Attributes:
        done: the finished keys, as of the last look.
        refused: journal files of living processes that hold some of the work.
    """

    def __init__(
        self, owner: Path, stem: str, stored: Callable[[], Collection[str]], unit: Callable[[str], str] = str
    ) -> None:
        self._owner = owner
        self._stored = stored
        self._unit = unit
        self._path = owner.with_name(f".claims-{stem}.jsonl")
        self._seen_alive: dict[str, float] = {}
        self._read_to_end: set[str] = set()  # the gone whose work is in `done`
        token = lease_of(owner)
        with self._told():
            self._book = _Linked(owner, stem, token) if token else _Told(owner, self._path)
        self.done: Collection[str] = stored()
        self.refused: set[str] = set()

    def take(self, key: str) -> bool:
        """Claims the unit of a key; returns true on success."""
        return bool(self.take_all([key]))

    def take_all(self, keys: Iterable[str]) -> list[str]:
        """Claims the units of several keys in one turn; returns the keys for this process."""
        with self._told():
            units = {key: self._unit(key) for key in keys if key not in self.done}
            free = [key for key, unit in units.items() if not self._is_others(unit)]
            if all(self._book.holder(units[key]) == _ME for key in free):
                return free
            with self._book.turn() as anew:
                self._read_to_end -= anew  # somebody holds its file anew
                return [key for key in free if self._claim(units[key]) and key not in self.done]

    def _is_others(self, unit: str) -> bool:
        """The book need not be read again, for the living give up no claim."""
        holder = self._book.holder(unit)
        if holder is None or holder in (_ME, self._owner.name) or not self._lives(holder):
            return False
        self.refused.add(holder)
        return True

    def _claim(self, unit: str) -> bool:
        while True:
            holder = self._book.holder(unit)
            if holder == _ME:
                return True
            if holder is not None and holder != self._owner.name:
                if self._is_others(unit):
                    return False
                if holder not in self._read_to_end:
                    self.done = self._stored()  # the other may have done some of it before it ended
                    self._read_to_end.add(holder)
            if self._book.put(unit):
                return True

    def _lives(self, holder: str) -> bool:
        """As of at most `LOOK_SECONDS` ago."""
        now = time.monotonic()
        if now - self._seen_alive.get(holder, -LOOK_SECONDS) < LOOK_SECONDS or holder == _NOT_SEEN:
            return True
        if not is_held(self._owner.with_name(holder)):
            return False
        self._seen_alive[holder] = now
        return True

    def _told(self) -> AbstractContextManager[None]:
        return explain_errors(f"{self._path}: cannot be used", "; make room or another --out")


class _Book(Protocol):
    def holder(self, unit: str) -> str | None:
        """`_ME`, `_NOT_SEEN`, or a journal file as last read."""

    def turn(self) -> AbstractContextManager[set[str]]:
        """Keeps the book still; yields the holders that are new."""

    def put(self, unit: str) -> bool:
        """False if another was quicker, which `holder` then names."""


class _Told(_Book):
    """File of lines that one process at a time writes, under a lock."""

    def __init__(self, owner: Path, path: Path) -> None:
        self._owner = owner
        self._holders: dict[str, str] = {}
        self._new: list[str] = []
        self._offset = 0
        # Kept open: reopening would cost more than the rest.
        self._fd = open_own(path)
        weakref.finalize(self, close_own, self._fd)

    def holder(self, unit: str) -> str | None:
        return self._holders.get(unit)

    @contextmanager
    def turn(self) -> Iterator[set[str]]:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            yield self._read()
            self._write()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def put(self, unit: str) -> bool:
        self._new.append(json.dumps([unit, self._owner.name]) + "\n")
        self._holders[unit] = _ME
        return True

    def _write(self) -> None:
        if not self._new:
            return
        lines, self._new = "".join(self._new).encode(), []
        torn = os.fstat(self._fd).st_size > self._offset  # a kill can leave half a line: it must not spoil these
        _append(self._fd, b"\n" * torn + lines)
        self._offset += 0 if torn else len(lines)  # its own claims are not read again

    def _read(self) -> set[str]:
        size, new = os.fstat(self._fd).st_size, set[str]()
        if size <= self._offset:
            return new
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
                new.add(holder)
        return new


class _Linked(_Book):
    """Link for each claim, `CLAIMS/HASH.N`; the successor of a gone process makes the next number."""

    def __init__(self, owner: Path, stem: str, token: str) -> None:
        lease = named(token)
        if lease is None:
            raise UserError(f"{owner}: is held by another process")
        self._lease, self._stem = lease, stem
        self._known: dict[str, tuple[int, str]] = {}  # of each unit the number and who has it
        self._lapses = lease.lapses

    def holder(self, unit: str) -> str | None:
        self._lease.overdue()
        if self._lapses != self._lease.lapses:  # others may have taken over what was this process's
            self._lapses = self._lease.lapses
            self._known = {
                other: (number, self._file()) for other, (number, owner) in self._known.items() if owner == _ME
            }
        if unit not in self._known:
            return None
        number, owner = self._known[unit]
        return self._look(unit, number) if owner == _NOT_SEEN else owner

    @contextmanager
    def turn(self) -> Iterator[set[str]]:
        yield set()

    def put(self, unit: str) -> bool:
        number, before = self._known.get(unit, (0, None))
        number += before not in (None, _NOT_SEEN)
        if self._lease.put(self._name(unit, number)):
            self._known[unit] = (number, _ME)
            return True
        self._look(unit, number)
        return False

    def _look(self, unit: str, number: int) -> str:
        token = owner_of(self._lease.home / self._name(unit, number))
        owner = f"{self._stem}-{token}.jsonl" if token else _NOT_SEEN
        self._known[unit] = (number, owner)
        return owner

    def _name(self, unit: str, number: int) -> str:
        digest = hashlib.sha256(unit.encode()).hexdigest()
        return f"claims-{self._stem}/{digest[:2]}/{digest[2:32]}.{number}"

    def _file(self) -> str:
        return f"{self._stem}-{self._lease.token}.jsonl"


def unsure(folder: Path, holders: Collection[str], since: float) -> bool:
    """True if a holder may be gone and its lease does not tell yet; locks tell at once.

    `since` is the monotonic time of the refusal: a claim without a visible holder is waited for `SECONDS`.
    """
    tokens = {lease_of(folder / name) for name in holders} - {None}
    unseen = _NOT_SEEN in holders and time.monotonic() - since < SECONDS
    return unseen or any(in_doubt(folder, token) for token in tokens if token)


def at_work(folder: Path, stem: str) -> list[str]:
    """Journals of one kind of work that living processes hold."""
    return [file.name for file in journal_files(folder, stem) if is_held(file)]


def with_its_trials(key: str) -> str:
    """Unit of a key `task/question/trial`: `TOGETHER` trials of the question."""
    name, _, trial = key.rpartition("/")
    return f"{name}/{int(trial) // TOGETHER}"


def _append(fd: int, line: bytes) -> None:
    while line:
        line = line[os.write(fd, line) :]
