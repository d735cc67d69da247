"""Which answers of a run people are to label: the plan of a run, or all of them.

Contract: a plan is JSON lines {task, question_id, trial} in the order of labelling; what else a row says (its stratum,
say) is nothing that a rater sees. A row that is of no answer of the run is refused with its line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError, why
from livek12.core.scoring import Row
from livek12.core.text import one_line

PLAN = "label-plan.jsonl"
"""In the run folder."""
_Key = tuple[str, str, int]


def read_plan(file: Path) -> list[_Key]:
    """Task, question and trial of each answer of a plan, each once.

    Raises:
        UserError: the file cannot be read, is empty, or a row names no answer.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
    keys = [_key(line, f"{file.name}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not keys:
        raise UserError(f"{file}: plans nothing; rows are {{task, question_id, trial}}")
    return list(dict.fromkeys(keys))


def _key(line: str, place: str) -> _Key:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UserError(f"{place}: not a JSON object")
    task, id, trial = row.get("task"), row.get("question_id"), row.get("trial", 0)
    if not isinstance(task, str) or not isinstance(id, str) or type(trial) is not int:
        raise UserError(f"{place}: names no answer; rows are {{task, question_id, trial}}")
    return task, id, trial


def planned(rows: Iterable[Row], plan: list[_Key] | None, name: str, tell: Callable[[str], None]) -> list[Row]:
    """The answers to label, in the order of the plan; all that there are without one.

    Args:
        rows: of the run.
        plan: from `read_plan`.
        name: of the plan's file.
        tell: told in one line how many planned answers never came.

    Raises:
        UserError: the plan names an answer that the run did not ask for, or there is nothing to label.
    """
    if plan is None:
        found = [row for row in rows if row.response is not None]
    else:
        wanted = set(plan)
        asked = {key: row for row in rows if (key := (row.task, row.question.id, row.trial)) in wanted}
        if strange := next((key for key in plan if key not in asked), None):
            task, id, trial = strange
            raise UserError(f"{name}: {one_line(f'{task}/{id}/{trial}', 120)} is no answer of the run")
        found = [row for key in plan if (row := asked[key]).response is not None]
        if len(found) < len(plan):
            tell(f"{name}: {len(plan) - len(found)} of its answers never came: there is nothing to label")
    if not found:
        raise UserError("there is no answer to label: the run holds none yet")
    return found
