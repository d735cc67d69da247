"""A whole run in one call: ask, mark, score and report; shared by `livek12 run` and `livek12.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from livek12.core.ranks import this_rank
from livek12.core.run.access import has_responses
from livek12.core.run.folder import RunFolder
from livek12.evaluation.asking import ask
from livek12.evaluation.marking import Overlap, check_judges, judge
from livek12.evaluation.options import RunOptions, Stages
from livek12.evaluation.task_data import TaskData
from livek12.judges.jury import JudgeOptions


@dataclass(frozen=True)
class FinishedRun:
    """Run that was asked and marked; `lost` responses wait for a judge that did not answer."""

    folder: RunFolder
    exam: TaskData
    lost: int


def ask_and_mark(
    run: RunOptions, sampling: Mapping[str, Any], judges: JudgeOptions, stages: Stages = "auto"
) -> FinishedRun | None:
    """Asks and marks what is missing; returns None in all but the first of several launched processes."""
    overlap = Overlap(judges, stages)
    check_judges(judges, run.model, run.tasks, here=not has_responses(run.out))
    first = this_rank().first
    outcome = ask(run, sampling, overlap if first else None)
    if not first:
        return None
    folder, exam = outcome
    return FinishedRun(folder, exam, judge(folder, options=judges, exam=exam, before=overlap.marked))
