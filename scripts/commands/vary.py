"""`livek12 vary`: makes variants of a data set's questions, for MDK12-Bench's dynamic evaluation."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from collections.abc import Callable

    from livek12.dataset_builders.proposals.variants.varying import VaryReport


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
    from dataclasses import asdict

    from livek12.core.progress import Progress
    from livek12.dataset_builders.proposals.variants.varying import VaryOptions
    from livek12.dataset_builders.proposals.variants.varying import vary as make
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
    with ExitStack() as stack:

        def begin(what: str, total: int) -> Callable[[], None]:
            stack.close()  # ends the one before
            return stack.enter_context(Progress(what, total)).step

        report = make(data, out, how, begin)
    for note in report.notes:
        tell(note, err=True)
    for line in report.lines:
        tell(line, err=True)
    if as_json:
        typer.echo(json.dumps({**asdict(report), "out": str(out)}, ensure_ascii=False))
    else:
        _show(report, out)
    if report.failed:
        tell(f"{report.failed} requests failed: the same command sends them again", err=True)
        raise typer.Exit(1)


def _show(report: VaryReport, out: Path) -> None:
    for name in {**report.made, **report.dropped}:
        reasons = report.dropped.get(name, {})
        breakdown = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        tell(
            f"{name}: {report.made.get(name, 0)} variants"
            + (f", left out {sum(reasons.values())} ({breakdown})" * bool(breakdown))
        )
    why = ", ".join(f"{reason} {count}" for reason, count in report.left_out.items())
    tell(
        f"{report.drawn} of {report.questions} questions drawn, {report.variants} have a variant"
        f"{f'; left out: {why}' if why else ''}; next: livek12 run --data {out} --task mdk12,mdk12_dynamic"
    )
