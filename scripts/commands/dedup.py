"""`livek12 dedup`: pairs of equal questions or variants, in a file for a person to decide on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.core.progress import Progress, tell
from livek12.scripts import options
from livek12.scripts.endings import answer


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
