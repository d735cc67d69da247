"""Access to a run folder: which run it takes, and who works in it.

Contract: `.lock` is held briefly to decide which run the folder holds or to write run.json; `.in-use` is shared by all
processes of the same run, and while one of them lives the folder takes no other run. Both locks end with their process;
where locks may not reach other machines, leases `lock` and `part` replace them.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from tempfile import NamedTemporaryFile

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import LEASES, check_names
from livek12.core.run.journal import has_lines
from livek12.core.run.locks import (
    Lease,
    Turn,
    check_home,
    close_own,
    holders,
    lease_own,
    lives,
    lock_own,
    shared,
    take_next,
)

_LOCK, _IN_USE = ".lock", ".in-use"
BATCHES = "batches"
"""The ledgers of batch engines (`engines.batch.ledger`)."""
_LEFT = (
    *("questions.jsonl", "bank.json", "responses-*.jsonl", "failures-*.jsonl", "verdicts-*.jsonl", "repeats-*.jsonl"),
    "sessions-*.jsonl",
    *("imported.jsonl", "log.txt"),  # of `import-responses` and of a sweep, which are there before the run is
    *(_LOCK, _IN_USE, LEASES, ".linked.*", ".claims-*.jsonl", ".run.json.*", ".questions.jsonl.*", ".imported.jsonl.*"),
    *(".bank.json.*", ".*.sums*", BATCHES),
)
"""What a command that was killed may leave in a folder that has no run.json yet."""
_OWNED = (
    *_LEFT,
    *("run.json", "earlier-*.jsonl", "regrades.jsonl", "criteria.jsonl", "harness.jsonl"),
    *("label-plan.jsonl", "labels-*.jsonl", "signature.json", "exams.json", "keys.jsonl"),
    *("*.parquet", ".*.parquet.new", ".*.unpacked", "report", "report.*", ".report.*"),
)
"""What we read or write in a run folder."""
Fence = Callable[[], None]
"""To be called right before something takes its place: raises a UserError where another has taken over meanwhile."""


def check_links(path: Path) -> None:
    """Refuses a run folder in which a file is a link, or neither file nor folder."""
    check_names(path, _OWNED)
    check_home(path)


def check_out(path: Path) -> None:
    """Refuses an output folder that is a file, cannot be read, or holds other things than a run."""
    try:
        entries = sorted(file.name for file in path.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        if not path.exists():
            return  # below a file; who makes it is told
        raise UserError(f"{path}: is a file; give --out a folder") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); choose another --out") from error
    check_links(path)
    if "run.json" in entries:
        return
    if foreign := [name for name in entries if not any(fnmatch(name, pattern) for pattern in _LEFT)]:
        raise UserError(
            f"{path}: is no run folder, and not empty (it holds {foreign[0]!r}); give --out a new or an empty folder"
        )
    if has_responses(path):
        raise UserError(f"{path}: holds responses, but no run.json says of what; put it back, or choose a new --out")


def make_folder(path: Path) -> None:
    """Makes the folder after `check_out`."""
    check_out(path)
    with explain_errors(f"{path}: cannot be made", "; choose another --out"):
        path.mkdir(parents=True, exist_ok=True)


def has_responses(path: Path) -> bool:
    """True if any response is stored."""
    return has_lines(path, "responses")


@contextmanager
def settling(path: Path) -> Iterator[Fence]:
    """Holds the folder's lock; yields a fence to call before each write."""
    if shared(path):
        with _settling_by_lease(path) as fence:
            yield fence
        return
    fd = lock_own(path / _LOCK, fcntl.LOCK_EX)
    try:
        yield lambda: None  # a lock lasts as long as we do, however long we are stopped
    finally:
        if fd is not None:
            close_own(fd)


_mine = threading.local()


@contextmanager
def _settling_by_lease(path: Path) -> Iterator[Fence]:
    """Reentrant within a thread."""
    fences: dict[Path, Fence] = _mine.__dict__.setdefault("fences", {})
    if path in fences:
        yield fences[path]
        return
    lease = Lease(path)
    try:
        turn = Turn(lease, "lock")
        _look_anew(path)
        fences[path] = turn.check
        yield turn.check
    finally:
        fences.pop(path, None)
        lease.end()


def _look_anew(path: Path) -> None:
    """Changes the folder, so that NFS asks the server again for its content."""
    with suppress(OSError), NamedTemporaryFile(dir=path, prefix=".run.json."):
        pass


def take_part(path: Path) -> int:
    """Joins the run's processes until the returned file is closed; call while `settling`."""
    if shared(path):
        lease = Lease(path)
        take_next(lease, "part")
        return lease_own(path / _IN_USE, lease)
    fd = lock_own(path / _IN_USE, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if fd is None:
        raise UserError(f"{path}: is being compacted; wait until that is done")
    return fd


@contextmanager
def alone(path: Path) -> Iterator[Fence]:
    """Keeps all others out of the run; yields a fence as `settling`."""
    with settling(path) as fence:
        if shared(path):
            if in_use(path):
                raise UserError(_AT_WORK.format(path))
            yield fence  # who begins waits to settle
            return
        fd = lock_own(path / _IN_USE)
    if fd is None:
        raise UserError(_AT_WORK.format(path))
    try:
        yield fence
    finally:
        close_own(fd)


@contextmanager
def only_writer(folder: Path) -> Iterator[Fence]:
    """Locks another output folder against other writers; yields a fence."""
    busy = UserError(f"{folder}: another command writes it; wait until it is done, or name another folder")
    if shared(folder):
        lease = Lease(folder)
        try:
            yield Turn(lease, "writer", busy).check
        finally:
            lease.end()
        return
    fd = lock_own(folder / _LOCK)
    if fd is None:
        raise busy
    try:
        yield lambda: None  # as above
    finally:
        close_own(fd)


_AT_WORK = "{}: another command is at work here; wait until it is done"


def in_use(path: Path) -> bool:
    """True if a process works on the run; call while `settling`."""
    if shared(path):
        lease = Lease(path)
        try:
            return any(holder is None or lives(path, holder) for holder in holders(lease, "part"))
        finally:
            lease.end()
    fd = lock_own(path / _IN_USE)
    if fd is None:
        return True
    close_own(fd)
    return False
