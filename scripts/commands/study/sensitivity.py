"""`livek12 study sensitivity`: several prompts or judges on the same answers."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Runs, Tasks, Way, choice, folders, rows_of, tell

EPILOG = options.example("livek12 study sensitivity runs/qwen3-p1 runs/qwen3-p2")


def command(runs: Runs, task: Tasks = "", way: Way = "", as_json: options.Json = False) -> None:
    """Measure what marks owe to the judge: copies of one run, each judged by another prompt or judge."""
    from livek12.evaluation.studies.consistency import SENSITIVITY, between_runs, require_every_answer

    rows = {name: list(taken) for name, taken in rows_of(folders(runs), choice(task, way)).items()}
    if len(rows) > 1:
        require_every_answer(rows)
    tell(SENSITIVITY, between_runs(rows, "different"), as_json)
