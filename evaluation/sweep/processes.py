"""The backends `local` and `ray`: each run is a child process here; on Ray it is the driver.

At most `parallel` children run, each in a process group that is cleared away at its end. A crashed child is restarted
up to a limit, a few times without progress; after missing memory with less of it, if the sweep permits. With one child
at a time, the next starts when the devices have their memory back. Ctrl-C ends all cleanly. A run held by a process of
an earlier sweep is waited for. A failed start or note neither stops other runs nor leaves a process behind.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from livek12.core.benchmarks import include_flags
from livek12.core.errors import UserError
from livek12.core.files import open_file
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import GIB
from livek12.engines.devices import measure
from livek12.evaluation.sweep.notes import STOPPED, Note, crashed, out_of_memory, take, why, write_note
from livek12.evaluation.sweep.plan import PlannedRun, remote, smaller

COMMAND = [sys.executable, "-m", "livek12.scripts.cli"]
IDLE_RESTARTS = 3
"""Restarts after crashes without new stored work."""
RESTARTS = 20
"""Restarts in all: unfinished verdicts are stored too, and again each time."""
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 60.0
_MEMORY_SECONDS = 60.0
_TOLD = signal.SIGTERM
"""Stops a child: children of a script's background process ignore SIGINT."""
LOG = "log.txt"


@dataclass(frozen=True)
class Tries:
    """Restarts in all, and since the last stored work."""

    all: int = 0
    idle: int = 0

    def next(self, got_on: bool) -> Tries:
        """One more."""
        return Tries(self.all + 1, 0 if got_on else self.idle + 1)

    @property
    def left(self) -> bool:
        """Another restart is allowed."""
        return self.all < RESTARTS and self.idle < IDLE_RESTARTS


@dataclass
class _Child:
    run: PlannedRun
    process: subprocess.Popen[bytes]
    on_devices: int
    lock: int
    note: Note
    stored: int
    tries: Tries


def work_off(
    work: Path, runs: Iterable[PlannedRun], parallel: int, say: Callable[[str], None], retry_smaller: bool = False
) -> None:
    """Does the runs, `parallel` at a time; each run's note has its end.

    Raises:
        KeyboardInterrupt: after every child has ended.
        UserError: the folder of the notes cannot be written.
    """
    waiting = deque((run, Tries()) for run in runs)
    living: list[_Child] = []
    announced: set[str] = set()
    try:
        while waiting or living:
            for _ in range(len(waiting)):
                if len(living) >= parallel:
                    break
                run, tries = waiting.popleft()
                lock = take(work, run.label)
                if lock is None:
                    waiting.append((run, tries))
                    if run.label not in announced:
                        announced.add(run.label)
                        say(f"{run.label}: a process of an earlier sweep still has it; waiting for its end")
                    continue
                _begin(work, run, lock, tries, living, say)
            time.sleep(_LOOK_SECONDS)
            for child in [child for child in living if _has_ended(child.process)]:
                living.remove(child)
                again = _settle(work, child, say, retry_smaller)
                if again is not None:
                    got_on = stored_bytes(child.run.folder) > child.stored
                    waiting.appendleft((again, child.tries.next(got_on)))
                if waiting and parallel == 1 and not remote(child.run.entry):
                    _wait_for_memory(child, say)
    except BaseException:
        _stop(work, living, say)
        raise


def stored_bytes(folder: Path) -> int:
    """Size of the work in a run folder."""
    total = 0
    for stem in ("responses", "verdicts"):
        with contextlib.suppress(OSError):
            total += sum(file.stat().st_size for file in folder.glob(f"{stem}-*.jsonl"))
    return total


def shown(run: PlannedRun, arguments: list[str]) -> str:
    """The command as typed."""
    env = [f"{name}={shlex.quote(value)}" for name, value in run.entry.env.items()]
    return " ".join([*env, shlex.join(["livek12", *include_flags(), *arguments])])


def _begin(
    work: Path, run: PlannedRun, lock: int, tries: Tries, living: list[_Child], say: Callable[[str], None]
) -> None:
    stored, on_devices = stored_bytes(run.folder), measure().on_devices
    note = Note(by="livek12 sweep", host=socket.gethostname(), started=time.time(), log=str(run.folder / LOG))
    try:
        process, note = _started(run, lock, note)
    except OSError as error:
        os.close(lock)
        reason = f"cannot begin: {error.strerror or error} ({run.folder})"
        note = note.model_copy(update={"ended": time.time(), "code": 2, "said": reason})
        say(f"{run.label}: {note.said}")
        _keep(work, run, note, say)
        return
    living.append(_Child(run, process, on_devices, lock, note, stored, tries))
    _keep(work, run, note, say)
    say(f"{run.label}: begun; {run.folder / LOG} has what it says")


def _started(run: PlannedRun, lock: int, note: Note) -> tuple[subprocess.Popen[bytes], Note]:
    run.folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_file(run.folder / LOG), "ab") as log:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(note.started))
        log.write(f"\n== {now} {shown(run, run.whole)}\n".encode())
        log.flush()
        begun = log.tell()
        process = subprocess.Popen(
            [*COMMAND, *run.whole],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **run.entry.env},
            process_group=0,  # apart from ours: Ctrl-C comes from us, and what it leaves behind can be cleared away
            pass_fds=(lock,),
        )
    return process, note.model_copy(update={"by": f"process {process.pid}", "log_from": begun})


def _keep(work: Path, run: PlannedRun, note: Note, say: Callable[[str], None]) -> None:
    try:
        write_note(work, run.label, note)
    except UserError as error:
        say(str(error))


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _settle(work: Path, child: _Child, say: Callable[[str], None], retry_smaller: bool) -> PlannedRun | None:
    """Notes a child's end; returns the run to restart, if any."""
    note = _ended(work, child, say)
    run = child.run
    if note.code == 0:
        say(f"{run.label}: done")
        return None
    reason = out_of_memory(note)
    if reason and retry_smaller and child.tries.left and (less := smaller(run, _engine_of(run))) is not None:
        changed = [f"{name}={value}" for name, value in less.engine_args.items() if run.engine_args.get(name) != value]
        say(f"{run.label}: too little memory: {reason}; started again with {', '.join(changed)}")
        return less
    again = crashed(note) and child.tries.left
    memory = "too little memory: " if reason and reason != why(note) else ""
    say(f"{run.label}: {memory}{reason or why(note)}" + ("; started again" if again else ""))
    return run if again else None


def _engine_of(run: PlannedRun) -> str:
    """The engine of a run; the folder has the one that `auto` chose."""
    with contextlib.suppress(UserError, OSError):
        return run.engine or RunFolder(run.folder).spec().engine
    return "vllm"


def _wait_for_memory(child: _Child, say: Callable[[str], None]) -> None:
    """Waits until the devices have about their memory from before the child: drivers free it late."""
    deadline = time.monotonic() + _MEMORY_SECONDS
    while measure().on_devices > child.on_devices + GIB:
        if time.monotonic() > deadline:
            say(f"{child.run.label}: its GPUs did not get their memory back within {_MEMORY_SECONDS:.0f} s")
            return
        time.sleep(_LOOK_SECONDS)


def _ended(work: Path, child: _Child, say: Callable[[str], None], told: bool = False) -> Note:
    """Clears a child away and notes its end; with `told` a death by our signal is a clean stop."""
    _clear(child)
    code = child.process.wait()
    code = code if code >= 0 else 128 - code
    if told and code == 128 + _TOLD:
        code = STOPPED
    note = child.note.model_copy(update={"ended": time.time(), "code": code})
    _keep(work, child.run, note, say)
    os.close(child.lock)
    return note


def _clear(child: _Child) -> None:
    with contextlib.suppress(ProcessLookupError):  # before it is reaped, its group is surely its own
        os.killpg(child.process.pid, signal.SIGKILL)


def _stop(work: Path, living: list[_Child], say: Callable[[str], None]) -> None:
    """Ends all children, cleanly if they are quick enough."""
    for child in living:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.process.pid, _TOLD)  # send_signal would reap one that has ended just now
    deadline = time.monotonic() + _STOP_SECONDS
    with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C: at once
        while time.monotonic() < deadline and not all(_has_ended(child.process) for child in living):
            time.sleep(_LOOK_SECONDS)
    for child in living:
        _clear(child)
    for child in living:
        _ended(work, child, say, told=True)
