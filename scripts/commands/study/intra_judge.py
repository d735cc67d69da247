"""`livek12 study intra-judge`: one judge asked again about the same answers."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, all_rows, tell

EPILOG = options.example("livek12 study intra-judge runs/qwen3 runs/qwen3-again")


def command(runs: Runs, as_json: options.Json = False) -> None:
    """Measure how far a judge agrees with itself: copies of one run, each judged anew by the same judge."""
    from livek12.evaluation.studies.consistency import between_runs, runs_sentences

    tell("intra-judge", between_runs(all_rows(runs), "same"), runs_sentences, as_json)
