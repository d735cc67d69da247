"""`livek12 build`: Parquet and a card from a source; `load_dataset(DIR, CONFIG)` reads the result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def build(
    benchmark: Annotated[str, typer.Argument(help="livek12, kmmmu, cfe, mdk12, all (in one data set), or sample.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the data set; an earlier build in it is replaced.")],
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="A file or folder of rows, or hub. For all, repeatable: hub, BENCHMARK=PATH, BENCHMARK=hub, or a"
            " folder with a folder for each benchmark. Not for sample.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A host that pictures may be fetched from (HOST or HOST:PORT); repeatable."),
    ] = None,
    subsets: Annotated[
        list[Path] | None,
        typer.Option("--subsets", help="A reviewed sheet of `livek12 subsets`; repeatable."),
    ] = None,
    base: Annotated[
        str, typer.Option("--base", help="Add to this earlier data set: a folder, or ORG/NAME[@REVISION] on the Hub.")
    ] = "",
    withdraw: Annotated[
        Path | None,
        typer.Option("--withdraw", help="Withdraw questions of --base: CSV lines ID, REASON, RELEASE."),
    ] = None,
) -> None:
    """Build a data set (Parquet and a card) from a source."""
    from livek12.dataset_builders import build as make
    from livek12.scripts.progress import Progress

    with Progress(f"building {benchmark}") as progress:
        report = make(benchmark, source or [], out, allow_host or [], subsets or [], progress.step, base, withdraw)
    for line in report.lines():
        typer.echo(line)
    if report.skipped:
        raise typer.Exit(1)
