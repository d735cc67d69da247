"""Questions whose numbers stand within a passage: blanks to fill, or to choose a sentence for.

Contract: `within` takes them from a section that has no question of its own, and only where the numbers that are due
there all stand in its text, each alone and in order; each question is marked as such, and shares the passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.dataset_builders.ingest.segment import Body, Section, Segment
from livek12.dataset_builders.ingest.stream import Item

_FEWEST, _MOST = 3, 20
"""Numbers that a passage has at least, and at most: two may be any."""


def within(body: Body) -> None:
    """Adds the questions that stand within passages, in place."""
    for section in body.sections:
        own = [place for place, found in enumerate(body.segments) if found.section is section]
        if own or not section.items:
            continue
        place = _place(body, section)
        before = body.segments[place - 1] if place else None
        after = body.segments[place] if place < len(body.segments) else None
        first = before.number + 1 if before else 1
        end = after.number if after and after.number > first else first + _MOST
        found = _numbers(section.items, first, end)
        if len(found) >= _FEWEST and (found[-1][0] == end - 1 or after is None or _more(body, section)):
            part = before.elective if before else ""
            body.segments[place:place] = [
                Segment(number, len(item.text), [item], section, part, section.items[1:], inline=True)
                for number, item in found
            ]


def _place(body: Body, section: Section) -> int:
    """Where in the questions those of a section belong."""
    earlier = {id(other) for other in body.sections[: body.sections.index(section)]}
    return sum(1 for found in body.segments if id(found.section) in earlier)


def _more(body: Body, section: Section) -> bool:
    """Whether the next section has no question of its own either, and so may have the numbers that are left."""
    place = body.sections.index(section) + 1
    return place < len(body.sections) and all(found.section is not body.sections[place] for found in body.segments)


def _numbers(items: Sequence[Item], first: int, end: int) -> list[tuple[int, Item]]:
    """The numbers from `first` on that stand in the lines behind the title, each alone and in order."""
    found: list[tuple[int, Item]] = []
    number = first
    for item in items[1:]:
        at = 0
        while number < end and (match := _alone(number).search(item.text, at)):
            found.append((number, item))
            number, at = number + 1, match.end()
    return found


def _alone(number: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?<![.,:$]){number}(?![^\W_]|%|[.,:]\d)")
