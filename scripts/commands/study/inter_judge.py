"""`livek12 study inter-judge`: the judges of a panel beside each other."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, rows_of, tell

EPILOG = options.example("livek12 study inter-judge runs/qwen3")


def command(runs: Runs, task: Tasks = "", way: Way = "", as_json: options.Json = False) -> None:
    """Measure how far the judges of a panel agree on the answers of each run."""
    from livek12.evaluation.studies.consistency import INTER_JUDGE, between_judges

    taken = rows_of(folders(runs), choice(task, way), together=False, judged=True)
    result = {name: between_judges(rows) for name, rows in taken.items()}
    tell(INTER_JUDGE, result, as_json)
