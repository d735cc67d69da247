"""When which engine was up, on what, and what it held: the journal `sessions-N.jsonl` of a run folder.

Contract: one session is one engine from before it is loaded until it is closed. Every line of the journal is the whole
state of its session at `at`, and of each session the last line counts: so the time of a killed process counts up to
its last beat, which is at most `BEAT_SECONDS` before its end. GPU-hours are `gpu_seconds / 3600`, added up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from livek12.core.journal import read_journal
from livek12.core.records import Record

STEM = "sessions"
GIB = 1 << 30
Stage = Literal["generate", "judge", "mark"]
RULES = "rules"
"""Stands for engine and model where rules alone mark (stage `mark`)."""


class Figures(Record):
    """Sizes and counts; those of several engines put together where one works in several places.

    `context` is how many tokens a question and its answer may have together, or the most that an endpoint has said it
    gives. `kv_tokens` is how many vLLM's KV cache holds, and `preemptions` how often a request was thrown out of it, to
    be computed once more when there was room.
    """

    context: int | None = None
    kv_tokens: int | None = None
    preemptions: int | None = None


class DeviceMemory(Record):
    """Bytes on one device.

    `used` is the driver's figure, whoever holds it; `allocated` and `reserved` are what torch's allocator holds for
    this very process (None where this process does not use the device).
    """

    index: int
    name: str
    used: int
    total: int
    allocated: int | None = None
    reserved: int | None = None


class Memory(Record):
    """Bytes held at one moment. `rss` is that of this process and all its children (None where it cannot be read)."""

    devices: list[DeviceMemory] = []
    rss: int | None = None

    @property
    def on_devices(self) -> int:
        """Bytes used on all devices together."""
        return sum(device.used for device in self.devices)


class Session(Record):
    """One engine's time in a run folder; times in seconds since the epoch.

    By the wall clock is only when it `started`: the other times are that and what has passed since on a clock that
    nobody sets, so that their differences are durations.

    `gpus` is how many devices the engine has for itself, all replicas together (0: none, none that the driver's tool
    told of, or not ours to count, as at an endpoint). `engine` is `openai` for whatever is asked through an address.
    `loaded` is when it was ready. `at` is the last that is known of it, and `ended` whether that was its orderly end.
    `figures` is what the engine knows of itself. `job` is the scheduler's name of the job. Memory is measured before
    the load, after it (of several replicas, when most are there) and after the close, on the devices of the engine.
    Of the process that writes the session, without its children: `peak_rss` is the most memory that it has held so far,
    and `written` the bytes that it has sent to disks since the session began. `requests` counts those that ended, well
    or not; where rules mark, the answers that were marked. Each is None where nobody counted, as in sessions of older
    versions.
    """

    id: str
    stage: Stage
    engine: str
    model: str
    gpus: float = 0
    replicas: int = 1
    figures: Figures = Figures()
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
    peak_rss: int | None = None
    written: int | None = None
    requests: int | None = None

    @property
    def requests_a_second(self) -> float | None:
        """Of the time in which the engine was ready."""
        if self.requests is None or self.loaded is None or self.at <= self.loaded:
            return None
        return self.requests / (self.at - self.loaded)

    @property
    def seconds(self) -> float:
        """How long it lasted, as far as is known; records that two wall clocks made may say less than nothing."""
        return max(0.0, self.at - self.started)

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
