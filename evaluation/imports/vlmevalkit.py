"""The result files of VLMEvalKit (`run.py --work-dir OUT`) as recorded responses.

Contract: reads `MODEL_TASK.tsv` (or .json, .xlsx), a file or all below a folder; a row names its question in our
column `question_id`. The kit writes neither finish reasons nor token counts, but into `status.json` the arguments of
its last call, with the limit that an endpoint was given; and "Failed to obtain answer" where it has no answer: such
rows are left out, so that these questions end as failed. A folder with two results of one task is refused, for nothing
says which is meant.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.evaluation.imports.lines import results_of
from livek12.tasks.plugins.harness_task import harness_name
from livek12.tasks.plugins.vlmevalkit import FAILED, ID, predictions

_log = logging.getLogger(__name__)
SUFFIXES = (".tsv", ".json", ".xlsx")


def rows(path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """The responses to the wanted tasks.

    Args:
        path: a result file, or a folder with such files in it or below.
        tasks: our names of the tasks that are wanted.

    Raises:
        UserError: no such file, none of the tasks, two results of one task, or a file that is not readable.
    """
    found = {task: _result(path, task) for task in tasks}
    if not any(found.values()):
        named = " or ".join(f"MODEL_{harness_name(task)}.tsv" for task in sorted(tasks))
        raise UserError(f"{path}: no result file {named}")
    for task, file in found.items():
        if file is not None:
            yield from _answers(task, file)


def _answers(task: str, file: Path) -> Iterator[dict[str, Any]]:
    model, failed, limit = file.stem.removesuffix(f"_{harness_name(task)}"), 0, _limit(file)
    for row in predictions(file):
        if row["prediction"].startswith(FAILED):
            failed += 1
            continue
        thought = {"reasoning": row["thinking"]} if row.get("thinking") else {}
        yield {
            "task": task,
            "question_id": row[ID],
            "trial": 0,
            "response": row["prediction"],
            "model": model,
            **limit,
            **thought,
        }
    if failed:
        _log.warning("%s: %d questions were given up by VLMEvalKit; they have no answer", file, failed)


def _limit(file: Path) -> dict[str, int]:
    """The most tokens that an endpoint's answers could have, where the kit was told."""
    argv = results_of(file.with_name("status.json")).get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    told = [after for word, after in pairwise(words) if word == "--max-tokens" and after.isdecimal()]
    return {"max_tokens": int(told[-1])} if told else {}


def _result(path: Path, task: str) -> Path | None:
    """The one result file of a task; the kit links to some of them from other folders."""
    end = f"_{harness_name(task)}"
    files = [path] if path.is_file() else [file for file in path.rglob(f"*{end}.*") if file.is_file()]
    named = sorted({file.resolve() for file in files if file.stem.endswith(end) and file.suffix in SUFFIXES})
    if named[1:]:
        raise UserError(f"{path} has two results of task {task}: {named[0]} and {named[1]}; give one of the two")
    return named[0] if named else None
