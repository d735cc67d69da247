"""`livek12 import-judgements`: recorded marks or replies of a judge become its votes in a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options


@options.command("livek12 import-judgements runs/qwen3 grades.jsonl --judge gpt-5.5")
def import_judgements(
    run: options.OwnRun,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Recorded judgements, JSONL or CSV; one file per prompt."),
    ],
    judge: Annotated[str, "The judge's name."],
    as_json: options.Json = False,
) -> None:
    """Mark a run by a judge's recorded marks or replies."""
    from livek12.core.progress import tell, warn
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation import judgements

    counts = judgements.import_judgements(RunFolder.open(run, warn), files, judge, warn)
    if as_json:
        typer.echo(json.dumps({"run": str(run), "judge": judge, **counts}))
    else:
        states = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in counts.items() if count)
        tell(f"{run}: answers judged by {judge}: {states}; next: livek12 report {run}")
