"""`livek12 translate`: translates questions with a model, checked, into a folder to review."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from collections.abc import Callable

app = options.command()


@app.command()
def translate(
    data: Annotated[Path, typer.Argument(help="An ingested folder, or a data set made by `livek12 build`.")],
    model: options.Model,
    out: Annotated[Path, typer.Option("--out", help="The folder to review and build; an unfinished one goes on.")],
    to: Annotated[str, typer.Option("--to", help="The language: en.")] = "en",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    terms: Annotated[
        Path | None, typer.Option("--terms", help="Glossary: CSV with source and target, or YAML.")
    ] = None,
    retries: Annotated[int, typer.Option("--retries", min=0, max=10, help="For a faulty translation.")] = 2,
    as_json: options.Json = False,
) -> None:
    """Translate questions, with checks that numbers, formulas, options and figures survive."""
    from dataclasses import asdict

    from livek12.core.engines import make_engine, parse_engine_args
    from livek12.dataset_builders.translation.folders import translate_data
    from livek12.dataset_builders.translation.glossary import read_glossary
    from livek12.scripts.progress import Progress, warn

    glossary = read_glossary(terms) if terms else {}
    with ExitStack() as stack:
        made = make_engine(engine, model, parse_engine_args(engine_args))
        stack.callback(made.close)

        def begin(total: int) -> Callable[[], None]:
            return stack.enter_context(Progress("translating", total)).step

        report = translate_data(data, out, made, to, glossary, retries, begin, warn)
    if as_json:
        typer.echo(json.dumps({**asdict(report), "out": str(out)}, ensure_ascii=False))
    else:
        for id, why in report.untranslated.items():
            typer.echo(f"{id}: not translated: {why}")
        for id, why in report.solutions.items():
            typer.echo(f"{id}: solution not translated: {why}")
        typer.echo(
            f"{report.translated} translated ({report.retried} texts after being asked again), {report.carried} had"
            f" nothing to translate, {len(report.untranslated)} not translated, {len(report.solutions)} without their"
            f" solution; next: livek12 review {out}"
        )
    if report.failed:
        typer.echo(f"{report.failed} requests failed: the same command sends them again", err=True)
    if report.failed or report.untranslated:
        raise typer.Exit(1)
