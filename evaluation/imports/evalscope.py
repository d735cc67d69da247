"""The logs of EvalScope (`reviews/MODEL/BENCHMARK_SUBSET.jsonl` below a work folder) as recorded responses.

Contract: read as `evaluation.logs.evalscope` reads the reviews of any benchmark; a sample of ours names its question in
its metadata. EvalScope logs neither how an answer ended nor what limit it had, so none is given. Two reviews that
answer one question differently are refused, for nothing says which is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs.evalscope import entries
from livek12.evaluation.logs.lines import BAD_ENTRY
from livek12.evaluation.logs.paths import at
from livek12.tasks.plugins.evalscope import SUBSET
from livek12.tasks.plugins.harness_task import harness_name

_QUESTION = "sample_score.sample_metadata.id"


def rows(path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """The responses to the wanted tasks.

    Args:
        path: a work folder of EvalScope, or a file of its `reviews/`.
        tasks: our names of the tasks that are wanted.

    Raises:
        UserError: no such log, none of the tasks in it, or two reviews that answer one question.
    """
    names = {f"{harness_name(task)}_{SUBSET}": task for task in tasks}
    known: dict[tuple[str, str, int], tuple[str, dict[str, Any]]] = {}
    for entry in entries(path):
        if entry.task not in names:
            continue
        question = at(entry.raw, _QUESTION)
        if not isinstance(question, str) or not entry.answers:
            warn(f"{entry.place}: no answer to a question of livek12; passed over", kind=BAD_ENTRY)
            continue
        row = {"task": names[entry.task], "question_id": question, "trial": entry.trial, **entry.answers[0]}
        if entry.model:
            row["model"] = entry.model
        place, first = known.setdefault((row["task"], question, entry.trial), (entry.place, row))
        if first is row:
            yield row
        elif first != row:
            raise UserError(f"question {question} of {row['task']} is answered in {place} and {entry.place}; give one")
    if not known:
        raise UserError(f"{path}: no reviews of {', '.join(sorted(tasks))}; give the work folder of `evalscope eval`")
