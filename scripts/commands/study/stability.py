"""`livek12 study stability`: rankings of models on parts of the exam."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, tell

EPILOG = options.example("livek12 study stability runs/qwen3 runs/gemma3")


def command(
    runs: Runs,
    metric: Annotated[str, typer.Option("--metric", help="What ranks: accuracy, mark, PES or OES.")] = "accuracy",
    profile: options.Profile = "article",
    task: Tasks = "",
    way: Way = "",
    as_json: options.Json = False,
) -> None:
    """Measure whether the ranking of models holds on parts of the exam."""
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.core.scoring.metrics import contrasted_metrics
    from livek12.evaluation.sieve import RunRows
    from livek12.evaluation.studies.stability import STUDY, stability

    chosen = one_of("--metric", metric, contrasted_metrics())
    rows = {name: RunRows(folder, texts=False) for name, folder in folders(runs).items()}
    result = stability(rows, chosen, profile_named(profile), choice=choice(task, way))
    tell(STUDY, result, as_json)
