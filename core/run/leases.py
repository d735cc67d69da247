"""Holding things on a file system whose locks may not reach other machines: NFS, Lustre, anything through FUSE.

Contract: nothing is trusted there but what the server does in one step: of all who link a file to one name, one
succeeds. What others see of it may be late: a file that has been made may seem missing for a while, and what has been
written may look old; so what cannot be seen counts as held. A holder lives as long as it goes on writing its beat,
which others watch by their own clocks, and has gone when it says so, when its process has ended (seen from the same
machine), or when nothing new was seen of it for `SECONDS`. Nothing is ever taken back: who takes over from one that has
gone links the next number. A holder that was taken for gone and comes back may do something twice, and the readers of a
run keep one of the two, always the same.

    .leases/alive-TOKEN        the beat of a holder
    .leases/tag-TOKEN.N        what it links to names: its token; not linked more than `MOST_LINKS` times
    .leases/NAME.K             who holds a name: the highest number counts
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from livek12.core.errors import UserError
from livek12.core.files import open_file

FOLDER: Final = ".leases"
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
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV})


def shared(folder: Path) -> bool:
    """Whether a folder lies where the locks of one machine may not hold for another, and leases work.

    LIVEK12_LEASES=1 or 0 says so in place of the file system's type.
    """
    try:
        return _is_shared(folder.stat().st_dev, folder)
    except OSError:
        return False


def _is_shared(device: int, folder: Path) -> bool:
    said = os.environ.get("LIVEK12_LEASES", "")
    kind = _kinds().get((os.major(device), os.minor(device)), "")
    remote = kind in _REMOTE or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
    return (said == "1" or (said != "0" and remote)) and _links(device, str(folder))


def _kinds() -> dict[tuple[int, int], str]:
    """The type of each mounted file system, by its device; of Linux."""
    found = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            place, _, kind = line.partition(" - ")
            major, minor = map(int, place.split()[2].split(":"))
            found[major, minor] = kind.split()[0]
    return found


@cache
def _links(device: int, folder: str) -> bool:
    """Whether files can be linked there, from one folder to another; some that are mounted from buckets cannot."""
    one = Path(folder) / f".linked.{uuid.uuid4().hex}"
    other = one.with_name(one.name + ".too")
    try:
        one.mkdir()
        (one / "file").touch()
        os.link(one / "file", other)
    except OSError as error:
        return error.errno not in _NO_LINKS
    finally:
        with suppress(OSError):
            other.unlink()
        with suppress(OSError):
            (one / "file").unlink()
        with suppress(OSError):
            one.rmdir()
    return True


class Beat(NamedTuple):
    """What a holder writes of itself."""

    number: int
    machine: str
    pid: int
    started: str
    seconds: float
    ended: bool


class Lease:
    """A holder, alive until `end` or the end of its process; a forked child has none of its parent's.

    Args:
        folder: that it holds something in.

    Attributes:
        token: names it.
        lapses: how often it was silent for so long that others may have taken it for gone.

    Raises:
        UserError: nothing can be written there.
    """

    def __init__(self, folder: Path) -> None:
        self.token, self.home, self.lapses = uuid.uuid4().hex[:16], folder / FOLDER, 0
        self._number = self._tags = self._links = 0
        self._at = time.monotonic()
        self._tag: Path | None = None
        try:
            self.home.mkdir(exist_ok=True)
            self._write(ended=False)
        except OSError as error:
            raise UserError(f"{self.home}: cannot be written ({error.strerror}); use another folder") from error
        _keep(self)

    def put(self, name: str) -> bool:
        """Takes a name that nobody has; whether it did.

        Raises:
            OSError: it cannot be said.
        """
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
        """Looks whether it was silent for too long, as a process is that was stopped."""
        if time.monotonic() - self._at > SECONDS:
            self.beat()

    def beat(self) -> None:
        """Tells that it is alive."""
        now = time.monotonic()
        self.lapses += now - self._at > SECONDS
        self._number += 1
        with suppress(OSError):
            self._write(ended=False)
            self._at = now

    def end(self) -> None:
        """Tells that it has gone."""
        _LEASES.discard(self)
        with suppress(OSError):
            self._write(ended=True)

    def _write(self, ended: bool) -> None:
        beat = Beat(self._number, _machine(), os.getpid(), _started(os.getpid()), SECONDS, ended)
        _store(self.home / f"alive-{self.token}", json.dumps(beat).ljust(200).encode())


def _store(path: Path, text: bytes, flags: int = 0) -> None:
    """Writes a short text in one step and closes the file, so that others who open it then see it."""
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
    """The token of who holds a name; None where it cannot be seen, which says nothing."""
    try:
        return _load(path).decode() or None
    except (OSError, UnicodeDecodeError):
        return None


# --- who lives ------------------------------------------------------------------------------------------------------

_SEEN: dict[Path, tuple[bytes, float, bool]] = {}
"""The last beat seen of each holder, when by our clock that was new, and whether it followed another."""


def lives(folder: Path, token: str) -> bool:
    """Whether a holder may still be alive, as far as can be seen from here."""
    path = folder / FOLDER / f"alive-{token}"
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
    """Whether a holder counts as alive only because it was not watched for long enough."""
    if not lives(folder, token) or (seen := _SEEN.get(folder / FOLDER / f"alive-{token}")) is None:
        return False
    _, at, beats = seen
    return not beats or time.monotonic() - at > SECONDS / 2


def _long_ago(path: Path) -> bool:
    """Whether the server dates the last beat long before the last one of ours."""
    with suppress(OSError):
        ours = [(lease.home / f"alive-{lease.token}").stat().st_mtime for lease in list(_LEASES)]
        return bool(ours) and max(ours) - path.stat().st_mtime > LONG_AGO
    return False


@cache
def _machine() -> str:
    """This boot of this machine, and its space of process ids."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    return uuid.uuid4().hex


def _started(pid: int) -> str:
    """When a process of this machine started, so that its id is no other's; "" where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


# --- names with numbers -----------------------------------------------------------------------------------------------


def named(token: str) -> Lease | None:
    """The lease of this process that bears a token."""
    return next((lease for lease in list(_LEASES) if lease.token == token), None)


def take_next(lease: Lease, name: str) -> int:
    """Takes the first number of a name that nobody has, whoever holds those before it."""
    number = _last(lease, name)
    while not lease.put(f"{name}.{number}"):
        number += 1
    return number


class Turn:
    """The turn of a lease at a name, from the end of the one before it.

    Args:
        lease: whose turn it is.
        name: of what.
    """

    def __init__(self, lease: Lease, name: str) -> None:
        self._lease, self._name, self._number = lease, name, _last(lease, name)
        while not lease.put(f"{name}.{self._number}"):
            holder = owner_of(lease.home / f"{name}.{self._number}")
            if holder is None or lives(lease.home.parent, holder):
                time.sleep(LOOK_SECONDS)
            else:
                self._number += 1
        self._lapses = lease.lapses

    def check(self) -> None:
        """Looks whether the turn is still the lease's; after a silence that was too long it takes the next number.

        Raises:
            UserError: another has taken over.
        """
        self._lease.overdue()
        if self._lapses == self._lease.lapses:
            return
        self._lapses, self._number = self._lease.lapses, self._number + 1
        if not self._lease.put(f"{self._name}.{self._number}"):
            raise UserError(
                f"{self._lease.home.parent}: this command was stopped for so long that another took over; run it again"
            )


def check_home(folder: Path) -> None:
    """Refuses a folder whose leases lead elsewhere.

    Raises:
        UserError: something of them is a symlink.
    """
    for place in (folder, folder / FOLDER, *(folder / FOLDER).glob("claims-*")):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink() and (place != folder or entry.name == FOLDER):
                    raise UserError(f"{entry.path}: is a link, and no lease of ours is one; use a copy (`cp -rL`)")


def holders(lease: Lease, name: str) -> list[str | None]:
    """Who has taken the numbers of a name (`owner_of`); takes the next one, for only that shows that there is none."""
    last = take_next(lease, name)
    return [owner_of(lease.home / f"{name}.{number}") for number in range(last)]


def _last(lease: Lease, name: str) -> int:
    """The last number of a name that is seen; there may be later ones."""
    found = (file.suffix[1:] for file in lease.home.glob(f"{name}.*"))
    return max((int(number) for number in found if number.isdecimal()), default=0)


# --- the beating of all leases of this process ------------------------------------------------------------------------

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
