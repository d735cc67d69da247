"""Passages that no line announces: what stands between the options of one question and the number of the next.

Contract: `share` takes a passage out of the question or section it was read into, and gives it to the questions behind
it, up to the next passage or section. A few lines are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.dataset_builders.ingest.keys import ANSWER_HEAD
from livek12.dataset_builders.ingest.segment import Section, Segment
from livek12.dataset_builders.ingest.stream import Item, Stream
from livek12.dataset_builders.ingest.texts import wraps

_LAST_LABEL = re.compile(r"(?:^|\s)(?:[DEＤＥ]\s?[.．、]|[(（][DE][)）]|[④⑤])")
_FIRST_LABEL = re.compile(r"(?:^|\s)(?:[AＡ]\s?[.．、]|[(（]A[)）]|①)")
_LEAST_LINES, _LEAST = 3, 150
"""Lines and characters that a passage has at least."""
_LONGEST_INSTRUCTIONS = 400
"""Characters of a section's title and instructions; more than these are a passage."""


def share(segments: Sequence[Segment], stream: Stream) -> None:
    """Moves passages to the questions they are for, in place."""
    passage: list[Item] = []
    section: Section | None = None
    for segment in segments:
        if segment.section is not section:
            section = segment.section
            asked_within = bool(_FIRST_LABEL.match(segment.items[0].text[segment.end :].strip()))
            passage = section.items[1:] if asked_within or len(section.own) > _LONGEST_INSTRUCTIONS else []
        if segment.passage:
            passage = []
        segment.passage = segment.passage or passage
        end = _options_end(segment.items, stream)
        rest = segment.items[end:]
        lines = [item.text for item in rest if item.line]
        key = any(ANSWER_HEAD.match(line) for line in lines)
        if len(lines) >= _LEAST_LINES and sum(map(len, lines)) >= _LEAST and not key:
            segment.items, passage = segment.items[:end], rest


def _options_end(items: Sequence[Item], stream: Stream) -> int:
    """Where the options of a question end: behind the paragraph of the last; the end where it has none."""
    firsts = [place for place, item in enumerate(items) if _FIRST_LABEL.search(item.text)]
    lasts = [
        place for place, item in enumerate(items) if firsts and place >= firsts[0] and _LAST_LABEL.search(item.text)
    ]
    if not lasts:
        return len(items)
    end = lasts[-1] + 1
    while end < len(items) and items[end].line and wraps(items[end - 1], stream.columns):
        end += 1
    return end
