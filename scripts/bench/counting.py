"""Counts the steps, tokens and pages of vLLM's schedulers, in all processes of a command.

Each process writes its counts after each step, so that those of a killed one are complete.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = "LIVEK12_BENCH_COUNTS"
"""The variable that says where counts go."""


def counting_in(folder: Path) -> dict[str, str]:
    """Environment with which vLLM's processes count into a folder."""
    described = folder / "livek12_bench_counting-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: livek12-bench-counting\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[vllm.general_plugins]\nlivek12_counts = {__name__}:plugged_in\n")
    before = os.environ.get("PYTHONPATH")
    return {FOLDER: str(folder), "PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])])}


def plugged_in() -> None:
    """Entry point of the plug-in."""
    from vllm.v1.core.sched.scheduler import Scheduler

    schedule = Scheduler.schedule
    file = Path(os.environ[FOLDER]) / f"{os.getpid()}.json"
    counts: Counter[str] = Counter()

    def scheduled(self: Any, *args: Any, **named: Any) -> Any:
        plan = schedule(self, *args, **named)
        counts["steps"] += plan.total_num_scheduled_tokens > 0
        counts["tokens computed"] += plan.total_num_scheduled_tokens
        counts["pages encoded"] += sum(map(len, plan.scheduled_encoder_inputs.values()))
        for request in plan.scheduled_new_reqs:
            counts["requests"] += 1
            counts["prompt tokens"] += len(request.prompt_token_ids)
            counts["prompt tokens computed"] += len(request.prompt_token_ids) - request.num_computed_tokens
        file.write_text(json.dumps(counts))
        return plan

    Scheduler.schedule = scheduled


def counted(folder: Path) -> list[dict[str, int]]:
    """Counts of each process, most requests first; deletes the files."""
    records = []
    for file in folder.glob("*.json"):
        records.append(json.loads(file.read_text()))
        file.unlink()
    return sorted(records, key=lambda counts: -int(counts["requests"]))
