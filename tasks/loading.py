"""Reads what a task asks from a built data set: its questions in asking order, and the pages they stand on.

Contract: the one way from a data set and a task to questions, whoever asks them (the command line or a harness).
Withdrawn questions are not asked; how many is said once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.questions import iter_facts, load_pages, load_questions
from livek12.core.records import Image, Question
from livek12.tasks.base import Derive, Task
from livek12.tasks.prompting import asking_order

_log = logging.getLogger(__name__)


def questions_of(
    task: Task, data: str, limit: int | None = None, only: Collection[str] | None = None
) -> list[Question]:
    """The questions of a task, in asking order.

    Args:
        task: the task.
        data: a folder made by `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        limit: only the first so many; of a derived task, those made from the first so many.
        only: ids of the questions that are asked, or derived from; None for all.

    Raises:
        UserError: no such data set or config, no question of the task in it, or all of them are withdrawn; or from none
            of them the task can derive one.
    """
    if not data:
        raise UserError("no data set: give --data FOLDER (made by `livek12 build`) or --data ORG/NAME (on the Hub)")
    place = pinned(task, data)
    found = load_questions(place, task.configs, task.benchmark, wanted=task.selection.takes)
    if not found:
        there = iter_facts(place, task.configs, task.benchmark)
        why = task.selection.absent(Counter(facts for facts in there if facts.removed_in is None))
        raise UserError(f"{data}: no questions for task {task.name}: {why}")
    asked = [question for question in found if question.removed_in is None]
    if withdrawn := [question.id for question in found if question.removed_in is not None]:
        _log.warning(
            "%s: %d withdrawn questions are not asked (the first: %s)", task.name, len(withdrawn), withdrawn[0]
        )
    if not asked:
        raise UserError(f"all questions of task {task.name} are withdrawn; give --data another revision")
    chosen = [question for question in asking_order(task, asked) if only is None or question.id in only][:limit]
    if not chosen:
        raise UserError(f"{data}: holds none of the {len(only or ())} chosen questions of task {task.name}")
    return chosen if task.derive is None else _derived(task, task.derive, chosen)


def _derived(task: Task, derive: Derive, sources: list[Question]) -> list[Question]:
    """What a derived task asks: all that comes from one question together.

    Raises:
        UserError: nothing comes from any of them.
    """
    made = [(question, derive(question)) for question in sources]
    lacking = [question.id for question, derived in made if not derived]
    if len(lacking) == len(sources):
        raise UserError(f"task {task.name}: none of the {len(sources)} questions has {task.needs}")
    if lacking:
        _log.warning(
            "%s: %d of %d questions have not got %s and are left out (the first: %s)",
            *(task.name, len(lacking), len(sources), task.needs, lacking[0]),
        )
    return [question for _, derived in made for question in derived]


def pages_for(task: Task, data: str, questions: Iterable[Question]) -> Mapping[tuple[str, int], Image]:
    """The page images that an image-only task needs for these questions; none for other tasks.

    Raises:
        UserError: there is no such data set, or a file of it is damaged.
    """
    if task.modality != "image_only":
        return {}
    keys = {(question.paper_id or "", number) for question in questions for number in question.page_numbers}
    return load_pages(pinned(task, data), keys)


def pinned(task: Task, data: str) -> str:
    """The data set, at the task's own revision where it is on the Hub and the user names none."""
    free = task.revision and "@" not in data and not Path(data).exists()
    return f"{data}@{task.revision}" if free else data
