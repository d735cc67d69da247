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
    again: Annotated[bool, typer.Option("--again", help="Replace the verdicts of other judges.")] = False,
) -> None:
    """Mark the responses of a run folder."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts import pipeline
    from livek12.scripts.progress import warn

    pipeline.judge_of(judge)
    pipeline.judge(RunFolder.open(run, warn), again=again)
