"""`livek12 translate`: translates questions with a model, checked, into a folder to review."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from collections.abc import Callable

    from livek12.engines import Engine


@options.command("livek12 translate mine --to en --model Qwen/Qwen3-8B --out mine-en")
def translate(
    data: Annotated[Path, typer.Argument(help="An ingested folder, or a data set made by `livek12 build`.")],
    model: options.Model,
    out: Annotated[Path, "Folder to review and build; an unfinished one is resumed."],
    to: Annotated[str, "Target language: en."] = "en",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    terms: Annotated[Path | None, "Glossary: CSV with source and target, or YAML."] = None,
    retries: Annotated[int, options.Opt("Further requests for a faulty translation.", min=0, max=10)] = 2,
    as_json: options.Json = False,
) -> None:
    """Translate questions, and check numbers, formulas, options and figures."""
    from dataclasses import asdict

    from livek12.core.progress import Progress
    from livek12.dataset_builders.proposals.translation.translator import read_glossary, translate_data
    from livek12.engines.asking import model_spec

    glossary = read_glossary(terms) if terms else {}
    spec = model_spec(model, "--model", engine, engine_args)
    with ExitStack() as stack:

        def start() -> Engine:
            return stack.enter_context(closing(spec.start()))

        def begin(total: int) -> Callable[[], None]:
            return stack.enter_context(Progress("translating", total)).step

        report = translate_data(data, out, start, to, glossary, retries, begin)
    if as_json:
        typer.echo(json.dumps({**asdict(report), "out": str(out)}, ensure_ascii=False))
    else:
        for id, why in report.untranslated.items():
            tell(f"{id}: not translated: {why}")
        for id, why in report.solutions.items():
            tell(f"{id}: solution not translated: {why}")
        tell(
            f"{report.translated} translated ({report.retried} texts after being asked again), {report.carried} had"
            f" nothing to translate, {len(report.untranslated)} not translated, {len(report.solutions)} without their"
            f" solution; next: livek12 review {out}"
        )
    if report.failed:
        tell(f"{report.failed} requests failed: the same command sends them again", err=True)
    if report.failed or report.untranslated:
        raise typer.Exit(1)
