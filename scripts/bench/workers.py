"""Measures what replicas give and what they cost, without a GPU: an engine that sleeps, in child processes and on Ray.

`python scripts/bench/workers.py [--workers 1,2,4,8] [--requests 1024] [--seconds 0.25] [--width 16]
[--ray local|none|…] [--json FILE]`. The engine does `width` requests at a time, each in `seconds` and with no work for
the CPU, like one that waits for its GPU. Scaling: the wall time of all requests with n workers beside the ideal, which
is requests × seconds / (width × n); starting up is not counted. Overhead: the same requests with an engine that takes
no time at all, in this process, in one child and in one Ray actor, each warmed up with a tenth of them; the difference
a request is what the way to a worker and back costs.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from livek12.core.records import Key, Message, Part, Request, Response
from livek12.engines.base import Engine, Outcome
from livek12.engines.pool import Pool
from livek12.engines.pool.ray import RayEngine
from livek12.engines.pool.worker import Child

READY_SECONDS = 300


class SleepingEngine:
    """Does `width` requests at a time, each in `seconds`, and nothing else."""

    name = "sleeping"
    model = "none"
    revision: str | None = None
    images = True

    def __init__(self, seconds: float, width: int) -> None:
        self._seconds = seconds
        self._width = width

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields a response as soon as its time is over."""
        source = enumerate(requests)
        hand: list[tuple[float, int, Request]] = []
        while True:
            while len(hand) < self._width and (following := next(source, None)):
                heapq.heappush(hand, (time.monotonic() + self._seconds, *following))
            if not hand:
                return
            due, _, request = heapq.heappop(hand)
            time.sleep(max(0.0, due - time.monotonic()))
            yield Response(key=request.key, text="slept", engine=self.name, model=self.model)

    def versions(self) -> dict[str, str]:
        """None: nothing is recorded."""
        return {}

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True)
class BenchLine:
    """One measurement; `ratio` is ideal over measured, `overhead_us` microseconds a request."""

    kind: str
    workers: int
    requests: int
    seconds: float
    ideal: float | None = None
    ratio: float | None = None
    overhead_us: float | None = None


def requests_of(count: int) -> Iterator[Request]:
    """Short text requests."""
    for number in range(count):
        words = Part(type="text", text=f"Question {number}: what is {number} times {number + 1}? " * 10)
        key = Key(task="bench", question_id=str(number))
        yield Request(key=key, messages=[Message(role="user", content=[words])])


def wall(engine: Engine, count: int) -> float:
    """Seconds for so many requests.

    Raises:
        RuntimeError: not every request had one outcome.
    """
    began = time.perf_counter()
    keys = [outcome.key.question_id for outcome in engine.generate(requests_of(count))]
    seconds = time.perf_counter() - began
    if sorted(map(int, keys)) != list(range(count)):
        raise RuntimeError(f"{len(keys)} outcomes for {count} requests")
    return seconds


def pool_of(kind: str, build: Callable[[], Engine], workers: int) -> Pool:
    """So many workers, all ready."""
    if kind == "children":
        pool = Pool([partial(Child, build)] * workers)
    else:
        pool = RayEngine(build, kind, replicas=workers, cpus=None if kind == "local" else 0.1, gpus=0)
    deadline = time.monotonic() + READY_SECONDS
    while pool.ready() < workers and time.monotonic() < deadline:
        time.sleep(0.05)
    return pool


def measure(kind: str, workers: int, count: int, seconds: float, width: int) -> BenchLine:
    """The scaling of one kind of workers at one number of them."""
    from livek12.scripts.bench.workers import SleepingEngine as Importable

    pool = pool_of(kind, partial(Importable, seconds, width), workers)
    try:
        took = wall(pool, count)
    finally:
        pool.close()
    ideal = count * seconds / (width * workers)
    return BenchLine(_label(kind), workers, count, took, ideal, ideal / took)


def overhead(kind: str, count: int, width: int, bare: float) -> BenchLine:
    """What one worker costs a request beside the engine in this process, which took `bare` seconds."""
    from livek12.scripts.bench.workers import SleepingEngine as Importable

    pool = pool_of(kind, partial(Importable, 0.0, width), 1)
    try:
        wall(pool, count // 10)
        took = wall(pool, count)
    finally:
        pool.close()
    return BenchLine(_label(kind), 1, count, took, overhead_us=1e6 * (took - bare) / count)


def _label(kind: str) -> str:
    return kind if kind == "children" else f"ray={kind}"


def main() -> None:
    """Prints a table, line by line as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--requests", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--overhead-requests", type=int, default=5000)
    parser.add_argument("--ray", default="local", help="local, auto, HOST:PORT, or none")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kinds = ["children"] if options.ray == "none" else ["children", options.ray]
    lines: list[BenchLine] = []
    print(f"{options.requests} requests of {options.seconds:g} s, {options.width} at a time; {os.cpu_count()} cores")
    print(f"{'':12} {'workers':>8} {'seconds':>8} {'ideal':>8} {'ratio':>6}")
    for kind in kinds:
        for workers in map(int, options.workers.split(",")):
            line = measure(kind, workers, options.requests, options.seconds, options.width)
            lines.append(line)
            print(f"{line.kind:12} {workers:8} {line.seconds:8.2f} {line.ideal:8.2f} {line.ratio:6.3f}", flush=True)
    count = options.overhead_requests
    here = SleepingEngine(0.0, options.width)
    wall(here, count // 10)
    bare = wall(here, count)
    lines.append(BenchLine("in process", 1, count, bare, overhead_us=0.0))
    print(f"{count} requests that take no time: {1e6 * bare / count:.0f} µs each in this process")
    for kind in kinds:
        lines.append(overhead(kind, count, options.width, bare))
        print(f"{lines[-1].kind:12} {lines[-1].overhead_us:.0f} µs more a request", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
