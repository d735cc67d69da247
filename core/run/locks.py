"""Exclusive files: by locks that end with the process or, where locks may not hold, by leases.

A lock lasts until all processes close the file, so a forked child closes those of its parent.
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
    """Token in the name of a file that is held by a lease."""
    match = _TOKEN.search(file.name)
    return match[1] if match and shared(file.parent) else None


def is_held(file: Path) -> bool:
    """True if a living process holds the file by its lock or lease.

    Takes a shared lock, so that two lookers do not mistake each other for a holder; needs no right to write.
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
    """Opens a file that a lease holds until it is closed."""
    try:
        fd = open_own(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened for writing ({error.strerror}); use another folder") from error
    _LEASES[fd] = lease
    return fd


def lapses_of(fd: int) -> int:
    """Times that others may have taken such a file for abandoned."""
    if (lease := _LEASES.get(fd)) is None:
        return 0
    lease.overdue()
    return lease.lapses


def open_own(path: Path) -> int:
    """Opens a regular file to read and append; forked children close it."""
    fd = open_file(path)
    _OWN.add(fd)
    return fd


def owns(fd: int) -> bool:
    """True if this process (no fork of it) opened the file by `open_own`."""
    return fd in _OWN


def close_own(fd: int) -> None:
    """Closes such a file; does nothing in a fork."""
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
    """Opens and locks a file until it is closed."""
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
