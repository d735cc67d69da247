"""`livek12 sweep`: models × tasks × trials from one file, here, on Ray or on Slurm; resumes."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.errors import UserError
from livek12.core.lazy import rich
from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.evaluation.sweep import SweepPlan
    from livek12.evaluation.sweep.status import Cell


@options.command("livek12 sweep sweep.yaml --dry-run")
def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="SWEEP.yaml", help="The models, tasks and trials to run.", show_default=False)
    ],
    status: Annotated[bool, "Only print the progress of each cell."] = False,
    report: Annotated[bool, "Only compare and report the finished cells."] = False,
    dry_run: Annotated[bool, "Only print the commands or the job scripts."] = False,
    as_json: options.Json = False,
) -> None:
    """Run models × tasks × trials on this machine, Ray, Slurm or the Hub's jobs."""
    from livek12.evaluation.sweep import read_plan

    if status + report + dry_run > 1:
        raise UserError("--status, --report and --dry-run are three things: give one of them")
    plan = read_plan(file)
    if dry_run:
        _dry_run(plan)
    elif status:
        _status(plan, as_json)
    else:
        if not report and work(plan):
            return
        _finish(plan, as_json)


def work(plan: SweepPlan) -> bool:
    """Fills the unfinished runs; true if jobs elsewhere do so now."""
    from livek12.evaluation.sweep.status import find, look

    states = {run.label: find(run) for run in plan.runs}
    unfinished = {cell.label for cell in look(plan, states) if cell.state != "done" and not states[cell.label].problem}
    plan = replace(plan, runs=[run for run in plan.runs if not states[run.label].problem])
    if plan.sweep.backend == "slurm" and unfinished:
        from livek12.evaluation.sweep.slurm import submit

        submit(plan, [run for run in plan.runs if states[run.label].unanswered], _say)
        if problems := [f"{label}: {run.problem}" for label, run in states.items() if run.problem]:
            for problem in problems:
                _say(problem)
            raise typer.Exit(1)
        return True
    if plan.sweep.backend == "hf-jobs" and unfinished:
        from livek12.evaluation.sweep import hf_jobs

        hf_jobs.submit(plan, [run for run in plan.runs if run.label in unfinished], _say)
        return True
    from livek12.evaluation.sweep.processes import work_off

    for name in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: every run ends cleanly before we do
        if signal.getsignal(name) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(name, signal.default_int_handler)
    parallel = plan.sweep.ray.at_once if plan.sweep.backend == "ray" else plan.sweep.local.parallel
    runs = [run for run in plan.runs if run.label in unfinished]
    work_off(plan.work, runs, parallel, _say, plan.sweep.retry_smaller)
    return False


def _finish(plan: SweepPlan, as_json: bool) -> None:
    from livek12.evaluation.sweep.status import find, look, write_report
    from livek12.report.compared import print_comparison

    states = {run.label: find(run) for run in plan.runs}
    cells = look(plan, states)
    report = write_report(plan, cells, states)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        _print(cells)
        if report["comparison"]:
            print_comparison(report["comparison"])
        typer.echo(f"report: {plan.out / 'sweep.html'}")
    if report["missing"]:
        for line in report["missing"]:
            _say(f"missing: {line}")
        raise typer.Exit(1)


def _status(plan: SweepPlan, as_json: bool) -> None:
    from livek12.evaluation.sweep.status import look

    cells = look(plan)
    if as_json:
        typer.echo(json.dumps([cell.as_json() for cell in cells], ensure_ascii=False, indent=1))
    else:
        _print(cells)


def _dry_run(plan: SweepPlan) -> None:
    from livek12.evaluation.sweep.processes import shown
    from livek12.evaluation.sweep.status import find

    if plan.sweep.backend == "slurm":
        from livek12.evaluation.sweep.slurm import scripts

        for script in scripts(plan, [run for run in plan.runs if find(run).unanswered]):
            typer.echo(f"# {shlex.quote(str(plan.work / script.name))}.sbatch\n{script.text}")
    elif plan.sweep.backend == "hf-jobs":
        from livek12.evaluation.sweep import hf_jobs

        for run, command in hf_jobs.commands(plan, plan.runs):
            typer.echo(f"# {command[-1]}\n{hf_jobs.script(plan, run)}\n{shlex.join(command)}\n")
    else:
        for run in plan.runs:
            typer.echo(shown(run, run.whole))


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # a full disk under stderr is no reason to leave runs behind
        tell(line, err=True)


def _print(cells: Sequence[Cell]) -> None:
    from livek12.evaluation.sweep.status import hours, money
    from livek12.report.markup import clean

    table = rich.table.Table(box=rich.box.SIMPLE, pad_edge=False, show_edge=False)
    heads = ("model", "task", "state", "answered", "judged", "tokens", "GPU-hours", "cost")
    for head in heads:
        table.add_column(head, overflow="fold", justify="left" if head in heads[:3] else "right")
    for cell in cells:
        counts, bill = cell.counts, cell.bill
        numbers = [f"{counts.answered}/{counts.asked}", str(counts.judged)] if counts else ["–", "–"]
        numbers.append(f"{cell.work.completion_tokens:,}" if counts else "–")
        numbers += [hours(bill.gpu_hours if bill else None), money(bill.cost if bill else None)]
        table.add_row(*(rich.text.Text(clean(text)) for text in (cell.label, cell.task, cell.state, *numbers)))
    out = rich.console.Console()
    out.print(table)
    for cell in cells:
        ungraded = f"{cell.counts.ungraded} ungraded" if cell.counts and cell.counts.ungraded else ""
        if remarks := "; ".join(filter(None, (cell.by, cell.reason, ungraded))):
            out.print(
                clean(f"{cell.label}, {cell.task}: {cell.state}: {remarks}"),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
