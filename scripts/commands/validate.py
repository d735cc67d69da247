"""`livek12 validate`: checks a built data set, one line a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def validate(folder: Annotated[Path, typer.Argument(help="A built data set.")]) -> None:
    """Check a built data set."""
    from livek12.dataset_builders import validate as check
    from livek12.scripts.progress import Progress

    with Progress("checking rows") as progress:
        problems = check(folder, progress.step)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{folder}: no problems")
