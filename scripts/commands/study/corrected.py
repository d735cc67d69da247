"""`livek12 study corrected`: marks corrected for the judge's errors."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Labels, Runs, Tasks, Way, choice, folders, labelled, rows_of, tell

EPILOG = options.example("livek12 study corrected runs/qwen3 --labels runs/qwen3/labels-ann.jsonl")


def command(
    runs: Runs,
    labels: Labels,
    metric: Annotated[str, typer.Option("--metric", help="What is corrected: accuracy or mark.")] = "accuracy",
    task: Tasks = "",
    way: Way = "",
    as_json: options.Json = False,
) -> None:
    """Correct the marks of each run for the errors of its judge, from answers that people labelled."""
    from livek12.core.arguments import one_of
    from livek12.evaluation.studies.corrected import STUDY, corrected_study
    from livek12.evaluation.studies.label_plan import METRICS, PLAN, planned_strata

    counted = one_of("--metric", metric, METRICS)
    chosen = choice(task, way) if task or way else None  # each task is corrected on its own
    fitted, given, result = labelled(runs, labels, chosen), folders(runs), {}
    rows = rows_of(given, chosen, together=False, judged=True)
    for name, folder in given.items():
        file = folder.path / PLAN
        plan = planned_strata(file) if file.is_file() else None
        result[name] = corrected_study(rows[name], fitted[name], plan, counted)
    tell(STUDY, result, as_json)
