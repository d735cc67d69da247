"""Exclusive files: by locks that end with the process or, where locks may not hold, by leases.

A forked child closes its parent's files, which would hold their locks.

Leases are for file systems without reliable locks (NFS, Lustre, FUSE); fixed shares would strand a dead machine's work.
Of all processes that link a file to one name, one succeeds. Views of others may be stale, so what cannot be seen counts
as held. A holder is alive while it writes its heartbeat, timed by each watcher's own clock, and gone when it says so,
when its process has ended (seen from the same machine), or after `SECONDS` without news. A successor links the next
number. A holder that was wrongly taken for gone may repeat work; readers of a run keep one of two records, always the
same.

    .leases/alive-TOKEN        the heartbeat of a holder
    .leases/tag-TOKEN.N        its token, hard-linked to names, at most `MOST_LINKS` times
    .leases/NAME.K             the holder of a name: the highest number counts
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import LEASES, NO_LINKS, open_file

_SAID: Final = os.environ.get("LIVEK12_LEASE_SECONDS", "")
SECONDS: Final = float(_SAID) if _SAID.isdecimal() and 0 < int(_SAID) <= 3600 else 60.0
"""So long a holder may be silent: longer than a file system shows old things (NFS: up to 60 s by default)."""
BEATS: Final = 6
"""In that time."""
LONG_AGO: Final = 3600.0
"""A beat that the server dates so much before our own is of one that has gone: no clock is so wrong."""
MOST_LINKS: Final = 1000
LOOK_SECONDS: Final = 0.1
_LOCAL_FUSE: Final = ("fuseblk", "fuse.fuse-overlayfs")
_REMOTE: Final = frozenset(
    "nfs nfs4 lustre cifs smb3 smbfs beegfs ceph gpfs glusterfs 9p afs pvfs2 orangefs fuse".split()
)


def shared(folder: Path) -> bool:
    """True if locks in the folder may not hold for other machines, and leases work.

    LIVEK12_LEASES=1 or 0 overrides the file system's type.
    """
    try:
        return _is_shared(folder.stat().st_dev, folder)
    except OSError:
        return False


def _is_shared(device: int, folder: Path) -> bool:
    setting = os.environ.get("LIVEK12_LEASES", "")
    kind = _kinds().get((os.major(device), os.minor(device)), "")
    remote = kind in _REMOTE or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
    return (setting == "1" or (setting != "0" and remote)) and _links(device, str(folder))


def _kinds() -> dict[tuple[int, int], str]:
    kinds = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            place, _, kind = line.partition(" - ")
            major, minor = map(int, place.split()[2].split(":"))
            kinds[major, minor] = kind.split()[0]
    return kinds


@cache
def _links(device: int, folder: str) -> bool:
    """Some mounted buckets cannot link files between folders."""
    probe = Path(folder) / f".linked.{uuid.uuid4().hex}"
    other = probe.with_name(probe.name + ".too")
    try:
        probe.mkdir()
        (probe / "file").touch()
        os.link(probe / "file", other)
    except OSError as error:
        return error.errno not in NO_LINKS
    finally:
        with suppress(OSError):
            other.unlink()
        with suppress(OSError):
            (probe / "file").unlink()
        with suppress(OSError):
            probe.rmdir()
    return True


class Beat(NamedTuple):
    """Heartbeat as stored."""

    number: int
    machine: str
    pid: int
    started: str
    seconds: float
    ended: bool


class Lease:
    """Holder, alive until `end` or the end of its process; forks do not inherit it.

    `lapses` counts the silences after which others may have taken it for gone.
    """

    def __init__(self, folder: Path) -> None:
        self.token, self.home, self.lapses = uuid.uuid4().hex[:16], folder / LEASES, 0
        self._number = self._tags = self._links = 0
        self._at = time.monotonic()
        self._tag: Path | None = None
        self._ended = False
        check_home(folder)
        with explain_errors(f"{self.home}: cannot be written", "; use another folder"):
            self.home.mkdir(exist_ok=True)
            self._write()
        _keep(self)

    def put(self, name: str) -> bool:
        """Takes a free name; returns true on success, OSError if the outcome is unknown."""
        if self._tag is None or self._links >= MOST_LINKS:
            self._tag, self._links = self.home / f"tag-{self.token}.{self._tags}", 0
            self._tags += 1
            _store(self._tag, self.token.encode(), os.O_EXCL)
        self._links += 1
        target = self.home / name
        try:
            try:
                os.link(self._tag, target)
            except FileNotFoundError:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(self._tag, target)
        except FileExistsError:
            return owner_of(target) == self.token  # the answer to our own call may have been lost on its way
        return True

    def overdue(self) -> None:
        """Beats if the last heartbeat is too old, as after a stopped process."""
        if time.monotonic() - self._at > SECONDS:
            self.beat()

    def beat(self) -> None:
        """Writes a heartbeat."""
        now = time.monotonic()
        self.lapses += now - self._at > SECONDS
        self._number += 1
        with suppress(OSError):
            self._write()
            self._at = now
            if self._ended:  # meanwhile, in another thread
                self._write()

    def end(self) -> None:
        """Marks the holder as gone."""
        _LEASES.discard(self)
        self._ended = True
        with suppress(OSError):
            self._write()

    def _write(self) -> None:
        beat = Beat(self._number, _machine(), os.getpid(), _started(os.getpid()), SECONDS, self._ended)
        _store(self.home / f"alive-{self.token}", json.dumps(beat).ljust(200).encode())


def _store(path: Path, text: bytes, flags: int = 0) -> None:
    """One step, and the file is closed (close-to-open consistency)."""
    fd = open_file(path, os.O_WRONLY | os.O_CREAT | flags)
    try:
        os.pwrite(fd, text, 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def _load(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, 4096, 0)
    finally:
        os.close(fd)


def owner_of(path: Path) -> str | None:
    """Token of a name's holder; None where it cannot be seen, which proves nothing."""
    try:
        return _load(path).decode() or None
    except (OSError, UnicodeDecodeError):
        return None


_SEEN: dict[Path, tuple[bytes, float, bool]] = {}
"""The last beat seen of each holder, when by our clock that was new, and whether it followed another."""


def lives(folder: Path, token: str) -> bool:
    """True if a holder may still be alive."""
    path = folder / LEASES / f"alive-{token}"
    text, now = b"", time.monotonic()
    with suppress(OSError):
        text = _load(path)
    try:
        beat = Beat(*json.loads(text))
    except (ValueError, TypeError):
        beat = None
    if beat is not None:
        if beat.ended:
            return False
        if beat.machine == _machine():
            return beat.started == _started(beat.pid)
        if _long_ago(path):
            return False
    before = _SEEN.get(path)
    if before is None or (text and text != before[0]):
        _SEEN[path] = (text, now, before is not None)
        return True
    return now - before[1] < (beat.seconds if beat is not None else SECONDS)


def in_doubt(folder: Path, token: str) -> bool:
    """True if a holder counts as alive only for want of watching."""
    if not lives(folder, token) or (seen := _SEEN.get(folder / LEASES / f"alive-{token}")) is None:
        return False
    _, seconds, beats = seen
    return not beats or time.monotonic() - seconds > SECONDS / 2


def _long_ago(path: Path) -> bool:
    """By the server's dates of the last heartbeat and our own last one."""
    with suppress(OSError):
        ours = [(lease.home / f"alive-{lease.token}").stat().st_mtime for lease in list(_LEASES)]
        return bool(ours) and max(ours) - path.stat().st_mtime > LONG_AGO
    return False


@cache
def _machine() -> str:
    """Boot of this machine and its pid namespace."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    return uuid.uuid4().hex


def _started(pid: int) -> str:
    """Start time of a process (ids are reused), or ""."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def named(token: str) -> Lease | None:
    """Lease of this process with that token."""
    return next((lease for lease in list(_LEASES) if lease.token == token), None)


def take_next(lease: Lease, name: str) -> int:
    """Takes the first free number of a name."""
    number = _last(lease, name)
    while not lease.put(f"{name}.{number}"):
        number += 1
    return number


class Turn:
    """Exclusive turn of a lease at a name; waits for the turn before it to end, or raises `busy`."""

    def __init__(self, lease: Lease, name: str, busy: UserError | None = None) -> None:
        self._lease, self._name, self._number = lease, name, _last(lease, name)
        while not lease.put(f"{name}.{self._number}"):
            holder = owner_of(lease.home / f"{name}.{self._number}")
            if holder is not None and not lives(lease.home.parent, holder):
                self._number += 1
            elif busy is not None:
                raise busy
            else:
                time.sleep(LOOK_SECONDS)
        self._lapses = lease.lapses

    def check(self) -> None:
        """Confirms the turn; after a lapse it takes the next number."""
        self._lease.overdue()
        if self._lapses == (lapses := self._lease.lapses):
            return
        if not self._lease.put(f"{self._name}.{self._number + 1}"):
            raise UserError(
                f"{self._lease.home.parent}: this command was stopped for so long that another took over; run it again"
            )
        self._lapses, self._number = lapses, self._number + 1


def check_home(folder: Path) -> None:
    """Refuses a folder of leases with symlinks."""
    for place in (folder, folder / LEASES, *(folder / LEASES).glob("claims-*")):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink() and (place != folder or entry.name == LEASES):
                    raise UserError(f"{entry.path}: is a link, and no lease of ours is one; use a copy (`cp -rL`)")


def holders(lease: Lease, name: str) -> list[str | None]:
    """Holders of a name's numbers; takes the next number, proof that there are no more."""
    last = take_next(lease, name)
    return [owner_of(lease.home / f"{name}.{number}") for number in range(last)]


def _last(lease: Lease, name: str) -> int:
    """Last visible number of a name; there may be later ones."""
    numbers = (file.suffix[1:] for file in lease.home.glob(f"{name}.*"))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


_LEASES: set[Lease] = set()
_beating: threading.Thread | None = None
_guard = threading.Lock()


def _keep(lease: Lease) -> None:
    global _beating  # noqa: PLW0603 (one thread a process)
    with _guard:
        _LEASES.add(lease)
        if _beating is None:
            _beating = threading.Thread(target=_beat, daemon=True, name="leases")
            _beating.start()


def _beat() -> None:
    while True:
        time.sleep(SECONDS / BEATS)
        for lease in list(_LEASES):
            lease.beat()


def _forget() -> None:
    global _beating, _guard
    _LEASES.clear()
    _beating, _guard = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


_OWN: set[int] = set()
"""What this process has open for its own; a forked child does not keep it."""
_HELD: dict[int, Lease] = {}
"""Those of them that it holds by a lease."""
_TOKEN = re.compile(r"-([0-9a-f]{16})\.\w+")


def lease_of(file: Path) -> str | None:
    """Token in the name of a leased file."""
    match = _TOKEN.search(file.name)
    return match[1] if match and shared(file.parent) else None


def is_held(file: Path) -> bool:
    """True if a living process holds the file by its lock or lease.

    Takes a shared lock, lest two lookers take each other for holders; needs no right to write.
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
    """Opens a file leased until it is closed."""
    with explain_errors(f"{path}: cannot be opened for writing", "; use another folder"):
        fd = open_own(path)
    _HELD[fd] = lease
    return fd


def lapses_of(fd: int) -> int:
    """Times that others may have taken it for abandoned."""
    if (lease := _HELD.get(fd)) is None:
        return 0
    lease.overdue()
    return lease.lapses


def open_own(path: Path) -> int:
    """Opens a regular file to read and append; forks close it."""
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
        if (lease := _HELD.pop(fd, None)) is not None:
            lease.end()


def _forget_own() -> None:
    _HELD.clear()
    while _OWN:
        os.close(_OWN.pop())


def lock_own(path: Path, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> int | None:
    """Opens and locks a file until it is closed."""
    with explain_errors(f"{path}: cannot be opened for writing", "; use another folder"):
        fd = open_own(path)
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
