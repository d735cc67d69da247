"""`livek12 translate` and `vary`: questions in another language, or as variants, made by models and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options
from livek12.scripts.endings import CommandWork, answer, end_requests

if TYPE_CHECKING:
    from livek12.dataset_builders.proposals.variants import VaryReport


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
    from livek12.dataset_builders.proposals.translation import read_glossary, translate_data
    from livek12.engines.asking import model_spec

    glossary = read_glossary(terms) if terms else {}
    spec = model_spec(model, "--model", engine, engine_args)
    with CommandWork() as work:
        start, begin = work.starting(spec), work.counting("translating")
        report = translate_data(data, out, start, to, glossary, retries, begin)
    answer(
        as_json,
        {**asdict(report), "out": str(out)},
        *(f"{id}: not translated: {why}" for id, why in report.untranslated.items()),
        *(f"{id}: solution not translated: {why}" for id, why in report.solutions.items()),
        f"{report.translated} translated ({report.retried} texts after being asked again), {report.carried} had nothing"
        f" to translate, {len(report.untranslated)} not translated, {len(report.solutions)} without their solution;"
        f" next: livek12 review {out}",
    )
    end_requests(report.failed)
    if report.untranslated:
        raise typer.Exit(1)


@options.command("livek12 vary data/mdk12 --out data/mdk12-dynamic --model M@openai:base_url=…")
def vary(
    data: Annotated[str, typer.Argument(help="A data set of MDK12-Bench: a folder, or ORG/NAME on the Hub.")],
    out: Annotated[Path, "Folder for the drawn questions and their variants."],
    model: Annotated[str, "Model that writes other words, sentences and types."] = "",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    judge: Annotated[str, "Model that rejects variants with a changed meaning: MODEL[@ENGINE[:K=V,…]]."] = "",
    style_model: Annotated[str, "Model that redraws images: MODEL@openai:base_url=…, at /images/edits."] = "",
    transforms: Annotated[str, "Only these transforms: pad, invert, style, words, paraphrase, type."] = "",
    share: Annotated[float, "Share of the config to draw."] = 0.5,
    config: Annotated[str, "Config to draw from: mini, full, easy, medium or hard."] = "mini",
    seed: Annotated[int, "Seed of the draw."] = 0,
    as_json: options.Json = False,
) -> None:
    """Make variants of questions: other images, other words, another type."""
    from livek12.dataset_builders.proposals.variants import VaryOptions
    from livek12.dataset_builders.proposals.variants import vary as make
    from livek12.engines.asking import model_spec

    how = VaryOptions(
        [name.strip() for name in transforms.split(",") if name.strip()],
        share,
        seed,
        config,
        model_spec(model, "--model", engine, engine_args) if model else None,
        model_spec(judge, "--judge") if judge else None,
        model_spec(style_model, "--style-model") if style_model else None,
    )
    with CommandWork() as work:

        def begin(what: str, total: int) -> Callable[[], None]:
            work.close()  # ends the one before
            return work.counting(what)(total)

        report = make(data, out, how, begin)
    for line in (*report.notes, *report.lines):
        tell(line, err=True)
    answer(as_json, {**asdict(report), "out": str(out)}, *_lines(report, out))
    end_requests(report.failed)


def _lines(report: VaryReport, out: Path) -> Iterator[str]:
    for name in {**report.made, **report.dropped}:
        reasons = report.dropped.get(name, {})
        breakdown = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        left_out = f", left out {sum(reasons.values())} ({breakdown})" * bool(breakdown)
        yield f"{name}: {report.made.get(name, 0)} variants{left_out}"
    why = ", ".join(f"{reason} {count}" for reason, count in report.left_out.items())
    yield (
        f"{report.drawn} of {report.questions} questions drawn, {report.variants} have a variant"
        f"{f'; left out: {why}' if why else ''}; next: livek12 run --data {out} --task mdk12,mdk12_dynamic"
    )
