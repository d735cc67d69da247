"""`livek12 study steps`: number of steps in responses, beside the reference."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import (
    JudgedBy,
    Page,
    Runs,
    Tasks,
    Way,
    choice,
    folders,
    rows_of,
    sitting,
    tell,
)

EPILOG = options.example("livek12 study steps runs/qwen3 --judge glm@openai:base_url=http://localhost:8000/v1")


def command(
    runs: Runs,
    judge: JudgedBy = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N answers of a run.")] = None,
    task: Tasks = "",
    way: Way = "",
    cache: options.Cache = True,
    html: Page = None,
    as_json: options.Json = False,
) -> None:
    """Have judges split responses into steps, and compare with the reference flow, solved and unsolved."""
    from livek12.core.progress import Progress
    from livek12.evaluation.studies.consulting import authors_of
    from livek12.evaluation.studies.steps import STUDY, splittable, step_density

    given = folders(runs)
    taken = rows_of(given, choice(task, way), together=False)
    parts = {name: (given[name], splittable(rows, limit)) for name, rows in taken.items()}
    result = {}
    with (
        sitting(judge, cache, "steps") as judges,
        Progress("splitting", sum(len(each.rows) for _, each in parts.values())) as progress,
    ):
        for name, (folder, each) in parts.items():
            result[name] = step_density(judges, each, authors_of(folder), progress.step)
    tell(STUDY, result, as_json, html)
