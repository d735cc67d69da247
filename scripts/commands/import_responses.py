"""`livek12 import-responses`: recorded responses become a run folder, marked and reported like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def import_responses(
    file: Annotated[Path, typer.Argument(help="The recorded responses: a file, or a folder of a harness's logs.")],
    task: options.Tasks,
    out: options.Out,
    data: options.Data = "",
    source: Annotated[
        str,
        typer.Option(
            "--from", help="Format: jsonl, or the log of lm-eval, lmms-eval, inspect, lighteval or vlmevalkit."
        ),
    ] = "jsonl",
    limit: options.Limit = None,
    trials: options.Trials = 1,
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Make a run folder from recorded responses."""
    from livek12.scripts.commands.generate import ask
    from livek12.scripts.commands.report import end, finish
    from livek12.scripts.imports import READERS, as_jsonl
    from livek12.scripts.pipeline import judge as mark
    from livek12.scripts.pipeline import one_of, profile_of
    from livek12.tasks.registry import get_tasks

    one_of("--from", source, ("jsonl", *READERS))
    formulas = profile_of(profile)
    if source != "jsonl":
        file = as_jsonl(file, source, [named.name for named in get_tasks(task)], out)
    folder, exam = ask(task, str(file), out, data, "replay", "", limit, trials, {})
    mark(folder)
    end(finish(folder, formulas, exam=exam, as_json=as_json))
