"""Expected cost of a run: requests, prompt tokens, and shared prefixes.

Contract: the prompts are those of the run, in order; their tokens are estimated from their text
(`core.text.tokens_in`), pictures are counted and not estimated. Of tasks that make two requests for an answer only the
first is known.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from livek12.core.records import Failure, Question, Request, Sampling
from livek12.core.text import tokens_in
from livek12.evaluation.task_data import TaskData
from livek12.tasks.base import Task
from livek12.tasks.families import source_of
from livek12.tasks.prompting import requests

_PICTURE = re.compile(r"\0[0-9a-f]{64}")
"""Stands for a picture in a prompt's text: its hash behind a sign that texts rarely hold."""
_CUT_PICTURE = re.compile(r"\0[0-9a-f]{0,63}\Z")


@dataclass
class PromptCost:
    """Requests of one task, their tokens and shared tokens, and the most that they may write."""

    requests: int = 0
    cannot: int = 0
    prompt_tokens: float = 0.0
    shared_tokens: float = 0.0
    pictures: int = 0
    completion_tokens: int = 0

    @property
    def rounded(self) -> dict[str, int]:
        """Its numbers, for JSON."""
        return {name: round(getattr(self, name)) for name in self.__dataclass_fields__}


def expected_cost(
    exam: TaskData, order: Iterable[tuple[Task, Question]], trials: int, samplings: Mapping[str, Sampling]
) -> dict[str, PromptCost]:
    """Expected requests by task; `order` is that of `asking.asked_in_order`."""
    costs = {task.name: PromptCost() for task in exam.tasks}
    before: list[str] = []
    source: object = None
    for task, question in order:
        # The prompts of one question are compared with each other: those of others share no more than the frame.
        if source != (source := (task.asked_with, source_of(question))):
            before = []
        own = costs[task.name]
        for request in requests(task, [question], 1, samplings[task.name], exam.pages, lambda key: True):
            if isinstance(request, Failure):
                own.cannot += trials
                continue
            _put(own, request, trials, before)
    return costs


def _put(own: PromptCost, request: Request, trials: int, before: list[str]) -> None:
    text = "".join(_said(request))
    tokens = tokens_in(_plain(text))
    own.requests += trials
    own.prompt_tokens += trials * tokens
    own.shared_tokens += tokens_in(_plain(_shared(text, before))) + (trials - 1) * tokens
    own.pictures += trials * len(_PICTURE.findall(text))
    own.completion_tokens += trials * request.sampling.max_tokens
    insort(before, text)


def _said(request: Request) -> Iterator[str]:
    for message in request.messages:
        for part in message.content:
            yield part.text or "" if part.type == "text" else f"\0{part.image}"


def _plain(text: str) -> str:
    return _CUT_PICTURE.sub("", _PICTURE.sub("", text))


def _shared(text: str, before: list[str]) -> str:
    """With a neighbour of its place among the sorted texts."""
    place = bisect_left(before, text)
    return max((_common(text, other) for other in before[max(0, place - 1) : place + 1]), key=len, default="")


def _common(first: str, other: str) -> str:
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


def total(found: Iterable[PromptCost]) -> PromptCost:
    """All tasks together."""
    summed = PromptCost()
    for cost in found:
        for name in summed.__dataclass_fields__:
            setattr(summed, name, getattr(summed, name) + getattr(cost, name))
    return summed


def as_json(found: Mapping[str, PromptCost]) -> dict[str, Any]:
    """Costs of each task and of all."""
    return {"tasks": {name: cost.rounded for name, cost in found.items()}, "all": total(found.values()).rounded}


def sentences(found: Mapping[str, PromptCost]) -> Iterator[str]:
    """Costs in words, a line for each task and one for all."""
    for name, cost in [*found.items(), *([("all", total(found.values()))] if len(found) > 1 else [])]:
        share = 100 * cost.shared_tokens / cost.prompt_tokens if cost.prompt_tokens else 0.0
        pictures = f" and {cost.pictures:,} pictures" if cost.pictures else ""
        cannot = f"; {cost.cannot:,} cannot be asked" if cost.cannot else ""
        yield (
            f"{name}: {cost.requests:,} requests, about {round(cost.prompt_tokens):,} prompt tokens{pictures}, of which"
            f" {share:.0f} % are shared with a prompt before; at most {cost.completion_tokens:,} tokens written{cannot}"
        )
