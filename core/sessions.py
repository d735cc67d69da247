"""When which engine was up, on what, and what it held: the journal `sessions-N.jsonl` of a run folder.

Contract: one session is one engine from before it is loaded until it is closed. Every line of the journal is the whole
state of its session at `at`, and of each session the last line counts: so the time of a killed process counts up to
its last beat, which is at most `BEAT_SECONDS` before its end. GPU-hours are `gpu_seconds / 3600`, added up.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from livek12.core.engines.memory import GIB, Memory, measure
from livek12.core.errors import UserError
from livek12.core.journal import JournalWriter, read_journal
from livek12.core.ranks import this_rank
from livek12.core.records import Record

STEM = "sessions"
BEAT_SECONDS = 20.0
Stage = Literal["generate", "judge"]
REMOTE = frozenset({"openai", "replay"})
"""Engines that hold no model in this process or its children."""


class Session(Record):
    """One engine's time in a run folder; times in seconds since the epoch.

    `gpus` is how many devices the engine has for itself, all replicas together (0: none, none that the driver's tool
    told of, or not ours to count, as at an endpoint). `engine` is `openai` for whatever is asked through an address.
    `loaded` is when it was ready. `at` is the last that is known of it, and `ended` whether that was its orderly end.
    `job` is the scheduler's name of the job. Memory is measured before the load, after it, and after the close.
    """

    id: str
    stage: Stage
    engine: str
    model: str
    gpus: float = 0
    replicas: int = 1
    host: str
    pid: int
    job: str | None = None
    started: float
    loaded: float | None = None
    at: float
    ended: bool = False
    before_load: Memory | None = None
    after_load: Memory | None = None
    after_close: Memory | None = None

    @property
    def seconds(self) -> float:
        """How long it lasted, as far as is known."""
        return self.at - self.started

    @property
    def gpu_seconds(self) -> float:
        """Device time: the seconds times the devices."""
        return self.seconds * self.gpus

    @property
    def stuck(self) -> bool:
        """Whether more than a tenth of the device memory that the engine took stayed when it was closed.

        What a process needs to talk to a device at all (below a GiB) stays as long as the process does.
        """
        if self.before_load is None or self.after_load is None or self.after_close is None:
            return False
        taken = self.after_load.on_devices - self.before_load.on_devices
        left = self.after_close.on_devices - self.before_load.on_devices
        return left > max(taken / 10, GIB)


def read_sessions(folder: Path, on_problem: Callable[[str], None] | None = None) -> list[Session]:
    """The sessions of a run folder, each as last written, in the order in which they began."""
    last = {session.id: session for session in read_journal(folder, STEM, Session, on_problem)}
    return sorted(last.values(), key=lambda session: session.started)


class Sitting:
    """Writes one session while its engine is up; a context manager around making, using and closing the engine.

    Call `loaded` when the engine is ready, and close the engine before leaving, which gives its memory back: on
    leaving, what is held is measured and written. Without a folder nothing is written. A beat that cannot be stored is
    passed over.

    Args:
        folder: the run folder, or None.
        stage: what the engine does.
        engine: its name.
        model: its model.
        args: its arguments, which say how many devices it takes.
    """

    def __init__(
        self, folder: Path | None, stage: Stage, engine: str, model: str, args: Mapping[str, Any] | None = None
    ) -> None:
        self._folder, self._args = folder, dict(args or {})
        self._local = engine not in REMOTE and not self._args.get("base_url")
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._writer: JournalWriter | None = None
        self._thread: threading.Thread | None = None
        now = time.time()
        job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        self.session = Session(
            id=uuid.uuid4().hex,
            stage=stage,
            engine=engine if self._local or engine in REMOTE else "openai",  # whatever serves it, it is not here
            model=model,
            host=socket.gethostname(),
            pid=os.getpid(),
            job=f"{job}_{task}" if job and task else os.environ.get("SLURM_JOB_ID"),
            started=now,
            at=now,
        )

    def loaded(self, engine: object = None) -> None:
        """Says that the engine is ready; an engine that knows better says `gpus` and `replicas` itself."""
        known = {name: getattr(engine, name) for name in ("gpus", "replicas") if hasattr(engine, name)}
        self._write(loaded=time.time(), after_load=self._measured(), **known)

    def __enter__(self) -> Sitting:
        if self._folder is not None:
            self._writer = JournalWriter(self._folder, STEM)
            memory = self._measured()
            gpus, replicas = devices_of(self._args, memory, whole=self.session.engine == "transformers")
            self._write(before_load=memory, gpus=gpus if self._local else 0, replicas=replicas)
            self._thread = threading.Thread(target=self._beat, name="session", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._writer is None:
            return
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(UserError):  # the record that matters is the work's; its own trouble is said by it
            self._write(ended=True, after_close=self._measured())
        self._writer.close()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            with contextlib.suppress(UserError):
                self._write()

    def _measured(self) -> Memory | None:
        return measure() if self._local and self._folder is not None else None

    def _write(self, **changes: Any) -> None:
        with self._lock:
            self.session = self.session.model_copy(update={"at": time.time(), **changes})
            if self._writer is not None:
                self._writer.append(self.session)


def devices_of(args: Mapping[str, Any], memory: Memory | None, whole: bool = False) -> tuple[float, int]:
    """Devices and replicas of an engine by its arguments.

    Args:
        args: of the engine: `replicas`, `gpus` of each (else what its parallel sizes come to).
        memory: what is here; no device here and none asked for by name is none used.
        whole: the engine takes every device there is, unless told otherwise (accelerate does); the processes of one
            launch share them.
    """

    def number(name: str, default: float) -> float:
        try:
            return max(0.0, float(args.get(name, default)))
        except (TypeError, ValueError):
            return default

    replicas, here = max(1, int(number("replicas", 1))), len(memory.devices) if memory is not None else 0
    if not here and "gpus" not in args:
        return 0, replicas
    sizes = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    split = math.prod(max(1, int(number(name, 1))) for name in sizes)
    alone = this_rank().alone
    return replicas * number("gpus", (here if alone else 1) if whole else split), replicas
