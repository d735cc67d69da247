"""A pool of Ray actors, on this machine or a cluster.

Ray Data would repeat the whole block of a lost worker. Reports are a waiting call, because Ray's client (`ray://`) has
no streaming calls. Nodes use their own livek12; other versions are refused.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import re
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from livek12.core.errors import UserError, install
from livek12.core.lazy import ray
from livek12.core.silence import silent_ray
from livek12.core.text import one_line
from livek12.engines.base import Engine, EngineDied
from livek12.engines.pool import Pool
from livek12.engines.pool.worker import Message, Report, Worker, core_shares

Call = TypeVar("Call", bound=Callable[..., Any])
_log = logging.getLogger(__name__)

OBJECT_STORE_BYTES = 256 << 20
"""Shared memory of a local Ray, for messages in transit."""
PLACING_SECONDS = 60
"""Seconds before the user is told that an actor is not placed."""
JOINING_SECONDS = 10
_LITTLE = 0.01
_CALLS = {"post": 1, "reports": 1}
"""Concurrency groups of an actor: one thread each keeps the order of messages; `run` has its own."""


def _in_group(name: str) -> Callable[[Call], Call]:
    def mark(method: Call) -> Call:
        method.__ray_concurrency_group__ = name  # type: ignore[attr-defined]
        return method

    return mark


class FarEnd:
    """An engine in a Ray worker; relative paths start in `folder`, if present there."""

    def __init__(
        self, build: Callable[[], Engine], environment: Mapping[str, str], cores: frozenset[int] | None, folder: str
    ) -> None:
        os.environ.update(environment)
        if Path(folder).is_dir():
            os.chdir(folder)
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._worker = Worker(build, self._reports.put, cores)

    @_in_group("post")
    def placed(self) -> None:
        """Returns once the actor runs."""

    def run(self) -> None:
        """Serves until stopped."""
        self._worker.run()

    @_in_group("post")
    def post(self, message: Message) -> None:
        """Queues a message."""
        self._worker.post(message)

    @_in_group("reports")
    def reports(self) -> list[Report]:
        """Waits for a report; returns all available."""
        reports = [self._reports.get()]
        with suppress(queue.Empty):
            while True:
                reports.append(self._reports.get_nowait())
        return reports


class RayMember:
    """A member on Ray; `build` is pickled, so nodes must be able to import it."""

    def __init__(
        self,
        build: Callable[[], Engine],
        gpus: float,
        cpus: float,
        environment: Mapping[str, str] | None = None,
        cores: frozenset[int] | None = None,
    ) -> None:
        actor = ray.remote(num_gpus=gpus, num_cpus=cpus, max_restarts=0, concurrency_groups=_CALLS)(FarEnd)
        self._actor = actor.remote(build, dict(environment or {}), cores, str(Path.cwd()))
        self._run = self._actor.run.remote()
        self._backlog: deque[Report] = deque()
        self._wants = f"{gpus:g} GPUs and {cpus:g} CPUs"
        self._placed = False
        self._closed = False

    def send(self, message: Message) -> None:
        """Calls the actor without waiting."""
        from ray.exceptions import RayError

        with suppress(RayError):
            self._actor.post.remote(message)

    def receive(self) -> Report:
        """Waits for a report."""
        from ray.exceptions import RayError

        while not self._backlog:
            if self._closed:
                raise EngineDied("its Ray actor is closed")
            try:
                self._await_place()
                call = self._actor.reports.remote()
                self._backlog.extend(ray.get(call))
            except RayError as error:
                self.close(0)  # an unreachable actor may still work: its results are void
                raise EngineDied(_ending(error)) from None
        return self._backlog.popleft()

    def _await_place(self) -> None:
        """Warns if placement takes long, as it may never happen."""
        if not self._placed:
            call = self._actor.placed.remote()
            if not ray.wait([call], timeout=PLACING_SECONDS)[0]:
                free = ray.available_resources()
                there = ", ".join(f"{free.get(kind, 0):g} {kind}s" for kind in ("GPU", "CPU"))
                _log.warning("Ray has no room yet for a replica with %s; free are %s", self._wants, there)
            ray.get(call)
            self._placed = True

    def close(self, seconds: float) -> None:
        """Ends the actor after its work."""
        self._closed = True
        with suppress(Exception):  # the actor ends anyway
            if seconds:
                ray.wait([self._run], timeout=seconds)
            ray.kill(self._actor)


class RayEngine(Pool):
    """A pool of Ray actors. `spread`: GPUs of one engine."""

    def __init__(
        self,
        build: Callable[[], Engine],
        address: str,
        *,
        replicas: int = 1,
        gpus: float | None = None,
        cpus: float | None = None,
        spread: int = 1,
    ) -> None:
        self._started = connect(address, replicas * (cpus or 0))
        try:
            if gpus is None:
                gpus = spread if ray.cluster_resources().get("GPU") else 0
            share = address == "local" and not gpus
            shares = core_shares(replicas, cpus) if share else [({}, None)] * replicas
            reserved = cpus if cpus is not None else 0 if share else 1
            super().__init__([partial(RayMember, build, gpus, reserved, *own) for own in shares])
        except BaseException:
            self._disconnect()
            raise

    def close(self) -> None:
        """Ends the actors, and our Ray."""
        super().close()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._started:
            ray.shutdown()
            self._started = False


@cache
def said_there(function: Callable[[], bool], address: str, gpus: float | None) -> bool:
    """A function's result from a replica's node."""
    started = connect(address, 0)
    try:
        from ray.exceptions import RayError

        wanted = bool(ray.cluster_resources().get("GPU")) if gpus is None else gpus
        call = ray.remote(num_cpus=0, num_gpus=min(wanted, _LITTLE), max_retries=0)(function).remote()
        if not ray.wait([call], timeout=PLACING_SECONDS)[0]:
            _log.warning("Ray has no room yet to ask a node which engine it can run")
        return bool(ray.get(call))
    except RayError as error:
        raise UserError(f"ray={address}: its nodes cannot say which engine they run: {_last_line(error)}") from error
    finally:
        if started:
            ray.shutdown()


def connect(address: str, cpus: float) -> bool:
    """Starts or joins Ray; False if already joined."""
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # no call starts a Ray of its own
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UserError(f"ray= needs Ray: {install('ray')}") from error
    if ray.is_initialized():
        return False
    local: dict[str, Any] = {}
    if address == "local":
        local = {"num_cpus": max(os.cpu_count() or 1, math.ceil(cpus))}
        local |= {"object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
    try:
        if match := re.fullmatch(r"(?:ray://)?([^/]+):(\d+)", address):  # Ray itself would try for minutes
            socket.create_connection((match[1], int(match[2])), JOINING_SECONDS).close()
        ours = signal.getsignal(signal.SIGTERM)
        with silent_ray() if local else nullcontext():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **local)
        if threading.current_thread() is threading.main_thread() and ours is not None:
            signal.signal(signal.SIGTERM, ours)  # Ray's own would end the command with another code than Ctrl-C
    except Exception as error:
        there = "is it up, and its token here (RAY_AUTH_TOKEN; `ray get-auth-token`)?"
        advice = "start it with `ray start --head`, or take ray=local" if address == "auto" else there
        raise UserError(f"ray={address}: cannot be joined: {one_line(error, 160)}; {advice}") from error
    _hush()
    return True


def _hush() -> None:
    """Keeps Ray's reports of dead processes, with pages of state, off stdout."""
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda data, *_, **__: _log.debug("%s", data)


def _ending(error: Exception) -> str:
    from ray.exceptions import ActorUnavailableError

    if isinstance(error, ActorUnavailableError):
        return "its Ray actor cannot be reached"
    text = one_line(error, 10_000)
    if match := re.search(r"The actor (?:is dead|died) because ((?:its|it|the)[^.:]*)", text):
        return one_line(f"its Ray actor died because {match[1]}", 200)
    return f"its Ray actor died: {_last_line(error)}"


def _last_line(error: Exception) -> str:
    last = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(last[-1], 200)
