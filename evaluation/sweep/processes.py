"""Backends `local` and `ray`: each run is a child process here; on Ray it is the driver.

At most `parallel` children run, each in a process group cleared at its end. A crashed child is restarted up to a limit,
a few times without progress; after missing memory with less of it, if the sweep permits. With one child at a time, the
next starts when the devices have their memory back. Ctrl-C ends all cleanly. A run held by a process of an earlier
sweep is waited for. A failed start or note neither stops other runs nor leaves a process behind.

Notes state the start and end of each process, in files beside the run folders (on Slurm one an array element). Liveness
is a lock that dies with its process, so that no note claims a dead one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
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
from typing import Literal

from pydantic import ValidationError

from livek12.core.benchmarks import include_flags
from livek12.core.errors import UserError, explain_errors
from livek12.core.files import open_file, write_atomically
from livek12.core.records import Record
from livek12.core.run.folder import RunFolder
from livek12.core.run.locks import is_held
from livek12.core.run.sessions import GIB
from livek12.engines.devices import measure
from livek12.evaluation.sweep import PlannedRun, remote, smaller

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
        UserError: the folder of the notes is not writable.
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
                    got_on = _stored_bytes(child.run.folder) > child.stored
                    waiting.appendleft((again, child.tries.next(got_on)))
                if waiting and parallel == 1 and not remote(child.run.entry):
                    _wait_for_memory(child, say)
    except BaseException:
        _stop(work, living, say)
        raise


def _stored_bytes(folder: Path) -> int:
    total = 0
    for stem in ("responses", "verdicts"):
        with contextlib.suppress(OSError):
            total += sum(file.stat().st_size for file in folder.glob(f"{stem}-*.jsonl"))
    return total


def shown(run: PlannedRun, arguments: list[str]) -> str:
    """Command as typed."""
    env = [f"{name}={shlex.quote(value)}" for name, value in run.entry.env.items()]
    return " ".join([*env, shlex.join(["livek12", *include_flags(), *arguments])])


def _begin(
    work: Path, run: PlannedRun, lock: int, tries: Tries, living: list[_Child], say: Callable[[str], None]
) -> None:
    stored, on_devices = _stored_bytes(run.folder), measure().on_devices
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


STOPPED = 128 + signal.SIGINT
KILLED = 128 + signal.SIGKILL
_NO_MEMORY = re.compile(
    r"out of memory|OutOfMemory|(?:can't|cannot) allocate memory|Free memory on device", re.IGNORECASE
)
"""Errors of torch, vLLM and systems that less memory helps; a KV cache without room needs more, not less."""
_TAIL = 64 * 1024
_LONGEST = 300


class Note(Record):
    """One try at a run. Times in seconds since the epoch; `code` as in a shell (over 128: killed).

    `said` is the reason of a failed start; other reasons are in the log.
    """

    by: str
    host: str
    started: float
    ended: float | None = None
    code: int | None = None
    log: str = ""
    log_from: int = 0
    said: str = ""


class WorkPlace(Record):
    """State of a run."""

    state: Literal["running", "waiting", "failed", "ended"]
    by: str = ""
    reason: str = ""


def write_note(work: Path, label: str, note: Note) -> None:
    """Stores the note, replacing an earlier one."""
    write_atomically(note_file(work, label), note.model_dump_json() + "\n")


def read_note(work: Path, label: str, part: int = 0) -> Note | None:
    """The last note or None."""
    try:
        return Note.model_validate_json(note_file(work, label, part).read_bytes())
    except (OSError, ValidationError):
        return None


def note_file(work: Path, label: str, part: int = 0) -> Path:
    """Path of the note."""
    return work / f"{label}.{part}.json"


def take(work: Path, label: str) -> int | None:
    """Lock of a run, inherited by its process; None while a living process holds it."""
    path = work / f"{label}.lock"
    with explain_errors(f"{path}: cannot be written", "; choose another `out`"):
        work.mkdir(parents=True, exist_ok=True)
        fd = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError as error:
        os.close(fd)
        raise UserError(f"{path}: this file system has no locks ({error.strerror}); choose another `out`") from error
    return fd


def held(work: Path, label: str) -> bool:
    """A living process has the run."""
    path = work / f"{label}.lock"
    with explain_errors(f"{path}: cannot be looked at", "; choose another `out`"):
        return is_held(path)


def here(work: Path, label: str) -> WorkPlace:
    """State of a run of this machine's processes."""
    note = read_note(work, label)
    if held(work, label):
        return WorkPlace(state="running", by=f"{note.by} on {note.host}" if note else "")
    return ended([note] if note else [])


def ended(notes: Iterable[Note]) -> WorkPlace:
    """End of a run without a process: the worst of its notes."""
    notes = list(notes)
    if not notes:
        return WorkPlace(state="waiting", reason="not begun")
    for note in notes:
        if note.code == STOPPED and not why(note).startswith("error:"):
            return WorkPlace(state="waiting", reason="stopped; the same command goes on")
        if note.code not in (0, None):
            return WorkPlace(state="failed", by=f"{note.by} on {note.host}", reason=why(note))
    if any(note.ended is None for note in notes):
        return WorkPlace(state="waiting", reason="cut off; the same command goes on")
    return WorkPlace(state="ended")


def why(note: Note) -> str:
    """Reason of a failure: last error or line in the log, or the signal."""
    if note.said:
        return note.said
    lines = _tail(note)
    errors = [line for line in lines if line.startswith("error:")]
    last = errors[-1] if errors else lines[-1] if lines else ""
    last = "".join(sign for sign in last if sign.isprintable())[:_LONGEST]
    code = note.code or 0
    if code > 128 and code != STOPPED:
        names = {int(number): number.name for number in signal.Signals}
        hint = " (out of memory?)" if code == KILLED else ""
        return f"killed by {names.get(code - 128, f'signal {code - 128}')}{hint}" + (f"; last: {last}" if last else "")
    return last or f"ended with code {code}"


def crashed(note: Note) -> bool:
    """True for an end by a signal or traceback."""
    code = note.code or 0
    if code in (0, 2, STOPPED):
        return False
    return code != 1 or any(line.startswith("Traceback (most recent call last)") for line in _tail(note))


def out_of_memory(note: Note) -> str:
    """Log line on missing memory of a failed or killed run; "" for other ends."""
    if note.code == KILLED:
        return why(note)
    failed = note.code not in (0, None, 2, STOPPED)
    return next((line[:_LONGEST] for line in reversed(_tail(note)) if failed and _NO_MEMORY.search(line)), "")


def _tail(note: Note) -> list[str]:
    try:
        with Path(note.log).open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(note.log_from, end - _TAIL))
            text = log.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    lines = (line.strip() for line in re.split(r"[\r\n]+", text))
    return [line for line in lines if line and not re.match(r"\[\d+\]\+ ", line)]  # bash's own word on its child
