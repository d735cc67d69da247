"""Questions of a run's tasks with their pictures, read from a dataset, and the spec made of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.key_versions import read_keys
from livek12.core.progress import warn
from livek12.core.questions import fingerprint, is_on_hub
from livek12.core.records import Image, Question, Sampling
from livek12.core.run.folder import RunFolder, with_pictures
from livek12.core.run.spec import ChosenQuestions, RunSpec, TaskSpec, check_size
from livek12.core.scoring import Row
from livek12.tasks.base import Task
from livek12.tasks.prompting import Pages
from livek12.tasks.registry import NO_PROMPT, get_task, is_logged, siblings

_LEAST = {"max_tokens": 1, "thinking_budget": 0, "top_k": 0}
"""The smallest that each of these can be."""


@dataclass(frozen=True)
class TaskData:
    """Questions of each task, with pictures, and the page images."""

    data: str
    tasks: list[Task]
    questions: dict[str, list[Question]]
    pages: Pages


def load_task_data(
    data: str, tasks: list[Task], limit: int | None, only: Mapping[str, Collection[str]] | None = None
) -> TaskData:
    """Reads the questions of tasks; `only` has the chosen ids by task."""
    from livek12.tasks.loading import pages_for, questions_of

    shared = {
        group[0].base_name: questions_of(group[0], data, limit, only[group[0].name] if only else None)
        for group in siblings(tasks)
    }
    book = read_keys(Path(data))  # what is asked, and its identity, are those of the first keys
    questions = {task.name: list(map(book.first, shared[task.base_name])) for task in tasks}
    from_pages = [task for task in tasks if task.modality == "image_only"]
    paged = [question for task in from_pages for question in questions[task.name]]
    pages: Pages = pages_for(from_pages[0], data, paged) if from_pages else {}
    return TaskData(data, tasks, questions, pages)


def make_spec(
    exam: TaskData,
    model: str,
    engine: str,
    engine_args: Mapping[str, Any],
    trials: int,
    limit: int | None,
    sampling: Mapping[str, Any],
    chosen: ChosenQuestions | None = None,
) -> RunSpec:
    """Spec of a command; `sampling` holds only what the user set, over each task's defaults."""
    check_size(sum(map(len, exam.questions.values())), trials)
    # Budgets of one task share their questions.
    digests = {
        group[0].base_name: fingerprint(exam.questions[group[0].name], _pages_asked(group[0], exam))
        for group in siblings(exam.tasks)
    }
    return RunSpec(
        model=model,
        engine=engine,
        engine_args=dict(engine_args),
        tasks=[
            TaskSpec(
                name=task.name,
                version=task.version,
                modality=task.modality,
                prompt_sha256=NO_PROMPT if is_logged(task.name) else task.prompt_sha256,
                data=exam.data,
                data_sha256=digests[task.base_name],
                questions=len(exam.questions[task.name]),
                sampling=sampling_of(task, sampling, engine),
            )
            for task in exam.tasks
        ],
        trials=trials,
        limit=limit,
        chosen=chosen,
    )


def sampling_set(given: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling set over the tasks' defaults; a value None sets nothing."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if name not in Sampling.model_fields:
            raise UserError(f"{name}: is nothing that sampling knows; it knows {', '.join(Sampling.model_fields)}")
    for name, least in _LEAST.items():
        check_whole(name, settings.get(name), least)
    temperature, top_p = settings.get("temperature"), settings.get("top_p")
    if temperature is not None and not (_is_number(temperature) and temperature >= 0):
        raise UserError(f"--temperature {temperature} is not a number from 0 upwards")
    if top_p is not None and not (_is_number(top_p) and 0 < top_p <= 1):
        raise UserError(f"--top-p {top_p} is not a number above 0 and up to 1")
    return settings


def check_whole(name: str, value: object, least: int) -> None:
    """Refuses anything but None and whole numbers from `least` upwards."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise UserError(f"--{name.replace('_', '-')} {value!r} is not a whole number from {least} upwards")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def sampling_of(task: Task, said: Mapping[str, Any], engine: str) -> Sampling:
    """Sampling of a task with the user's values.

    A thinking budget that the user set has to be kept; with recorded answers it cannot be.
    """
    own = task.sampling.model_dump()
    if "thinking_budget" in said or kind_of(engine).is_recorded:
        own |= {"thinking_budget": None, "thinking_optional": False}
    return Sampling(**{**own, **said})


def reload_task_data(run: RunFolder, data: str = "", trusts: bool = True) -> TaskData:
    """Exam of a run with its pictures; without them where the dataset is gone.

    `data` is the new place of a dataset that was moved. `trusts` false: a run from elsewhere names no dataset of the
    Hub.
    """
    from livek12.evaluation.choosing import asked_again

    spec = run.spec()
    tasks = [get_task(task.name) for task in spec.tasks]
    place = data or spec.tasks[0].data
    if all(is_logged(task.name) for task in tasks):  # all that is known of them stands in the run folder
        return TaskData(place, tasks, {}, {})
    if not trusts and not data and is_on_hub(place) and not run.made_here():
        warn(f"there are no pictures: {run.path} was not made here, and only `report --data {place}` asks the Hub")
        return TaskData(place, tasks, {}, {})
    try:
        exam = load_task_data(place, tasks, spec.limit, asked_again(run))
    except UserError as error:
        if data:
            raise
        warn(f"there are no pictures: {error}; say where the data is with --data")
        return TaskData(place, tasks, {}, {})
    now = make_spec(exam, spec.model, spec.engine, spec.engine_args, spec.trials, spec.limit, {})
    for was, current in zip(spec.tasks, now.tasks, strict=True):
        if was.data_sha256 != current.data_sha256:
            raise UserError(f"{place}: other questions than the run's for {was.name}; give its own data with --data")
    return exam


def illustrated(rows: Iterable[Row], exam: TaskData) -> Iterator[Row]:
    """Rows with the pictures of their questions."""
    pictures = {(task, q.id): q for task, questions in exam.questions.items() for q in questions}
    for row in rows:
        pictured = pictures.get((row.task, row.question.id))
        yield replace(row, question=with_pictures(row.question, pictured)) if pictured else row


def _pages_asked(task: Task, exam: TaskData) -> list[Image]:
    if task.modality != "image_only":
        return []
    questions = exam.questions[task.name]
    keys = {(question.paper_id, number) for question in questions for number in question.page_numbers}
    return [
        exam.pages[paper, number] for paper, number in sorted(keys, key=str) if paper and (paper, number) in exam.pages
    ]
