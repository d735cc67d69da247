"""An engine that is built again when it dies, so that a death costs the work in hand and no more.

On EngineDied the dead engine is closed, a new one is built, and the requests without an outcome are done again,
together first. If the new engine dies with them as well, they are tried in ever smaller parts, until the request that
kills a new engine is alone and ends as a failure that says so. The next engine then has to prove itself, on requests
ever farther from that one, for the neighbours of a request that kills (of the same page) may kill too. `DEATHS` engines
lost in a row with a single request, with none or while loading end the attempts: what is left fails, not finally, so
that the next command asks it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice

from livek12.core.errors import UserError
from livek12.core.records import Key, Request
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.engines.base import Engine, EngineDied, Outcome
from livek12.engines.common import failure
from livek12.engines.figures import figures_of, one_after_another

_log = logging.getLogger(__name__)

DEATHS = 3
"""Engines lost like this before no further one is built; an outcome between them starts the count anew."""
AWAY = 64
"""How many requests beyond the last ones an engine proves itself when one has already died of the very next."""


class Revived:
    """Wraps an engine that can be lost.

    Args:
        build: makes the engine, at once and after each death.

    Raises:
        UserError: the first engine cannot be built.
    """

    def __init__(self, build: Callable[[], Engine]) -> None:
        self._build = build
        try:
            self.engine: Engine | None = build()
        except EngineDied as error:
            raise UserError(one_line(error)) from error
        self.name, self.model, self.revision = self.engine.name, self.engine.model, self.engine.revision
        self.images = self.engine.images
        self._versions = self.engine.versions()
        self._known = Figures()
        self._deaths = 0
        self._fresh = True
        self._why = ""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields one outcome a request; the keys of the requests are distinct."""
        stream = iter(requests)
        again: list[list[Request]] = []  # what is to be done again, the next part last
        self._deaths = 0
        while self._alive():
            batch = self._next(again, stream)
            source = stream if batch is None else iter(batch)
            hand: dict[Key, Request] = {}
            try:
                assert self.engine is not None
                for outcome in self.engine.generate(_noted(source, hand)):
                    hand.pop(outcome.key, None)
                    self._deaths, self._fresh = 0, False
                    yield outcome
            except EngineDied as error:
                left = [*hand.values(), *(() if batch is None else source)]
                self._bury(error, len(left))
                if batch is None:
                    again.append(left)
                    self._deaths += not left
                elif len(batch) > 1:
                    again += reversed(_parts(left))
                elif left and not self._fresh:  # an accident may have met it; a new engine has nothing but this request
                    again.append(left)
                else:
                    yield from (failure(request, f"the engine died of this request: {self._why}") for request in left)
                    self._deaths += 1
            else:
                if batch is None:
                    return
        reason = f"the engine died {self._deaths} times in a row: {self._why}"
        for part in (*reversed(again), stream):
            yield from (failure(request, reason) for request in part)

    def versions(self) -> dict[str, str]:
        """Those of the engine."""
        return self._versions

    @property
    def figures(self) -> Figures:
        """Those of the engine, and of the ones before it."""
        return one_after_another(self._known, figures_of(self.engine))

    def close(self) -> None:
        """Closes the engine, where there is one."""
        if self.engine is not None:
            self._known = self.figures
            self.engine.close()
            self.engine = None

    def _alive(self) -> bool:
        """Sees to it that there is an engine; False when too many died."""
        while self.engine is None and self._deaths < DEATHS:
            try:
                self.engine, self._fresh = self._build(), True
            except (UserError, EngineDied) as error:
                self._why = f"it cannot be built again: {one_line(error, 200)}"
                self._deaths += 1
        return self.engine is not None

    def _next(self, again: list[list[Request]], stream: Iterator[Request]) -> list[Request] | None:
        """The next part of what is to be done again, or None for the stream; after a lonely death what is far away."""
        if not self._deaths:
            return again.pop() if again else None
        if ahead := list(islice(stream, AWAY ** (self._deaths - 1))):
            again[:0] = [ahead[:-1]] if ahead[:-1] else []
            return ahead[-1:]
        if self._deaths == 1 and again and again[0]:
            return [again[0].pop()]
        return again.pop(0) if again else None

    def _bury(self, error: EngineDied, left: int) -> None:
        self._why = one_line(error, 200)
        _log.warning("%s died (%s); %d requests in hand are to be done again", self.name, self._why, left)
        with suppress(Exception):  # a dead engine may not be able to close in order
            self.close()
        self.engine = None


def _noted(source: Iterator[Request], hand: dict[Key, Request]) -> Iterator[Request]:
    for request in source:
        hand[request.key] = request
        yield request


def _parts(requests: list[Request]) -> list[list[Request]]:
    """One request, which soon shows an engine that dies with every one, and the others in halves."""
    middle = (len(requests) + 1) // 2
    return [part for part in (requests[:1], requests[1:middle], requests[middle:]) if part]
