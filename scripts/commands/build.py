"""`livek12 build`: Parquet and a card from a source; `load_dataset(DIR, CONFIG)` reads the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options

app = options.command()


@app.command(epilog=options.example("livek12 build livek12 --source my_exam.jsonl --out data/mine"))
def build(
    benchmark: Annotated[str, typer.Argument(help="A benchmark such as livek12, all (in one data set), or sample.")],
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
    base_answers: Annotated[
        str,
        typer.Option(
            "--base-answers",
            help="The data set with the answers that --base holds back: a folder, or ORG/NAME[@REVISION].",
        ),
    ] = "",
    withdraw: Annotated[
        Path | None,
        typer.Option("--withdraw", help="CSV file of questions of --base to withdraw, with lines ID, REASON, RELEASE."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Build a data set (Parquet and a card) from a source."""
    from livek12.core.progress import Progress
    from livek12.dataset_builders import build as make

    with Progress(f"building {benchmark}") as progress:
        report = make(
            benchmark,
            source or [],
            out,
            allow_host or [],
            subsets or [],
            progress.step,
            base,
            withdraw,
            base_answers=base_answers,
        )
    if as_json:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False, indent=1))
    else:
        for line in report.lines():
            tell(line)
    if report.skipped:
        raise typer.Exit(1)
