"""Flat rows: questions that one answer decides, in the form in which the Hub's own evaluations read a benchmark.

Contract: `tasks` and `dataset_builders` know nothing of each other and meet here: the application makes the rows of a
`FlatTask` (`evaluation.flat`), publishing writes them as the config `eval_TASK` with the one split `test`
(`dataset_builders.publishing.flat`). A row is either the whole prompt as `livek12 run` asks it, without `choices`, or
the bare question with the texts of its choices, which the harness prints: never both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from livek12.core.records import Record

PREFIX = "eval_"
"""How the configs of flat rows begin; no other config does."""
SPLIT = "test"
Form = Literal["choices", "letters", "value"]
"""How one answer decides: `choices` are printed by the harness; `letters` and `value` are asked for in a box."""


class FlatFacts(Record):
    """What is known of the question of a row, for the logs of a harness."""

    benchmark: str
    release: str | None = None
    language: str
    subject: str
    question_type: str
    difficulty: str | None = None
    points: float | None = None
    paper_id: str | None = None
    number: str | None = None
    licence: str | None = None
    url: str | None = None


class FlatRow(Record):
    """One question; `image` is a `data:` address of all its pictures in one, "" where it has none."""

    id: str
    input: str
    target: str
    choices: list[str] = []
    image: str = ""
    metadata: FlatFacts


@dataclass(frozen=True)
class FlatTask:
    """The flat rows of one task.

    Attributes:
        name: of the task, as `--task` takes it.
        description: one line.
        form: of all its rows.
        pictures: whether a row has any.
        asked: questions of the task in the data set, of which the rows are those that one answer decides.
        rows: made as they are read; each can be read once.
    """

    name: str
    description: str
    form: Form
    pictures: bool
    asked: int
    rows: Iterable[FlatRow]


Flatten = Callable[[Path], Iterator[FlatTask]]
"""Gives the flat tasks of a data set that lies in a folder."""


def is_flat(config: str) -> bool:
    """Whether a config, or the table of that name, holds flat rows and no questions."""
    return config.startswith(PREFIX)
