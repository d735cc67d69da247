"""Engine sessions: times, devices, memory and energy, in the journal `sessions-N.jsonl` of a run folder.

Contract: a session is one engine from before its load to its close. Every line is the whole state of its session at
`at`; the last line counts, so the time of a killed process counts up to its last heartbeat, at most `BEAT_SECONDS`
before its end. GPU-hours are the sum of `gpu_seconds / 3600`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from livek12.core.engine_kinds import kind_of
from livek12.core.groups import grouped
from livek12.core.progress import say, warn
from livek12.core.records import Record
from livek12.core.run.journal import read_journal

STEM = "sessions"
GIB = 1 << 30
Stage = Literal["generate", "judge", "mark"]
RULES = "rules"
"""Stands for engine and model where rules alone mark (stage `mark`)."""


class Figures(Record):
    """Sizes and counts, over all replicas.

    `context`: most tokens of a question with its answer, as set or as an endpoint states it. `kv_tokens`: capacity of
    vLLM's KV cache; `preemptions`: requests evicted from it and computed again. `stages`: seconds of the engine's
    start: "imports", "weights" and, where vLLM has a process of its own, "process", "device", "memory", "compile",
    "graphs", "warm-up", "ready".
    """

    context: int | None = None
    kv_tokens: int | None = None
    preemptions: int | None = None
    stages: dict[str, float] = {}


class DeviceMemory(Record):
    """Bytes on one device.

    `used` is the driver's figure for all processes; `allocated` and `reserved` are those of torch's allocator in this
    process (None where it does not use the device).
    """

    index: int
    name: str
    used: int
    total: int
    allocated: int | None = None
    reserved: int | None = None


class Memory(Record):
    """Bytes in use at one moment; `rss` of this process and its children."""

    devices: list[DeviceMemory] = []
    rss: int | None = None

    @property
    def on_devices(self) -> int:
        """Bytes used on all devices together."""
        return sum(device.used for device in self.devices)


class DeviceEnergy(Record):
    """Driver's energy counter of one device (UUID) in joules, for all its users: first when ready, and last."""

    device: str
    first: float
    last: float


class Session(Record):
    """One engine's time in a run folder; times in seconds since the epoch.

    Only `started` is read from the wall clock; the other times add monotonic time to it.

    `gpus` counts the engine's own devices over all replicas (0: none, none reported by the driver, or those of an
    endpoint). `engine_args` are without secrets. `loaded`: ready. `at`: last known time; `ended`: orderly end. `job`:
    the scheduler's job name. Memory is measured before the load, after it (of several replicas, when most are there)
    and after the close. `peak_rss` and `written` (bytes to disks) are those of the writing process without children.
    `requests` counts finished ones, failed ones included; where rules mark, marked answers. `completion_tokens` is None
    if an answer does not state them. All are None where not counted, as in sessions of older versions.

    `first_answer`: seconds from ready to the first answer. `energy` and `busy` (share of time in which a kernel ran, 0
    to 1) count from ready; None without a counter.
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
        """Requests over ready time."""
        return self._a_second(self.requests)

    @property
    def tokens_a_second(self) -> float | None:
        """Completion tokens over the same time."""
        return self._a_second(self.completion_tokens)

    @property
    def joules(self) -> float | None:
        """Energy of its devices while ready."""
        return None if self.energy is None else sum(max(0.0, device.last - device.first) for device in self.energy)

    def _a_second(self, count: int | None) -> float | None:
        if count is None or self.loaded is None or self.at <= self.loaded:
            return None
        return count / (self.at - self.loaded)

    @property
    def seconds(self) -> float:
        """Known duration; may be negative between two wall clocks."""
        return max(0.0, self.at - self.started)

    @property
    def gpu_seconds(self) -> float:
        """Its seconds times its devices."""
        return self.seconds * self.gpus

    @property
    def stuck(self) -> bool:
        """True if more than a tenth of the engine's device memory remained after its close.

        The process's own device context (below a GiB) always remains.
        """
        if self.before_load is None or self.after_load is None or self.after_close is None:
            return False
        taken = self.after_load.on_devices - self.before_load.on_devices
        leaked = self.after_close.on_devices - self.before_load.on_devices
        return leaked > max(taken / 10, GIB)


class Usage(TypedDict):
    """Use by the engines of one stage while ready; None: not measured.

    `busy`: mean share (0 to 1) of time with a running kernel; `tokens_a_second`: over time with at least one engine
    ready; `watt_hours`: GPUs only.
    """

    busy: float | None
    tokens_a_second: float | None
    watt_hours: float | None


def usage_of(sessions: Iterable[Session], stage: Stage) -> Usage | None:
    """Sessions of a stage added up; a figure missing in one is missing in the sum. None if no engine was ready."""
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
    """Energy of sessions; None where one was not measured, or there are none.

    Overlapping sessions read the same counter, so their ranges are merged; separate ones are added, as a reloaded
    driver counts from 0.
    """
    if not sessions or any(each.energy is None for each in sessions):
        return None
    by_device = grouped(
        (energy.device, (each.loaded or each.started, each.at, energy))
        for each in sessions
        for energy in each.energy or ()
    )
    return sum(covered(ranges) for spans in by_device.values() for ranges in _overlapping(spans))


def _overlapping(spans: Iterable[tuple[float, float, DeviceEnergy]]) -> Iterator[list[tuple[float, float]]]:
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
    """Length of the union of the spans."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def read_sessions(folder: Path, on_problem: Callable[[str], None] | None = None) -> list[Session]:
    """Sessions of a run folder by their start, each as last written."""
    last = {session.id: session for session in read_journal(folder, STEM, Session, on_problem)}
    return sorted(last.values(), key=lambda session: session.started)


def tell_memory(folder: Path, since: float) -> None:
    """Reports the memory of this process's engines; warns of memory not given back."""
    for session in read_sessions(folder):
        if session.pid == os.getpid() and session.started >= since and session.ended and session.after_load:
            say(f"{_who(session)} left memory: {_left(session)}{_cache(session.figures)}")
            if session.stuck:
                warn(
                    f"{_who(session)}: more than a tenth of the device memory that it took was not given back;"
                    " the next engine may not fit"
                )


def _who(session: Session) -> str:
    return f"{'the model under test' if session.stage == 'generate' else 'judge'} {session.model} ({session.engine})"


def _cache(figures: Figures) -> str:
    if figures.kv_tokens is None:
        return ""
    again = f", {figures.preemptions:,} times a request was computed once more for want of room"
    return f"; KV cache of {figures.kv_tokens:,} tokens" + (again if figures.preemptions else "")


def _left(session: Session) -> str:
    loaded, kept = session.after_load or Memory(), session.after_close or Memory()
    parts = [("on devices", loaded.on_devices, kept.on_devices)] if loaded.devices else []
    parts += [("in processes", loaded.rss, kept.rss)] if loaded.rss is not None and kept.rss is not None else []
    return ", ".join(f"{before / GIB:.1f} → {after / GIB:.1f} GiB {where}" for where, before, after in parts)
