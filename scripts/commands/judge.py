"""`livek12 judge`: marks what is not marked yet in a run folder."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def judge(
    run: options.Run,
    judge: options.Judge = "rules",
    judge_engine: options.JudgeEngine = "",
    judge_engine_args: options.JudgeEngineArgs = "",
    judge_method: options.JudgeMethod = "",
    answers: options.Answers = "",
    data: Annotated[str, typer.Option("--data", help="Where the data set lies now, if it moved.")] = "",
    cache: options.Cache = True,
    audit: options.Audit = True,
    stages: options.Stages = "auto",
    again: Annotated[bool, typer.Option("--again", help="Replace the verdicts of other judges.")] = False,
) -> None:
    """Mark the responses of a run folder."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts import pipeline
    from livek12.scripts.beside import STAGES
    from livek12.scripts.progress import warn

    pipeline.one_of("--stages", stages, STAGES)
    judging = options.judging(
        judge,
        judge_engine,
        judge_engine_args,
        judge_method,
        answers=answers,
        data=data,
        cache=cache,
        audit=audit,
        stages=stages,
    )
    end(pipeline.judge(RunFolder.open(run, warn), again=again, options=judging))


def end(lost: int) -> None:
    """Ends a command that judges: exit code 1 while a judge could not be asked about some responses."""
    if lost:
        typer.echo(f"{lost} responses wait for a judge that did not answer; the same command asks again", err=True)
        raise typer.Exit(1)
