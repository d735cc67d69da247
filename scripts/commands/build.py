"""`livek12 build`, `validate` and `dedup`: Parquet and a card from a source, its checks, and pairs of equal questions.

`load_dataset(DIR, CONFIG)` reads what `build` writes.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.errors import UserError
from livek12.core.progress import Progress, tell
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.dataset_builders.reading.naming import Given


@options.command("livek12 build livek12 --source my_exam.jsonl --out data/mine")
def build(
    benchmark: Annotated[str, typer.Argument(help="A benchmark such as livek12, all (in one data set), or sample.")],
    out: Annotated[Path | None, "Folder for the data set; an earlier build of the same source is replaced."] = None,
    source: Annotated[
        list[str] | None,
        options.Opt(
            "File or folder of rows, or hub. For all, repeatable: hub, BENCHMARK=PATH, BENCHMARK=hub, or a"
            " folder with one folder per benchmark. Not for sample.",
            metavar="SOURCE",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        options.Opt("Host from which images may be fetched (HOST or HOST:PORT); repeatable.", metavar="HOST"),
    ] = None,
    subsets: Annotated[
        list[Path] | None, options.Opt("A reviewed sheet of `livek12 subsets`; repeatable.", metavar="SHEET")
    ] = None,
    base: Annotated[str, "Add to this earlier data set: a folder, or ORG/NAME[@REVISION] on the Hub."] = "",
    base_answers: Annotated[
        str, "The data set with the answers that --base holds back: a folder, or ORG/NAME[@REVISION]."
    ] = "",
    withdraw: Annotated[
        Path | None, "CSV file of questions of --base to withdraw, with lines ID, REASON, RELEASE."
    ] = None,
    names: Annotated[
        Path | None,
        options.Opt("YAML file that maps the source's keys, with lines THEIR_KEY: OUR_KEY.", "--map"),
    ] = None,
    drop: Annotated[str, "Keys of the source to leave out, comma-separated."] = "",
    language: Annotated[str, "Language of rows that state none: zh, en or ko; default: inferred."] = "",
    preview: Annotated[bool, "Print the first questions; write nothing."] = False,
    as_json: options.Json = False,
) -> None:
    """Build a data set (Parquet and a card) from a source."""
    from livek12.dataset_builders import build as make
    from livek12.dataset_builders.reading.naming import read_given

    given = read_given(names, drop, language, allow_host or ())
    if preview:
        _preview(benchmark, source or [], given, as_json)
        return
    if out is None:
        raise UserError("build needs --out: the folder of the data set; --preview shows the first questions instead")

    with Progress(f"building {benchmark}") as progress:
        report = make(
            benchmark,
            source or [],
            out,
            subsets or [],
            progress.step,
            base,
            withdraw,
            base_answers=base_answers,
            given=given,
        )
    answer(as_json, report.as_json(), *report.lines(), indent=1)
    if report.skipped:
        raise typer.Exit(1)


def _preview(benchmark: str, source: list[str], given: Given, as_json: bool) -> None:
    from livek12.dataset_builders.building import preview as look

    preview = look(benchmark, source, given)
    answer(as_json, asdict(preview), *preview.lines(), indent=1)
    if preview.lost:
        raise typer.Exit(1)


@options.command("livek12 validate data/mine")
def validate(folder: Annotated[Path, typer.Argument(help="A built data set.")], as_json: options.Json = False) -> None:
    """Check a built data set."""
    from livek12.dataset_builders import validate as check

    options.confine(reads=[folder])
    with Progress("checking rows") as progress:
        problems = check(folder, progress.step)
    lines = problems or [f"{folder}: no problems"]
    answer(as_json, {"folder": str(folder), "problems": problems}, *lines, indent=1)
    if problems:
        raise typer.Exit(1)


@options.command("livek12 dedup mine --against data/sample")
def dedup(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE", help="Ingested folders, data sets (folder or ORG/NAME), or files of rows."),
    ],
    against: Annotated[
        list[str] | None, options.Opt("An earlier release to compare with, but not within; repeatable.", metavar="DATA")
    ] = None,
    out: Annotated[
        Path | None, "File for the pairs, .jsonl or .csv; decisions in it are kept. Default: duplicates.jsonl."
    ] = None,
    pictures: Annotated[bool, options.Opt("Also compare figures.", "--pictures/--no-pictures")] = True,
    variants: Annotated[bool, options.Opt("Also write variants.", "--variants/--no-variants")] = True,
    as_json: options.Json = False,
) -> None:
    """Find duplicate questions in a source and in earlier releases.

    The pairs of an ingested folder appear as doubts on its review page.
    """
    from livek12.dataset_builders.duplicates.search import search

    with Progress("questions") as progress:
        result = search(sources, against or [], out, pictures=pictures, variants=variants, step=progress.step)
    for line in result.lines:
        tell(line, err=True)
    answer(
        as_json,
        result.summary(),
        f"{result.questions} questions, {result.against} earlier ones: {result.counts['duplicates']} duplicates,"
        f" {result.counts['variants']} variants, {result.counts['decided']} decided,"
        f" {result.counts['open']} duplicates to decide: {result.out}",
    )
    if result.failed:
        raise typer.Exit(1)
