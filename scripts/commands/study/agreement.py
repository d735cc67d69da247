"""`livek12 study agreement`: a run beside human marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, folders, tell

EPILOG = options.example("livek12 study agreement runs/qwen3 --labels ann.jsonl")


def command(
    runs: Runs,
    labels: Annotated[Path, typer.Option("--labels", help="Human marks: JSONL or CSV.")],
    as_json: options.Json = False,
) -> None:
    """Compare the marks of each run with those of people."""
    from livek12.core.progress import warn
    from livek12.evaluation.studies.human import human_agreement, sentences
    from livek12.evaluation.studies.labels import read_labels

    found = {
        name: human_agreement(folder.rows(), read_labels(labels, folder.spec().model, warn))
        for name, folder in folders(runs).items()
    }
    tell("agreement", found, sentences, as_json)
