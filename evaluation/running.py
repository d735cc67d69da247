"""A whole run in one call: ask, mark, score and report; what `livek12 run` and `livek12.evaluate` share.

Contract: called again with the same folder it goes on where it stopped, as every step by itself does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.ranks import this_rank
from livek12.core.run.access import has_responses
from livek12.core.run.folder import RunFolder
from livek12.evaluation.asking import ask
from livek12.evaluation.judging import check_judges
from livek12.evaluation.marking import judge
from livek12.evaluation.overlap import Overlap, Stages
from livek12.evaluation.task_data import TaskData
from livek12.judges.jury import JudgeOptions


@dataclass(frozen=True)
class FinishedRun:
    """A run that was asked and marked.

    Attributes:
        folder: the run.
        exam: what it asks, with pictures.
        lost: responses that wait for a judge that did not answer; the same call asks again.
    """

    folder: RunFolder
    exam: TaskData
    lost: int


def ask_and_mark(
    task: str,
    model: str,
    out: Path,
    data: str,
    *,
    judges: JudgeOptions,
    engine: str = "auto",
    engine_args: str | Mapping[str, Any] = "",
    limit: int | None = None,
    trials: int | None = 1,
    sampling: Mapping[str, Any] | None = None,
    stages: Stages = "auto",
    questions: tuple[str, Path] | None = None,
) -> FinishedRun | None:
    """Asks and marks what is missing in a run folder.

    Args:
        task: names of tasks, comma-separated.
        model: a folder, a Hub name, the name at an endpoint, or a file of recorded answers.
        out: the run folder.
        data: a folder made by `livek12 build`, or ORG/NAME on the Hub.
        judges: who marks.
        engine: auto, vllm, transformers, openai or replay.
        engine_args: its arguments, by name or as "K=V,…".
        limit: only the first so many questions of each task.
        trials: answers drawn for each question; None: of recorded ones all, else as the tasks have it.
        sampling: what is set over the defaults of the tasks.
        stages: whether marking runs beside the asking (see `evaluation.overlap`).
        questions: which are asked, as ("failed-in", RUN); None for all.

    Returns:
        The run; None in all but the first of several launched processes, which goes on alone.

    Raises:
        UserError: an option that cannot be, an engine or a judge that cannot run, or a folder that holds other things.
    """
    overlap = Overlap(judges, stages)
    check_judges(judges, model, task, here=not has_responses(out))
    first = this_rank().first
    beside = overlap if first else None
    asked = ask(task, model, out, data, engine, engine_args, limit, trials, sampling or {}, beside, questions)
    if not first:
        return None
    folder, exam = asked
    return FinishedRun(folder, exam, judge(folder, options=judges, exam=exam, before=overlap.marked))
