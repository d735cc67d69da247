"""Backend `slurm`: job arrays that generate, and a last job that judges, reports and compares.

Only missing work is submitted; `_jobs/slurm.json` maps jobs to runs. Scripts are plain bash to read, change and submit.
Values of SWEEP.yaml are quoted in them, but for `setup`, whose lines are shell by purpose. A script may be killed,
requeued or submitted again at any time.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from livek12.core.benchmarks import include_flags
from livek12.core.errors import UserError, explain_errors
from livek12.core.files import remove_files, write_atomically
from livek12.core.groups import grouped
from livek12.core.records import Record
from livek12.evaluation.sweep import PlannedRun, Resources, SlurmSettings, SweepPlan, remote
from livek12.evaluation.sweep.processes import COMMAND, WorkPlace, ended, note_file, read_note, take

_WORKING = r"""
set -m  # a command in the background is a process group of its own, and takes SIGINT
child= stopped= near_end=
trap 'near_end=1; [ -z "$child" ] || kill -INT "$child"' USR1  # Slurm says that the time limit is near
trap 'stopped=1; [ -z "$child" ] || kill -INT "$child"' TERM  # cancelled or pre-empted: Slurm decides what next

go() {  # runs a command to its end, and lets it end cleanly when this job has to
    [ -z "$near_end$stopped" ] || return 130
    "$@" &
    child=$!
    while wait "$child"; code=$?; kill -0 "$child" 2>/dev/null; do :; done
    child=
    return "$code"
}
stored() { for run in "${runs[@]}"; do cat "$run"/responses-*.jsonl "$run"/verdicts-*.jsonl; done 2>/dev/null | wc -l; }
again() {  # back into the queue, if this try stored anything
    [ -z "$stopped" ] || return 1
    if [ "$(stored)" -le "$before" ]; then
        echo "error: this try stored nothing before its end: give the job more time or memory"
    elif [ "${SLURM_RESTART_COUNT:-0}" -ge REQUEUES ]; then
        echo "error: requeued REQUEUES times already (requeues); the same sweep command goes on"
    else
        scontrol requeue "$SLURM_JOB_ID"
    fi
}
""".strip("\n")


@dataclass(frozen=True)
class Script:
    """A batch script: `name` of its file, `parts` (label, part) of its array elements, none for the last job."""

    name: str
    text: str
    parts: list[tuple[str, int]]


def ask_scripts(plan: SweepPlan, wanted: Sequence[tuple[PlannedRun, int]]) -> list[Script]:
    """One script, hence one job array, for all models with the same resources.

    Parts of a run share its folder by claims.
    """
    groups = grouped((_resources(run.entry, plan.sweep.slurm), (run, part)) for run, part in wanted)
    return [_ask_script(plan, f"ask-{n}", parts) for n, parts in enumerate(groups.values())]


def parts_of(run: PlannedRun) -> list[int]:
    """Numbers of a run's array elements: one a replica; an endpoint needs one."""
    return list(range(1 if remote(run.entry) else run.entry.replicas))


def finish_script(plan: SweepPlan, sweep_file: Path) -> Script:
    """The last job: judges and reports each run, then compares them."""
    slurm, words = plan.sweep.slurm, _command(plan)
    lines = [
        *_head(plan, "livek12-finish", slurm.judging),
        f"runs=({shlex.join(str(run.folder) for run in plan.runs)})",
        "before=$(stored)",
        "failed=0",
        "",
    ]
    for run in plan.runs:
        lines.append(f"if [ -f {shlex.quote(str(run.folder / 'run.json'))} ]; then")
        lines += [f"    go {shlex.join([*words, *step])} || failed=1" for step in run.steps]
        lines.append("fi")
    lines += [
        'if [ -n "$near_end$stopped" ]; then again; exit 1; fi',
        f"go {shlex.join([*words, 'sweep', str(sweep_file), '--report'])} || failed=1",
        'exit "$failed"',
    ]
    return Script("finish", "\n".join(lines) + "\n", [])


def _command(plan: SweepPlan) -> list[str]:
    return [*(plan.sweep.slurm.command or COMMAND), *include_flags()]


def _ask_script(plan: SweepPlan, name: str, parts: Sequence[tuple[PlannedRun, int]]) -> Script:
    slurm = plan.sweep.slurm
    first = parts[0][0]
    log = f'{shlex.quote(str(plan.work))}/"$job".log'
    throttle = f"%{slurm.parallel}" if slurm.parallel else ""
    array = [f"#SBATCH --array=0-{len(parts) - 1}{throttle}"]
    lines = [*_head(plan, f"livek12-{name}", first.entry, array), 'case "$SLURM_ARRAY_TASK_ID" in']
    for number, (run, part) in enumerate(parts):
        note = plan.work / f"{run.label}.{part}.json"
        lines.append(f"{number})  # {run.label}" + (f", replica {part}" if part else ""))
        lines.append(f"    runs=({shlex.quote(str(run.folder))})")
        lines.append(f"    note={shlex.quote(str(note))}")
        lines += [f"    export {variable}={shlex.quote(value)}" for variable, value in run.entry.env.items()]
        lines.append(f"    set -- {shlex.join([*_command(plan), 'generate', *run.ask])}")
        lines.append("    ;;")
    lines += [
        '*) echo "error: there is no element $SLURM_ARRAY_TASK_ID here"; exit 2 ;;',
        "esac",
        "",
        "before=$(stored)",
        "started=$(date +%s)",
        'go "$@"',
        "code=$?",
        'job="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"',
        """said='{"by": "Slurm job %s", "host": "%s", "started": %s, "ended": %s, "code": %s, "log": "%s"}\\n'""",
        'printf "$said" "$job" "$(hostname)" "$started" "$(date +%s)" "$code" ' + log + ' >"$note"',
        "# Killed (by the time limit, or for its memory), not ended by itself: the rest is for another try.",
        '[ "$code" -le 128 ] || again',
        'exit "$code"',
    ]
    return Script(name, "\n".join(lines) + "\n", [(run.label, part) for run, part in parts])


def _head(plan: SweepPlan, name: str, resources: Resources, more: Sequence[str] = ()) -> list[str]:
    slurm = plan.sweep.slurm
    here, work = _plain(str(Path.cwd())), _plain(str(plan.work))
    log = f"{work}/%A_%a.log" if more else f"{work}/%j.log"
    preamble = _WORKING.replace("REQUEUES", str(slurm.requeues))
    return [
        "#!/bin/bash",
        f"#SBATCH --job-name={name}",
        *more,
        _resources(resources, slurm),
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks=1",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --signal=B:USR1@{slurm.warn_seconds}",
        f'#SBATCH --chdir="{here}"',
        f'#SBATCH --output="{log}"',
        "# Written by `livek12 sweep`. It may be submitted again: what is stored is not done again.",
        "",
        *slurm.setup,
        preamble,
        "",
    ]


def _resources(entry: Resources, slurm: SlurmSettings) -> str:
    """Options of sbatch for resources; of duplicates, Slurm takes the later."""
    values = {
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "time": entry.time or slurm.time,
        "cpus-per-task": entry.cpus,
        "mem": entry.memory,
        "gres": f"gpu:{entry.gpus:g}" if entry.gpus else None,
    }
    options = [f"--{name}={value}" for name, value in values.items() if value is not None]
    return "\n".join(f"#SBATCH {option}" for option in [*options, *slurm.sbatch, *entry.sbatch])


def _plain(path: str) -> str:
    if wrong := sorted({sign for sign in path if sign in '%"\\' or not sign.isprintable()}):
        raise UserError(f"{path!r}: sbatch takes no path with {' '.join(map(repr, wrong))}; work in another folder")
    return path


_SECONDS = 60
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED"})
_OVER = frozenset({"CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"})


class Jobs(Record):
    """Submitted jobs: (label, part) of each array's elements; and the last job."""

    arrays: dict[str, list[tuple[str, int]]] = {}
    finish: str | None = None


@dataclass(frozen=True)
class Queued:
    """A line of the queue."""

    state: str
    reason: str
    node: str


def submit(plan: SweepPlan, unanswered: Sequence[PlannedRun], say: Callable[[str], None]) -> None:
    """Submits missing work, and the last job."""
    lock = take(plan.work, "_submit")
    if lock is None:
        raise UserError(f"{plan.work}: another `livek12 sweep` submits this sweep right now; see --status")
    try:
        _submit(plan, unanswered, say)
    finally:
        os.close(lock)


def _submit(plan: SweepPlan, unanswered: Sequence[PlannedRun], say: Callable[[str], None]) -> None:
    jobs, queue = _read_jobs(plan.work), _read_queue()
    living = {part: job for part, job in _elements(jobs).items() if job in queue}
    wanted = [(run, part) for run in unanswered for part in parts_of(run) if (run.label, part) not in living]
    if not wanted and jobs.finish in queue:
        say(f"everything is in the queue already, the last as job {jobs.finish}")
        return
    for run, part in wanted:
        note = note_file(plan.work, run.label, part)
        remove_files(note.parent, [note.name])
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
    """Scripts that `submit` would submit to an empty queue."""
    wanted = [(run, part) for run in unanswered for part in parts_of(run)]
    return [*ask_scripts(plan, wanted), finish_script(plan, plan.work / "sweep.yaml")]


def places(plan: SweepPlan) -> dict[str, WorkPlace]:
    """State of each run, by queue and notes."""
    jobs = _read_jobs(plan.work)
    # The last job runs after all others, perhaps without squeue.
    last = jobs.finish is not None and jobs.finish == os.environ.get("SLURM_JOB_ID")
    try:
        queue = {} if last else _read_queue()
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
    notes = [read_note(plan.work, run.label, part) for part in parts]
    submitted = [part for part in parts if (run.label, part) in elements]
    place = ended([note for note in notes if note is not None])
    if place.state == "failed":
        return place
    if submitted and any(note is None for note in notes):
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


def _read_jobs(work: Path) -> Jobs:
    path = work / "slurm.json"
    try:
        return Jobs.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Jobs()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read; cancel the sweep's jobs and remove the file") from error


def _read_queue() -> dict[str, Queued]:
    queue = {}
    for line in _call(["squeue", "--me", "-h", "-r", "-o", "%i|%T|%N|%r"]).splitlines():
        job, state, node, reason = (*line.split("|", 3), "", "", "")[:4]
        if state not in _OVER:
            queue[job] = Queued(state, reason, node)
    return queue


def _elements(jobs: Jobs) -> dict[tuple[str, int], str]:
    return {
        (label, part): f"{job}_{number}"
        for job, parts in jobs.arrays.items()
        for number, (label, part) in enumerate(parts)
    }


def _write(work: Path, script: Script) -> Path:
    with explain_errors(f"{work}: cannot be made", "; choose another `out`"):
        work.mkdir(parents=True, exist_ok=True)
    path = work / f"{script.name}.sbatch"
    write_atomically(path, script.text)
    return path


def _store(work: Path, jobs: Jobs) -> None:
    write_atomically(work / "slurm.json", json.dumps(jobs.model_dump(), ensure_ascii=False, indent=1) + "\n")


def _sbatch(script: Path, *options: str) -> str:
    return _call(["sbatch", "--parsable", *options, str(script)]).strip().partition(";")[0]


def _call(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise UserError(f"{words[0]}: not found; run this where Slurm is, or take `backend: local`") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{words[0]}: no answer within {_SECONDS} s; is Slurm up?") from error
    if done.returncode:
        message = " ".join(done.stderr.split())[:300]
        raise UserError(f"{words[0]}: {message or f'ended with code {done.returncode}'}")
    return done.stdout
