"""Work in two stages on a stream: the quick one for everything, the slow one for what needs it, both in threads.

Contract: at most `ahead` items are in hand at a time, so a long stream needs no more memory than a short one; items are
read while others are worked on; an item None says that there is none at the moment, and only has finished ones given.
Results come as they finish or, with `ordered`, in the order of the items. What a stage raises is raised here, and what
has not begun by then is not begun. Results that are `unfinished` are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Flow(Generic[T, R]):
    """Two stages and their threads; a context manager.

    Args:
        quick: the first stage.
        slow: the second stage, given what the first one made of the item; None where there is none.
        wanted: whether an item has to go to the second stage.
        quick_threads: threads of the first stage.
        slow_threads: threads of the second.
        ahead: items in hand.
        unfinished: whether a result of the second stage is none yet, and its item to be given once more.

    Attributes:
        postponed: how many items that was so for.
    """

    def __init__(
        self,
        quick: Callable[[T], R],
        slow: Callable[[T, R], R] | None = None,
        wanted: Callable[[T, R], bool] | None = None,
        *,
        quick_threads: int = 4,
        slow_threads: int = 32,
        ahead: int = 256,
        unfinished: Callable[[R], bool] | None = None,
    ) -> None:
        self.postponed = 0
        self._unfinished = unfinished
        self._quick, self._slow, self._wanted = quick, slow, wanted
        self._ahead = max(ahead, 2 * slow_threads if slow else 0)
        self._first = ThreadPoolExecutor(quick_threads, thread_name_prefix="rules")
        self._second = ThreadPoolExecutor(slow_threads, thread_name_prefix="judges") if slow else None

    def run(self, items: Iterable[T | None], ordered: bool = False) -> Iterator[R]:
        """The results of all items."""
        finished: SimpleQueue[tuple[int, Future[R]]] = SimpleQueue()
        in_hand: dict[int, tuple[T, bool]] = {}
        ready: dict[int, R] = {}
        given = 0

        def submit(number: int, future: Future[R]) -> None:
            future.add_done_callback(lambda done: finished.put((number, done)))

        def settle() -> None:
            number, future = finished.get()
            item, was_slow = in_hand[number]
            result = future.result()
            if was_slow and self._unfinished is not None and self._unfinished(result):
                del in_hand[number]
                self.postponed += 1
                return
            if not was_slow and self._second and self._slow and self._wanted and self._wanted(item, result):
                in_hand[number] = (item, True)
                submit(number, self._second.submit(self._slow, item, result))
            else:
                del in_hand[number]
                ready[number] = result

        for number, item in enumerate(items):
            if item is not None:
                in_hand[number] = (item, False)
                submit(number, self._first.submit(self._quick, item))
            while not finished.empty() or len(in_hand) + (len(ready) if ordered else 0) >= self._ahead:
                settle()
                while ready and (not ordered or given in ready):
                    yield ready.pop(given if ordered else next(iter(ready)))
                    given += 1
        while in_hand or ready:
            if in_hand:
                settle()
            while ready and (not ordered or given in ready):
                yield ready.pop(given if ordered else next(iter(ready)))
                given += 1

    def __enter__(self) -> Flow[T, R]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *ended: object) -> None:
        wait = kind is None or not issubclass(kind, KeyboardInterrupt)  # who stops does not wait for a judge
        for threads in (self._first, self._second):
            if threads is not None:
                threads.shutdown(wait=wait, cancel_futures=True)
