"""Questions whose number was not read: two keys below one question, and a gap in the numbers after it.

Contract: a question is taken out of the one before it only where the numbers leave room for exactly that many and the
keys printed below say that there is another; it is marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.dataset_builders.ingest.keys import ANSWER_HEAD
from livek12.dataset_builders.ingest.segment import Segment
from livek12.dataset_builders.ingest.stream import Item

_CONCLUDES = re.compile(r"\s*(?:故选|故答案|综上|所以选|因此选|따라서\s*정답)")


def recover(segments: Sequence[Segment]) -> list[Segment]:
    """The questions, with those taken out whose numbers were not read."""
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
