"""Worker processes, each with one piece at a time.

Contract: results are in the order of the pieces, of which few are in flight. Exceptions of a worker are raised here; a
worker that dies is a UserError.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Self, TypeVar

from livek12.core.errors import UserError
from livek12.core.process import Ended, Link, ProcessPool, requests

COLLECTED: Final = 100_000
"""Allocations between two garbage collections, where rows by the thousand come and go and hold no cycles: with Python's
own 700, a fifth of the time goes into scanning those waiting to be written."""
AHEAD: Final = 2
"""Pieces in flight for each process."""
T = TypeVar("T")


class Workers:
    """Context manager of processes that call `call(given, piece)`.

    `call` is a module-level function; `given` is pickled once.
    """

    def __init__(self, call: Callable[[Any, Any], Any], given: object, count: int) -> None:
        self._pool = ProcessPool(_serve, call, given, size=count, quiet=False)
        self._threads = ThreadPoolExecutor(count)

    def answers(self, pieces: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
        """The result for the second part of each piece, with its first part."""
        waiting: deque[tuple[T, Future[Any]]] = deque()
        for name, piece in pieces:
            waiting.append((name, self._threads.submit(self._ask, piece)))
            if len(waiting) > AHEAD * self._pool.size:
                first, answer = waiting.popleft()
                yield first, answer.result()
        for name, answer in waiting:
            yield name, answer.result()

    def _ask(self, piece: Any) -> Any:
        try:
            error, answer = pickle.loads(self._pool.ask(pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)))
        except Ended as end:
            raise UserError(f"a process that reads rows broke off: {end}; nothing was changed, start again") from None
        if error is not None:
            raise error
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.close()
        self._threads.shutdown()
        self._pool.close()  # what a thread has started meanwhile


def _serve(link: Link, call: Callable[[Any, Any], Any], given: object) -> None:
    gc.set_threshold(COLLECTED)
    for piece in requests(link):
        link.send_bytes(pickle.dumps(_answer(call, given, pickle.loads(piece)), pickle.HIGHEST_PROTOCOL))


def _answer(call: Callable[[Any, Any], Any], given: object, piece: object) -> tuple[Exception | None, Any]:
    try:
        return None, call(given, piece)
    except Exception as error:  # raised again in the main process
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # an error that cannot travel
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return error, None
