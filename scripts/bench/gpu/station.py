"""A station of the GPU check: one process, one model, a list of points.

    python -m livek12.scripts.bench.gpu.station JOB      JOB: JSON with station, work, gpus, real, scale

Contract: reads names of points from stdin until "end" or its end; prints one JSON line for the start and for each point
(point, ok, seconds, seen, figures); all else goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from livek12.engines import sessions
from livek12.scripts.bench.gpu import sharing, starting
from livek12.scripts.bench.gpu.work import END, START, Failed, Seen, StationWork


def main(job: dict[str, Any]) -> None:
    """Command line."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    work = StationWork(job)
    environment = {"VLLM_LOGGING_LEVEL": "INFO", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    os.environ |= environment | work.station.environment
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    sessions.CLOSING_TRIES = 0  # a lent engine keeps its memory after each run

    def tell(name: str, point: Callable[[StationWork], Seen]) -> None:
        began = time.monotonic()
        try:
            (seen, figures), ok = point(work), True
        except Exception as error:
            seen = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
            figures, ok = {}, False
            traceback.print_exc()
        row = {"point": name, "ok": ok, "seconds": time.monotonic() - began, "seen": seen, "figures": figures}
        print(json.dumps(row, ensure_ascii=False), file=report, flush=True)

    if "pages" in work.station.points:
        sharing.count_in(work)
    points = {**sharing.POINTS, **starting.POINTS}
    tell(START, lambda work: ((work.load() if work.shape else work.station.purpose), {"stages": work.stages}))
    while (name := sys.stdin.readline().strip()) not in ("", END):
        tell(name, points[name])
    if work.engine is not None:
        work.engine.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
