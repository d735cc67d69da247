"""`livek12 study inter-judge`: the judges of a panel beside each other."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, folders, tell

EPILOG = options.example("livek12 study inter-judge runs/qwen3")


def command(runs: Runs, as_json: options.Json = False) -> None:
    """Measure how far the judges of a panel agree on the answers of each run."""
    from livek12.evaluation.studies.consistency import between_judges, judges_sentences

    found = {name: between_judges(folder.judged_rows()) for name, folder in folders(runs).items()}
    tell("inter-judge", found, judges_sentences, as_json)
