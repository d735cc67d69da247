"""Processes that judge lines by the rules, each line as a whole: reading, extraction, comparison.

Contract: what is said to a line does not depend on how many processes there are, on the lines beside it, or on the
load of the machine: limits are in time of a processor. A line that breaks one, or whose process is killed again and
again, is undecided and says so; its neighbours are judged anew. Any number of threads may use a `LinePool`, and a fork
of their process has processes of its own. The caller imports none of the rules.

Each process has one of its own for symbolic comparisons (`judges.rules.pool`), and waits while that works: so many
processes keep so many cores busy, and what breaks a limit there costs one comparison.
"""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from pydantic_core import from_json

from livek12.core.errors import UserError
from livek12.core.process import Closed, Ended, Link, NotStarted, ProcessPool, cores, limit_time, requests

R = TypeVar("R")
MOST: Final = 32
"""Processes of a machine with so many cores, unless told otherwise."""
LINE_SECONDS: Final = 4.0
"""Of processor time, for all but symbolic comparisons; a response of a megabyte takes a tenth of it."""
SLICE_SECONDS: Final = 1.0
"""By the clock: a process that has more lines gives what it has."""
WALL_SECONDS: Final = 300.0
"""A process that is silent for so long is stopped or hangs; one that only has to share its processor is not."""
MEMORY_BYTES: Final = 4 << 30
CHUNK: Final = 32
"""The most lines of a message."""
CHUNK_BYTES: Final = 1 << 20
"""A message that is as long takes no further line."""
SHARES: Final = 4
"""A batch has so many messages for each process, so that all end at about the same time."""


def default_size() -> int:
    """How many processes judge, unless told otherwise."""
    return min(MOST, cores())


class LinePool(ProcessPool, Generic[R]):
    """A bounded number of processes that judge lines; what they say is JSON.

    Args:
        work: what each process runs: it ends in `judge_lines`.
        given: to `work`.
        size: the most processes; default the cores of this machine.
    """

    def __init__(self, work: Callable[..., None], *given: object, size: int | None = None) -> None:
        super().__init__(
            work,
            *given,
            size=size or default_size(),
            quiet=True,
            wall_seconds=WALL_SECONDS,
            memory_bytes=MEMORY_BYTES,
        )
        self._threads: ThreadPoolExecutor | None = None

    @abstractmethod
    def _open(self, line: bytes, why: str) -> R:
        """The reply to a line that no process could judge."""

    def submit(self, lines: Sequence[bytes]) -> list[Future[list[R]]]:
        """Has lines judged; the replies, in order, are those of the futures.

        A future raises UserError where a process cannot start, and CancelledError where the pool was closed.
        UserError is raised at once where the interpreter is ending.

        Args:
            lines: each one of JSON.
        """
        share = -(-len(lines) // (SHARES * self.size))
        return self._submit(list(_chunks(lines, max(1, min(CHUNK, share)))), self._closed)

    def stream(self, lines: Iterable[bytes]) -> Iterator[R]:
        """The replies to lines, in order; raises as `batches`."""
        for replies in self.batches(lines):
            yield from replies

    def batches(self, lines: Iterable[bytes]) -> Iterator[list[R]]:
        """The same, some at a time, as they come; a bounded number of lines is in hand.

        Raises:
            UserError: a process cannot start.
        """
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
        """Ends all processes, and what they have in hand; the pool may be used again."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        super().close()

    def abandon(self) -> None:
        """Ends all processes of a pool that nobody uses any more; takes no lock, so it may be called anywhere."""
        for child in list(self._all):
            child.kill()

    def after_fork(self) -> None:
        """Processes and threads belong to the parent."""
        super().after_fork()
        self._threads = None

    def _submit(self, chunks: Sequence[list[bytes]], closed: int) -> list[Future[list[R]]]:
        """The futures of chunks, handed over together: a pool that is closed takes all of them back.

        Args:
            chunks: of lines.
            closed: how often the pool had been closed when the batch began; if it was since, nothing starts for it.
        """
        with self._lock:
            threads = self._threads = self._threads or ThreadPoolExecutor(self.size, thread_name_prefix="rows")
            try:
                return [threads.submit(self._judged, chunk, closed) for chunk in chunks]
            except RuntimeError:
                raise UserError("nothing can be judged any more: the interpreter is ending") from None

    def _judged(self, chunk: list[bytes], closed: int) -> list[R]:
        """The replies to a chunk; where its process ends over it, each line is judged alone."""
        replies: list[R] = []
        while rest := chunk[len(replies) :]:
            try:
                replies += self._said(rest, closed)
            except Ended:
                replies += [self._alone(line, closed) for line in rest]
        return replies

    def _alone(self, line: bytes, closed: int) -> R:
        try:
            return self._said([line], closed)[0]
        except Ended as error:
            return self._open(line, f"no result: {error}")

    def _said(self, lines: Sequence[bytes], closed: int) -> list[R]:
        """The replies to the first of these lines, as many as a process has in time."""
        try:
            said = from_json(self.ask_again(b"\n".join(line.rstrip(b"\r\n") for line in lines), closed))
        except Closed:
            raise CancelledError from None
        except NotStarted as error:
            raise UserError(f"a process that judges does not start: {error}") from None
        if isinstance(said, dict):
            raise UserError(said["error"])
        return list(said)


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


# ---- in the child ----


def judge_lines(link: Link, seconds: float, judge: Callable[[bytes], R], after: Callable[[], object]) -> None:
    """Judges what a pool sends, until that breaks a limit.

    Args:
        link: to the pool.
        seconds: of processor time for a line, after which the kernel ends the process.
        judge: says what is replied to a line.
        after: called when a message has been judged.
    """
    for chunk in requests(link):
        try:
            said: object = list(_in_time(chunk.split(b"\n"), seconds, judge))
        except UserError as error:
            said = {"error": str(error)}
        after()
        link.send_bytes(json.dumps(said).encode())


def _in_time(lines: Sequence[bytes], seconds: float, judge: Callable[[bytes], R]) -> Iterator[R]:
    """The replies to the first lines, as many as there is time for."""
    until = time.monotonic() + SLICE_SECONDS
    for line in lines:
        limit_time(seconds)
        yield judge(line)
        limit_time(0)
        if time.monotonic() > until:
            return
