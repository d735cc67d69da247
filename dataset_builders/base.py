"""What the builders share: the log of a build, unique ids, and the pages a question stands on.

Contract: a source is read into records, pages before questions. A row that cannot be used costs one
line in the log, with its file, line and id, and the rest goes on; nothing is dropped in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

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
