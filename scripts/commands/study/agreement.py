"""`livek12 study agreement`: a run beside human marks."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Labels, Runs, Tasks, Way, choice, labelled, tell

EPILOG = options.example("livek12 study agreement runs/qwen3 --labels ann.jsonl")


def command(runs: Runs, labels: Labels, task: Tasks = "", way: Way = "", as_json: options.Json = False) -> None:
    """Compare the marks of each run with those of people."""
    from livek12.evaluation.studies.human import STUDY, human_agreement

    result = {name: human_agreement(*fitted) for name, fitted in labelled(runs, labels, choice(task, way)).items()}
    tell(STUDY, result, as_json)
