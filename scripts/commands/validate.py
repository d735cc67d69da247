"""`livek12 validate`: checks a built data set, one line a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options


@options.command("livek12 validate data/mine")
def validate(folder: Annotated[Path, typer.Argument(help="A built data set.")], as_json: options.Json = False) -> None:
    """Check a built data set."""
    from livek12.core.progress import Progress
    from livek12.dataset_builders import validate as check

    with Progress("checking rows") as progress:
        problems = check(folder, progress.step)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "problems": problems}, ensure_ascii=False, indent=1))
    else:
        for line in problems or [f"{folder}: no problems"]:
            tell(line)
    if problems:
        raise typer.Exit(1)
