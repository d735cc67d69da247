"""`livek12 metrics [NAME]`: the modules for `evaluate.load`, each as a folder for a Space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options


@options.command("livek12 metrics livek12_exam --out spaces")
def metrics(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A module; default: all of them.")] = "",
    out: Annotated[Path | None, "Write each module to OUT/NAME, ready for a Space."] = None,
    as_json: options.Json = False,
) -> None:
    """Print the paths of the modules for `evaluate.load`, or write them as folders for Spaces."""
    from livek12.core.metrics import METRICS, metric_path, space

    names = [name] if name else list(METRICS)
    paths = {each: metric_path(each) if out is None else str(space(each, out)) for each in names}
    if as_json:
        rows = [{"name": each, "path": path, "about": METRICS[each]} for each, path in paths.items()]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    for each, path in paths.items():
        typer.echo(f"{each}: {METRICS[each]}", err=True)
        typer.echo(path)
