"""Compares the marks of a harness with those of livek12 on the answers in its log.

    python tests/bench/harness_marks.py lm-eval OUT RUN TASK

OUT is the harness's output, RUN a run folder of its log (Inspect: by the import; others: from its texts). Exit code 1
where a number differs. Part of `bash scripts/test.sh harnesses`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.tasks.plugins.harness_task import harness_name

ENDS = {
    "accuracy": ("accuracy", "low"),
    "accuracy_high": ("accuracy", "high"),
    "score": ("mark", "low"),
    "score_high": ("mark", "high"),
}
"""The harness's name → metric in report.json, and which end of it."""
SHARES = ("ungraded", "no_answer")


def main() -> None:
    """Compares one log and prints the differences."""
    harness, out, run, task = sys.argv[1:]
    theirs = reported(harness, Path(out), task)
    ours = of_report(json.loads((Path(run) / "report.json").read_text(encoding="utf-8"))["tasks"][task])
    # Inspect names the upper end only where it is another.
    wrong = [
        f"{name} is {there} there and {value} here"
        for name, value in ours.items()
        if not math.isclose(there := theirs.get(name, theirs[name.removesuffix("_high")]), value, abs_tol=1e-4)
    ]
    print(f"{harness}, {task}: {'; '.join(wrong) or f'the same marks, {ours}'}")
    sys.exit(bool(wrong))


def reported(harness: str, out: Path, task: str) -> Mapping[str, float]:
    """Numbers of a harness, by its names."""
    name = harness_name(task)
    if harness == "inspect":
        from inspect_ai.log import read_eval_log

        results: Any = read_eval_log(str(_one(out, "*.eval")), header_only=True).results
        return {metric: result.value for metric, result in results.scores[0].metrics.items()}
    if harness == "vlmevalkit":
        scores: dict[str, float] = json.loads(_one(out, f"*_{name}_score.json").read_text(encoding="utf-8"))
        return scores
    file = _one(out, "*_results.json" if harness == "lmms-eval" else "results_*.json")
    result = json.loads(file.read_text(encoding="utf-8"))["results"]
    numbers = result[f"{name}|0" if harness == "lighteval" else name]
    return {metric.removesuffix(",all"): value for metric, value in numbers.items()}


def of_report(report: Mapping[str, Any]) -> dict[str, float]:
    """The same numbers of a task in report.json."""
    counts = report["counts"]
    shares = {state: counts[state] / counts["answers"] for state in SHARES}
    return {name: report["metrics"][metric][end] for name, (metric, end) in ENDS.items()} | shares


def _one(folder: Path, pattern: str) -> Path:
    files = sorted(folder.rglob(pattern))
    if len(files) != 1:
        raise UserError(f"{folder}: {len(files)} files {pattern}, and one is wanted")
    return files[0]


if __name__ == "__main__":
    main()
