"""Far end of a pool's member: a remote engine behind messages.

The near end (Pool) sends AskMessage, End, Abort and Stop; the far end answers Ready or Refused, then Told repeatedly,
and Lost if the engine is gone. Transports (`Child`, ray.py) keep the order. The engine reports each request that it
takes, so the near end keeps a few waiting whatever the engine's window. A picture travels once: both ends keep an
`Album` and process the same requests in the same order. Of a child's output the terminal gets only its last line when
it dies.
"""

from __future__ import annotations

import os
import pickle
import queue
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from livek12.core.errors import UserError
from livek12.core.process import ChildProcess, Ended, Link, cores
from livek12.core.records import Image, Key, Request
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.engines.base import Engine, EngineDied, Outcome
from livek12.engines.common import failure, figures_of
from livek12.engines.devices import own_turn
from livek12.engines.reaper import begun, wait_until_gone

ALBUM_BYTES = 64 << 20
"""Encoded pictures at each end of a member: some hundred pages."""
LULL_SECONDS = 0.25
"""Pause without requests after which the engine finishes its work: it idles while it waits for requests."""


@dataclass(frozen=True, slots=True)
class AskMessage:
    """Requests; `epoch` counts the pool's calls of `generate`."""

    epoch: int
    requests: list[Request]


@dataclass(frozen=True, slots=True)
class End:
    """End of requests for now."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Cancels an epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Close the engine and end."""


Message = AskMessage | End | Abort | Stop


@dataclass(frozen=True, slots=True)
class Ready:
    """The engine is loaded; its facts."""

    name: str
    model: str
    revision: str | None
    images: bool
    versions: dict[str, str]
    host: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Refused:
    """The engine's UserError: it cannot run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The engine's death."""

    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """Requests taken, outcomes, and final figures."""

    epoch: int
    taken: int
    outcomes: list[Outcome]
    figures: Figures | None = None


Report = Ready | Refused | Lost | Told


class Album:
    """Latest `limit` bytes of pictures."""

    def __init__(self, limit: int = ALBUM_BYTES) -> None:
        self._kept: OrderedDict[str, Image] = OrderedDict()
        self._bytes = 0
        self._limit = limit

    def pack(self, request: Request) -> Request:
        """Request without pictures known to the other end."""
        if not request.images:
            return request
        images = {name: None if name in self._kept else image for name, image in request.images.items()}
        self._keep(request.images)
        return request.model_copy(update={"images": images})

    def unpack(self, request: Request) -> Request:
        """The request before `pack`."""
        if not request.images:
            return request
        images = {name: image or self._kept[name] for name, image in request.images.items()}
        self._keep(images)
        return request.model_copy(update={"images": images})

    def _keep(self, images: dict[str, Image]) -> None:
        for name, image in images.items():
            if name not in self._kept:
                self._kept[name] = image
                self._bytes += len(image.bytes or b"")
            self._kept.move_to_end(name)
        while self._bytes > self._limit and len(self._kept) > len(images):
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped.bytes or b"")


class Worker:
    """Runs an engine in `run`'s thread; `post` is for another."""

    def __init__(
        self, build: Callable[[], Engine], emit: Callable[[Report], None], cores: frozenset[int] | None = None
    ) -> None:
        self._build = build
        self._emit = emit
        self._cores = cores
        self._album = Album()
        self._inbox: queue.SimpleQueue[tuple[int, Request | None]] = queue.SimpleQueue()
        self._held: tuple[int, Request] | None = None  # taken out of the inbox, from a later epoch
        self._done_with = 0  # epochs up to this one are aborted
        self._stopped = False

    def post(self, message: Message) -> None:
        """Queues a message; never blocks."""
        if isinstance(message, AskMessage):
            for request in message.requests:
                self._inbox.put((message.epoch, self._album.unpack(request)))
            return
        if isinstance(message, Abort):
            self._done_with = message.epoch
        elif isinstance(message, Stop):
            self._stopped = True
        self._inbox.put((message.epoch if isinstance(message, End) else 0, None))

    def run(self) -> None:
        """Serves until stopped."""
        try:
            if self._cores and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, self._cores)
            with own_turn():
                engine = self._build()
            facts = (engine.name, engine.model, engine.revision, engine.images, engine.versions())
            self._emit(Ready(*facts, socket.gethostname(), figures_of(engine)))
            while (first := self._next()) is not None:
                self._round(engine, *first)
            with suppress(Exception):
                engine.close()
        except UserError as error:
            self._emit(Refused(str(error)))
        except EngineDied as error:
            self._emit(Lost(one_line(error)))
        except Exception as error:  # the library may raise anything: the next engine may fare better
            self._emit(Lost(one_line(f"{type(error).__name__}: {error}")))

    def _next(self) -> tuple[int, Request] | None:
        while not self._stopped:
            epoch, request = self._held or self._inbox.get()
            self._held = None
            if request is not None and epoch > self._done_with:
                return epoch, request
        return None

    def _round(self, engine: Engine, epoch: int, first: Request) -> None:
        hand: dict[Key, Request] = {}
        taken = 0

        def tell(*outcomes: Outcome, figures: Figures | None = None) -> None:
            nonlocal taken
            self._emit(Told(epoch, taken, list(outcomes), figures))
            taken = 0

        def feed() -> Iterator[Request]:
            nonlocal taken
            request: Request | None = first
            while request is not None:
                taken += 1
                hand[request.key] = request
                yield request
                if self._inbox.empty():
                    tell()
                request = self._following(epoch)

        outcomes = engine.generate(feed())
        for outcome in outcomes:
            hand.pop(outcome.key, None)
            tell(outcome)
            if self._stopped or epoch <= self._done_with:
                if hasattr(outcomes, "close"):
                    outcomes.close()
                return
        lost = (failure(request, "the engine ended without an outcome") for request in hand.values())
        tell(*lost, figures=figures_of(engine))

    def _following(self, epoch: int) -> Request | None:
        try:
            came, request = self._inbox.get(timeout=LULL_SECONDS)
        except queue.Empty:
            return None
        if request is not None and came != epoch:
            self._held, request = (came, request), None
        return None if self._stopped or epoch <= self._done_with else request


GONE_SECONDS = 10.0
"""Time for killed processes to be gone."""


def core_shares(count: int, cpus: float | None = None) -> list[tuple[dict[str, str], frozenset[int] | None]]:
    """Environment and cores of engines sharing a machine."""
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    total = cores()
    width = max(1, min(total, int(cpus or total // count)))
    shares = [
        frozenset(here[(number * width + core) % total] for core in range(width) if here) for number in range(count)
    ]
    return [({"OMP_NUM_THREADS": str(width)}, share or None) for share in shares]


class Child:
    """A member in a child process; `build` is pickled."""

    def __init__(
        self,
        build: Callable[[], Engine],
        environment: Mapping[str, str] | None = None,
        cores: frozenset[int] | None = None,
    ) -> None:
        first = pickle.dumps((build, cores))
        self._process = ChildProcess(serve, quiet=True, environment=environment)
        self._process.send(first)

    def send(self, message: Message) -> None:
        """Sends; ignores a dead child."""
        self._process.send(pickle.dumps(message))

    def receive(self) -> Report:
        """Waits for a report."""
        try:
            report: Report = pickle.loads(self._process.receive())
        except Ended as end:
            raise EngineDied(str(end)) from None
        return report

    def close(self, seconds: float) -> None:
        """Waits for the process, then kills it with its descendants."""
        ending = begun([self._process.pid])
        self._process.wait(seconds)
        self._process.kill()
        wait_until_gone(ending, GONE_SECONDS)


def serve(link: Link) -> None:
    """The child's main function."""
    try:
        build, cores = link.recv()
    except Exception as error:  # not importable here
        link.send(Refused(one_line(f"{type(error).__name__}: {error}")))
        return
    worker = Worker(build, link.send, cores)
    threading.Thread(target=_listen, args=(link, worker), daemon=True, name="listener").start()
    worker.run()
    sys.stdout.flush()
    os._exit(0)  # the engine is closed; its libraries may hang at exit


def _listen(link: Link, worker: Worker) -> None:
    with suppress(EOFError, OSError):  # it ends with this process
        while True:
            worker.post(link.recv())
