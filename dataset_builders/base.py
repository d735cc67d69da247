"""What the builders share: the log of a build, unique ids, and the pages a question stands on.

Contract: a source is read into records, pages before questions. A row that cannot be used costs one
line in the log, with its file, line and id, and the rest goes on; nothing is dropped in silence.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from livek12.core.records import Page, Question
from livek12.core.visible import visible

Records = Iterator[Page | Question]
PageKey = tuple[str, int]
PAGES = "pages"
IMAGE_ONLY = "image_only"
"""The table of what is asked from page images; its rows leave the figures to their pages."""
DIFFICULTIES = ("easy", "medium", "hard")


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
        lost: how many rows hold text or a picture in such a column, by its name.
        mended: how many questions had a text that is mended, by its field.
    """

    read: int = 0
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    lost: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)

    def add(self, other: Log) -> None:
        """Takes in what was logged elsewhere after this."""
        self.read += other.read
        self.skipped += other.skipped
        self.notes += other.notes
        self.unread |= other.unread
        self.lost += other.lost
        self.mended += other.mended

    def take(self) -> Log:
        """What was logged so far, which is logged here no longer."""
        taken = Log(**vars(self))
        vars(self).update(vars(Log()))
        return taken

    @property
    def says_anything(self) -> bool:
        """Whether there is more in it than how many rows were read."""
        return bool(self.skipped or self.notes or self.unread or self.lost or self.mended)

    def skip(self, where: str, id: str | None, reason: object) -> None:
        """Records a row that is left out: where it stands (file:line), its id if it has one, and why."""
        self.skipped.append(f"{_place(where, id)}: left out: {one_line(reason)}")

    def note(self, where: str, id: str | None, text: object) -> None:
        """Records something a reader of the data set should know about a row that is kept."""
        self.notes.append(f"{_place(where, id)}: {one_line(text)}")


class UniqueIds:
    """Makes repeated ids unique: the first keeps its name, later ones become ID-2, ID-3, ...

    The result depends on the order of the rows only, so a source gives the same ids each time. Of an id that is taken
    64 bits are kept, 12 to 24 bytes with the room between them: a million ids take 24 MB. Two of them agree in these,
    and one is named ID-2 for nothing, in one of 37 million sources of that size.
    """

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 << 10))
        self._count = 0
        self._copies: dict[str, int] = {}

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
        """Takes a name; whether it was free."""
        digest = blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()
        mark = int.from_bytes(digest) or 1  # 0 is an empty place
        if not self._put(mark):
            return False
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            held, self._table = self._table, array("Q", bytes(16 * len(self._table)))
            for one in filter(None, held):
                self._put(one)
        return True

    def _put(self, mark: int) -> bool:
        table, last = self._table, len(self._table) - 1
        at = mark & last
        while table[at]:
            if table[at] == mark:
                return False
            at = (at + 1) & last
        table[at] = mark
        return True


def page_keys(question: Question) -> list[PageKey]:
    """The pages a question is on; none where the source does not say."""
    return [(question.paper_id, number) for number in question.page_numbers] if question.paper_id else []


def not_from_pages(question: Question, pages: Collection[PageKey]) -> str:
    """Why a question cannot be asked from page images: a page is not among `pages`, or it has no number there.

    Empty where it can.
    """
    keys = page_keys(question)
    missing = [f"{paper} {number}" for paper, number in keys if (paper, number) not in pages]
    if missing or not keys:
        return f"no image of page {', '.join(missing) or '(none named)'}"
    return "" if (question.number or "").strip() else "no number to find it by on its page"


def by_release(record: Question | Page) -> str:
    """The split LANGUAGE_RELEASE of a record, as far as it states them: a name `datasets` accepts."""
    name = "_".join(part for part in (record.language, record.release) if part)
    return re.sub(r"\W", "_", name) or PAGES


def one_line(text: object, limit: int = 300) -> str:
    """The text on one line, cut to `limit` characters; what it hides is shown."""
    line = visible(" ".join(str(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _place(where: str, id: str | None) -> str:
    return one_line(f"{where} ({id})" if id else where)
