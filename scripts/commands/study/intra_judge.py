"""`livek12 study intra-judge`: one judge asked again about the same answers."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, rows_of, tell

EPILOG = options.example("livek12 study intra-judge runs/qwen3")


def command(runs: Runs, task: Tasks = "", way: Way = "", as_json: options.Json = False) -> None:
    """Measure how far a judge agrees with itself: a run judged with --repeats, or copies of one, each judged anew."""
    from livek12.evaluation.repeats import repeated_rows
    from livek12.evaluation.studies.consistency import INTRA_JUDGE, between_repeats, between_runs

    given, chosen = folders(runs), choice(task, way)
    if len(runs) > 1:
        result = between_runs({name: list(rows) for name, rows in rows_of(given, chosen).items()}, "same")
    else:
        ((name, rows),) = rows_of(given, chosen, judged=True).items()
        result = between_repeats(name, repeated_rows(given[name], rows))
    tell(INTRA_JUDGE, result, as_json)
