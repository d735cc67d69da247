"""Where the record of each key stands in a journal: 8 bytes an answer instead of the record itself.

Contract: an `Index` is made by one pass over the files of a stem as they are then; `find` reads a record again when it
is asked for. So a million records can be joined with another million in little memory.
"""

from __future__ import annotations

import os
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from livek12.core.errors import UserError
from livek12.core.journal import placed_records
from livek12.core.records import Failure, Key, Response, Verdict

R = TypeVar("R", Response, Failure, Verdict)
_NOWHERE = -1


class Index(Generic[R]):
    """The records of a stem by their key.

    Args:
        folder: of the journal.
        stem: of its files.
        model: of its records.
        trials: trials below this number are kept.
        wanted: which records count.
        first: whether the first record of a key counts, rather than the last.
        on_problem: told of damaged lines, one line each.

    Raises:
        UserError: a file cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        model: type[R],
        trials: int,
        wanted: Callable[[R], bool] = lambda _: True,
        first: bool = False,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._model: type[R] = model
        self._trials = trials
        self._places: dict[tuple[str, str], array[int]] = {}
        self._files: list[int] = []
        self._begins: list[int] = []  # of each file, had all of them been one
        end = 0
        opened: dict[Path, int] = {}
        for place, record in placed_records(folder, stem, model, on_problem):
            if place.path not in opened:
                opened[place.path] = self._open(place.path, end)
            if wanted(record):
                self._put(record.key, opened[place.path] + place.start, first)
            end = opened[place.path] + place.end

    def find(self, key: Key) -> R | None:
        """The record of a key."""
        places = self._places.get((key.task, key.question_id))
        if places is None or not 0 <= key.trial < len(places) or places[key.trial] == _NOWHERE:
            return None
        number = bisect_right(self._begins, places[key.trial]) - 1
        line = _line_at(self._files[number], places[key.trial] - self._begins[number])
        record: R = self._model.model_validate_json(line)
        return record

    def _open(self, path: Path, begin: int) -> int:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from error
        weakref.finalize(self, os.close, fd)
        self._files.append(fd)
        self._begins.append(begin)
        return begin

    def _put(self, key: Key, place: int, first: bool) -> None:
        if not 0 <= key.trial < self._trials:
            return
        name = (key.task, key.question_id)
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = array("q", [_NOWHERE]) * self._trials
        if not first or places[key.trial] == _NOWHERE:
            places[key.trial] = place


def _line_at(fd: int, start: int) -> bytes:
    """The line that begins there."""
    line = b""
    while b"\n" not in line and (more := os.pread(fd, max(4096, len(line)), start + len(line))):
        line += more
    return line.partition(b"\n")[0]
