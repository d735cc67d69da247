"""`livek12 study error-types`: kinds of wrong answers."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import (
    JudgedBy,
    Labels,
    Page,
    Runs,
    Tasks,
    Way,
    choice,
    folders,
    labelled,
    sitting,
    tell,
)

EPILOG = options.example(
    "livek12 study error-types runs/qwen3 --judge glm@openai:base_url=http://localhost:8000/v1 --html errors.html"
)


def command(
    runs: Runs,
    judge: JudgedBy = "",
    sample: Annotated[int, typer.Option("--sample", min=1, help="Wrong answers of each run that are looked at.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample.")] = 0,
    labels: Labels = [],  # noqa: B006
    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="Runs of one regression: NAME=RUN,RUN…; may be given again. Default: all runs."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Write each sample as the run's label plan, for `livek12 review RUN`.")
    ] = False,
    task: Tasks = "",
    way: Way = "",
    cache: options.Cache = True,
    html: Page = None,
    as_json: options.Json = False,
) -> None:
    """Tell of what kind wrong answers are, by judges or people: rates by model, subject and pictures, and κ."""
    from livek12.core.errors import UserError
    from livek12.core.progress import Progress, say
    from livek12.evaluation.studies.error_kinds import (
        STUDY,
        error_types_study,
        gathered,
        groups_of,
        to_ask,
        typed_by_judges,
        typed_by_people,
        write_plans,
    )

    if not (judge or labels or plan):
        raise UserError(
            "error-types needs somebody who tells the kinds: --judge, --labels, or --plan for people to come"
        )
    given, chosen = folders(runs), choice(task, way)
    together = groups_of(group or [], list(given))
    fitted = labelled(runs, labels, chosen, together=True) if labels else {}
    typed = gathered(given, sample, seed, {name: pairs for name, (pairs, _) in fitted.items()}, chosen)
    if plan:
        for path in write_plans(typed, given):
            say(f"{path}: the sample, for `livek12 review {path.parent}`")
        if not (judge or labels):
            return
    if judge:
        with sitting(judge, cache, "error-types") as judges, Progress("typing errors", to_ask(typed)) as progress:
            typed_by_judges(typed, given, judges, progress.step)
    else:
        typed_by_people(typed)
    result = error_types_study(typed, together)
    tell(STUDY, result, as_json, html)
