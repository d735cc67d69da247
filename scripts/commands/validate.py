"""`livek12 validate`: checks a built data set, one line a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.endings import answer


@options.command("livek12 validate data/mine")
def validate(folder: Annotated[Path, typer.Argument(help="A built data set.")], as_json: options.Json = False) -> None:
    """Check a built data set."""
    from livek12.core.progress import Progress
    from livek12.dataset_builders import validate as check

    options.confine(reads=[folder])
    with Progress("checking rows") as progress:
        problems = check(folder, progress.step)
    lines = problems or [f"{folder}: no problems"]
    answer(as_json, {"folder": str(folder), "problems": problems}, *lines, indent=1)
    if problems:
        raise typer.Exit(1)
