"""Who does what, where several processes work on one run folder at once.

Contract: before a process does a piece of work it claims it; of two living processes only one gets it. What belongs
together (`unit`) is claimed as one. A claim lives as long as the process does: it names the journal file that the
process holds locked, and is void once nobody holds that file, so that the work of a killed process is free again
without any clean-up. A process that has gone is noticed within `LOOK_SECONDS`. Where locks may not hold for other
machines a claim is a link that only one of all can make (`core.run.leases`), and a process of another machine has
gone when its lease is over.
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

from livek12.core.errors import UserError
from livek12.core.run.journal import journal_files
from livek12.core.run.leases import SECONDS, in_doubt, named, owner_of
from livek12.core.run.locks import close_own, is_held, lease_of, open_own

LOOK_SECONDS = 1.0
TOGETHER = 64
"""Trials of a question that go together, and that engines draw from one prompt (`engines.common.grouped`)."""
_ME, _NOT_SEEN = "", "?"


class Claims:
    """The claims on the keys of one kind of work in a run folder. One thread at a time may use it.

    Args:
        owner: the journal file that this process holds (`JournalWriter.path`).
        stem: the kind of work: the stem of that journal.
        stored: reads the keys whose work is done, whoever did it.
        unit: names what is claimed with a key; default the key alone.

    Attributes:
        done: the keys whose work was done when last looked at.
        refused: the files of those to whom some of the work was left because they were alive.

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
        self._seen_alive: dict[str, float] = {}
        self._read_to_end: set[str] = set()  # the gone whose work is in `done`
        token = lease_of(owner)
        with self._told():
            self._book = _Linked(owner, stem, token) if token else _Told(owner, self._path)
        self.done: Collection[str] = stored()
        self.refused: set[str] = set()

    def take(self, key: str) -> bool:
        """Whether this process is to do the work; then it has claimed it, and all that belongs to it.

        Raises:
            UserError: the claims cannot be read or written.
        """
        return bool(self.take_all([key]))

    def take_all(self, keys: Iterable[str]) -> list[str]:
        """Those of some keys whose work this process is to do, claimed in one turn.

        Raises:
            UserError: the claims cannot be read or written.
        """
        with self._told():
            units = {key: self._unit(key) for key in keys if key not in self.done}
            free = [key for key, unit in units.items() if not self._is_others(unit)]
            if all(self._book.holder(units[key]) == _ME for key in free):
                return free
            with self._book.turn() as anew:
                self._read_to_end -= anew  # somebody holds its file anew
                return [key for key in free if self._claim(units[key]) and key not in self.done]

    def _is_others(self, unit: str) -> bool:
        """Whether a living process has the unit, as far as is known: who lives has not given up a claim.

        Only of the gone does the file have to be asked.
        """
        holder = self._book.holder(unit)
        if holder is None or holder in (_ME, self._owner.name) or not self._lives(holder):
            return False
        self.refused.add(holder)
        return True

    def _claim(self, unit: str) -> bool:
        """Claims a unit that no living process has; when another is quicker, looks at that one."""
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
        """Whether somebody holds the journal file, as of at most `LOOK_SECONDS` ago."""
        now = time.monotonic()
        if now - self._seen_alive.get(holder, -LOOK_SECONDS) < LOOK_SECONDS or holder == _NOT_SEEN:
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


class _Book(Protocol):
    """Where it stands who claimed what."""

    def holder(self, unit: str) -> str | None:
        """The file that the holder of a unit holds, as far as is known: `_ME`, `_NOT_SEEN`, or None for nobody."""

    def turn(self) -> AbstractContextManager[set[str]]:
        """While it lasts what is known holds; gives the holders that are new."""

    def put(self, unit: str) -> bool:
        """Notes that this process claims a unit; false where another was quicker, which is known then."""


class _Told(_Book):
    """A file of lines that is written by one at a time, under a lock."""

    def __init__(self, owner: Path, path: Path) -> None:
        self._owner = owner
        self._holders: dict[str, str] = {}
        self._new: list[str] = []
        self._offset = 0
        # Kept open: opening a file for every claim would cost more than all the rest of it.
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
        """Writes what was put in this turn."""
        if not self._new:
            return
        lines, self._new = "".join(self._new).encode(), []
        torn = os.fstat(self._fd).st_size > self._offset  # a kill can leave half a line: it must not spoil these
        _append(self._fd, b"\n" * torn + lines)
        self._offset += 0 if torn else len(lines)  # its own claims are not read again

    def _read(self) -> set[str]:
        """Takes in what has been claimed since the last look; who claimed it."""
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
    """A link for each claim, `CLAIMS/HASH.N`; who takes over from one that has gone makes the next number."""

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
            self._known = {one: (number, self._file()) for one, (number, held) in self._known.items() if held == _ME}
        if unit not in self._known:
            return None
        number, held = self._known[unit]
        return self._look(unit, number) if held == _NOT_SEEN else held

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
        held = f"{self._stem}-{token}.jsonl" if token else _NOT_SEEN
        self._known[unit] = (number, held)
        return held

    def _name(self, unit: str, number: int) -> str:
        digest = hashlib.sha256(unit.encode()).hexdigest()
        return f"claims-{self._stem}/{digest[:2]}/{digest[2:32]}.{number}"

    def _file(self) -> str:
        return f"{self._stem}-{self._lease.token}.jsonl"


def unsure(folder: Path, holders: Collection[str], since: float) -> bool:
    """Whether somebody of these may have gone, and that cannot be told yet; by locks it can at once.

    Args:
        folder: of the run.
        holders: `Claims.refused`.
        since: when they were refused, by the monotonic clock; a claim that is not seen by whom is waited for so long.
    """
    tokens = {lease_of(folder / name) for name in holders} - {None}
    unseen = _NOT_SEEN in holders and time.monotonic() - since < SECONDS
    return unseen or any(in_doubt(folder, token) for token in tokens if token)


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
