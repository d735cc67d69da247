"""`livek12 run`: asks, judges, scores and reports; resumes an interrupted run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.evaluation.options import OUTPUT, JudgingOptions, RunOptions, SamplingOptions
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.evaluation.asking import PromptCost


@options.command("livek12 run --task livek12_text_only --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
def run(
    asking: RunOptions,
    sampling: SamplingOptions,
    judging: JudgingOptions,
    profile: options.Profile = "article",
    dry_run: Annotated[
        bool,
        options.Opt(
            "Ask and write nothing; say how many requests and prompt tokens it would be.", rich_help_panel=OUTPUT
        ),
    ] = False,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import ask_and_mark, expected
    from livek12.scripts.endings import end, end_judging, finish

    judges = judging.judges()
    formulas = profile_named(profile)
    draws = sampling.given()
    if dry_run:
        _show_cost(expected(asking, draws), as_json)
        return
    marked = ask_and_mark(asking.with_trials(), draws, judges, judging.stages)
    if marked is None:
        return
    finished = finish(marked.folder, formulas, exam=marked.exam, as_json=as_json)
    end(marked.folder, finished.failed, finished.written)
    end_judging(marked.lost)


def _show_cost(costs: Mapping[str, PromptCost], as_json: bool) -> None:
    from livek12.evaluation.asking import as_json as in_json
    from livek12.evaluation.asking import sentences

    typer.echo(json.dumps(in_json(costs)) if as_json else "\n".join(sentences(costs)))
