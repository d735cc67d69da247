"""When which engine was up, on what, and what it held: the journal `sessions-N.jsonl` of a run folder.

Contract: one session is one engine from before it is loaded until it is closed. Every line of the journal is the whole
state of its session at `at`, and of each session the last line counts: so the time of a killed process counts up to
its last beat, which is at most `BEAT_SECONDS` before its end. GPU-hours are `gpu_seconds / 3600`, added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from livek12.core.engine_kinds import kind_of
from livek12.core.records import Record
from livek12.core.run.journal import read_journal

STEM = "sessions"
GIB = 1 << 30
Stage = Literal["generate", "judge", "mark"]
RULES = "rules"
"""Stands for engine and model where rules alone mark (stage `mark`)."""


class Figures(Record):
    """Sizes and counts; those of several engines put together where one works in several places.

    `context` is how many tokens a question and its answer may have together, or the most that an endpoint has said it
    gives. `kv_tokens` is how many vLLM's KV cache holds, and `preemptions` how often a request was thrown out of it, to
    be computed once more when there was room. `stages` are the seconds of the engine's start by stage, as far as they
    are known: "imports", "weights" and, where vLLM has a process of its own, "process", "device", "memory", "compile",
    "graphs", "warm-up", "ready".
    """

    context: int | None = None
    kv_tokens: int | None = None
    preemptions: int | None = None
    stages: dict[str, float] = {}


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


class DeviceEnergy(Record):
    """The energy counter of one device, in joules: when the engine was ready, and the last that is known.

    `device` is its UUID. The counter is the driver's: it counts whoever uses the device.
    """

    device: str
    first: float
    last: float


class Session(Record):
    """One engine's time in a run folder; times in seconds since the epoch.

    By the wall clock is only when it `started`: the other times are that and what has passed since on a clock that
    nobody sets, so that their differences are durations.

    `gpus` is how many devices the engine has for itself, all replicas together (0: none, none that the driver's tool
    told of, or not ours to count, as at an endpoint). `engine` is `openai` for whatever is asked through an address.
    `engine_args` are its arguments without secrets; those that say how requests travel may change between sessions.
    `loaded` is when it was ready. `at` is the last that is known of it, and `ended` whether that was its orderly end.
    `figures` is what the engine knows of itself. `job` is the scheduler's name of the job. Memory is measured before
    the load, after it (of several replicas, when most are there) and after the close, on the devices of the engine.
    Of the process that writes the session, without its children: `peak_rss` is the most memory that it has held so far,
    and `written` the bytes that it has sent to disks since the session began. `requests` counts those that ended, well
    or not; where rules mark, the answers that were marked. `completion_tokens` are those that were made for the
    requests (None where some answer does not state them). Each is None where nobody counted, as in sessions of older
    versions.

    `first_answer` is the seconds from when it was ready to its first answer.
    From when it was ready, `energy` has the counters of its devices, and `busy` the mean share (0 to 1) of the time in
    which some kernel ran on them; None where there is no counter.
    """

    id: str
    stage: Stage
    engine: str
    model: str
    engine_args: dict[str, Any] = {}
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
    completion_tokens: int | None = None
    first_answer: float | None = None
    energy: list[DeviceEnergy] | None = None
    busy: float | None = None

    @property
    def requests_a_second(self) -> float | None:
        """Of the time in which the engine was ready."""
        return self._a_second(self.requests)

    @property
    def tokens_a_second(self) -> float | None:
        """Completion tokens, of the same time."""
        return self._a_second(self.completion_tokens)

    @property
    def joules(self) -> float | None:
        """What its devices used while it was ready; None where there is no counter."""
        return None if self.energy is None else sum(max(0.0, device.last - device.first) for device in self.energy)

    def _a_second(self, count: int | None) -> float | None:
        if count is None or self.loaded is None or self.at <= self.loaded:
            return None
        return count / (self.at - self.loaded)

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


class Usage(TypedDict):
    """What the engines of one stage used while they were ready; None: not measured.

    `busy` is the mean share (0 to 1) of the time in which some kernel ran on their GPUs, `tokens_a_second` the
    completion tokens over the time in which at least one engine was ready, `watt_hours` the energy of the GPUs.
    """

    busy: float | None
    tokens_a_second: float | None
    watt_hours: float | None


def usage_of(sessions: Iterable[Session], stage: Stage) -> Usage | None:
    """The sessions of a stage added up: what one of them lacks, the sum lacks too. None where no engine was ready.

    Engines that failed to start used nothing that was measured, and recorded answers are read, not made.
    """
    of_stage = (each for each in sessions if each.stage == stage and each.loaded is not None)
    ready = [each for each in of_stage if not kind_of(each.engine).is_recorded]
    if not ready:
        return None
    seconds = covered((each.loaded or 0.0, each.at) for each in ready)
    tokens = [each.completion_tokens for each in ready if each.completion_tokens is not None]
    weights = [(each.at - (each.loaded or 0.0)) * each.gpus for each in ready]
    shares = [each.busy for each in ready if each.busy is not None]
    joules = joules_of(ready)
    return Usage(
        busy=sum(share * weight for share, weight in zip(shares, weights, strict=True)) / sum(weights)
        if len(shares) == len(ready) and sum(weights) > 0
        else None,
        tokens_a_second=sum(tokens) / seconds if len(tokens) == len(ready) and seconds > 0 else None,
        watt_hours=None if joules is None else joules / 3600,
    )


def joules_of(sessions: Sequence[Session]) -> float | None:
    """The energy of some sessions, what several used at once counted once; None where one was not measured, or none is.

    Sessions that overlap in time read the same counter, so their ranges of it are put together; those apart in time
    are added, for a driver that is loaded anew counts from 0.
    """
    if not sessions or any(each.energy is None for each in sessions):
        return None
    by_device: dict[str, list[tuple[float, float, DeviceEnergy]]] = {}
    for each in sessions:
        for energy in each.energy or ():
            by_device.setdefault(energy.device, []).append((each.loaded or each.started, each.at, energy))
    return sum(covered(ranges) for spans in by_device.values() for ranges in _overlapping(spans))


def _overlapping(spans: Iterable[tuple[float, float, DeviceEnergy]]) -> Iterator[list[tuple[float, float]]]:
    """The ranges of one counter, together where their times overlap."""
    ranges: list[tuple[float, float]] = []
    end = 0.0
    for began, ended, energy in sorted(spans, key=lambda span: span[:2]):
        if ranges and began > end:
            yield ranges
            ranges, end = [], 0.0
        ranges.append((energy.first, energy.last))
        end = max(end, ended)
    if ranges:
        yield ranges


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """How much lies in any of the spans."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def read_sessions(folder: Path, on_problem: Callable[[str], None] | None = None) -> list[Session]:
    """The sessions of a run folder, each as last written, in the order in which they began."""
    last = {session.id: session for session in read_journal(folder, STEM, Session, on_problem)}
    return sorted(last.values(), key=lambda session: session.started)
