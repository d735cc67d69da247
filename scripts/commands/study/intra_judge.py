"""`livek12 study intra-judge`: one judge asked again about the same answers."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, all_rows, folders, tell

EPILOG = options.example("livek12 study intra-judge runs/qwen3")


def command(runs: Runs, as_json: options.Json = False) -> None:
    """Measure how far a judge agrees with itself: a run judged with --repeats, or copies of one, each judged anew."""
    from livek12.evaluation.repeats import repeated_rows
    from livek12.evaluation.studies.consistency import between_repeats, between_runs, runs_sentences

    if len(runs) > 1:
        found = between_runs(all_rows(runs), "same")
    else:
        ((name, folder),) = folders(runs).items()
        found = between_repeats(name, repeated_rows(folder, folder.judged_rows()))
    tell("intra-judge", found, runs_sentences, as_json)
