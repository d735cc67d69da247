"""Kills child processes of a library when this process ends, even by a kill.

A `Reaper` is a separate process. Its charges are all processes that ours starts until `settle`, and their descendants;
it kills them if our process is gone before `close`. It runs alone in a bare interpreter: standard library only.
(Linux's parent-death signal comes with the end of the *thread* that started a process.)
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LOOK_SECONDS = 0.2
"""Interval of looking for new processes until `settle`."""
WATCH_SECONDS = 2.0
"""Interval after that, should a forked process keep the pipe open that signals our end."""
_PROC = Path("/proc")
_TRIES = 50
_SPARED = b"multiprocessing.resource_tracker"
"""Ends by itself, and removes the shared memory of killed processes."""


class Reaper:
    """The handle of the reaper process."""

    def __init__(self) -> None:
        own = os.getpid()
        before = [str(process) for process, (parent, _) in processes().items() if parent == own]
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(own), *before],
            stdin=subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,  # signals to our group leave it time to work
        )

    def settle(self, *charges: int) -> None:
        """Ends the list of charges.

        `charges` are killed even before the reaper's first look.
        """
        if self._process.stdin is not None:
            with suppress(OSError):  # already ended
                self._process.stdin.write(b"%s." % b" ".join(b"%d" % charge for charge in charges))
                self._process.stdin.flush()

    def close(self) -> None:
        """Releases the charges; call before they end, as ids may be reused."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


@contextmanager
def supervise(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a command, killed with the block and this process."""
    reaper = Reaper()
    try:
        process = subprocess.Popen(command, start_new_session=True, **options)
        try:
            reaper.settle(process.pid)
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finally:
        reaper.close()


def processes() -> dict[int, tuple[int, str]]:
    """Parent and start time of all processes."""
    table = {}
    for folder in _PROC.glob("[0-9]*"):
        if stat := _read(folder / "stat"):
            state, parent, *more = stat.rpartition(b")")[2].split()
            if state != b"Z":
                table[int(folder.name)] = (int(parent), more[17].decode())
    return table


def family(heads: Iterable[int], there: Mapping[int, tuple[int, str]]) -> list[int]:
    """These processes and their descendants."""
    children: dict[int, list[int]] = {}
    for process, (parent, _) in there.items():
        children.setdefault(parent, []).append(process)
    members = list(heads)
    for process in members:
        members += children.get(process, [])
    return members


def begun(heads: Iterable[int]) -> dict[int, str]:
    """Start times of processes and descendants."""
    there = processes()
    return {process: there[process][1] for process in family(heads, there) if process in there}


def wait_until_gone(ending: Mapping[int, str], seconds: float) -> None:
    """Waits for ended processes, which hold their devices."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        there = processes()
        if all(there.get(process, (0, ""))[1] != began for process, began in ending.items()):
            return
        time.sleep(LOOK_SECONDS / 4)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # ended meanwhile, or another user's
        return b""


def _watch(parent: int, before: set[int]) -> None:
    charges: set[tuple[int, str]] = set()  # with start times, as ids are reused
    alive = looking = True
    while alive:
        alive = os.getppid() == parent
        seconds = (LOOK_SECONDS if looking else WATCH_SECONDS) if alive else 0
        message = os.read(0, select.PIPE_BUF) if select.select([0], [], [], seconds)[0] else None
        if looking:
            there = processes()
            heads = [
                process
                for process, (its, _) in there.items()
                if its == parent and process not in before | {os.getpid()}
            ]
            heads += map(int, (message or b"").rstrip(b".").split())
            charges |= {(process, there[process][1]) for process in family(heads, there) if process in there}
            looking = not message
        alive = alive and message != b""
    _kill(charges)


def _kill(charges: set[tuple[int, str]]) -> None:
    for _ in range(_TRIES):
        there = processes()
        alive = family([process for process, began in charges if there.get(process, (0, ""))[1] == began], there)
        if not alive:
            return
        charges |= {(process, there[process][1]) for process in alive}
        for process in alive:
            if _SPARED not in _read(_PROC / str(process) / "cmdline"):
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    _watch(int(sys.argv[1]), set(map(int, sys.argv[2:])))
