"""`livek12 import-responses`: recorded responses become a run folder, marked and reported like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def import_responses(
    file: Annotated[Path, typer.Argument(help="The recorded responses.")],
    task: options.Tasks,
    out: options.Out,
    data: options.Data = "",
    source: Annotated[str, typer.Option("--from", help="Format of the file: jsonl.")] = "jsonl",
    limit: options.Limit = None,
    trials: options.Trials = 1,
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Make a run folder from recorded responses."""
    from livek12.scripts.commands.generate import ask
    from livek12.scripts.commands.report import end, finish
    from livek12.scripts.pipeline import judge as mark
    from livek12.scripts.pipeline import one_of, profile_of

    one_of("--from", source, ("jsonl",))
    formulas = profile_of(profile)
    folder, exam = ask(task, str(file), out, data, "replay", "", limit, trials, {})
    mark(folder)
    end(finish(folder, formulas, exam=exam, as_json=as_json))
