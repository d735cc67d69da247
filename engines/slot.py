"""A member's place in a pool, with what it has in hand and what waits for it.

Contract: `Member` is the near end of an engine elsewhere, made without waiting for it; a `Slot` outlives its members.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from livek12.core.records import Key, Request
from livek12.core.run.sessions import Figures
from livek12.engines.worker import Album, AskMessage, End, Message, Ready, Report

PREFETCH = (8, 256)
"""Requests that wait at a member beside those its engine has taken: a quarter of these, within such bounds. They
last an engine for a quarter of the time that a request takes it, should the near end pause; more would cost memory, and
leave many with a slow member at the end."""


class Member(Protocol):
    """The near end of an engine elsewhere; made without waiting for the engine."""

    def send(self, message: Message) -> None:
        """Returns soon; that the member is gone is for `receive` to say."""
        ...

    def receive(self) -> Report:
        """Waits for the next report; used by one thread. Raises EngineDied when no more can come."""
        ...

    def close(self, seconds: float) -> None:
        """Gives everything back: waits so long for a stopped member to end, then kills it."""
        ...


@dataclass(slots=True)
class Job:
    """A request with what the pool has to remember of it."""

    request: Request
    home: str
    deaths: int = 0


@dataclass(slots=True, eq=False)
class Slot:
    """A member's place, which outlives its members."""

    number: int
    build: Callable[[], Member]
    member: Member | None = None
    facts: Ready | None = None
    figures: Figures = field(default_factory=Figures)
    gone: str = ""
    barred: bool = False
    served: bool = False
    futile: int = 0
    album: Album = field(default_factory=Album)
    waiting: deque[Job] = field(default_factory=deque)
    hand: dict[Key, Job] = field(default_factory=dict)
    untaken: int = 0
    ended: bool = True

    @property
    def load(self) -> int:
        """Requests that it has or is about to have."""
        return len(self.hand) + len(self.waiting)

    @property
    def room(self) -> int:
        """How many more it should have waiting at its end."""
        least, most = PREFETCH
        return min(most, max(least, (len(self.hand) - self.untaken) // 4)) - self.untaken

    def send(self, epoch: int, count: int) -> None:
        """Sends the first of what waits."""
        jobs = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        if jobs and self.member:
            self.hand.update((job.request.key, job) for job in jobs)
            self.untaken += len(jobs)
            self.ended = False
            self.member.send(AskMessage(epoch, [self.album.pack(job.request) for job in jobs]))

    def end(self, epoch: int) -> None:
        """Says that nothing more comes for now, once."""
        if self.member and not self.ended and not self.waiting:
            self.ended = True
            self.member.send(End(epoch))

    def leave(self) -> list[Job]:
        """Takes back what it has: in its hands first."""
        jobs = [*self.hand.values(), *self.waiting]
        self.hand.clear()
        self.waiting.clear()
        self.untaken, self.ended = 0, True
        return jobs
