"""`livek12 build`: Parquet and a card from a source; `load_dataset(DIR, CONFIG)` reads the result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def build(
    benchmark: Annotated[str, typer.Argument(help="sample, livek12 or cfe.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the data set.")],
    source: Annotated[str, typer.Option("--source", help="Where the questions are; not for sample.")] = "",
) -> None:
    """Build a data set (Parquet and a card) from a source."""
    from livek12.dataset_builders import build as make

    report = make(benchmark, source, out)
    for line in report.lines():
        typer.echo(line)
    if report.skipped:
        raise typer.Exit(1)
