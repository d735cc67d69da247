"""Counts questions of the same tables and split, in any process.

Contract: counts of parts merge to the count of the whole.
"""

from __future__ import annotations

import marshal
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from livek12.core.records import Question
from livek12.dataset_builders.base import IMAGE_ONLY, PageKey, page_keys
from livek12.dataset_builders.duplicates import SHORT
from livek12.dataset_builders.reading.images import Picture, look_of, picture_of
from livek12.dataset_builders.writing.measures import NOT_STATED, Block, content_of


class Compared(NamedTuple):
    """A question for the near-duplicate search; `pictures` are its figures, if its text is too short without them."""

    id: str
    benchmark: str
    content: bytes
    pictures: tuple[Picture, ...]


@dataclass
class PartCounts:
    """Counts of some questions of the same tables and split.

    Attributes:
        contents: identity of each question's content, see `content_of`.
        withdrawn: benchmark, withdrawing release and id, by position.
        pages: image-only questions on each page.
    """

    block: Block = field(default_factory=Block)
    contents: array[int] = field(default_factory=lambda: array("Q"))
    added: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    withdrawn: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    pages: Counter[PageKey] = field(default_factory=Counter)
    compared: list[Compared] = field(default_factory=list)

    @classmethod
    def of(cls, questions: Sequence[Question], tables: Sequence[str], *, compares: bool = True) -> PartCounts:
        """Counts questions that are stored in these tables; `compares` includes the near-duplicate search."""
        looks = [list(map(look_of, question.images)) for question in questions]
        counted = cls(
            contents=array("Q", map(content_of, questions, looks)),
            added=Counter((entry.benchmark, entry.release or NOT_STATED, entry.language) for entry in questions),
            withdrawn={
                n: (entry.benchmark, entry.removed_in, entry.id)
                for n, entry in enumerate(questions)
                if entry.removed_in
            },
            pages=Counter(key for entry in questions if IMAGE_ONLY in tables for key in page_keys(entry)),
            compared=list(map(compared_of, questions)) if compares else [],
        )
        counted.block.add(questions, looks)
        return counted

    def rename(self, number: int, id: str) -> None:
        """Changes the id of the question at position `number` (from 0); only before any merge."""
        if self.compared:
            self.compared[number] = self.compared[number]._replace(id=id)
        if (withdrawn := self.withdrawn.get(number)) is not None:
            self.withdrawn[number] = (*withdrawn[:2], id)

    def merge(self, other: PartCounts) -> None:
        """Adds other counts of these tables and split, except `compared`."""
        first = self.block.questions
        self.withdrawn.update((first + place, entry) for place, entry in other.withdrawn.items())
        self.block.merge(other.block)
        self.contents += other.contents
        self.added.update(other.added)
        self.pages.update(other.pages)


def compared_of(question: Question) -> Compared:
    """The input of the near-duplicate search for a question."""
    options = [(option.label, option.text) for option in question.options]
    content = question.language, question.question, options, question.answer
    short = sum(map(len, [question.question, *(text for _, text in options)])) < 10 * SHORT
    pictures = tuple(map(picture_of, question.images)) if short else ()
    return Compared(question.id, question.benchmark, marshal.dumps(content), pictures)
