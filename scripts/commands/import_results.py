"""`livek12 import-results`: a matrix of results becomes a run folder for each model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options


@options.command("livek12 import-results results.csv --items items.csv --out runs/theirs")
def import_results(
    file: Annotated[Path, typer.Argument(help="The table: .csv, .tsv, .jsonl or .parquet, also as .gz.")],
    out: Annotated[Path, "Folder for the run folders, one per model."],
    items: Annotated[Path | None, "Table of the questions: id, key, category, options, points."] = None,
    data: options.Data = "",
    task: Annotated[str, "The task of --data; without --data, a name for it."] = "",
    cells: Annotated[
        str, "Kind of the cells: letters, answers, marks (0/1), shares (0 to 1) or points; default: inferred."
    ] = "",
    column: Annotated[
        list[str] | None,
        options.Opt("Name of the column for model, question, value, key, ….", metavar="ROLE=NAME"),
    ] = None,
    source: Annotated[str, "Address of the source of the questions."] = "",
    licence: Annotated[str, "Licence of the questions; without it, a site shows only marks."] = "",
    as_json: options.Json = False,
) -> None:
    """Make run folders from a table of results, models × questions: letters, answers, 0/1, shares or points."""
    from livek12.core.arguments import one_of
    from livek12.core.errors import UserError
    from livek12.evaluation.results import COLUMNS, KINDS, ResultsOptions, import_results
    from livek12.scripts.endings import answer

    if cells:
        one_of("--cells", cells, KINDS)
    if items is not None and data:
        raise UserError("--items and --data both name the questions: give one of them")
    columns = dict(pair.partition("=")[::2] for pair in column or ())
    if wrong := next((role for role, name in columns.items() if role not in COLUMNS or not name), None):
        raise UserError(f"--column {wrong}: write ROLE=NAME; roles are {', '.join(COLUMNS)}")
    options.confine(out, reads=[file, *filter(None, [items])], data=[data])
    wishes = ResultsOptions(file, out, items, data, task, cells, columns, source, licence)
    made = import_results(wishes)
    lines = [
        f"{run.folder}: {run.right:,} right of {run.decided:,} decided, {run.questions:,} questions" for run in made
    ]
    answer(as_json, [{**asdict(run), "folder": str(run.folder)} for run in made], *lines)
