"""Backend `hf-jobs`: one job of the Hub (`hf jobs uv run`) for each model, its run folder in a mounted bucket.

A job runs `livek12 run` in an environment made by `uv`; a killed one is continued by the next. Models with a waiting or
running job are not submitted again. Only names of the Hub are sent: local datasets and models are refused.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.text import one_line
from livek12.evaluation.sweep import PlannedRun, SweepPlan

MOUNT: Final = PurePosixPath("/sweep")
NOTE: Final = "hf_jobs.json"
_ALIVE: Final = frozenset({"RUNNING", "SCHEDULING", "QUEUED", "STARTING", "PENDING"})
_SECONDS: Final = 120
_SCRIPT: Final = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [{package}]
# ///
"""Written by `livek12 sweep`: one model of a sweep."""

import sys

from livek12.scripts.cli import main

sys.argv = {argv}
main()
'''


def commands(plan: SweepPlan, runs: Sequence[PlannedRun]) -> list[tuple[PlannedRun, list[str]]]:
    """Submitting command of each model; the scripts it names are not written."""
    return [(run, _command(plan, run)) for run in runs]


def script(plan: SweepPlan, run: PlannedRun) -> str:
    """Script of a job: its packages, and the arguments of `livek12 run`."""
    there = replace(run, folder=Path(MOUNT / run.label))
    argv = ["livek12", *there.whole]
    return _SCRIPT.format(package=json.dumps(plan.sweep.hf_jobs.package), argv=json.dumps(argv, ensure_ascii=False))


def submit(plan: SweepPlan, runs: Sequence[PlannedRun], say: Callable[[str], None]) -> None:
    """Submits models without a living job."""
    wanted, note = commands(plan, runs), plan.work / NOTE
    jobs = _noted(note)
    plan.work.mkdir(parents=True, exist_ok=True)
    for run, command in wanted:
        if (job := jobs.get(run.label)) and _stage(job) in _ALIVE:
            say(f"{run.label}: job {job} has it")
            continue
        write_atomically(_script_file(plan, run), script(plan, run))
        jobs[run.label] = _called(command).split()[-1]
        write_atomically(note, json.dumps(jobs, indent=1) + "\n")
        say(f"{run.label}: job {jobs[run.label]}")
    bucket = plan.sweep.hf_jobs.bucket
    say(f"when they are done: hf buckets sync hf://buckets/{bucket} {shlex.quote(str(plan.out))}, then --report")


def _command(plan: SweepPlan, run: PlannedRun) -> list[str]:
    settings = plan.sweep.hf_jobs
    if settings.bucket is None:
        raise UserError("hf_jobs.bucket: is missing; name the bucket of the Hub (ORG/NAME) that run folders go to")
    for what, name in (("model", run.entry.name), ("data set", run.data or "")):
        if not name or Path(name).exists() or name.count("/") != 1:
            raise UserError(f"{run.label}: the {what} {name!r} is not on the Hub (ORG/NAME), where its job would look")
    secrets = [word for name in settings.secrets for word in ("--secrets", name)]
    environment = [word for name, value in run.entry.env.items() for word in ("--env", f"{name}={value}")]
    return [
        *("hf", "jobs", "uv", "run", "--detach", "--flavor", settings.flavor, "--timeout", settings.timeout),
        *(("--image", settings.image) if settings.image else ()),
        *(("--namespace", settings.namespace) if settings.namespace else ()),
        *("--name", f"livek12-{run.label}", "--volume", f"hf://buckets/{settings.bucket}:{MOUNT}"),
        *secrets,
        *environment,
        str(_script_file(plan, run)),
    ]


def _script_file(plan: SweepPlan, run: PlannedRun) -> Path:
    return plan.work / f"{run.label}.hf.py"


def _noted(note: Path) -> dict[str, str]:
    try:
        content: Mapping[str, Any] = json.loads(note.read_bytes()) if note.is_file() else {}
        return {str(label): str(job) for label, job in content.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{note}: cannot be read ({one_line(error, 80)}); move it away to submit anew") from None


def _stage(job: str) -> str:
    output = _called(["hf", "jobs", "inspect", job])
    try:
        (record,) = json.loads(output)
        return str(record["status"]["stage"])
    except (ValueError, KeyError, TypeError):
        raise UserError(f"job {job}: `hf jobs inspect` says what nobody can read: {one_line(output, 120)}") from None


def _called(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise UserError("hf_jobs: `hf` is not here; it comes with huggingface_hub 1 or newer") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"hf_jobs: `{shlex.join(command[:4])}` did not answer in {_SECONDS} s") from None
    if done.returncode or not done.stdout.strip():
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise UserError(f"hf_jobs: `{shlex.join(command[:4])}` refuses: {one_line(last, 160)}")
    return done.stdout
