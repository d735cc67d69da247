"""An engine in a process of its own: a pool's member behind a connection.

Contract: the child has its own environment and cores, and takes what it has started with it. What it prints never
reaches the terminal: its last line is told when it dies. A death is told by its signal or exit code in words.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from livek12.core.process import ChildProcess, Ended, Link, cores
from livek12.core.text import one_line
from livek12.engines.base import Engine, EngineDied
from livek12.engines.reaper import begun, wait_until_gone
from livek12.engines.worker import Message, Refused, Report, Worker

GONE_SECONDS = 10.0
"""What killed processes have to be gone."""


def core_shares(count: int, cpus: float | None = None) -> list[tuple[dict[str, str], frozenset[int] | None]]:
    """Environment and cores of so many engines that run on the CPU of one machine, so that they do not fight for them.

    Args:
        count: engines.
        cpus: cores of each; None for an equal share, of one at least.
    """
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    total = cores()
    width = max(1, min(total, int(cpus or total // count)))
    shares = [
        frozenset(here[(number * width + core) % total] for core in range(width) if here) for number in range(count)
    ]
    return [({"OMP_NUM_THREADS": str(width)}, share or None) for share in shares]


class Child:
    """The near end; see `slot.Member`.

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
        first = pickle.dumps((build, cores))
        self._process = ChildProcess(serve, quiet=True, environment=environment)
        self._process.send(first)

    def send(self, message: Message) -> None:
        """Sends a message; into the void when the child is gone."""
        self._process.send(pickle.dumps(message))

    def receive(self) -> Report:
        """Waits for a report.

        Raises:
            EngineDied: the process has ended; says how.
        """
        try:
            report: Report = pickle.loads(self._process.receive())
        except Ended as end:
            raise EngineDied(str(end)) from None
        return report

    def close(self, seconds: float) -> None:
        """Waits for the process to end, then kills it with all that it started, and waits until all that is gone."""
        ending = begun([self._process.pid])
        self._process.wait(seconds)
        self._process.kill()
        wait_until_gone(ending, GONE_SECONDS)


def serve(link: Link) -> None:
    """What the child does: serves an engine until it is stopped."""
    try:
        build, cores = link.recv()
    except Exception as error:  # what cannot be imported here
        link.send(Refused(one_line(f"{type(error).__name__}: {error}")))
        return
    worker = Worker(build, link.send, cores)
    threading.Thread(target=_listen, args=(link, worker), daemon=True, name="listener").start()
    worker.run()
    sys.stdout.flush()
    os._exit(0)  # the engine is closed; what its libraries do at exit may hang


def _listen(link: Link, worker: Worker) -> None:
    """Passes on what the parent sends."""
    with suppress(EOFError, OSError):  # its end is that of this process
        while True:
            worker.post(link.recv())
