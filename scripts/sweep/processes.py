"""The backends `local` and `ray`: each run is a child process here; on Ray it is the driver, and Ray has the model.

Contract: at most `parallel` children at a time, each in a process group that is cleared away when it ends, whichever
way. A child that crashes is started again as long as it gets on, and a few times where it does not. Ctrl-C ends all of
them cleanly. A run that a process of an earlier sweep still has is waited for.
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

from livek12.core.errors import UserError
from livek12.scripts.sweep.notes import Note, crashed, take, why, write_note
from livek12.scripts.sweep.plan import Run

COMMAND = [sys.executable, "-m", "livek12.scripts.cli"]
IDLE_RESTARTS = 3
"""How often a run is started again that crashed without storing anything new."""
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 60.0
LOG = "log.txt"


@dataclass
class _Child:
    run: Run
    process: subprocess.Popen[bytes]
    lock: int
    note: Note
    stored: int
    idle: int


def work_off(work: Path, runs: Iterable[Run], parallel: int, say: Callable[[str], None]) -> None:
    """Does the runs; how each ended is in its note.

    Args:
        work: the folder of the notes.
        runs: what is not complete.
        parallel: how many at a time.
        say: told of each beginning and end.

    Raises:
        KeyboardInterrupt: after every child has ended.
        UserError: a folder cannot be written.
    """
    waiting = deque((run, 0) for run in runs)
    living: list[_Child] = []
    told: set[str] = set()
    try:
        while waiting or living:
            for _ in range(len(waiting)):
                if len(living) >= parallel:
                    break
                run, idle = waiting.popleft()
                lock = take(work, run.label)
                if lock is None:
                    waiting.append((run, idle))
                    if run.label not in told:
                        told.add(run.label)
                        say(f"{run.label}: a process of an earlier sweep still has it; waiting for its end")
                    continue
                living.append(_start(work, run, lock, idle))
                say(f"{run.label}: begun; {run.folder / LOG} has what it says")
            time.sleep(_LOOK_SECONDS)
            for child in [child for child in living if _has_ended(child.process)]:
                living.remove(child)
                if _settle(work, child, say):
                    stored = stored_bytes(child.run.folder)
                    waiting.appendleft((child.run, child.idle + 1 if stored <= child.stored else 0))
    except BaseException:
        _stop(work, living)
        raise


def stored_bytes(folder: Path) -> int:
    """How much work is stored in a run folder."""
    return sum(file.stat().st_size for stem in ("responses", "verdicts") for file in folder.glob(f"{stem}-*.jsonl"))


def shown(run: Run, arguments: list[str]) -> str:
    """The command as one would type it."""
    env = [f"{name}={shlex.quote(value)}" for name, value in run.entry.env.items()]
    return " ".join([*env, shlex.join(["livek12", *arguments])])


def _start(work: Path, run: Run, lock: int, idle: int) -> _Child:
    path = run.folder / LOG
    stored = stored_bytes(run.folder)
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        log = path.open("ab")
    except OSError as error:
        os.close(lock)
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another `out`") from error
    with log:
        now = time.time()
        log.write(f"\n== {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now))} {shown(run, run.whole)}\n".encode())
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
    note = Note(by=f"process {process.pid}", host=socket.gethostname(), started=now, log=str(path), log_from=begun)
    write_note(work, run.label, note)
    return _Child(run, process, lock, note, stored, idle)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _settle(work: Path, child: _Child, say: Callable[[str], None]) -> bool:
    """Notes how a child ended; whether it is to be started again."""
    note = _ended(work, child)
    if note.code == 0:
        say(f"{child.run.label}: done")
        return False
    again = crashed(note) and child.idle < IDLE_RESTARTS
    say(f"{child.run.label}: {why(note)}" + ("; started again" if again else ""))
    return again


def _ended(work: Path, child: _Child) -> Note:
    with contextlib.suppress(ProcessLookupError):  # before it is reaped, its group is surely its own
        os.killpg(child.process.pid, signal.SIGKILL)
    code = child.process.wait()
    note = child.note.model_copy(update={"ended": time.time(), "code": code if code >= 0 else 128 - code})
    write_note(work, child.run.label, note)
    os.close(child.lock)
    return note


def _stop(work: Path, living: list[_Child]) -> None:
    """Ends all children, cleanly if they do so in time."""
    for child in living:
        with contextlib.suppress(ProcessLookupError):
            child.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _STOP_SECONDS
    with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C: at once
        while time.monotonic() < deadline and not all(_has_ended(child.process) for child in living):
            time.sleep(_LOOK_SECONDS)
    for child in living:
        _ended(work, child)
