"""A paper as it was read, and breaches of what always holds of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from livek12.dataset_builders.ingest.drafts import DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.questions.kinds import section_type
from livek12.dataset_builders.ingest.questions.segment import Body, Segment
from livek12.dataset_builders.ingest.questions.stream import Stream


@dataclass(frozen=True)
class PaperReading:
    """A paper as it was read, with its drafts, one a segment, before and after keys."""

    pages: Sequence[PageBlocks]
    stream: Stream
    body: Body
    unkeyed: Sequence[Draft]
    drafts: Sequence[Draft]
    entries: Sequence[Entry] = ()
    key_name: str = ""

    @property
    def pairs(self) -> Iterator[tuple[int, Segment, Draft]]:
        """Each question: its place, segment and draft."""
        for place, (segment, draft) in enumerate(zip(self.body.segments, self.drafts, strict=True)):
            yield place, segment, draft

    @cached_property
    def outside(self) -> list[str]:
        """The lines before the first question, heads and feet."""
        titled = {id(item) for section in self.body.sections for item in section.items}
        front = [
            item.text or item.block.text for item in (*self.stream.titles, *self.body.front) if id(item) not in titled
        ]
        return list(dict.fromkeys([*front, *(text for texts in self.stream.headings.values() for text in texts)]))

    @property
    def front(self) -> list[str]:
        """The lines of `outside` that name no type of questions."""
        return [line for line in self.outside if not section_type(line)]


@dataclass(frozen=True)
class Breach:
    """A broken invariant: doubts of the questions at `places`, which may lose their keys, or an error of the paper."""

    text: str
    places: tuple[int, ...] = ()
    kind: DoubtKind = "text"
    confidence: float = 0.3
    error: bool = False
    refuse: bool = False
