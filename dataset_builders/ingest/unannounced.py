"""What no line announces: questions whose numbers were not read or stand within a passage, and passages before them.

Contract: a question is added only where the numbers leave room for exactly that, and is marked as such (`unread`,
`inline`). A passage leaves the question or section that it was read into, and goes to the questions behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.dataset_builders.ingest.keys import ANSWER_HEAD, SOLUTION_HEAD
from livek12.dataset_builders.ingest.segment import Body, Section, Segment
from livek12.dataset_builders.ingest.stream import Item, Stream
from livek12.dataset_builders.ingest.texts import wraps

_CONCLUDES = re.compile(r"\s*(?:故选|故答案|综上|所以选|因此选|따라서\s*정답)")
_LAST_LABEL = re.compile(r"(?:^|\s)(?:[DEＤＥ]\s?[.．、]|[(（][DE][)）]|[④⑤])")
_FIRST_LABEL = re.compile(r"(?:^|\s)(?:[AＡ]\s?[.．、]|[(（]A[)）]|①)")
_LEAST_LINES, _LEAST_CHARACTERS = 3, 150
"""Of a passage: fewer are none."""
_LONGEST_INSTRUCTIONS = 400
"""Characters of a section's title and instructions; more than these are a passage."""
_FEWEST, _MOST = 3, 20
"""Numbers that a passage holds: two may be any."""


def recover(segments: Sequence[Segment]) -> list[Segment]:
    """The questions, with those taken out of the one before whose numbers were not read.

    Two keys stand below one question, and a number is missing behind it.
    """
    found: list[Segment] = []
    for place, segment in enumerate(segments):
        found.append(segment)
        following = segments[place + 1] if place + 1 < len(segments) else None
        if following is None or following.elective != segment.elective:
            continue
        heads = [index for index, item in enumerate(segment.items) if ANSWER_HEAD.match(item.text)]
        if following.number - segment.number == 2 == len(heads):
            start = _boundary(segment.items, heads)
            lost = Segment(segment.number + 1, 0, segment.items[start:], segment.section, segment.elective, unread=True)
            segment.items = segment.items[:start]
            found.append(lost)
    return found


def _boundary(items: Sequence[Item], heads: Sequence[int]) -> int:
    """Where the second question begins: behind the first one's conclusion, else behind the widest gap."""
    between = range(heads[0] + 1, heads[1])
    concluded = [index + 1 for index in between if _CONCLUDES.match(items[index].text)]
    if concluded:
        return concluded[-1]
    return max(between, key=lambda index: items[index].box.top - items[index - 1].box.bottom, default=heads[1])


def share(segments: Sequence[Segment], stream: Stream) -> None:
    """Moves passages to the questions they are for, in place.

    A passage stands between the options of one question and the number of the next, and is for those up to the next
    passage or section.
    """
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
        key = any(ANSWER_HEAD.match(line) or SOLUTION_HEAD.match(f"\n{line}") for line in lines)
        if len(lines) >= _LEAST_LINES and sum(map(len, lines)) >= _LEAST_CHARACTERS and not key:
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


def within(body: Body) -> None:
    """Adds the questions that stand within passages (blanks to fill, or to choose a sentence for), in place.

    A section has them that has no question of its own and in whose text the numbers that are due there all stand, each
    alone and in order.
    """
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
