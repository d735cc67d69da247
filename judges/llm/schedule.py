"""Local judges one after the other on one device: who is up, and what was learnt while others were.

Contract: of the judges that share a `Schedule` at most one is up at a time. The first that is asked what nobody
remembers comes up; another one answers `NOT_UP`, and the response at hand waits for another round (`waits_for_turn`).
A round asks about every response that is still open; `end_round` closes who was up and chooses the judge most asked
for in vain. Replies go from round to round through the store of replies, failures through here, so that each request
is put once and the verdicts are those of judges that are all up at once. Any number of threads may use one;
`end_round` is for one thread, when no asking is on its way.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from livek12.core.errors import UserError
from livek12.core.records import Call

NOT_UP = "it is another judge's turn"
"""The problem of a request that was not put; no verdict with such a call is ever stored."""


def waits_for_turn(calls: Iterable[Call]) -> bool:
    """Whether something was not asked because it was another judge's turn."""
    return any(call.problem == NOT_UP for call in calls)


class Scheduled(Protocol):
    """A judge that can be closed and comes up again."""

    @property
    def name(self) -> str:
        """Its name in votes."""
        ...

    def close(self) -> None:
        """Gives its engine back; it comes up again when asked."""
        ...


class Schedule:
    """Whose turn it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._up: Scheduled | None = None
        self._wanted: dict[str, Scheduled] = {}
        self._asked: Counter[str] = Counter()
        self._been_up: set[str] = set()
        self._reached = 0
        self._paid: set[int] = set()
        self._failed: dict[int, Call] = {}

    def admits(self, judge: Scheduled) -> bool:
        """Whether the judge may be up; where nobody is, it may from now on."""
        with self._lock:
            if self._up is None:
                self._up = judge
            return self._up is judge

    def want(self, judge: Scheduled) -> None:
        """Notes that the judge was asked in vain."""
        with self._lock:
            self._wanted[judge.name] = judge
            self._asked[judge.name] += 1

    def end_round(self) -> None:
        """Closes who was up; who was most asked for comes next.

        Raises:
            UserError: the round came to nothing: no request was put that had not been put before, by no new judge.
        """
        if self._up is not None:
            self._been_up.add(self._up.name)
        reached = len(self._paid) + len(self._been_up)
        if reached == self._reached:
            raise UserError(
                "the judges' replies are not remembered (is the disk of the cache full?), so that they cannot take "
                "turns: make room, or load all judges at once with --stages overlap"
            )
        self._reached = reached
        if self._up is not None:
            self._up.close()
        self._up = self._wanted[self._asked.most_common(1)[0][0]] if self._asked else None
        self._wanted.clear()
        self._asked.clear()

    def keep(self, request: int, failed: Call | None) -> None:
        """Notes that a request was put now: it counts as asked in this sitting, and its failure stands."""
        with self._lock:
            self._paid.add(request)
            if failed is not None:
                self._failed[request] = failed

    def paid(self, request: int) -> bool:
        """Whether the request was put in this sitting."""
        return request in self._paid

    def failure(self, request: int) -> Call | None:
        """How the request failed in this sitting."""
        return self._failed.get(request)
