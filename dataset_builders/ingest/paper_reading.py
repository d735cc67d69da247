"""A paper as it was read, its language, and breaches of what always holds of one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from livek12.core.languages import languages, letters_in, listed
from livek12.core.records import Language
from livek12.dataset_builders.ingest.drafts import DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.questions.kinds import section_type
from livek12.dataset_builders.ingest.questions.segment import Body, Segment
from livek12.dataset_builders.ingest.questions.stream import Stream

_SCRIPTS: Final = re.compile(r"LATIN|CJK|HANGUL|GREEK|MATHEMATICAL|FULLWIDTH|IDEOGRAPHIC|SUPERSCRIPT|SUBSCRIPT|CIRCLED")
_FOREIGN, _FEWEST_LETTERS = 0.1, 200
"""Share of letters of other scripts, in a text of so many letters at least."""
_ENGLISH: Final = frozenset(
    "the of and to in is for are be with or by if that this an on as at from which what".split()
)
_LATIN: Final = 0.85
"""Share of Latin letters above which a text is in a language of them: code may have more than half."""
_FEWEST_ENGLISH, _FEWEST_LATIN = 0.06, 100
"""Share of these words in English, in so many Latin words at least: papers have 0.2 and more, of code too."""


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


def unknown_language(stream: Stream) -> str:
    """A line on the script or language of a paper that no rules know; "" if they do."""
    text = " ".join(re.sub(r"\$[^$]*\$", "", item.text) for item in stream.items)
    letters = [sign for sign in text if sign.isalpha()]
    own = re.compile("|".join(f"[{row.letters}]" for row in languages() if row.letters))
    others = Counter(unicodedata.name(sign, "").split(" ")[0] for sign in letters if not own.match(sign))
    foreign = {name: many for name, many in others.items() if name and not _SCRIPTS.match(name)}
    words = [word.lower() for word in re.findall(r"[A-Za-zÀ-ɏ]{2,}", text)]
    script = ""
    if len(letters) >= _FEWEST_LETTERS and sum(foreign.values()) > _FOREIGN * len(letters):
        script = f"script without rules here ({max(foreign, key=foreign.__getitem__).lower()})"
    elif len(words) >= _FEWEST_LATIN and others["LATIN"] > _LATIN * len(letters):
        english = sum(word in _ENGLISH for word in words) > _FEWEST_ENGLISH * len(words)
        script = "" if english else "language without rules here (Latin letters, not English)"
    names_here = listed((row.labels["en"] for row in languages()), "and")
    return script and f"its text is in a {script}: the rules know {names_here}"


def language_in(stream: Stream) -> Language:
    """The language of a paper, by its letters."""
    text = "".join(item.text for item in stream.items)
    letters = letters_in(text)
    rows = (row for row in reversed(languages()) if letters[row.code] > max(2, len(text) // row.in_paper))
    return next((row.code for row in rows), "en")
