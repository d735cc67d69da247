"""Files that one process has for its own, by locks that end with it; where locks may not hold, by `core.run.leases`.

Contract: a lock lasts until all who have the file open close it; so a forked child lets go of what its parent holds.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import open_file
from livek12.core.run.leases import Lease, lives, shared

_OWN: set[int] = set()
"""What this process has open for its own; a forked child does not keep it."""
_LEASES: dict[int, Lease] = {}
"""Those of them that it holds by a lease."""
_TOKEN = re.compile(r"-([0-9a-f]{16})\.\w+")


def lease_of(file: Path) -> str | None:
    """The token of the lease that a file is held by, as its name tells; None for one that is held by a lock."""
    found = _TOKEN.search(file.name)
    return found[1] if found and shared(file.parent) else None


def is_held(file: Path) -> bool:
    """Whether a living process holds the file by its lock or lease.

    A shared lock: a holder's is exclusive and refuses it, but two who look at once must not take each other for one.
    It takes no right to write.

    Raises:
        OSError: the file cannot be opened, or its file system has no locks.
    """
    if token := lease_of(file):
        return lives(file.parent, token)
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def lease_own(path: Path, lease: Lease) -> int:
    """Opens a file that a lease holds, until it is closed.

    Raises:
        UserError: it cannot be opened.
    """
    try:
        fd = open_own(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened for writing ({error.strerror}); use another folder") from error
    _LEASES[fd] = lease
    return fd


def open_own(path: Path) -> int:
    """Opens a file to read and append; forked children let go of it, for a lock lasts until all have closed it.

    Raises:
        UserError: it is a link, or no regular file.
        OSError: it cannot be opened.
    """
    fd = open_file(path)
    _OWN.add(fd)
    return fd


def owns(fd: int) -> bool:
    """Whether this process has the file open for its own; a forked child does not."""
    return fd in _OWN


def close_own(fd: int) -> None:
    """Closes such a file; in a forked child it is closed already."""
    if fd in _OWN:
        _OWN.discard(fd)
        os.close(fd)
        if (lease := _LEASES.pop(fd, None)) is not None:
            lease.end()


def _forget_own() -> None:
    _LEASES.clear()
    while _OWN:
        os.close(_OWN.pop())


def lock_own(path: Path, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> int | None:
    """Opens a file (see `open_own`) and locks it.

    Args:
        path: the file; made where it is missing.
        how: as `flock` takes it.

    Returns:
        The open file, whose lock lasts until it is closed; None where another holds it and `how` does not wait.

    Raises:
        UserError: the file cannot be opened, or its file system has no locks.
    """
    try:
        fd = open_own(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened for writing ({error.strerror}); use another folder") from error
    try:
        fcntl.flock(fd, how)
    except BlockingIOError:
        close_own(fd)
        return None
    except OSError as error:
        close_own(fd)
        raise UserError(f"{path}: this file system has no locks ({error.strerror}); use another folder") from error
    return fd


os.register_at_fork(after_in_child=_forget_own)
