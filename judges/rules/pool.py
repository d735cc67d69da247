"""Worker processes that compare trees; a comparison over a limit is undecided.

Contract: `SymbolicPool.compare` may be called from any thread and raises only UserError, when no process starts.
Replies are JSON. Limits count processor time in the kernel, which interrupts C code and is independent of load.
"""

from __future__ import annotations

import atexit
import gc
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.process import Ended, Link, NotStarted, ProcessPool, cores, limit_time, requests

MEMORY_BYTES: Final = 1 << 30
SECONDS: Final = 1.2
"""Of processor time; the slowest answer of the labelled sets takes a tenth of it."""
WALL_SECONDS: Final = 120.0
"""A process that is silent for so long is stopped or hangs; one that only has to share its processor is not."""
MAX_REQUEST: Final = 60_000
"""Less than a connection holds, so that writing never waits for a process."""
MOST: Final = 32
"""Processes of a machine with so many cores: one interpreter does not feed more."""
Reply = dict[str, Any]


class _TimeBudget:
    exhausted = False


_time_budget: ContextVar[_TimeBudget | None] = ContextVar("time_budget", default=None)


@contextmanager
def one_response() -> Iterator[None]:
    """Groups this thread's comparisons into one response: no more after one broken limit."""
    before = _time_budget.set(_TimeBudget())
    try:
        yield
    finally:
        _time_budget.reset(before)


def time_budget_exhausted() -> bool:
    """Checks whether this response broke a limit."""
    budget = _time_budget.get()
    return budget is not None and budget.exhausted


class SymbolicPool(ProcessPool):
    """A bounded number of processes, each comparing one pair of trees at a time.

    Args:
        size: the maximum.
        seconds: processor time of a request, without the start.
        memory_bytes: address space per process.
        wall_seconds: wall-clock limit of a request or start.

    Attributes:
        killed: processes over a limit.
    """

    def __init__(
        self,
        size: int = 2,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        wall_seconds: float = WALL_SECONDS,
    ) -> None:
        super().__init__(
            _compare_trees, seconds, size=size, quiet=True, wall_seconds=wall_seconds, memory_bytes=memory_bytes
        )
        self.killed = 0
        self._limits = f"{seconds:g} s of a processor and {memory_bytes >> 20} MiB"

    def compare(self, request: Reply) -> Reply:
        """The result, or {"decision": "undecided", "reason": …} over a limit.

        Args:
            request: {"gold": tree, "answer": tree}, and options of `Comparer`.

        Raises:
            UserError: no process starts.
        """
        line = json.dumps(request).encode()
        if len(line) > MAX_REQUEST:
            return _undecided("too big")
        if time_budget_exhausted():
            return {**_undecided("not tried: another comparison of this response broke a limit"), "limit": True}
        try:
            reply: Reply = json.loads(self.ask_again(line))
        except NotStarted as error:
            raise UserError(f"the process for symbolic checks does not start: {error}") from None
        except Ended:
            if (budget := _time_budget.get()) is not None:
                budget.exhausted = True
            with self._lock:
                self.killed += 1
            return {**_undecided(f"no result within {self._limits}"), "limit": True}
        return reply


def _undecided(reason: str) -> Reply:
    return {"decision": "undecided", "reason": reason}


_FIRST: Final = {
    "gold": ["root", ["pow", ["sym", "x"], ["num", "2"]], ["num", "2"]],
    "answer": ["abs", ["sym", "x"]],
}
"""A comparison before any request: what sympy loads and fills at its first use counts as the start of a process."""


def _compare_trees(link: Link, seconds: float) -> None:
    _compared(dict(_FIRST))
    gc.freeze()  # collections need not visit sympy
    for line in requests(link):
        limit_time(seconds)
        request = json.loads(line)
        try:
            decision, reason = _compared(request)
        except MemoryError:
            link.send_bytes(json.dumps(_undecided("out of memory")).encode())
            return
        except RecursionError:
            decision, reason = "undecided", "too deep"
        except Exception as error:
            decision, reason = "undecided", f"no result ({type(error).__name__})"
        limit_time(0)
        link.send_bytes(json.dumps({"decision": decision, "reason": reason}).encode())


def _compared(request: Reply) -> tuple[str, str]:
    from livek12.judges.rules.algebra import Comparer
    from livek12.judges.rules.unknowns import settled

    trees = settled(request.pop("gold"), request.pop("answer"))
    return Comparer(**request).compare(*trees)


_shared: SymbolicPool | None = None
_shared_lock = threading.Lock()


def shared_pool() -> SymbolicPool:
    """The pool of all symbolic stages."""
    global _shared  # noqa: PLW0603 (one pool a process)
    with _shared_lock:
        if _shared is None:
            _shared = SymbolicPool(size=min(MOST, cores()))
            atexit.register(_shared.close)
        return _shared
