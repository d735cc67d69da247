"""The backend `slurm`: job arrays that ask, and a job after them that judges, reports and compares.

Contract: submitting twice asks nothing twice: what is in the queue stays there, and only what is missing is
submitted. Slurm is the scheduler; all that is kept here is which job has which run (`_jobs/slurm.json`).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.records import Record
from livek12.evaluation.sweep.notes import WorkPlace, ended, note_file, read_note, take
from livek12.evaluation.sweep.plan import PlannedRun, SweepPlan
from livek12.evaluation.sweep.slurm_scripts import Script, ask_scripts, finish_script, parts_of

_SECONDS = 60
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED"})
_OVER = frozenset({"CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"})


class Jobs(Record):
    """Which job has which run: of each array the (label, part) of its elements; and the last job."""

    arrays: dict[str, list[tuple[str, int]]] = {}
    finish: str | None = None


@dataclass(frozen=True)
class Queued:
    """A line of the queue."""

    state: str
    reason: str
    node: str


def submit(plan: SweepPlan, unanswered: Sequence[PlannedRun], say: Callable[[str], None]) -> None:
    """Submits what is missing, and the job that follows.

    Args:
        plan: the sweep.
        unanswered: the runs whose responses are not complete.
        say: told of each job.

    Raises:
        UserError: Slurm is not here, or refuses a job; or another command submits this sweep right now.
    """
    lock = take(plan.work, "_submit")
    if lock is None:
        raise UserError(f"{plan.work}: another `livek12 sweep` submits this sweep right now; see --status")
    try:
        _submit(plan, unanswered, say)
    finally:
        os.close(lock)


def _submit(plan: SweepPlan, unanswered: Sequence[PlannedRun], say: Callable[[str], None]) -> None:
    jobs, queue = read_jobs(plan.work), read_queue()
    living = {part: job for part, job in _elements(jobs).items() if job in queue}
    wanted = [(run, part) for run in unanswered for part in parts_of(run) if (run.label, part) not in living]
    if not wanted and jobs.finish in queue:
        say(f"everything is in the queue already, the last as job {jobs.finish}")
        return
    for run, part in wanted:
        note_file(plan.work, run.label, part).unlink(missing_ok=True)
    arrays = {
        job: parts
        for job, parts in jobs.arrays.items()
        if any(living.get(part, "").startswith(f"{job}_") for part in parts)
    }
    for script in ask_scripts(plan, wanted):
        job = _sbatch(_write(plan.work, script))
        arrays[job] = script.parts
        _store(plan.work, Jobs(arrays=arrays, finish=jobs.finish))
        say(f"job array {job}: {', '.join(dict.fromkeys(label for label, _ in script.parts))}")
    if jobs.finish in queue and queue[jobs.finish].state == "PENDING":
        _call(["scancel", jobs.finish])
    copy = plan.work / "sweep.yaml"
    write_atomically(copy, plan.file.read_text(encoding="utf-8"))
    after = [f"--dependency=afterany:{':'.join(arrays)}"] if arrays else []
    finish = _sbatch(_write(plan.work, finish_script(plan, copy)), *after)
    _store(plan.work, Jobs(arrays=arrays, finish=finish))
    say(f"job {finish}, after them: judges, reports and compares")
    say(f"to stop: scancel {shlex.join([*arrays, finish])}; logs: {plan.work}")


def scripts(plan: SweepPlan, unanswered: Sequence[PlannedRun]) -> list[Script]:
    """The scripts that `submit` would submit where the queue is empty."""
    wanted = [(run, part) for run in unanswered for part in parts_of(run)]
    return [*ask_scripts(plan, wanted), finish_script(plan, plan.work / "sweep.yaml")]


def places(plan: SweepPlan) -> dict[str, WorkPlace]:
    """Where each run is, by the queue and the notes."""
    jobs = read_jobs(plan.work)
    # The last job itself asks when all others have ended, and where it runs there may be no squeue.
    last = jobs.finish is not None and jobs.finish == os.environ.get("SLURM_JOB_ID")
    try:
        queue = {} if last else read_queue()
    except UserError as error:
        return {run.label: WorkPlace(state="waiting", reason=f"not known: {error}") for run in plan.runs}
    elements = _elements(jobs)
    return {run.label: _place(plan, run, elements, jobs.finish, queue) for run in plan.runs}


def _place(
    plan: SweepPlan,
    run: PlannedRun,
    elements: Mapping[tuple[str, int], str],
    finish: str | None,
    queue: Mapping[str, Queued],
) -> WorkPlace:
    parts = parts_of(run)
    mine = [job for part in parts if (job := elements.get((run.label, part))) and job in queue]
    waiting = [job for job in mine if queue[job].state in _WAITING]
    running = [job for job in mine if job not in waiting]
    if running:
        return WorkPlace(state="running", by=", ".join(f"Slurm job {job} on {queue[job].node}" for job in running))
    if waiting:
        reason = f"in the queue: {queue[waiting[0]].reason}"
        return WorkPlace(state="waiting", by=f"Slurm job {', '.join(waiting)}", reason=reason)
    found = [read_note(plan.work, run.label, part) for part in parts]
    submitted = [part for part in parts if (run.label, part) in elements]
    place = ended([note for note in found if note is not None])
    if place.state == "failed":
        return place
    if submitted and any(note is None for note in found):
        return WorkPlace(
            state="failed", reason="its job ended without a word: killed or cancelled; the same command goes on"
        )
    if finish is not None and finish in queue:
        last = queue[finish]
        running_last = last.state not in _WAITING
        return WorkPlace(
            state="running" if running_last else "waiting",
            by=f"Slurm job {finish}" + (f" on {last.node}" if running_last else ""),
            reason="" if running_last else "for the job that judges",
        )
    if finish is not None and place.state == "ended":
        return WorkPlace(state="failed", reason=f"job {finish} ended before all was judged; see its log")
    return place


def read_jobs(work: Path) -> Jobs:
    """What was submitted."""
    path = work / "slurm.json"
    try:
        return Jobs.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Jobs()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read; cancel the sweep's jobs and remove the file") from error


def read_queue() -> dict[str, Queued]:
    """This user's jobs that wait or run, array elements one by one.

    Raises:
        UserError: Slurm is not here or does not answer.
    """
    queue = {}
    for line in _call(["squeue", "--me", "-h", "-r", "-o", "%i|%T|%N|%r"]).splitlines():
        job, state, node, reason = (*line.split("|", 3), "", "", "")[:4]
        if state not in _OVER:
            queue[job] = Queued(state, reason, node)
    return queue


def _elements(jobs: Jobs) -> dict[tuple[str, int], str]:
    """The job of each (label, part): the last that was submitted for it."""
    return {
        (label, part): f"{job}_{number}"
        for job, parts in jobs.arrays.items()
        for number, (label, part) in enumerate(parts)
    }


def _write(work: Path, script: Script) -> Path:
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{work}: cannot be made ({error.strerror}); choose another `out`") from error
    path = work / f"{script.name}.sbatch"
    write_atomically(path, script.text)
    return path


def _store(work: Path, jobs: Jobs) -> None:
    write_atomically(work / "slurm.json", json.dumps(jobs.model_dump(), ensure_ascii=False, indent=1) + "\n")


def _sbatch(script: Path, *options: str) -> str:
    return _call(["sbatch", "--parsable", *options, str(script)]).strip().partition(";")[0]


def _call(words: list[str]) -> str:
    """What a command of Slurm says.

    Raises:
        UserError: it is not here, hangs, or refuses.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise UserError(f"{words[0]}: not found; run this where Slurm is, or take `backend: local`") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{words[0]}: no answer within {_SECONDS} s; is Slurm up?") from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:300]
        raise UserError(f"{words[0]}: {said or f'ended with code {done.returncode}'}")
    return done.stdout
