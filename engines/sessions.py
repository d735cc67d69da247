"""Engine sessions: time, devices and memory."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import statistics
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livek12.core.arguments import SPREADING, masked
from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.ranks import this_rank
from livek12.core.run.journal import JournalWriter
from livek12.core.run.sessions import RULES, STEM, DeviceEnergy, Memory, Session, Stage
from livek12.engines.common import figures_of
from livek12.engines.devices import Gpus, bytes_written, measure, peak_rss

BEAT_SECONDS = 20.0
LOOK_SECONDS = 1.0
"""Interval of reading the GPUs' busy share."""
CLOSING_TRIES = 15


class SessionWriter:
    """A context manager around an engine's whole life.

    Call `loaded` when the engine is ready, and close it before leaving, when memory is measured. Without a folder
    nothing is written.
    """

    def __init__(
        self, folder: Path | None, stage: Stage, engine: str, model: str, args: Mapping[str, Any] | None = None
    ) -> None:
        self._folder, self._args = folder, dict(args or {})
        self._local = engine != RULES and not kind_of(engine).is_elsewhere and not self._args.get("base_url")
        self._lock, self._counting = threading.Lock(), threading.Lock()
        self._over = threading.Event()
        self._writer: JournalWriter | None = None
        self._thread: threading.Thread | None = None
        self._engine: object = None
        self._requests: int | None = None
        self._tokens: int | None = 0
        self._first: float | None = None
        self._gpus: Gpus | None = None
        self._joules: dict[str, float] | None = None
        self._busy: list[float] = []
        self._written = bytes_written()
        self._began, now = time.monotonic(), time.time()
        job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        self.session = Session(
            id=uuid.uuid4().hex,
            stage=stage,
            engine=engine
            if self._local or engine == RULES or kind_of(engine).is_elsewhere
            else "openai",  # remote, whatever serves it
            model=model,
            engine_args=masked(self._args),
            host=socket.gethostname(),
            pid=os.getpid(),
            job=f"{job}_{task}" if job and task else os.environ.get("SLURM_JOB_ID"),
            started=now,
            at=now,
        )

    def loaded(self, engine: object = None) -> None:
        """Records that the engine is ready."""
        self._engine = engine
        sizes = {name: getattr(engine, name) for name in ("gpus", "replicas") if hasattr(engine, name)}
        self._write(loaded=self._now(), after_load=self._measured(), **sizes)
        self._meter()

    def count(self, ended: int = 1, completion_tokens: int | None = None) -> None:
        """Counts ended requests and completion tokens."""
        with self._counting:
            if self._requests is None and self.session.loaded is not None:
                self._first = round(self._now() - self.session.loaded, 2)
            self._requests = (self._requests or 0) + ended
            countable = self._tokens is not None and completion_tokens is not None
            self._tokens = (self._tokens or 0) + (completion_tokens or 0) if countable else None

    def _meter(self) -> None:
        needed = math.ceil(self.session.gpus)
        elsewhere = self._args.get("ray") not in (None, "local")
        if not needed or not self._local or self._folder is None or elsewhere:
            return
        gpus = Gpus(needed)
        if len(gpus.uuids) == needed:
            self._joules, self._gpus = gpus.joules(), gpus  # in this order: the sampling thread checks the latter
        else:
            gpus.close()

    def __enter__(self) -> SessionWriter:
        if self._folder is not None:
            self._writer = JournalWriter(self._folder, STEM, summed=True)
            here = measure() if self._local else None
            gpus, replicas = devices_of(self._args, here, whole=self.session.engine == "transformers")
            gpus = gpus if self._local else 0
            self._write(before_load=_first_devices(here, gpus), gpus=gpus, replicas=replicas)
            self._thread = threading.Thread(target=self._beat, name="session", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._writer is None:
            return
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(UserError):  # the work reports its own problems
            self._write(ended=True, after_close=self._measured())
            tries = CLOSING_TRIES  # a driver needs time to free the memory of killed processes
            while self.session.stuck and (tries := tries - 1) >= 0:
                time.sleep(1)
                self._write(after_close=self._measured())
        if self._gpus is not None:
            self._gpus.close()
        self._writer.close()

    def _beat(self) -> None:
        due = time.monotonic() + BEAT_SECONDS
        while not self._over.wait(min(LOOK_SECONDS, BEAT_SECONDS)):
            if self._gpus is not None and (share := self._gpus.busy()) is not None:
                self._busy.append(share)
            if time.monotonic() >= due:
                due = time.monotonic() + BEAT_SECONDS
                with contextlib.suppress(UserError):
                    self._write(**self._grown())

    def _used(self) -> dict[str, Any]:
        if self._gpus is None:
            return {}
        now, used = self._gpus.joules(), {}
        if now is not None and self._joules is not None:
            first = self._joules
            used["energy"] = [DeviceEnergy(device=name, first=first[name], last=now[name]) for name in now]
        return used | ({"busy": statistics.mean(self._busy)} if self._busy else {})

    def _now(self) -> float:
        return self.session.started + time.monotonic() - self._began

    def _measured(self) -> Memory | None:
        return _first_devices(measure(), self.session.gpus) if self._local and self._folder is not None else None

    def _since(self) -> int | None:
        now = bytes_written()
        return None if now is None or self._written is None else now - self._written

    def _grown(self) -> dict[str, Memory]:
        loaded = self.session.after_load
        if loaded is None or self.session.replicas < 2:
            return {}
        now = self._measured()
        return {"after_load": now} if now is not None and now.on_devices > loaded.on_devices else {}

    def _write(self, **changes: Any) -> None:
        with self._lock:
            values: dict[str, Any] = {"at": self._now(), "figures": figures_of(self._engine)}
            values |= {"requests": self._requests, "completion_tokens": self._tokens if self._requests else None}
            values["first_answer"] = self._first
            values |= {"peak_rss": peak_rss(), "written": self._since(), **self._used()}
            self.session = self.session.model_copy(update=values | changes)
            if self._writer is not None:
                self._writer.append(self.session)


def _first_devices(memory: Memory | None, gpus: float) -> Memory | None:
    return memory and memory.model_copy(update={"devices": memory.devices[: math.ceil(gpus)]})


def devices_of(args: Mapping[str, Any], memory: Memory | None, whole: bool = False) -> tuple[float, int]:
    """Devices and replicas of an engine by its arguments.

    `whole`: it takes every device by default (accelerate does), shared by the processes of a launch.
    """

    def number(name: str, default: float) -> float:
        try:
            return max(0.0, float(args.get(name, default)))
        except (TypeError, ValueError):
            return default

    replicas, here = max(1, int(number("replicas", 1))), len(memory.devices) if memory is not None else 0
    if not here and "gpus" not in args:
        return 0, replicas
    split = math.prod(max(1, int(number(name, 1))) for name in SPREADING)
    alone = this_rank().alone
    return replicas * number("gpus", (here if alone else 1) if whole else split), replicas
