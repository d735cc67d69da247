"""Questions of a task in a built dataset, read in asking order or counted by a `Census`.

Withdrawn questions are skipped. `Census` reads no texts or pictures.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.questions import Facts, NoConfig, iter_facts, load_pages, load_questions
from livek12.core.records import Image, Question
from livek12.tasks.base import Derive, Task
from livek12.tasks.families import Family
from livek12.tasks.prompting import asking_order

_log = logging.getLogger(__name__)


def questions_of(
    task: Task, data: str, limit: int | None = None, only: Collection[str] | None = None
) -> list[Question]:
    """Questions of a task, in asking order.

    Args:
        task: the task.
        data: a folder of `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        limit: of questions or sources.
        only: ids of questions or sources.

    Raises:
        UserError: no such dataset or config, or no question is left.
    """
    if not data:
        name = task.benchmark
        raise UserError(
            f"no data set for task {task.name}: `livek12 build {name} --source hub --out data/{name}` makes one of the"
            f" published questions; then --data data/{name} (or --data ORG/NAME on the Hub)"
        )
    place = pinned(task, data)
    loaded = load_questions(place, task.configs, task.benchmark, wanted=task.selection.takes)
    if not loaded:
        there = iter_facts(place, task.configs, task.benchmark)
        why = task.selection.absent(Counter(facts for facts in there if facts.removed_in is None))
        raise UserError(f"{data}: no questions for task {task.name}: {why}")
    questions = [question for question in loaded if question.removed_in is None]
    if withdrawn := [question.id for question in loaded if question.removed_in is not None]:
        _log.warning(
            "%s: %d withdrawn questions are not asked (the first: %s)", task.name, len(withdrawn), withdrawn[0]
        )
    if not questions:
        raise UserError(f"all questions of task {task.name} are withdrawn; give --data another revision")
    chosen = [question for question in asking_order(task, questions) if only is None or question.id in only][:limit]
    if not chosen:
        raise UserError(f"{data}: holds none of the {len(only or ())} chosen questions of task {task.name}")
    return chosen if task.derive is None else _derived(task, task.derive, chosen)


def _derived(task: Task, derive: Derive, sources: list[Question]) -> list[Question]:
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
    """Page images of an image-only task."""
    if task.modality != "image_only":
        return {}
    keys = {(question.paper_id or "", number) for question in questions for number in question.page_numbers}
    return load_pages(pinned(task, data), keys)


def pinned(task: Task, data: str) -> str:
    """The dataset, at the task's revision by default."""
    free = task.revision and "@" not in data and not Path(data).exists()
    return f"{data}@{task.revision}" if free else data


class Census:
    """Counts the questions of a dataset."""

    def __init__(self, data: str) -> None:
        self.data = data
        self._facts: dict[tuple[str, ...], Counter[Facts]] = {}

    def count(self, task: Task) -> int:
        """Number of a task's questions."""
        return self.asked(task).total()

    def asked(self, task: Task) -> Counter[Facts]:
        """Counts a task's questions by facts."""
        return Counter({facts: n for facts, n in self._of(task).items() if task.selection.takes(facts)})

    def members(self, family: Family) -> Iterator[tuple[Task, int]]:
        """The family's members that have questions, with counts."""
        words = {axis.name: self._words(family, axis.name, axis.pattern) for axis in family.axes if axis.pattern}
        for task in family.members(**words):
            if count := self.count(task):
                yield task, count

    def _words(self, family: Family, name: str, pattern: str) -> tuple[str, ...]:
        tallies = [self._of(task) for task in family.members()]
        values = {value for tally in tallies for facts in tally if (value := getattr(facts, name))}
        return tuple(sorted(value for value in values if re.fullmatch(pattern, value)))

    def _of(self, task: Task) -> Counter[Facts]:
        if task.configs not in self._facts:
            try:
                counts = Counter(iter_facts(pinned(task, self.data), task.configs, task.benchmark))
            except NoConfig:
                counts = Counter()
            self._facts[task.configs] = Counter({facts: n for facts, n in counts.items() if facts.removed_in is None})
        return self._facts[task.configs]
