"""`livek12 judge-pairs`: answers beside their keys, one a line, judged with no run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def judge_pairs(
    source: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="Rows {id, question, question_type, gold, response}.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="One line for each line of IN, in its order.")],
    judge: options.Judge = "rules",
    judge_engine: options.JudgeEngine = "",
    judge_engine_args: options.JudgeEngineArgs = "",
    judge_method: options.JudgeMethod = "",
    model: Annotated[str, typer.Option("--model", help="Who wrote the responses: never its own judge.")] = "",
    cache: options.Cache = True,
) -> None:
    """Judge pairs of answer and key; run again, it goes on where it stopped."""
    from livek12.scripts.pair_file import judge_file

    judging = options.judging(judge, judge_engine, judge_engine_args, judge_method, cache=cache)
    counts = judge_file(source, target, judging, model)
    typer.echo(
        f"{target}: {counts.accepted} accepted, {counts.rejected} rejected, {counts.undecided} undecided"
        + (f", {counts.bad} bad rows" if counts.bad else "")
        + (f", {counts.lost} without a judge's answer" if counts.lost else "")
    )
    if counts.bad or counts.lost:
        raise typer.Exit(1)
