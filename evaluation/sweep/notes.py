"""Notes of runs: start and end of each process, in small files beside the run folders (on Slurm one an array element).

Liveness is a lock that the process inherits and that dies with it, so that no note claims a dead process.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.files import open_file, write_atomically
from livek12.core.records import Record
from livek12.core.run.locks import is_held

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


def write_note(work: Path, label: str, note: Note, part: int = 0) -> None:
    """Stores the note, replacing an earlier one."""
    write_atomically(note_file(work, label, part), note.model_dump_json() + "\n")


def read_note(work: Path, label: str, part: int = 0) -> Note | None:
    """The last note, if any."""
    try:
        return Note.model_validate_json(note_file(work, label, part).read_bytes())
    except (OSError, ValidationError):
        return None


def note_file(work: Path, label: str, part: int = 0) -> Path:
    """Path of the note."""
    return work / f"{label}.{part}.json"


def take(work: Path, label: str) -> int | None:
    """The lock of a run, inherited by its process; None while a living process holds it."""
    path = work / f"{label}.lock"
    try:
        work.mkdir(parents=True, exist_ok=True)
        fd = open_file(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another `out`") from error
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
    try:
        return is_held(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be looked at ({error.strerror}); choose another `out`") from error


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
    """Reason of a failure: the last error in the log, or its last line, or the signal."""
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
    """It ended by a signal or in a traceback, unlike any command of ours."""
    code = note.code or 0
    if code in (0, 2, STOPPED):
        return False
    return code != 1 or any(line.startswith("Traceback (most recent call last)") for line in _tail(note))


def out_of_memory(note: Note) -> str:
    """The log line on missing memory of a run that failed or was killed; "" for other ends."""
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
