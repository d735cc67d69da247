"""Tries on a real GPU what tests can only fake, with models of random weights and the sample exam.

    bash scripts/gpu_check.sh                     all points that fit into --minutes (default 8), the most telling first
    bash scripts/gpu_check.sh pages kill          these points only
    bash scripts/gpu_check.sh --plan              the points with their expected seconds; starts nothing
    bash scripts/gpu_check.sh --cpu               what runs with vLLM's CPU build too, to try the script itself

The first station warms up (compiled files, Triton kernels) and is not judged. A point past its time is killed and has
failed. Nothing is downloaded; all children end with the check.

Exit code 1: a point failed; 3: the time was not enough for all.
"""

from __future__ import annotations

import argparse
import json
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.engines.devices import measure
from livek12.engines.reaper import supervise
from livek12.scripts.bench.common import machine, write_json
from livek12.scripts.bench.gpu.work import END, START, STATIONS, Station, last_line

SHORTEST = 60.0
"""Seconds that every point may take, however quick it is expected to be."""
MARGIN = 4
"""A point that takes more than so many times its expected seconds is killed."""


@dataclass
class Check:
    """One run of the check."""

    work: Path
    until: float
    gpus: int
    json: Path | None
    options: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    def visit(self, station: Station, points: Sequence[str]) -> None:
        """Works through a station's points, in a new process after a kill."""
        waiting = list(points)
        while (lost := self._work_through(station, waiting)) in waiting:
            waiting = waiting[waiting.index(lost) + 1 :]
            if not waiting:
                return

    def _work_through(self, station: Station, points: list[str]) -> str | None:
        expected = {START: station.start, **station.points}
        if time.monotonic() + station.start + (expected[points[0]] if points else 0) > self.until:
            self.late += points
            return None
        job = {"station": station.name, "work": str(self.work), "gpus": self.gpus, **self.options}
        log = self.work / f"{station.name}.log"
        with log.open("ab") as errors, StationProcess(job, errors) as child:
            for place, name in enumerate([START, *points]):
                if name != START:
                    if time.monotonic() + expected[name] > self.until:
                        self.late += points[place - 1 :]
                        return None
                    child.order(name)
                limit = min(max(SHORTEST, MARGIN * expected[name]), self.until + SHORTEST - time.monotonic())
                began = time.monotonic()
                if (line := child.read_line(limit)) is None:
                    why = "did not end in time" if child.stuck else f"ended with exit code {child.process.wait()}"
                    row = {"point": name, "ok": False, "seen": f"{why}: {last_line(log)}"}
                    self.record(station, row | {"seconds": time.monotonic() - began})
                    return name
                row = json.loads(line)
                self.record(station, row)
                if name == START and not row["ok"]:
                    return None
        return None

    def record(self, station: Station, row: dict[str, Any]) -> None:
        """Prints and stores a point."""
        name = f"{station.name}: start" if row["point"] == START else row["point"]
        word = ("ok" if row["ok"] else "FAILED") if station.judged else "–"
        print(f"{name:20} {word:6} {row['seconds']:5.0f} s  {' '.join(row['seen'].split())}", flush=True)
        self.results.append({"station": station.name, "judged": station.judged, **row})
        if self.json is not None:
            write_json(self.json, {"machine": machine(), "driver": driver(), "results": self.results})

    @property
    def failed(self) -> bool:
        """True if a judged point or a start failed."""
        return any(not row["ok"] for row in self.results if row["judged"])


class StationProcess:
    """A station's process; it and its children end with the block. `stuck` is set by the reader of its lines."""

    def __init__(self, job: dict[str, Any], errors: Any) -> None:
        command = [sys.executable, "-m", "livek12.scripts.bench.gpu.station", json.dumps(job)]
        pipe = subprocess.PIPE
        self._supervised = supervise(command, stdin=pipe, stdout=pipe, stderr=errors)
        self.stuck = False

    def __enter__(self) -> StationProcess:
        self.process = self._supervised.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is None and not self.stuck:
            self.order(END)  # it closes its engine, which gives the memory back at once
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
        self._supervised.__exit__(kind, *rest)

    def order(self, word: str) -> None:
        """Sends the next order."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(f"{word}\n".encode())
            self.process.stdin.flush()

    def read_line(self, seconds: float) -> str | None:
        """The next line; None after the time limit or its end."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.stuck = True
            return None
        return self.process.stdout.readline().decode() or None


def driver() -> str:
    """Driver version; "" without one."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.split("\n")[0]
    return ""


def plan(points: Sequence[str], gpus: int) -> list[tuple[Station, list[str]]]:
    """The stations of these points (default: all), in order."""
    visits = []
    for station in STATIONS:
        wanted = [name for name in station.points if not points or name in points]
        if (station.gpus <= gpus or points) and (wanted or not station.judged):
            visits.append((station, wanted))
    return visits


def show_plan(visits: Sequence[tuple[Station, list[str]]]) -> None:
    """Prints stations and points with their expected seconds."""
    total = 0.0
    for station, points in visits:
        total += station.start
        print(f"{station.name}: start {station.start:.0f} s ({station.purpose})")
        for name in points:
            total += station.points[name]
            print(f"    {name:18} {station.points[name]:4.0f} s")
    print(f"all: {total:.0f} s")


def main() -> int:
    """Command line."""
    names = [name for station in STATIONS for name in station.points]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("points", nargs="*", metavar="POINT", help=f"of {', '.join(names)}; default all")
    parser.add_argument("--cpu", action="store_true", help="try what needs no GPU")
    parser.add_argument(
        "--plan", action="store_true", help="print the points and their expected seconds; start nothing"
    )
    parser.add_argument("--warm", action="store_true", help="leave the warm-up out: vLLM has been started here before")
    parser.add_argument("--minutes", type=float, default=8.0, help="begin no point that would end later; default 8")
    parser.add_argument("--work", type=Path, help="a folder for run folders and logs; default a new temporary one")
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    parser.add_argument("--real", default="", help="folder or .gguf of a small genuine model, for the point `real`")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the numbers of questions; default 1 (0.05 with --cpu)"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.points if name not in names]:
        parser.error(f"no point {unknown[0]!r}; there are {', '.join(names)}")
    gpus = 0 if options.cpu else len(measure().devices)
    visits = [
        (station, points)
        for station, points in plan(options.points, max(gpus, options.plan and not options.cpu))
        if station.judged or not options.warm
    ]
    if options.plan:
        show_plan(visits)
        return 0
    if not gpus and not options.cpu:
        print("this machine has no GPU that nvidia-smi lists; --cpu tries what needs none", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    until = time.monotonic() + 60 * options.minutes
    work = options.work or Path(tempfile.mkdtemp(prefix="livek12-gpu-check-"))
    work.mkdir(parents=True, exist_ok=True)
    print(f"{gpus} GPUs; run folders and logs: {work}", flush=True)
    given = {"real": options.real, "scale": 0.05 if options.cpu and options.scale == 1.0 else options.scale}
    check = Check(work, until, gpus, options.json, given)
    for station, points in visits:
        check.visit(station, points)
    if check.late:
        print(f"no time was left for these: bash scripts/gpu_check.sh {' '.join(check.late)}", flush=True)
    return 1 if check.failed else 3 if check.late else 0


if __name__ == "__main__":
    sys.exit(main())
