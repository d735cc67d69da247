"""Thinking budgets: finds a model's thinking tags, and closes thinking if no library does.

After the closing tag the model goes on freely. A model without known tags is a UserError.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from livek12.core.errors import UserError
from livek12.core.text import one_line
from livek12.engines.common import Json
from livek12.engines.thinking import Thinking
from livek12.engines.torch_builds import mend_torch_builds

_log = logging.getLogger(__name__)


@contextmanager
def budgets_if_possible(optional: bool, warned: set[str] | None = None) -> Iterator[None]:
    """Drops an impossible optional thinking budget, with one warning a problem."""
    try:
        yield
    except UserError as error:
        if not optional:
            raise
        problem = str(error).partition(": name them")[0]
        if warned is None or problem not in warned:
            _log.warning("%s; thinking and answer share the limit of tokens", problem)
        if warned is not None:
            warned.add(problem)


def tags_of(tokenizer: Any, thinking: Thinking, model: str) -> tuple[str, str]:
    """The user's pair; else the first in the tokenizer's tokens; else in the chat template."""
    if len(thinking.tags) == 1:
        return thinking.tags[0]
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else ""
    vocabulary = tokenizer.get_vocab()
    for source in (vocabulary, template):
        for start, end in thinking.tags:
            if start in source and end in source:
                return start, end
    for start, end in thinking.tags:
        if start in template or end in template:
            return start, end
    raise UserError(
        f"{model}: no thinking tags in its vocabulary or chat template, so its thinking cannot be limited: name them "
        "with --engine-args think_start=…,think_end=… or leave --thinking-budget out"
    )


def reasoning_config(tokenizer: str, thinking: Thinking, revision: str | None, trust_remote_code: bool = False) -> Json:
    """The `reasoning_config` for vLLM's start."""
    mend_torch_builds()
    try:
        from transformers import AutoTokenizer

        loaded = AutoTokenizer.from_pretrained(tokenizer, revision=revision, trust_remote_code=trust_remote_code)
    except Exception as error:
        raise UserError(f"{tokenizer}: its tokenizer cannot be read for thinking tags: {one_line(error)}") from error
    start, end = tags_of(loaded, thinking, tokenizer)
    return {"reasoning_start_str": start, "reasoning_end_str": end}


def thinking_limit(tokenizer: Any, thinking: Thinking, model: str, budget: int) -> ThinkingLimit:
    """Limit for one batch in transformers."""
    start, end = (tokenizer.encode(tag, add_special_tokens=False) for tag in tags_of(tokenizer, thinking, model))
    return ThinkingLimit(start, end, budget)


class ThinkingLimit:
    """Closes the thinking of each row after `budget` tokens."""

    def __init__(self, start: Sequence[int], end: Sequence[int], budget: int) -> None:
        self.start, self.end, self.budget = list(start), list(end), budget
        self._rows: list[_Row] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores of shape (rows, vocabulary)."""
        if not self._rows:
            self._rows = [_Row(ids, self) for ids in input_ids.tolist()]
        else:
            for row, token in zip(self._rows, input_ids[:, -1].tolist(), strict=True):
                row.takes(token)
        forced = [(index, token) for index, row in enumerate(self._rows) if (token := row.forced()) is not None]
        if forced:
            scores = scores.clone()
            for index, token in forced:
                scores[index] = float("-inf")
                scores[index, token] = 0.0
        return scores


class _Row:
    def __init__(self, prompt: list[int], limit: ThinkingLimit) -> None:
        self._limit = limit
        self._tail = prompt
        self.spent = 0
        self._closing: list[int] = []
        start, end = limit.start, limit.end
        self.inside = _last(prompt, start) > _last(prompt, end)

    def takes(self, token: int) -> None:
        limit = self._limit
        self._tail = [*self._tail[-max(len(limit.start), len(limit.end)) :], token]
        if self._closing:
            del self._closing[0]
            self.inside = bool(self._closing)
        elif self._tail[-len(limit.end) :] == limit.end:
            self.inside = False
        elif self._tail[-len(limit.start) :] == limit.start:
            self.inside = True
        elif self.inside:
            self.spent += 1

    def forced(self) -> int | None:
        if self.inside and not self._closing and self.spent >= self._limit.budget:
            end = self._limit.end
            begun = next(n for n in range(len(end) - 1, -1, -1) if self._tail[len(self._tail) - n :] == end[:n])
            self._closing = end[begun:]
        return self._closing[0] if self._closing else None


def _last(tokens: list[int], piece: list[int]) -> int:
    size = len(piece)
    return next((at for at in range(len(tokens) - size, -1, -1) if tokens[at : at + size] == piece), -1)
