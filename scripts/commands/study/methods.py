"""`livek12 study methods`: ways of judging beside people."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Labels, Runs, Tasks, Way, choice, labelled, tell

EPILOG = options.example("livek12 study methods runs/s2s runs/l2s runs/l2l --labels experts.jsonl")


def command(runs: Runs, labels: Labels, task: Tasks = "", way: Way = "", as_json: options.Json = False) -> None:
    """Set ways of judging (copies of a run, judged by s2s, l2s, l2l…) beside people: CFE-Bench's table 1."""
    from livek12.evaluation.studies.methods import STUDY, judging_methods

    tell(STUDY, judging_methods(labelled(runs, labels, choice(task, way), together=True)), as_json)
