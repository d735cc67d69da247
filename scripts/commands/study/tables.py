"""`livek12 study tables`: runs in the tables of the articles."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs

EPILOG = options.example("livek12 study tables runs/qwen3 runs/gemma3 --table kmmmu-3 --format latex")
FORMATS = ("md", "latex", "csv", "html", "json")


def command(
    runs: Runs,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME", help="Only this table, e.g. livek12-3; may be given again."),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="md, latex, csv, html or json.")] = "md",
    intervals: Annotated[bool, typer.Option("--intervals", help="With 95 % intervals in md and latex.")] = False,
    profile: options.Profile = "article",
) -> None:
    """Print tables in the shapes of the articles, of any set of runs: all that they have answers for."""
    from livek12.core.arguments import one_of
    from livek12.core.progress import warn
    from livek12.core.scoring import profile_named
    from livek12.evaluation.article_tables import SHAPES, article_tables, shape_named
    from livek12.evaluation.comparing import read_outcomes
    from livek12.report import tables as writing

    one_of("--format", format, FORMATS)
    shapes = [shape_named(name) for name in table] if table else list(SHAPES)
    result = article_tables(read_outcomes(runs), shapes, profile_named(profile)).some()
    for name, reason in result.missing.items() if table else ():
        warn(f"{name}: {reason}")
    if format == "json":
        typer.echo(json.dumps({"tables": result.tables, "missing": result.missing}, ensure_ascii=False, indent=1))
    elif format == "csv":
        typer.echo(writing.as_csv(result.tables), nl=False)
    elif format == "html":
        from livek12.report.html import as_page

        typer.echo(as_page(result.tables, result.missing))
    else:
        write = writing.as_latex if format == "latex" else writing.as_markdown
        typer.echo(write(result.tables, intervals))
