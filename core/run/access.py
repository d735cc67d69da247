"""Who may use a folder for a run, and who is at work in it.

Contract: a run folder is new, empty, or holds what runs leave and nothing else. Whoever settles which run it holds, or
writes run.json, does so while it alone holds `.lock`, and only for a moment. Whoever works in it holds `.in-use`,
together with all others who do the same run: as long as one of them lives, the folder is not given to another run. Both
locks end with their process, so that a kill leaves nothing to clear away. Where locks may not hold, leases stand in
their place (`core.run.leases`): `lock` for the one, `part` for the other.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from tempfile import NamedTemporaryFile

from livek12.core.errors import UserError
from livek12.core.files import check_names
from livek12.core.run.journal import has_lines
from livek12.core.run.leases import FOLDER, Lease, Turn, check_home, holders, lives, shared, take_next
from livek12.core.run.locks import close_own, lease_own, lock_own

_LOCK, _IN_USE = ".lock", ".in-use"
_LEFT = (
    *("questions.jsonl", "responses-*.jsonl", "failures-*.jsonl", "verdicts-*.jsonl", "repeats-*.jsonl"),
    "sessions-*.jsonl",
    *("imported.jsonl", "log.txt"),  # of `import-responses` and of a sweep, which are there before the run is
    *(_LOCK, _IN_USE, FOLDER, ".linked.*", ".claims-*.jsonl", ".run.json.*", ".questions.jsonl.*", ".imported.jsonl.*"),
)
"""What a command that was killed may leave in a folder that has no run.json yet."""
_OWNED = (
    *_LEFT,
    *("run.json", "earlier-*.jsonl", "regrades.jsonl", "harness.jsonl", "label-plan.jsonl", "labels-*.jsonl"),
    *("*.parquet", ".*.parquet.new", ".*.unpacked", "report", "report.*", ".report.*"),
)
"""What we read or write in a run folder."""
Fence = Callable[[], None]
"""To be called right before something takes its place: raises a UserError where another has taken over meanwhile."""


def check_links(path: Path) -> None:
    """Refuses a run folder in which what we read or write is a link, as a stranger's may be.

    Raises:
        UserError: something is a link, or neither file nor folder.
    """
    check_names(path, _OWNED)
    check_home(path)


def check_out(path: Path) -> None:
    """Refuses to make a run of a folder that is something else.

    Raises:
        UserError: it is a file, cannot be read, or holds other things than a run.
    """
    try:
        found = sorted(file.name for file in path.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        if not path.exists():
            return  # below a file; who makes it is told
        raise UserError(f"{path}: is a file; give --out a folder") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); choose another --out") from error
    check_links(path)
    if "run.json" in found:
        return
    if foreign := [name for name in found if not any(fnmatch(name, pattern) for pattern in _LEFT)]:
        raise UserError(
            f"{path}: is no run folder, and not empty (it holds {foreign[0]!r}); give --out a new or an empty folder"
        )
    if has_responses(path):
        raise UserError(f"{path}: holds responses, but no run.json says of what; put it back, or choose a new --out")


def make_folder(path: Path) -> None:
    """Makes the folder where it is missing.

    Raises:
        UserError: it may not be used (see `check_out`), or cannot be made.
    """
    check_out(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be made ({error.strerror}); choose another --out") from error


def has_responses(path: Path) -> bool:
    """Whether anything of a response is stored."""
    return has_lines(path, "responses")


@contextmanager
def settling(path: Path) -> Iterator[Fence]:
    """Nobody else settles anything about the folder meanwhile; gives what to call before each file takes its place.

    Raises:
        UserError: the folder cannot be written, or has no locks.
    """
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
    """The same by a lease; who settles already may do so within."""
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
    """Changes the folder, which makes NFS ask the server again what is in it."""
    with suppress(OSError), NamedTemporaryFile(dir=path, prefix=".run.json."):
        pass


def take_part(path: Path) -> int:
    """Joins those who do the folder's run, until the file that is returned is closed; to be called while `settling`.

    Raises:
        UserError: somebody has it `alone`.
    """
    if shared(path):
        lease = Lease(path)
        take_next(lease, "part")
        return lease_own(path / _IN_USE, lease)
    fd = lock_own(path / _IN_USE, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if fd is None:
        raise UserError(f"{path}: is being compacted; wait until that is done")
    return fd


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody does the folder's run meanwhile, and nobody begins to.

    Raises:
        UserError: somebody does, or the folder cannot be written.
    """
    with settling(path):
        if shared(path):
            if in_use(path):
                raise UserError(_AT_WORK.format(path))
            yield  # who begins waits to settle
            return
        fd = lock_own(path / _IN_USE)
    if fd is None:
        raise UserError(_AT_WORK.format(path))
    try:
        yield
    finally:
        close_own(fd)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Nobody else writes an output folder of another kind meanwhile; it has to be there.

    Raises:
        UserError: somebody does, or it cannot be written.
    """
    busy = UserError(f"{folder}: another command writes it; wait until it is done, or name another folder")
    if shared(folder):
        lease = Lease(folder)
        try:
            if any(holder is None or lives(folder, holder) for holder in holders(lease, "writer")):
                raise busy
            yield
        finally:
            lease.end()
        return
    fd = lock_own(folder / _LOCK)
    if fd is None:
        raise busy
    try:
        yield
    finally:
        close_own(fd)


_AT_WORK = "{}: another command is at work here; wait until it is done"


def in_use(path: Path) -> bool:
    """Whether somebody does the folder's run; to be called while `settling`."""
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
