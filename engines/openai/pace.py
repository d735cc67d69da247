"""Concurrency at an endpoint: the user's, else as much as raises its throughput.

A `Pace` measures tokens a second (or answers) in rounds. It raises the level while that helps and retries now and then.
A refusal for lack of capacity or a time-out halves the level, which then grows a little each round. For one event loop.
"""

from __future__ import annotations

import asyncio

FIRST, MOST = 16, 1024
MOST_BYTES = 1 << 30
"""Of requests in flight with their pictures, whatever the speed."""
RISE = 1.15
"""Required growth of speed when concurrency doubles."""
PATIENCE = 8
"""Rounds at one level before another attempt at the next."""


class Pace:
    """Admits requests, `level` (at most `most`) at a time.

    A `round` of the measurement excludes requests sent earlier, or before the first answer after a change.
    """

    def __init__(self, fixed: int | None) -> None:
        self.most = fixed or min(MOST, _descriptors())
        self.level = fixed or FIRST
        self.round = 0
        self._fixed = fixed is not None
        self._room = asyncio.Semaphore(self.level)
        self._owed = 0
        self._step = 2.0
        self._largest = 1
        self._speeds: dict[int, float] = {}
        self._waits = 0
        self._changed = True
        self._answers, self._seconds = 0, 0.0
        self._tokens: int | None = 0

    async def enter(self) -> None:
        """Waits for a free place."""
        await self._room.acquire()

    def leave(self) -> None:
        """Frees a place."""
        if self._owed:
            self._owed -= 1
        else:
            self._room.release()

    def weigh(self, size: int) -> None:
        """Adds a request's bytes in flight."""
        self._largest = max(self._largest, size)

    def answered(self, sent_in: int, tokens: int | None, seconds: float, more: bool) -> None:
        """Records an answer of the round `sent_in`; `more`: others wait."""
        if self._changed:
            self._changed = False
            self._begin()
        if self._fixed or sent_in != self.round or not more:
            return
        self._answers += 1
        self._tokens = None if tokens is None or self._tokens is None else self._tokens + tokens
        self._seconds += seconds
        if self._answers >= max(FIRST, self.level // 2):
            self._measure()

    def refused(self, sent_in: int) -> None:
        """Records a lack of capacity or a time-out."""
        if not self._fixed and sent_in == self.round:
            self._speeds.pop(self.level, None)
            self._step = 1 + 1 / 8
            self._change(max(1, self.level // 2))

    def _begin(self) -> None:
        self.round += 1
        self._answers, self._seconds, self._tokens = 0, 0.0, 0

    def _measure(self) -> None:
        work = self._answers if self._tokens is None else self._tokens
        self._speeds[self.level] = self.level * work / max(self._seconds, 1e-6)
        best = max(self._speeds.values())
        enough = min(level for level, speed in self._speeds.items() if speed * RISE >= best)
        higher = min(max(self.level + 1, int(self.level * self._step)), self.most, MOST_BYTES // self._largest)
        if self.level > 1.5 * enough:
            self._waits = PATIENCE
            self._change(enough)
        elif self._waits and self._step == 2.0:
            self._waits -= 1
            self._begin()
        else:
            self._change(max(higher, self.level))

    def _change(self, level: int) -> None:
        more = level - self.level
        self.level, self._changed = level, True
        self._begin()
        for _ in range(more):
            self.leave()
        self._owed += max(0, -more)


def _descriptors() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return MOST
    return max(FIRST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
