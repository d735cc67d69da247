"""A supervised child process, and a pool of them: a crash, hang or excess costs one request.

Contract: a child is a fresh interpreter that runs a function of a module and never imports its caller's main module. It
leads a session of its own: Ctrl-C is for the parent, and everything it starts ends with it. It ends with its parent,
even a killed one.

Not pebble or loky: with them a worker that is killed while it waits breaks the whole pool, a busy one outlives its
parent, the caller's main module is imported again, and results come back as pickles.
"""

from __future__ import annotations

import logging
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import IO, Any, Final, Protocol, Self, TypeAlias
from weakref import WeakSet

from livek12.core.text import one_line


class OfOneProcess(Protocol):
    """Owner of locks, threads or children, none of which a fork may use."""

    def after_fork(self) -> None:
        """Drops them in the fork."""
        ...


_told_of_forks: WeakSet[OfOneProcess] = WeakSet()


def tell_of_forks(thing: OfOneProcess) -> None:
    """Calls `after_fork` in each fork while the (weakly referenced) object is alive."""
    _told_of_forks.add(thing)


def _forked() -> None:
    for thing in list(_told_of_forks):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


Link: TypeAlias = "Connection[Any, Any]"
WATCH_SECONDS: Final = 2.0
"""How often each end looks whether the other still lives, should a third process hold the connection open."""
MOST_KILLS: Final = 2
"""Children that may be killed over a request before it is taken to be the cause."""
MOST_STARTS: Final = 6
"""Children that may be killed while they start."""
_BOOT: Final = (
    "import sys; from multiprocessing.connection import Connection; link = Connection(int(sys.argv[1])); "
    "sys.path[:] = link.recv(); from livek12.core.process import _begin; _begin(link)"
)
_log = logging.getLogger(__name__)


class Ended(Exception):
    """Child is gone; `code` is its exit code, negative for a signal, None where it was silent."""

    def __init__(self, how: str, code: int | None = None) -> None:
        super().__init__(how)
        self.code = code


class NotStarted(Ended):
    """Child was gone before it was ready."""


class Closed(Ended):
    """Pool was closed over the request."""


def cores() -> int:
    """Cores of this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ChildProcess:
    """Near end of a child.

    Args:
        work: called there as `work(link, *given)`; a function of a module. It leaves the link open.
        given: pickled.
        quiet: hides its prints; the last line goes into the message about its end.
    """

    def __init__(
        self,
        work: Callable[..., None],
        *given: object,
        quiet: bool,
        memory_bytes: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        task = pickle.dumps((work, given))
        ours, theirs = socket.socketpair()
        self._link: Link = Connection(ours.detach())
        with theirs, _above_standard(theirs) as end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, str(end.fileno())],
                pass_fds=(end.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE if quiet else None,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.ready = False
        self._limit: float | None = None
        self._killed = False
        self._last_line = ""
        self._hearing: threading.Thread | None = None
        if self._process.stderr is not None:
            self._hearing = threading.Thread(target=self._hear, args=(self._process.stderr,), daemon=True)
            self._hearing.start()
        for first in (pickle.dumps(sys.path), pickle.dumps((os.getpid(), memory_bytes)), task):
            self.send(first)

    def send(self, message: bytes, seconds: float | None = None) -> None:
        """Writes a message; lost if the child is gone.

        Raises:
            TimeoutError: the child took nothing for so many seconds.
        """
        self._limit_link(seconds)
        try:
            self._link.send_bytes(message)
        except BlockingIOError:
            raise TimeoutError from None
        except OSError:
            pass

    def receive(self, seconds: float | None = None) -> bytes:
        """Next message.

        Raises:
            TimeoutError: nothing came in time; the child may still live.
            Ended: the child is gone.
        """
        until = float("inf") if seconds is None else time.monotonic() + seconds
        try:
            while not self._link.poll(max(0.0, min(WATCH_SECONDS, until - time.monotonic()))):
                if self.returncode is not None and not self._link.poll():
                    raise EOFError
                if time.monotonic() >= until:
                    raise TimeoutError
            self._limit_link(seconds)
            message = self._link.recv_bytes()
        except TimeoutError:
            raise
        except (EOFError, OSError):
            raise Ended(self.ending(), self.returncode) from None
        self.ready = True
        return message

    def _limit_link(self, seconds: float | None) -> None:
        """Guards against a child that stops in the middle of a message."""
        if seconds != self._limit:
            ours = socket.socket(fileno=self._link.fileno())
            limit = struct.pack("ll", 0 if seconds is None else int(seconds) + 1, 0)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            ours.detach()
            self._limit = seconds

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it lives."""
        return self._process.poll()

    def ending(self) -> str:
        """Its end in words; kills it if needed."""
        self.wait(WATCH_SECONDS)
        self.kill()
        if self._hearing is not None:
            self._hearing.join(WATCH_SECONDS)  # what it has started may hold its output open
        return ending(self._process.returncode, self._last_line)

    def wait(self, seconds: float) -> None:
        """Waits at most so long for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> None:
        """Kills its session. The link stays open: another thread may be waiting at it."""
        if self._killed:  # later on the id may be another's
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._killed = True

    def _hear(self, noise: IO[bytes]) -> None:
        with noise:
            while line := noise.readline(4096):
                if text := one_line(line.decode(errors="replace"), 200):
                    self._last_line = text
                    _log.debug("%d: %s", self.pid, text)


def _above_standard(end: socket.socket) -> socket.socket:
    """The standard streams are replaced in a child; a parent may have none."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return socket.socket(fileno=fcntl(end.fileno(), F_DUPFD_CLOEXEC, 3))


def ending(code: int, last_line: str) -> str:
    """End of a process in words."""
    if code == -signal.SIGKILL:
        return "its process was killed (SIGKILL: by somebody, or by the system when memory ran out)"
    try:
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    except ValueError:
        how = f"by signal {-code}"
    return f"its process ended {how}" + (f": {last_line}" if last_line else "")


class ProcessPool:
    """Bounded, thread-safe pool of children, each serving one request at a time; a context manager.

    Children start when first needed. One that ends or times out costs its request and is replaced.

    Args:
        work: run by each child: takes requests from `requests(link)` and sends one reply to each.
        size: the most children at a time.
        wall_seconds: limit for one request or the start of a child.
    """

    def __init__(
        self,
        work: Callable[..., None],
        *given: object,
        size: int,
        quiet: bool,
        wall_seconds: float | None = None,
        memory_bytes: int | None = None,
    ) -> None:
        self.size = size
        self.wall_seconds = wall_seconds
        self._start: Callable[[], ChildProcess]
        self._start = partial(ChildProcess, work, *given, quiet=quiet, memory_bytes=memory_bytes)
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._all: set[ChildProcess] = set()
        self._closed = 0
        tell_of_forks(self)

    def ask(self, request: bytes, closed: int | None = None) -> bytes:
        """Reply of a child; `closed` counts the pool's closings when the request was made.

        Raises:
            NotStarted: it ended before it could take a request.
            Closed: the pool was closed since the request was made.
            Ended: it ended over the request, or was killed after a timeout.
        """
        closed = self._closed if closed is None else closed
        with self._free:
            child = self._take(closed)
            try:
                reply = self._exchange(child, request)
            except BaseException as error:
                self._drop(child, replace=isinstance(error, Ended) and child.ready)
                if isinstance(error, Ended) and self._closed != closed:
                    raise Closed(str(error)) from None
                raise
            with self._lock:
                if child in self._all:
                    self._idle.append(child)
            return reply

    def ask_again(self, request: bytes, closed: int | None = None) -> bytes:
        """As `ask`, with one retry after a killed child.

        A child killed at its start has not seen the request: other children get their turn.
        """
        killed, closed = 0, self._closed if closed is None else closed
        while True:
            try:
                return self.ask(request, closed)
            except Ended as error:
                killed += 1
                most = MOST_STARTS if isinstance(error, NotStarted) else MOST_KILLS
                if error.code != -signal.SIGKILL or killed >= most:
                    raise

    def pids(self) -> list[int]:
        """Ids of the children."""
        with self._lock:
            return [child.pid for child in self._all]

    def close(self) -> None:
        """Ends all children; the pool may be used again."""
        with self._lock:
            children, self._idle, self._all = self._all, [], set()
            self._closed += 1
        for child in children:
            child.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def after_fork(self) -> None:
        """Drops the parent's children and locks."""
        self._free, self._lock = threading.Semaphore(self.size), threading.Lock()
        self._idle, self._all = [], set()

    def _exchange(self, child: ChildProcess, request: bytes) -> bytes:
        try:
            if not child.ready:
                child.receive(self.wall_seconds)
            child.send(request, self.wall_seconds)
            return child.receive(self.wall_seconds)
        except TimeoutError:
            how, code = f"it was silent for {self.wall_seconds:g} s", None
        except Ended as error:
            how, code = str(error), error.code
        raise (Ended if child.ready else NotStarted)(how, code)

    def _take(self, closed: int) -> ChildProcess:
        with self._lock:
            if self._closed != closed:
                raise Closed("the pool was closed")
            while self._idle:
                child = self._idle.pop()
                if child.returncode is None:
                    return child
                self._all.discard(child)
                child.kill()
            try:
                child = self._start()
            except OSError as error:  # no interpreter, or no descriptors left
                raise NotStarted(f"the system says {one_line(error, 200)}") from None
            self._all.add(child)
            return child

    def _drop(self, child: ChildProcess, *, replace: bool) -> None:
        """`replace` starts another at once, to spare the next request the wait."""
        child.kill()
        with self._lock:
            was_here = child in self._all  # else the pool was closed meanwhile
            self._all.discard(child)
            if replace and was_here and len(self._all) < self.size:
                with suppress(OSError):  # which the next request will be told
                    self._idle.append(self._start())
                    self._all.add(self._idle[-1])


# ---- in the child ----


def requests(link: Link) -> Iterator[bytes]:
    """Reports ready to the pool, then yields its requests."""
    link.send_bytes(b"")
    while True:
        yield link.recv_bytes()


def limit_time(seconds: float) -> None:
    """Ends this process by SIGPROF after so much more processor time; 0 for no limit."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


@contextmanager
def untimed() -> Iterator[None]:
    """Suspends `limit_time` while a library loads."""
    remaining, interval = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, remaining, interval)


def _begin(link: Link) -> None:
    parent, memory_bytes = link.recv()
    os.set_inheritable(link.fileno(), False)
    os.dup2(2, 1)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})  # a thread that starts children may have blocked it
    threading.Thread(target=_end_with, args=(parent, link), daemon=True, name="parent").start()
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    work, given = link.recv()
    try:
        work(link, *given)
    except (EOFError, ConnectionError):
        if not _is_left(link.fileno(), 0):
            raise
        os.killpg(0, signal.SIGKILL)


def _end_with(parent: int, link: Link) -> None:
    """A fork of the parent may hold the link open."""
    end = link.fileno()
    while os.getppid() == parent and not _is_left(end, WATCH_SECONDS):
        pass
    os.killpg(0, signal.SIGKILL)


def _is_left(end: int, seconds: float) -> bool:
    hang_up = select.poll()
    hang_up.register(end, 0)
    return bool(hang_up.poll(1000 * seconds))


def _limit_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:
        return
    own = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = limit if own == resource.RLIM_INFINITY else min(limit, own)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
