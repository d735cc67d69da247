"""All tasks by name. Families are generated here from what each benchmark's module declares."""

from __future__ import annotations

import difflib
from functools import cache

from livek12.core.errors import UserError
from livek12.tasks import cfe, kmmmu, livek12, mdk12
from livek12.tasks.base import Task


@cache
def all_tasks() -> dict[str, Task]:
    """Every task, in the order they are listed."""
    return {task.name: task for room in (livek12, kmmmu, cfe, mdk12) for task in room.TASKS}


def get_task(name: str) -> Task:
    """The task of that name.

    Raises:
        UserError: there is none; names the nearest.
    """
    tasks = all_tasks()
    if name in tasks:
        return tasks[name]
    near = difflib.get_close_matches(name, tasks, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "see `livek12 tasks`"
    raise UserError(f"unknown task {name!r}: {hint}")


def get_tasks(names: str) -> list[Task]:
    """The tasks of a comma-separated list, each once, in the order given."""
    found = {name.strip(): get_task(name.strip()) for name in names.split(",") if name.strip()}
    if not found:
        raise UserError("no task named: give --task NAME[,NAME]; see `livek12 tasks`")
    return list(found.values())
