"""Shared parts of the builders: the log of a build, unique ids, and the pages of a question.

Contract: pages come before questions. Each unusable row gets one line in the log (file, line, id).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError, why
from livek12.core.lazy import yaml
from livek12.core.records import Page, Question
from livek12.core.visible import visible

Records = Iterator[Page | Question]
PageKey = tuple[str, int]
PAGES = "pages"
IMAGE_ONLY = "image_only"
"""The table of questions asked from page images; its rows leave the figures to their pages."""
DIFFICULTIES = ("easy", "medium", "hard")
_OTHER = re.compile(r"\W")


class BadRow(ValueError):
    """A row that cannot become a question; the message gives the reason."""


@dataclass
class Log:
    """Log of a build's rows.

    Attributes:
        unread: columns without a place in a question.
        lost: rows with content in such a column, by name.
        mended: questions with a mended text, by field.
    """

    read: int = 0
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    lost: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)

    def add(self, other: Log) -> None:
        """Appends a later log."""
        self.read += other.read
        self.skipped += other.skipped
        self.notes += other.notes
        self.unread |= other.unread
        self.lost += other.lost
        self.mended += other.mended

    def take(self) -> Log:
        """Returns the log so far and empties it."""
        taken = Log(**vars(self))
        vars(self).update(vars(Log()))
        return taken

    @property
    def says_anything(self) -> bool:
        """True if the log holds more than the number of rows."""
        return bool(self.skipped or self.notes or self.unread or self.lost or self.mended)

    @property
    def left_out(self) -> str:
        """Number of skipped rows and the first of them, in brackets; "" without any."""
        return f" ({len(self.skipped)} rows left out; the first: {self.skipped[0]})" if self.skipped else ""

    def skip(self, where: str, id: str | None, reason: object) -> None:
        """Records a skipped row: its place (file:line), its id and the reason."""
        self.skipped.append(f"{_place(where, id)}: left out: {one_line(reason)}")

    def note(self, where: str, id: str | None, text: object) -> None:
        """Records a remark on a kept row."""
        self.notes.append(f"{_place(where, id)}: {one_line(text)}")


class UniqueIds:
    """Makes repeated ids unique: the first keeps its name, later ones become ID-2, ID-3, ...

    64 bits of each id are stored (24 MB a million); a collision, in one of 37 million sources of a million, adds -2.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._table = array("Q", bytes(8 << 10))
        self._count = 0
        self._copies: dict[str, int] = {}
        for id in taken:
            self._take(id)

    def claim(self, id: str) -> str:
        """The id itself, or the first free name made from it."""
        name = id
        copy = self._copies.get(id, 1)
        while not self._take(name if copy == 1 else f"{id}-{copy}"):
            copy += 1
        if copy > 1:
            name = f"{id}-{copy}"
            self._copies[id] = copy
        return name

    def _take(self, name: str) -> bool:
        digest = blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()
        mark = int.from_bytes(digest) or 1  # 0 is an empty place
        if not self._put(mark):
            return False
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            marks, self._table = self._table, array("Q", bytes(16 * len(self._table)))
            for stored in filter(None, marks):
                self._put(stored)
        return True

    def _put(self, mark: int) -> bool:
        table, last = self._table, len(self._table) - 1
        slot = mark & last
        while table[slot]:
            if table[slot] == mark:
                return False
            slot = (slot + 1) & last
        table[slot] = mark
        return True


def page_keys(question: Question) -> list[PageKey]:
    """Pages of a question; none where the source does not give them."""
    return [(question.paper_id, number) for number in question.page_numbers] if question.paper_id else []


def not_from_pages(question: Question, pages: Collection[PageKey]) -> str:
    """Reason why page images cannot ask a question, or ""."""
    keys = page_keys(question)
    missing = [f"{paper} {number}" for paper, number in keys if (paper, number) not in pages]
    if missing or not keys:
        return f"no image of page {', '.join(missing) or '(none named)'}"
    return "" if (question.number or "").strip() else "no number to find it by on its page"


def by_release(record: Question | Page) -> str:
    """Split LANGUAGE_RELEASE of a record, as a name that `datasets` accepts."""
    name = "_".join(part for part in (record.language, record.release) if part)
    return _OTHER.sub("_", name) or PAGES


def one_line(text: object, limit: int = 300) -> str:
    """Text on one line, cut to `limit` characters, with invisible characters made visible."""
    line = visible(" ".join(str(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def read_yaml(file: Path, what: str, kib: int = 1024) -> Any:
    """Reads a YAML file as plain data; `what` names its kind in errors."""
    try:
        if file.stat().st_size > kib << 10:
            raise UserError(f"{file}: larger than {f'{kib} KiB' if kib < 1024 else f'{kib >> 10} MiB'}: no {what}")
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as YAML ({one_line(why(error), 160)})") from None


def _place(where: str, id: str | None) -> str:
    return one_line(f"{where} ({id})" if id else where)
