"""`livek12 judge`: marks what is not marked yet in a run folder."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options

app = options.command()


@app.command(epilog=options.example("livek12 judge runs/qwen3 --judge Qwen/Qwen3-32B"))
def judge(
    run: options.OwnRun,
    judge: options.Judge = "rules",
    judge_engine: options.JudgeEngine = "",
    judge_engine_args: options.JudgeEngineArgs = "",
    judge_method: options.JudgeMethod = "",
    judge_prompt: options.JudgePrompt = "",
    judge_scope: options.JudgeScope = "",
    repeats: options.Repeats = 1,
    answers: options.Answers = "",
    data: Annotated[str, typer.Option("--data", help="Where the data set lies now, if it was moved.")] = "",
    cache: options.Cache = True,
    audit: options.Audit = True,
    stages: options.Stages = "auto",
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Processes that mark by the rules; default: by the processors."),
    ] = None,
    engine_args: Annotated[
        str, typer.Option("--engine-args", help="ray=auto, local or HOST:PORT: mark by the rules on a Ray cluster.")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Mark everything anew; old marks count until then.")] = False,
    as_json: options.Json = False,
) -> None:
    """Mark what is not marked in a run folder, and settle what was left open."""
    from livek12.core.arguments import one_of, parse_engine_args
    from livek12.core.errors import UserError
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder, states
    from livek12.evaluation import marking
    from livek12.evaluation.judging import judge_options
    from livek12.evaluation.overlap import STAGES

    one_of("--stages", stages, STAGES)
    judging = judge_options(
        judge,
        judge_engine,
        judge_engine_args,
        judge_method,
        judge_prompt,
        judge_scope,
        answers=answers,
        data=data,
        cache=cache,
        audit=audit,
        stages=stages,
        repeats=repeats,
    )
    placing = parse_engine_args(engine_args)
    if {*placing} - {"ray"} or (placing and judging.panel is not None):
        raise UserError("--engine-args: rules take ray=… alone; those of judge models are --judge-engine-args")
    folder = RunFolder.open(run, warn)
    lost = marking.judge(folder, again=again, options=judging, workers=workers, ray=str(placing.get("ray", "")))
    found = states(folder)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **found, "lost": lost}))
    else:
        told = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in found.items() if count)
        tell(f"{run}: {told}; next: livek12 report {run}")
    end(lost)


def end(lost: int) -> None:
    """Ends a command that judges: exit code 1 while a judge could not be asked about some responses."""
    if lost:
        tell(f"{lost} responses wait for a judge that did not answer; the same command asks again", err=True)
        raise typer.Exit(1)
