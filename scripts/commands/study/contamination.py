"""`livek12 study contamination`: marks on exams that the models may have seen."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, tell

EPILOG = options.example("livek12 study contamination runs/qwen3 runs/gemma3 --released qwen3=2025-08")


def command(
    runs: Runs,
    metric: Annotated[str, typer.Option("--metric", help="Of what: accuracy, mark, PES or OES.")] = "accuracy",
    profile: options.Profile = "article",
    released: Annotated[
        list[str] | None,
        typer.Option("--released", help="When a run's model came out: RUN=DATE; can be repeated."),
    ] = None,
    task: Tasks = "",
    way: Way = "",
    as_json: options.Json = False,
) -> None:
    """Compare marks on older and newer exams: by release and subject, by year, before and after a model came out."""
    from livek12.core.arguments import one_of
    from livek12.core.scoring.metrics import contrasted_metrics
    from livek12.core.scoring.schema import profile_named
    from livek12.evaluation.sieve import RunRows
    from livek12.evaluation.studies.contamination import STUDY, contamination
    from livek12.evaluation.studies.exam_dates import released as dates

    chosen, formulas = one_of("--metric", metric, contrasted_metrics()), profile_named(profile)
    run_folders = folders(runs)
    when = dates(released or [], list(run_folders))
    rows = {name: RunRows(folder, texts=False) for name, folder in run_folders.items()}
    tell(STUDY, contamination(rows, chosen, formulas, when, choice(task, way)), as_json)
