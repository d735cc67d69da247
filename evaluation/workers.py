"""Workers that mark streams: processes for the rules, here or on a Ray cluster; threads for judge models.

Contract: the reply to a line depends on the line alone: limits are in processor time. A line that breaks one is
undecided; its neighbours are judged anew. It imports no rules.
"""

from __future__ import annotations

import gc
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

from pydantic_core import from_json

from livek12.core.errors import UserError
from livek12.core.lazy import ray
from livek12.core.process import MOST_KILLS, Closed, Ended, Link, NotStarted, ProcessPool, cores, limit_time, requests

T = TypeVar("T")
R = TypeVar("R")
Reply = dict[str, Any]
"""To a row: `row` (as a line of OUT of judge-pairs), `extracted` (the answers), `seconds` of the worker by the clock
and, if asked for, `verdict`."""
MOST: Final = 32
"""Default limit of processes on machines with more cores."""
FIELDS: Final = (
    *("gold", "response", "question", "question_type", "options", "images", "unit", "part_units", "variables"),
    *("language", "subject", "solution", "scheme", "part_points", "finish_reason", "model"),
)
"""Fields of a row besides its id (docs/verify.md#fields-of-a-row); `gold` and `response` are required."""
LINE_SECONDS: Final = 4.0
"""Of processor time, for all but symbolic comparisons; a response of a megabyte takes a tenth of it."""
SLICE_SECONDS: Final = 1.0
"""By the clock: a process that has more lines replies to those that it has judged."""
WALL_SECONDS: Final = 300.0
"""A process that is silent for so long is stopped or hangs; one that only has to share its processor is not."""
MEMORY_BYTES: Final = 4 << 30
CHUNK: Final = 32
"""The most lines of a message."""
CHUNK_BYTES: Final = 1 << 20
"""A message that is as long takes no further line."""
SHARES: Final = 4
"""Messages of a batch for each process, so that all end at about the same time."""


def default_size() -> int:
    """Number of processes, unless the user names one."""
    return min(MOST, cores())


class MarkPool(ProcessPool, Generic[R]):
    """Processes that run `work(link, *given)`; `unmarked` replies to unjudgeable lines."""

    def __init__(
        self, work: Callable[..., None], *given: object, unmarked: Callable[[bytes, str], R], size: int | None = None
    ) -> None:
        super().__init__(
            work, *given, size=size or default_size(), quiet=True, wall_seconds=WALL_SECONDS, memory_bytes=MEMORY_BYTES
        )
        self._unmarked = unmarked
        self._threads: ThreadPoolExecutor | None = None

    def submit(self, lines: Sequence[bytes]) -> list[Future[list[R]]]:
        """Futures of the replies, in order.

        They raise UserError where a process cannot start, CancelledError where the pool was closed. Raises UserError at
        once where the interpreter is ending.
        """
        share = -(-len(lines) // (SHARES * self.size))
        return self._submit(list(_chunks(lines, max(1, min(CHUNK, share)))), self._closed)

    def stream(self, lines: Iterable[bytes]) -> Iterator[R]:
        """Replies to lines, in order; raises as `batches`."""
        for replies in self.batches(lines):
            yield from replies

    def batches(self, lines: Iterable[bytes]) -> Iterator[list[R]]:
        """Replies to lines, some at a time; a bounded number of lines is in hand."""
        ahead: deque[Future[list[R]]] = deque()
        closed = self._closed
        try:
            for chunk in _chunks(lines, CHUNK):
                ahead += self._submit([chunk], closed)
                while ahead and (ahead[0].done() or len(ahead) > SHARES * self.size):
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def close(self) -> None:
        """Ends all processes; the pool may be used again."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        super().close()

    def abandon(self) -> None:
        """Ends all processes of a pool out of use; takes no lock."""
        for child in list(self._all):
            child.kill()

    def after_fork(self) -> None:
        """Forgets what belongs to the parent."""
        super().after_fork()
        self._threads = None

    def _submit(self, chunks: Sequence[list[bytes]], closed: int) -> list[Future[list[R]]]:
        """Nothing starts if the pool was closed since the batch began."""
        with self._lock:
            threads = self._threads = self._threads or ThreadPoolExecutor(self.size, thread_name_prefix="rows")
            try:
                return [threads.submit(self._judged, chunk, closed) for chunk in chunks]
            except RuntimeError:
                raise UserError("nothing can be judged any more: the interpreter is ending") from None

    def _judged(self, chunk: list[bytes], closed: int) -> list[R]:
        """Judges each line alone where a process ends."""
        replies: list[R] = []
        while rest := chunk[len(replies) :]:
            try:
                replies += self._replies(rest, closed)
            except Ended:
                replies += [self._alone(line, closed) for line in rest]
        return replies

    def _alone(self, line: bytes, closed: int) -> R:
        try:
            return self._replies([line], closed)[0]
        except Ended as error:
            return self._unmarked(line, f"no result: {error}")

    def _replies(self, lines: Sequence[bytes], closed: int) -> list[R]:
        try:
            replies = from_json(self.ask_again(b"\n".join(line.rstrip(b"\r\n") for line in lines), closed))
        except Closed:
            raise CancelledError from None
        except NotStarted as error:
            raise UserError(f"a process that judges does not start: {error}") from None
        if isinstance(replies, dict):
            raise UserError(replies["error"])
        return list(replies)


def pair_pool(
    size: int | None = None,
    *,
    folder: Path | None = None,
    cache: bool = False,
    whole: bool = False,
    seconds: float = LINE_SECONDS,
) -> MarkPool[Reply]:
    """Processes that judge rows of judge-pairs.

    `folder` is that of image files; `whole` replies hold the verdict of the rules; `seconds` are processor time of a
    row, without its symbolic comparisons.
    """

    def unmarked(line: bytes, why: str) -> Reply:
        from livek12.evaluation.pairs import open_reply

        return open_reply(line, "rules", why)

    return MarkPool(judge_rows, folder, cache, whole, seconds, unmarked=unmarked, size=size)


def _chunks(lines: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    length = 0
    for line in lines:
        chunk.append(line)
        length += len(line)
        if len(chunk) >= most or length >= CHUNK_BYTES:
            yield chunk
            chunk, length = [], 0
    if chunk:
        yield chunk


def judge_rows(link: Link, folder: Path | None, cache: bool, whole: bool, seconds: float) -> None:
    """Work of `pair_pool`."""
    from livek12.evaluation.pairs import reply_to
    from livek12.judges.cascade import decision_store, default_cascade

    cascade = default_cascade(decision_store() if cache else None)

    def judge(line: bytes) -> Reply:
        began = time.monotonic()
        reply = reply_to(line, folder, cascade, whole)
        return {**reply, "seconds": time.monotonic() - began}

    judge_lines(link, seconds, judge, cascade.flush)


def judge_lines(link: Link, seconds: float, judge: Callable[[bytes], R], after: Callable[[], object]) -> None:
    """Judges a pool's lines, `seconds` of processor time each; calls `after` behind each message."""
    gc.freeze()  # collections need not visit what was imported
    for chunk in requests(link):
        try:
            replies: object = list(_in_time(chunk.split(b"\n"), seconds, judge))
        except UserError as error:
            replies = {"error": str(error)}
        after()
        link.send_bytes(json.dumps(replies).encode())


def _in_time(lines: Sequence[bytes], seconds: float, judge: Callable[[bytes], R]) -> Iterator[R]:
    until = time.monotonic() + SLICE_SECONDS
    for line in lines:
        limit_time(seconds)
        yield judge(line)
        limit_time(0)
        if time.monotonic() > until:
            return


def ray_batches(
    lines: Iterable[bytes],
    address: str,
    workers: int | None,
    waiting: float,
    work: Callable[..., None],
    shared: object,
    *given: object,
    unmarked: Callable[[bytes, str], R],
) -> Iterator[list[R]]:
    """Replies to lines from Ray tasks, each with a `MarkPool` of one process that its node keeps.

    A lost task is run again on another node. Nodes import livek12 as installed there; other rules are refused.
    """
    from livek12.engines.pool.ray import connect
    from livek12.judges.cascade import rules_digest

    started = connect(address, workers or 0)
    from ray.exceptions import RayError, RayTaskError

    room = int(ray.available_resources().get("CPU", 1))
    size = max(1, min(workers or room, int(waiting)))
    task = ray.remote(num_cpus=int(room > 0), max_retries=MOST_KILLS, scheduling_strategy="SPREAD")(_on_node)
    place, in_hand = ray.put(shared), dict[Any, list[bytes]]()

    def finished() -> list[R]:
        (done, *_), _ = ray.wait(list(in_hand), num_returns=1)
        chunk = in_hand.pop(done)
        try:
            replies = ray.get(done)
        except RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise
        except RayError:
            replies = [["no result: its Ray task is lost"]] * len(chunk)
        pairs = zip(chunk, replies, strict=True)
        return [unmarked(line, reply[0]) if isinstance(reply, list) else reply for line, reply in pairs]

    try:
        for chunk in _chunks(lines, CHUNK):
            while len(in_hand) >= size:
                yield finished()
            in_hand[task.remote(rules_digest(), work, [place], given, chunk)] = chunk
        while in_hand:
            yield finished()
    finally:
        if started:
            ray.shutdown()


_node_pools: dict[str, MarkPool[Any]] = {}


def _on_node(digest: str, work: Callable[..., None], place: list[Any], given: Sequence[Any], lines: list[bytes]) -> Any:
    from livek12.judges.cascade import rules_digest

    name = place[0].hex()
    if name not in _node_pools:
        if rules_digest() != digest:
            raise UserError("a node of the Ray cluster has other rules; install the same livek12 on every node")
        while _node_pools:
            _node_pools.popitem()[1].close()
        _node_pools[name] = MarkPool(work, ray.get(place[0]), *given, unmarked=lambda _, why: [why], size=1)
    return [reply for future in _node_pools[name].submit(lines) for reply in future.result()]


class Flow(Generic[T, R]):
    """Threads that mark a stream, `ahead` items at a time; Ctrl-C does not wait for a judge."""

    def __init__(self, work: Callable[[T], R], threads: int, ahead: int = 256) -> None:
        self._work, self._ahead = work, max(ahead, 2 * threads)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="judges")

    def run(self, items: Iterable[T | None], ordered: bool = False) -> Iterator[R]:
        """Results as they finish or, with `ordered`, in item order.

        At an item None only finished results are yielded.
        """
        finished: SimpleQueue[Future[R]] = SimpleQueue()
        queue: deque[Future[R]] = deque()
        count = 0
        for item in items:
            if item is not None:
                future, count = self._threads.submit(self._work, item), count + 1
                queue.append(future) if ordered else future.add_done_callback(finished.put)
            while count and (count >= self._ahead or (queue[0].done() if ordered else not finished.empty())):
                count -= 1
                yield (queue.popleft() if ordered else finished.get()).result()
        for _ in range(count):
            yield (queue.popleft() if ordered else finished.get()).result()

    def __enter__(self) -> Flow[T, R]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *ended: object) -> None:
        wait = kind is None or not issubclass(kind, KeyboardInterrupt)
        self._threads.shutdown(wait=wait, cancel_futures=True)
