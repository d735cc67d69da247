"""An engine in a process of its own: a pool's member behind a pair of pipes.

Contract: the child is a fresh interpreter (no fork) with its own environment and cores. It ends with its parent, even
when that is killed: it watches the pipe and its parent's id, and takes what it started with it. What it prints never
reaches the terminal: its last line is told when it dies. A death is told by its signal or exit code in words.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

from livek12.core.engines.base import Engine, EngineDied
from livek12.core.engines.common import one_line
from livek12.core.engines.worker import Message, Refused, Report, Worker

_log = logging.getLogger(__name__)

BOOT = (
    "import sys; from multiprocessing.connection import Connection; pipe = Connection(int(sys.argv[1])); "
    "sys.path[:] = pipe.recv(); from livek12.core.engines.child import serve; serve(pipe)"
)
WATCH_SECONDS = 2.0
"""How often each end looks whether the other still lives, should a third process keep the pipe open."""


def core_shares(count: int, cpus: float | None = None) -> list[tuple[dict[str, str], frozenset[int] | None]]:
    """Environment and cores of so many engines that run on the CPU of one machine, so that they do not fight for them.

    Args:
        count: engines.
        cpus: cores of each; None for an equal share, of one at least.
    """
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    total = len(here) or os.cpu_count() or 1
    width = max(1, min(total, int(cpus or total // count)))
    shares = [
        frozenset(here[(number * width + core) % total] for core in range(width) if here) for number in range(count)
    ]
    return [({"OMP_NUM_THREADS": str(width)}, share or None) for share in shares]


class Child:
    """The near end; see `seat.Member`.

    Args:
        build: makes the engine; travels by pickle, so that it names what can be imported there.
        environment: variables that the child has besides its parent's.
        cores: where it may run; None for anywhere.
    """

    def __init__(
        self,
        build: Callable[[], Engine],
        environment: Mapping[str, str] | None = None,
        cores: frozenset[int] | None = None,
    ) -> None:
        ours, theirs = Pipe()
        self._pipe: Connection[Any, Any] = ours
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # a Ctrl-C is for the parent, and all that the child starts ends with its group
        )
        theirs.close()
        self._last_line = ""
        assert self._process.stdout
        self._hearing = threading.Thread(target=self._hear, args=(self._process.stdout,), daemon=True, name="child-log")
        self._hearing.start()
        self.send(sys.path)
        self.send((build, cores))

    def send(self, message: Message | Any) -> None:
        """Writes to the pipe; into the void when the child is gone."""
        with suppress(OSError):
            self._pipe.send(message)

    def receive(self) -> Report:
        """Waits for a report.

        Raises:
            EngineDied: the process has ended; says how.
        """
        try:
            while not self._pipe.poll(WATCH_SECONDS):
                if self._process.poll() is not None and not self._pipe.poll():
                    raise EOFError
            report: Report = self._pipe.recv()
            return report
        except (EOFError, OSError):
            self.close(WATCH_SECONDS)
            self._hearing.join(WATCH_SECONDS)
            raise EngineDied(_ending(self._process.returncode, self._last_line)) from None

    def close(self, seconds: float) -> None:
        """Waits for the process to end, then kills it with all that it started."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _hear(self, noise: IO[bytes]) -> None:
        """Keeps the last line of what the child prints; a process of its that lives on may keep this thread."""
        with noise:
            while line := noise.readline(4096):
                if text := one_line(line.decode(errors="replace"), 200):
                    self._last_line = text
                    _log.debug("%d: %s", self._process.pid, text)


def _ending(code: int, last_line: str) -> str:
    """How a process ended, in words."""
    if code == -signal.SIGKILL:
        return "its process was killed (SIGKILL: by somebody, or by the system when memory ran out)"
    try:
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    except ValueError:
        how = f"by signal {-code}"
    return f"its process ended {how}" + (f": {last_line}" if last_line else "")


def serve(pipe: Connection[Any, Any]) -> None:
    """What the child does: serves an engine until it is stopped, or its parent is gone."""
    parent = os.getppid()
    try:
        build, cores = pipe.recv()
    except Exception as error:  # what cannot be imported here
        pipe.send(Refused(one_line(f"{type(error).__name__}: {error}")))
        return
    worker = Worker(build, pipe.send, cores)
    threading.Thread(target=_listen, args=(pipe, worker, parent), daemon=True, name="parent").start()
    worker.run()
    pipe.close()
    sys.stdout.flush()
    os._exit(0)  # the engine is closed; what its libraries do at exit may hang


def _listen(pipe: Connection[Any, Any], worker: Worker, parent: int) -> None:
    """Passes on what the parent sends; the end of the parent is the end of this process group."""
    try:
        while True:
            while not pipe.poll(WATCH_SECONDS):
                if os.getppid() != parent:
                    raise EOFError
            worker.post(pipe.recv())
    except (EOFError, OSError):
        os.killpg(0, signal.SIGKILL)
