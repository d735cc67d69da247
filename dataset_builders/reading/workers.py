"""Processes that work beside this one, each on one piece at a time.

Contract: answers come in the order of the pieces, of which only a few are on the way. What is raised there is raised
here; a process that ends by itself is a UserError.
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
"""Objects between two runs of the garbage collector, where rows by the thousand come and go and hold no cycles: with
Python's own 700, a fifth of the time goes into looking through those that are waiting to be written."""
AHEAD: Final = 2
"""Pieces on the way for each process."""
T = TypeVar("T")


class Workers:
    """Processes that call one function. Use as a context manager.

    Args:
        call: called as `call(given, piece)`; a function of a module.
        given: handed over once, pickled.
        count: how many processes.
    """

    def __init__(self, call: Callable[[Any, Any], Any], given: object, count: int) -> None:
        self._pool = ProcessPool(_serve, call, given, size=count, quiet=False)
        self._threads = ThreadPoolExecutor(count)

    def answers(self, pieces: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
        """What the function gives for the second part of each piece, beside the first part.

        Raises:
            UserError: a process ended.
        """
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
