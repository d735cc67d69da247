"""`livek12 run`: asks, judges, scores and reports; resumes an interrupted run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.evaluation.options import OUTPUT, TASK, JudgingOptions, RunOptions, SamplingOptions
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.evaluation.adaptive import Adaptive
    from livek12.evaluation.asking import PromptCost


@options.command("livek12 run --task livek12_text_only --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
def run(
    asking: RunOptions,
    sampling: SamplingOptions,
    judging: JudgingOptions,
    profile: options.Profile = "article",
    adaptive: Annotated[
        Path | None,
        options.Opt("Item bank (`livek12 bank`): ask its most informative questions.", rich_help_panel=TASK),
    ] = None,
    until: Annotated[
        str,
        options.Opt("End of an adaptive exam: se=0.3 (of the ability), n=50, or both.", rich_help_panel=TASK),
    ] = "",
    batch: Annotated[
        int | None,
        options.Opt("Questions that an adaptive exam asks at once; default: 5.", min=1, rich_help_panel=TASK),
    ] = None,
    dry_run: Annotated[
        bool,
        options.Opt(
            "Only print the number of requests and tokens and, with price=, the cost.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import ask_and_mark, expected
    from livek12.scripts.endings import end, end_judging, finish

    exam = adaptive_exam(asking, adaptive, until, batch, dry_run)
    judges = judging.judges()
    formulas = profile_named(profile)
    draws = sampling.given()
    if dry_run:
        _show_cost(expected(asking, draws), asking, as_json)
        return
    marked = ask_and_mark(asking.with_trials(), draws, judges, judging.stages, exam)
    if marked is None:
        return
    finished = finish(marked.folder, formulas, exam=marked.exam, as_json=as_json)
    end(marked.folder, finished.failed, finished.written)
    end_judging(marked.lost)


def adaptive_exam(
    asking: RunOptions, bank: Path | None, until: str, batch: int | None, dry_run: bool
) -> Adaptive | None:
    """Exam of `--adaptive`, `--until` and `--batch`."""
    from livek12.core.errors import UserError
    from livek12.evaluation.adaptive import BATCH, Adaptive

    if bank is None:
        if until or batch:
            raise UserError("--until and --batch go with --adaptive BANK")
        return None
    if not until:
        raise UserError("--adaptive needs its end: --until se=0.3 (standard error of the ability) or n=50")
    others = {"--limit": asking.limit, "--questions": asking.questions, "--dry-run": dry_run}
    if given := [name for name, value in others.items() if value]:
        raise UserError(f"--adaptive chooses the questions as it goes: leave {given[0]} out")
    return Adaptive.opened(bank, until, batch or BATCH)


def _show_cost(costs: Mapping[str, PromptCost], asking: RunOptions, as_json: bool) -> None:
    from livek12.evaluation.asking import as_json as in_json
    from livek12.evaluation.asking import prices, sentences

    most = prices(costs, asking.engine_args)
    if as_json:
        typer.echo(json.dumps(in_json(costs) | ({"price": most} if most else {})))
        return
    lines = [*sentences(costs)]
    if most:
        lines.append(f"at most {most['direct']:,.2f} asked directly, {most['batch']:,.2f} by batches")
    typer.echo("\n".join(lines))
