"""Runs exported three ways and read back by the readers of each form.

`python scripts/bench/exports.py RUN… --out DIR [--eee COMMAND]` exports each run with all rows, validates the records
of Every Eval Ever with its own command (`--eee`, which needs a Python of its own), parses the entries of the Hub with
huggingface_hub, and opens the logs with Inspect's reader. Prints a line a run; exit 1 where a reader refuses.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

OURS = "livek12/exam_marks"


def livek12(*args: object) -> list[Path]:
    """Runs an export; the files that it wrote."""
    command = [sys.executable, "-m", "livek12.scripts.cli", "export", *map(str, args), "--quiet"]
    done = subprocess.run(command, check=True, text=True, capture_output=True)
    return [Path(line) for line in done.stdout.splitlines()]


def read_back(run: Path, out: Path, name: str, eee: str) -> tuple[str, bool]:
    """What the readers say of one run, and whether none refuses."""
    how = ("--rows", "all", "--model-id", name, "--data-repo", "example/livek12", "--organization", "livek12")
    records = livek12(run, "--to", "eee", "--out", out / "eee", *how)
    said, sound = f"eee {len(records)} files", True
    if eee:
        names = [str(file.relative_to(out / "eee")) for file in records]
        done = subprocess.run([eee, "validate", *names], cwd=out / "eee", capture_output=True, text=True, check=False)
        said += f", validate exit {done.returncode}"
        sound = done.returncode == 0 and "warning-only" in done.stdout and " 0 warning-only" in done.stdout
    entries = _entries(livek12(run, "--to", "eval-results", "--out", out / "hub", "--bounds", *how))
    said += f"; hub {entries[0].value} of {entries[0].task_id}"
    (log,) = livek12(run, "--to", "inspect", "--out", out / "inspect", *how)
    return f"{said}; inspect {_inspected(log)}", sound


def _entries(files: list[Path]) -> list[Any]:
    from huggingface_hub import parse_eval_result_entries

    return [entry for file in files for entry in parse_eval_result_entries(yaml.safe_load(file.read_text()))]


def _inspected(file: Path) -> str:
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(file))
    scored = sum(bool(sample.scores and OURS in sample.scores) for sample in log.samples or [])
    metrics = log.results.scores[0].metrics if log.results else {}
    return f"{scored} samples, accuracy {metrics['accuracy'].value:.3f}"


def main() -> None:
    """Prints what the readers say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--eee", default="", help="the command every_eval_ever")
    said = parser.parse_args()
    refused = 0
    for run in said.runs:
        line, sound = read_back(run, said.out, f"example/{run.name}", said.eee)
        refused += not sound
        print(f"{run.name}: {line}", flush=True)
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
