"""How many questions of a data set each task asks, from the columns that selections look at.

Contract: `count` is how many `loading.questions_of` would give, or 0; no text and no picture is read. Questions alike
in all that selections see are counted together, so that many tasks cost little more than one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from livek12.core.questions import Facts, NoConfig, iter_facts
from livek12.tasks.base import Task
from livek12.tasks.families import Family
from livek12.tasks.loading import pinned


class Census:
    """Counts the questions of one data set.

    Args:
        data: a folder made by `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
    """

    def __init__(self, data: str) -> None:
        self.data = data
        self._facts: dict[tuple[str, ...], Counter[Facts]] = {}

    def count(self, task: Task) -> int:
        """The questions that a task asks.

        Raises:
            UserError: no such data set, or a file of it is damaged.
        """
        return self.asked(task).total()

    def asked(self, task: Task) -> Counter[Facts]:
        """The questions that a task asks, by what selections see of them.

        Raises:
            UserError: no such data set, or a file of it is damaged.
        """
        return Counter({facts: n for facts, n in self._of(task).items() if task.selection.takes(facts)})

    def members(self, family: Family) -> Iterator[tuple[Task, int]]:
        """The members of a family that have questions, listed ones and those of the releases there; with their counts.

        Raises:
            UserError: no such data set, or a file of it is damaged.
        """
        words = {axis.name: self._words(family, axis.name, axis.pattern) for axis in family.axes if axis.pattern}
        for task in family.members(**words):
            if count := self.count(task):
                yield task, count

    def _words(self, family: Family, name: str, pattern: str) -> tuple[str, ...]:
        """The values of a property in the data set that can stand in a name."""
        tallies = [self._of(task) for task in family.members()]
        found = {value for tally in tallies for facts in tally if (value := getattr(facts, name))}
        return tuple(sorted(value for value in found if re.fullmatch(pattern, value)))

    def _of(self, task: Task) -> Counter[Facts]:
        if task.configs not in self._facts:
            try:
                found = Counter(iter_facts(pinned(task, self.data), task.configs, task.benchmark))
            except NoConfig:
                found = Counter()
            self._facts[task.configs] = Counter({facts: n for facts, n in found.items() if facts.removed_in is None})
        return self._facts[task.configs]
