"""Worker processes with hard limits: a request that takes too long or too much costs one undecided.

Contract: `Pool.ask` may be called from any thread and never raises for what is in a request; it raises UserError
only when workers do not start at all. Workers start when first needed, as fresh interpreters (no fork of a process
with threads, no second import of the caller's main module), and end with the pool, at exit, or when their parent
dies. A worker that breaks a limit is killed and replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import wait
from typing import Any, Final

from livek12.core.errors import UserError

MEMORY_BYTES: Final = 1 << 30
SECONDS: Final = 1.2
"""With the start of another worker after it, a request that breaks the limit stays within two seconds."""
START_SECONDS: Final = 60.0
MAX_REQUEST: Final = 60_000
"""Less than a pipe holds, so that writing never waits for a worker."""
_START: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; del sys.argv[3:]; from livek12.judges.worker import main; main()"
)
Reply = dict[str, Any]


class _Worker:
    """One process and its pipes."""

    def __init__(self, memory_bytes: int, seconds: float) -> None:
        self.ready = False
        self.buffer = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(memory_bytes), str(seconds), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            bufsize=0,
            start_new_session=True,
        )

    def receive(self, seconds: float) -> Reply | None:
        """The next message; None when it does not come in time or the process has ended."""
        if self.process.stdout is None:
            return None
        deadline = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not wait([self.process.stdout.fileno()], left):
                return None
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                return None
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        message: Reply = json.loads(line)
        return message

    def last_error(self) -> str:
        """The last line that the process wrote to standard error."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self.process.poll()}"

    def send(self, line: bytes) -> bool:
        """Writes a request; False when the process is gone."""
        try:
            if self.process.stdin is not None:
                self.process.stdin.write(line)
            return True
        except OSError:
            return False

    def kill(self) -> None:
        """Ends the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Pool:
    """A bounded number of workers, each serving one request at a time."""

    def __init__(self, size: int = 2, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        """Starts nothing yet.

        Args:
            size: the most workers at a time.
            seconds: wall time of one request; a worker's start does not count.
            memory_bytes: address space of one worker.
        """
        self.size = size
        self.seconds = seconds
        self.memory_bytes = memory_bytes
        self.killed = 0
        """How many workers broke a limit so far."""
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._owner = os.getpid()
        atexit.register(self.close)

    def ask(self, request: Reply) -> Reply:
        """The worker's answer, or {"decision": "undecided", "reason": …} when it broke a limit.

        Raises:
            UserError: a worker cannot be started.
        """
        line = json.dumps(request).encode() + b"\n"
        if len(line) > MAX_REQUEST:
            return _undecided("too big")
        with self._free:
            worker = self._take()
            try:
                reply, worker_lost = self._exchange(worker, line)
            except BaseException:
                self._drop(worker)
                raise
            if worker_lost:
                self._drop(worker)
                self._replace()
            else:
                with self._lock:
                    self._idle.append(worker)
            return reply

    def _exchange(self, worker: _Worker, line: bytes) -> tuple[Reply, bool]:
        if not worker.ready and worker.receive(START_SECONDS) is None:
            raise UserError(f"the process for symbolic checks does not start: {worker.last_error()}")
        worker.ready = True
        reply = worker.receive(self.seconds) if worker.send(line) else None
        if reply is None:
            with self._lock:
                self.killed += 1
            reason = f"no result within {self.seconds:g} s and {self.memory_bytes >> 20} MiB"
            return {**_undecided(reason), "limit": True}, True
        return reply, worker.process.poll() is not None

    def _take(self) -> _Worker:
        with self._lock:
            if self._owner != os.getpid():
                self._owner, self._idle, self._all = os.getpid(), [], set()
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                self._all.discard(worker)
                worker.kill()
            worker = _Worker(self.memory_bytes, self.seconds)
            self._all.add(worker)
            return worker

    def _replace(self) -> None:
        """Starts another worker at once, so that the next request does not wait for all of it."""
        with self._lock:
            if len(self._all) < self.size:
                worker = _Worker(self.memory_bytes, self.seconds)
                self._all.add(worker)
                self._idle.append(worker)

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        with self._lock:
            self._all.discard(worker)

    def close(self) -> None:
        """Ends all workers; the pool may be used again."""
        with self._lock:
            workers, self._idle, self._all = self._all, [], set()
            if self._owner != os.getpid():
                return
        for worker in workers:
            worker.kill()


def _undecided(reason: str) -> Reply:
    return {"decision": "undecided", "reason": reason}


_shared: Pool | None = None
_shared_lock = threading.Lock()


def shared_pool() -> Pool:
    """The pool that all symbolic stages of a process use."""
    global _shared  # noqa: PLW0603 (one pool a process)
    with _shared_lock:
        if _shared is None:
            _shared = Pool(size=max(1, min(8, os.cpu_count() or 1)))
        return _shared
