"""Processes that judge rows by the rules, each row as a whole: reading, extraction, comparison.

Contract: what is said to a row does not depend on how many processes there are, on the rows beside it, or on the load
of the machine: limits are in time of a processor. A row that breaks one, or whose process is killed again and again, is
undecided and says so; its neighbours are judged anew. Any number of threads may use a `RowPool`, and a fork of their
process has processes of its own. The caller imports none of the rules.

Each process has one of its own for symbolic comparisons (`judges.rules.pool`), and waits while that works: so many
processes keep so many cores busy, and what breaks a limit there costs one comparison.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.process import Closed, Ended, Link, NotStarted, ProcessPool, cores, limit_time, requests

Reply = dict[str, Any]
"""`row` (as a line of OUT of judge-pairs), `extracted` (the answers found) and, if asked for, `verdict`."""
MOST: Final = 32
"""Processes of a machine with so many cores, unless told otherwise."""
ROW_SECONDS: Final = 4.0
"""Of processor time, for all but symbolic comparisons; a response of a megabyte takes a tenth of it."""
SLICE_SECONDS: Final = 1.0
"""By the clock: a process that has more rows gives what it has."""
WALL_SECONDS: Final = 300.0
"""A process that is silent for so long is stopped or hangs; one that only has to share its processor is not."""
MEMORY_BYTES: Final = 4 << 30
CHUNK: Final = 32
"""The most rows of a message."""
CHUNK_BYTES: Final = 1 << 20
"""A message that is as long takes no further row."""
SHARES: Final = 4
"""A batch has so many messages for each process, so that all end at about the same time."""


def default_size() -> int:
    """How many processes judge rows, unless told otherwise."""
    return min(MOST, cores())


class RowPool(ProcessPool):
    """A bounded number of processes that judge rows.

    Args:
        size: the most processes; default the cores of this machine.
        folder: where image files of rows may lie; None for none.
        cache: whether dear decisions are remembered on disk.
        whole: whether replies hold the verdict of the rules.
        seconds: processor time of one row, without its symbolic comparisons.
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        folder: Path | None = None,
        cache: bool = False,
        whole: bool = False,
        seconds: float = ROW_SECONDS,
    ) -> None:
        super().__init__(
            *(judge_rows, folder, cache, whole, seconds),
            size=size or default_size(),
            quiet=True,
            wall_seconds=WALL_SECONDS,
            memory_bytes=MEMORY_BYTES,
        )
        self._threads: ThreadPoolExecutor | None = None

    def submit(self, lines: Sequence[bytes]) -> list[Future[list[Reply]]]:
        """Has rows judged; the replies, in order, are those of the futures.

        A future raises UserError where a process cannot start, and CancelledError where the pool was closed.
        UserError is raised at once where the interpreter is ending.

        Args:
            lines: rows of judge-pairs, each one line of JSON.
        """
        share = -(-len(lines) // (SHARES * self.size))
        return [self._submit(chunk) for chunk in _chunks(lines, max(1, min(CHUNK, share)))]

    def stream(self, lines: Iterable[bytes]) -> Iterator[Reply]:
        """The replies to rows, in order, of which a bounded number is in hand.

        Raises:
            UserError: a process cannot start.
        """
        ahead: deque[Future[list[Reply]]] = deque()
        try:
            for chunk in _chunks(lines, CHUNK):
                ahead.append(self._submit(chunk))
                while ahead and (ahead[0].done() or len(ahead) > SHARES * self.size):
                    yield from ahead.popleft().result()
            while ahead:
                yield from ahead.popleft().result()
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

    def _submit(self, chunk: list[bytes]) -> Future[list[Reply]]:
        with self._lock:
            threads = self._threads = self._threads or ThreadPoolExecutor(self.size, thread_name_prefix="rows")
            try:
                return threads.submit(self._judged, chunk, self._closed)
            except RuntimeError:
                raise UserError("rows cannot be judged any more: the interpreter is ending") from None

    def _judged(self, chunk: list[bytes], closed: int) -> list[Reply]:
        """The replies to a chunk; where its process ends over it, each row is judged alone."""
        replies: list[Reply] = []
        while rest := chunk[len(replies) :]:
            try:
                replies += self._said(rest, closed)
            except Ended:
                replies += [self._alone(line, closed) for line in rest]
        return replies

    def _alone(self, line: bytes, closed: int) -> Reply:
        try:
            return self._said([line], closed)[0]
        except Ended as error:
            from livek12.evaluation.pair_rules import open_reply

            return open_reply(line, "rules", f"no result: {error}")

    def _said(self, lines: Sequence[bytes], closed: int) -> list[Reply]:
        """The replies to the first of these rows, as many as a process has in time."""
        try:
            said = json.loads(self.ask_again(b"\n".join(line.rstrip(b"\r\n") for line in lines), closed))
        except Closed:
            raise CancelledError from None
        except NotStarted as error:
            raise UserError(f"a process that judges rows does not start: {error}") from None
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


def judge_rows(link: Link, folder: Path | None, cache: bool, whole: bool, seconds: float) -> None:
    """Judges what a pool sends, until that breaks a limit.

    Args:
        link: to the pool.
        folder: see `RowPool`, as the others.
        cache: whether dear decisions are remembered on disk.
        whole: whether replies hold the verdict.
        seconds: after which the kernel ends the process.
    """
    from livek12.evaluation.pair_rules import reply_to
    from livek12.judges.cascade import decision_store, default_cascade

    cascade = default_cascade(decision_store() if cache else None)
    for chunk in requests(link):
        judged = _in_time(chunk.split(b"\n"), seconds, lambda line: reply_to(line, folder, cascade, whole))
        try:
            said: object = list(judged)
        except UserError as error:
            said = {"error": str(error)}
        cascade.flush()
        link.send_bytes(json.dumps(said).encode())


def _in_time(lines: Sequence[bytes], seconds: float, judge: Callable[[bytes], Reply]) -> Iterator[Reply]:
    """The replies to the first lines, as many as there is time for."""
    until = time.monotonic() + SLICE_SECONDS
    for line in lines:
        limit_time(seconds)
        yield judge(line)
        limit_time(0)
        if time.monotonic() > until:
            return
