"""What the builders share: the log of a build, unique ids, and what a reader promises.

Contract: a reader turns a source into records, pages before questions. A row that cannot be used costs one
line in the log, with its file, line and id, and the rest goes on; nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from livek12.core.records import Page, Question

Records = Iterator[Page | Question]
PageKey = tuple[str, int]


class BadRow(ValueError):
    """A row that cannot become a question; the message says why."""


@dataclass
class Log:
    """What happened to the rows of a build.

    Attributes:
        read: rows found.
        skipped: one line a row that is left out.
        notes: one line a thing worth knowing about what is kept.
        unread: names of columns that have no place in a question.
    """

    read: int = 0
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def add(self, other: Log) -> None:
        """Takes in what was logged elsewhere after this."""
        self.read += other.read
        self.skipped += other.skipped
        self.notes += other.notes
        self.unread |= other.unread

    def take(self) -> Log:
        """What was logged so far, which is logged here no longer."""
        taken = Log(self.read, self.skipped, self.notes, self.unread)
        self.read, self.skipped, self.notes, self.unread = 0, [], [], set()
        return taken

    def skip(self, where: str, id: str | None, reason: object) -> None:
        """Records a row that is left out: where it stands (file:line), its id if it has one, and why."""
        self.skipped.append(f"{_place(where, id)}: left out: {one_line(reason)}")

    def note(self, where: str, id: str | None, text: object) -> None:
        """Records something a reader of the data set should know about a row that is kept."""
        self.notes.append(f"{_place(where, id)}: {one_line(text)}")


class Reader(Protocol):
    """Reads the source of one benchmark."""

    def __call__(self, source: Path, log: Log, hosts: Collection[str] = ()) -> Records:
        """Yields the pages, then the questions, and logs what it leaves out.

        Args:
            source: the file or folder to read.
            log: takes a line for each row that is left out.
            hosts: the only hosts that images may be fetched from, as HOST or HOST:PORT.

        Raises:
            UserError: the source is not there, or nothing in it is of this benchmark.
        """
        ...


class UniqueIds:
    """Makes repeated ids unique: the first keeps its name, later ones become ID-2, ID-3, ...

    The result depends on the order of the rows only, so a source gives the same ids each time.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, id: str) -> str:
        """The id itself, or the first free name made from it."""
        name, copy = id, 1
        while name in self._taken:
            copy += 1
            name = f"{id}-{copy}"
        self._taken.add(name)
        return name


def one_line(text: object, limit: int = 300) -> str:
    """The text on one printable line, cut to `limit` characters."""
    line = " ".join(str(text).split())
    if not line.isprintable():
        line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _place(where: str, id: str | None) -> str:
    return one_line(f"{where} ({id})" if id else where)
