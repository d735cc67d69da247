"""`livek12 study reliability`: the process audit against people, other critics, and itself; rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, labelled, rows_of, tell

EPILOG = options.example("livek12 study reliability runs/qwen3 runs/gemma3 --labels ann.jsonl --labels bob.jsonl")


def command(
    runs: Runs,
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", metavar="FILE", help="Labels of people: JSONL or CSV; may be given again."),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="What ranks: accuracy, mark, PES or OES.")] = "PES",
    profile: options.Profile = "article",
    task: Tasks = "",
    way: Way = "",
    as_json: options.Json = False,
) -> None:
    """Measure how reliable the process audit is (LiveK12Bench, appendix C); copies of a run are repeats."""
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.core.scoring.metrics import contrasted_metrics
    from livek12.evaluation.repeats import repeated_rows
    from livek12.evaluation.studies.reliability import STUDY, as_repeats, reliability

    ranked_by, chosen, opened = one_of("--metric", metric, contrasted_metrics()), choice(task, way), folders(runs)
    taken = rows_of(opened, chosen, judged=True)
    repeats = {name: repeated_rows(opened[name], rows) for name, rows in taken.items()}
    copies = as_repeats({name: rows[0] for name, rows in repeats.items()})
    groups = {name: [rows for copy in result for rows in repeats[copy]] for name, result in copies.items()}
    fitted = labelled(runs, labels, chosen, together=True) if labels else {}
    pairs = {name: result for name, (result, _) in fitted.items() if name in groups}
    result = reliability(groups, pairs, ranked_by, profile_named(profile))
    tell(STUDY, result, as_json)
