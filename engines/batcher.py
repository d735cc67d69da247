"""Many threads at one engine that only one thread may use.

Contract: `Batcher.outcome` may be called from any number of threads; whatever waits at the moment is handed to the
engine all at once, again and again, so that it can batch. What the engine raises is raised in every thread whose
request was in its hands.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from livek12.core.errors import UserError
from livek12.core.records import Key, Request

if TYPE_CHECKING:
    from livek12.engines.base import Outcome


class Generates(Protocol):
    """What answers all requests at once, as an engine does."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """One outcome a request."""
        ...


class Batcher:
    """Hands an engine that one thread may use everything that waits at the moment, again and again."""

    def __init__(self, engine: Generates) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[tuple[Request, Future[Outcome]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="batcher", daemon=True)
        self._thread.start()

    def outcome(self, request: Request) -> Outcome:
        """Waits for its turn and for the outcome.

        Raises:
            UserError: it is closed.
        """
        future: Future[Outcome] = Future()
        with self._lock:
            if self._closed:
                raise UserError("the engine was closed before it was asked")
            self._waiting.put((request, future))
        return future.result()

    def close(self) -> None:
        """Ends the thread when what waits is done."""
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        self._thread.join(timeout=60)

    def _serve(self) -> None:
        while (first := self._waiting.get()) is not None:
            sent: list[Future[Outcome]] = []
            stop = self._round(first, sent)
            if stop:
                return

    def _round(self, first: tuple[Request, Future[Outcome]], sent: list[Future[Outcome]]) -> bool:
        """One call of the engine; each request travels under its number in the round."""
        keys: list[Key] = []
        stop = False

        def take() -> Iterator[Request]:
            nonlocal stop
            item: tuple[Request, Future[Outcome]] | None = first
            while item is not None:
                request, future = item
                sent.append(future)
                keys.append(request.key)
                number = Key(task="batch", question_id=str(len(sent) - 1), trial=request.key.trial)
                yield request.model_copy(update={"key": number})
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    return
                stop = item is None

        try:
            for outcome in self._engine.generate(take()):
                number = int(outcome.key.question_id)
                sent[number].set_result(outcome.model_copy(update={"key": keys[number]}))
        except BaseException as error:
            for future in sent:
                if not future.done():
                    future.set_exception(error)
        for future in sent:
            if not future.done():
                future.set_exception(UserError("the engine gave no outcome"))
        return stop
