"""Pairs of tasks that ask the same questions in two ways, for a Δ between them.

A task is compared with what it is a variant of (`tasks.registry.variants`): with that task where it was run, else with
the tasks that ask parts of its questions as it would (`mdk12_mini` for `mdk12`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from livek12.core.run.spec import RunSpec
from livek12.core.scoring.deltas import Counterpart
from livek12.tasks.base import Task
from livek12.tasks.registry import find_task, variants, way_of


def tasks_of(spec: RunSpec) -> list[Task]:
    """Tasks of a run that are known here."""
    return [task for named in spec.tasks if (task := find_task(named.name))]


def beside(tasks: Iterable[Task], among: Iterable[Task] | None = None) -> dict[str, list[Counterpart]]:
    """Counterparts of each of these tasks; `among` are the tasks of another run."""
    tasks = list(tasks)
    others = tasks if among is None else list(among)
    counterparts: dict[str, list[Counterpart]] = {}
    for task in tasks:
        for base, differs in variants(task):
            if names := _asked_as(base, task, others):
                counterparts.setdefault(task.name, []).append(Counterpart(base, tuple(names), differs))
    return counterparts


def alike(tasks: Iterable[Task]) -> list[list[str]]:
    """Tasks in groups that differ in nothing but their questions."""
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for task in tasks:
        groups[_manner(task)].append(task.name)
    return list(groups.values())


def _asked_as(base: str, task: Task, others: Iterable[Task]) -> list[str]:
    names = [other.name for other in others if other != task]
    if base in names:
        return [base]
    meant = find_task(base)
    if meant is None or meant.derive:
        return []
    return [other.name for other in others if other != task and _manner(other) == _manner(meant)]


def _manner(task: Task) -> tuple[str, str]:
    """Equal for tasks that differ only in their questions."""
    return task.benchmark, way_of(task)
