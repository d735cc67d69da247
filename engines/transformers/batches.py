"""Batches of one kind and similar length, as large as memory has proved to hold.

Requests of one kind are sorted by prompt length against padding; the longest go first, so that lack of memory shows
early. Successive trials of one prompt share a batch if possible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from livek12.core.records import Request


@dataclass(frozen=True)
class RenderedPrompt:
    """A waiting request.

    Attributes:
        length: approximate tokens of the prompt.
        context: tokens of the model's context, if known.
    """

    request: Request
    length: int
    context: int | None = None

    @property
    def cells(self) -> int:
        """Maximum tokens of prompt and answer."""
        wanted = self.length + self.request.sampling.max_tokens
        return wanted if self.context is None else min(wanted, self.context)


@dataclass
class Room:
    """The size of batches.

    Attributes:
        rows: the most requests.
        ahead: batches held to choose from.
        cells: limit of rows times the longest row, after memory ran out. One request always goes.
    """

    rows: int
    ahead: int
    cells: int | None = None

    def holds(self, rows: int, longest: int) -> bool:
        """Tests whether a batch may be tried."""
        return rows <= 1 or (rows <= self.rows and (self.cells is None or rows * longest <= self.cells))

    def shrink(self, failed: list[list[RenderedPrompt]]) -> None:
        """Limits batches to half of each part that ran out of memory.

        Parts with a request that ran out alone are ignored.
        """
        alone = {str(part[0].request.key) for part in failed if len(part) == 1}
        for part in failed:
            if alone.isdisjoint(str(prompt.request.key) for prompt in part):
                half = len(part) * max(prompt.cells for prompt in part) // 2
                self.cells = half if self.cells is None else min(half, self.cells)


def batches(
    prompts: Iterable[RenderedPrompt], room: Room, kind: Callable[[Request], Hashable]
) -> Iterator[list[RenderedPrompt]]:
    """Batches of one kind; partial ones wait."""
    source = iter(prompts)
    pool: dict[Hashable, list[RenderedPrompt]] = {}
    exhausted = False
    while pool or not exhausted:
        waiting = sum(map(len, pool.values()))
        wanted = max(room.rows * room.ahead - waiting, 0)
        fresh = list(islice(source, wanted))
        exhausted = len(fresh) < wanted
        for prompt in fresh:
            pool.setdefault(kind(prompt.request), []).append(prompt)
        whole = [members for members in pool.values() if len(members) >= room.rows]
        # Without a full batch the largest goes.
        going = list(pool.values()) if exhausted else whole or [max(pool.values(), key=len)]
        for members in going:
            yield from _cut(members, room, exhausted or not whole)
        pool = {name: members for name, members in pool.items() if members}


def _cut(members: list[RenderedPrompt], room: Room, last: bool) -> Iterator[list[RenderedPrompt]]:
    members.sort(key=lambda prompt: -prompt.length)
    while members and (last or len(members) >= room.rows):
        longest = members[0].cells
        count = next((n for n in range(len(members), 1, -1) if n <= room.rows and room.holds(n, longest)), 1)
        if count < len(members) and (whole := _start_of_trials(members, count)):
            count = whole
        batch = members[:count]
        del members[:count]
        yield batch


def _start_of_trials(members: list[RenderedPrompt], end: int) -> int:
    """Start of the trials parted by a cut at `end`, if the next batch fits them; else 0."""
    start = end
    while start and _question(members[start - 1]) == _question(members[end]):
        start -= 1
    rest = end
    while rest < len(members) and _question(members[rest]) == _question(members[end]):
        rest += 1
    return start if rest - start <= end else 0


def _question(prompt: RenderedPrompt) -> tuple[str, str]:
    return prompt.request.key.task, prompt.request.key.question_id
