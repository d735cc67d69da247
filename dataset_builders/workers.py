"""Processes that work beside this one, each on one piece at a time.

Contract: answers come in the order of the pieces, of which only a few are on the way. A process talks to this one
through its standard input and output, so it ends when this one does, however that ends. What is raised there is raised
here; a process that ends by itself is a UserError. Not `multiprocessing`: that runs the main module of the caller once
more in each process, and a script that builds a data set need not be made for that.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self, TypeVar

from livek12.core.errors import UserError

COLLECTED = 100_000
"""Objects between two runs of the garbage collector, where rows by the thousand come and go and hold no cycles: with
Python's own 700, a fifth of the time goes into looking through those that are waiting to be written."""
AHEAD = 2
"""Pieces on the way for each process."""
_START = "from livek12.dataset_builders.workers import serve; serve()"
T = TypeVar("T")


class Workers:
    """Processes that call one function. Use as a context manager.

    Args:
        call: called as `call(given, piece)`; a function of a module.
        given: handed over once, pickled.
        count: how many processes.
    """

    def __init__(self, call: Callable[[Any, Any], Any], given: object, count: int) -> None:
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-P", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": paths},
            )
            for _ in range(count)
        ]
        self._first = call, given
        self._new = set(self._processes)
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def answers(self, pieces: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
        """What the function gives for the second part of each piece, beside the first part.

        Raises:
            UserError: a process ended.
        """
        waiting: deque[tuple[T, Future[Any]]] = deque()
        for name, piece in pieces:
            waiting.append((name, self._threads.submit(self._ask, piece)))
            if len(waiting) > AHEAD * len(self._processes):
                first, answer = waiting.popleft()
                yield first, answer.result()
        for name, answer in waiting:
            yield name, answer.result()

    def _ask(self, piece: Any) -> Any:
        process = self._idle.get()
        try:
            if process in self._new:
                self._new.remove(process)
                _send(process, self._first)
            _send(process, piece)
            assert process.stdout is not None
            error, answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise UserError(
                f"a process that reads rows was ended ({_end_of(process)}); nothing was changed: start again"
            ) from None
        finally:
            self._idle.put(process)
        if error is not None:
            raise error
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(OSError):  # what was not sent any more
                process.communicate()
            process.wait()


def _send(process: subprocess.Popen[bytes], value: object) -> None:
    assert process.stdin is not None
    pickle.dump(value, process.stdin, pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()


def _end_of(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    return f"signal {-code}: perhaps memory ran out" if code < 0 else f"exit code {code}"


def serve() -> None:
    """What a process does: answers until its standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends this one
    gc.set_threshold(COLLECTED)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may get among the answers
    with suppress(OSError, EOFError, pickle.UnpicklingError):  # the main process is gone
        call, given = pickle.load(sys.stdin.buffer)
        while True:
            piece = pickle.load(sys.stdin.buffer)
            pickle.dump(_answer(call, given, piece), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _answer(call: Callable[[Any, Any], Any], given: object, piece: object) -> tuple[Exception | None, Any]:
    try:
        return None, call(given, piece)
    except Exception as error:  # raised again in the main process
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # an error that cannot travel
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return error, None
