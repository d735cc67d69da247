"""The batch scripts of a sweep on Slurm: plain bash that a person can read, change and submit by hand.

Contract: values of SWEEP.yaml stand in a script quoted, but for `setup`, whose lines are shell by purpose. A script
may be killed, requeued or submitted again at any time: what is stored is not done again.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from livek12.core.benchmarks import include_flags
from livek12.core.errors import UserError
from livek12.evaluation.sweep.plan import PlannedRun, SweepPlan, remote
from livek12.evaluation.sweep.processes import COMMAND
from livek12.evaluation.sweep.settings import Resources, SlurmSettings

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
    """A batch script and what its array elements do.

    Attributes:
        name: of its file, without the suffix.
        text: the script.
        parts: (label, part) of each element; empty for the job that judges and reports.
    """

    name: str
    text: str
    parts: list[tuple[str, int]]


def ask_scripts(plan: SweepPlan, wanted: Sequence[tuple[PlannedRun, int]]) -> list[Script]:
    """One script, hence one job array, for all models with the same resources.

    Args:
        plan: the sweep.
        wanted: runs and parts of them; parts of a run share its folder by claims.
    """
    groups: dict[str, list[tuple[PlannedRun, int]]] = {}
    for run, part in wanted:
        groups.setdefault(_resources(run.entry, plan.sweep.slurm), []).append((run, part))
    return [_ask_script(plan, f"ask-{n}", parts) for n, parts in enumerate(groups.values())]


def parts_of(run: PlannedRun) -> list[int]:
    """The numbers of a run's array elements: one a replica, but an endpoint needs no second one."""
    return list(range(1 if remote(run.entry) else run.entry.replicas))


def finish_script(plan: SweepPlan, sweep_file: Path) -> Script:
    """The job after all others: it judges and reports each run, and then compares them."""
    slurm, words = plan.sweep.slurm, command(plan)
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


def command(plan: SweepPlan) -> list[str]:
    """How `livek12` is called on a node."""
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
        lines.append(f"    set -- {shlex.join([*command(plan), 'generate', *run.ask])}")
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
    """Everything before the work itself."""
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
    """The options of sbatch that say what a job holds; of two that say the same, Slurm takes the later."""
    said = {
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "time": entry.time or slurm.time,
        "cpus-per-task": entry.cpus,
        "mem": entry.memory,
        "gres": f"gpu:{entry.gpus:g}" if entry.gpus else None,
    }
    options = [f"--{name}={value}" for name, value in said.items() if value is not None]
    return "\n".join(f"#SBATCH {option}" for option in [*options, *slurm.sbatch, *entry.sbatch])


def _plain(path: str) -> str:
    """A path that sbatch takes as it stands.

    Raises:
        UserError: it holds a sign that sbatch would read otherwise.
    """
    if wrong := sorted({sign for sign in path if sign in '%"\\' or not sign.isprintable()}):
        raise UserError(f"{path!r}: sbatch takes no path with {' '.join(map(repr, wrong))}; work in another folder")
    return path
