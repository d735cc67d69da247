"""Tasks of logs of other harnesses: what was asked is known, how is not, so that they can be marked and not asked.

Contract: `log.NAME` for any name that a log gives a task, with `_` for whatever a task's name cannot hold. Such a task
has no prompts and no data set: its questions and keys stand in the run folder that `livek12 rejudge` made.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task

PREFIX: Final = "log."
BENCHMARK: Final = "log"
"""The benchmark of their questions; no data set has it."""
_NAME: Final = re.compile(r"log\.[\w.-]{1,120}", re.ASCII)


def logged_name(name: str) -> str:
    """Our name of a task that a harness calls `name`."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")[: 120 - len(PREFIX)]
    return PREFIX + (plain or "task")


def is_logged(name: str) -> bool:
    """Whether a task is one of a log."""
    return _NAME.fullmatch(name) is not None


@cache
def logged_task(name: str) -> Task | None:
    """The task of that name, if it is one of a log."""
    if not is_logged(name):
        return None
    return Task(
        name=name,
        benchmark=BENCHMARK,
        configs=(),
        modality="text_only",
        description="answers from another harness's log",
        partial_credit="proportional",
        judge=NamedJudge("count"),
    )
