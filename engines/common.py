"""Shared parts of engines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import metadata
from typing import Any, Literal

from livek12.core.progress import tell_stage
from livek12.core.records import Failure, Message, Request
from livek12.core.run.claims import TOGETHER
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.core.version import __version__

Json = dict[str, Any]
NO_COUNT = 1 << 53
"""An impossible token count: floats are inexact from here on, and huge ones break scores."""


def failure(
    request: Request, reason: object, state: Literal["failed", "unsupported"] = "failed", final: bool = False
) -> Failure:
    """A missing response; `final` if a retry is useless."""
    return Failure(key=request.key, state=state, reason=one_line(reason), final=final)


def cannot_see(request: Request, model: str) -> Failure:
    """Failure of a model without vision."""
    return failure(request, f"{model} reads text only, and the question has images", "unsupported", final=True)


def has_images(request: Request) -> bool:
    """Tests for images."""
    return any(part.type == "image" for message in request.messages for part in message.content)


def seed_of(request: Request) -> int:
    """The request's seed plus its trial."""
    return request.sampling.seed + request.key.trial


def same_prompt(a: Request, b: Request) -> bool:
    """Tests for trials of one prompt."""
    return (
        (a.key.task, a.key.question_id) == (b.key.task, b.key.question_id)
        and a.sampling == b.sampling
        and a.messages == b.messages
        and a.answer_schema == b.answer_schema
    )


def grouped(requests: Iterable[Request], limit: int = TOGETHER) -> Iterator[list[Request]]:
    """Lazily groups up to `limit` consecutive trials of one prompt."""
    group: list[Request] = []
    for request in requests:
        follows = group and request.key.trial == group[-1].key.trial + 1 and len(group) < limit
        if group and not (follows and same_prompt(group[0], request)):
            yield group
            group = []
        group.append(request)
    if group:
        yield group


def content_of(message: Message, picture: Callable[[str], Json]) -> str | list[Json]:
    """A lone text as a string, else the parts in order."""
    if all(part.type == "text" for part in message.content):
        return "".join(part.text or "" for part in message.content)
    return content_parts(message, picture)


def content_parts(message: Message, picture: Callable[[str], Json]) -> list[Json]:
    """Parts of a message; `picture` converts a sha256."""
    return [
        {"type": "text", "text": part.text or ""} if part.type == "text" else picture(part.image or "")
        for part in message.content
    ]


@cache
def versions_of(*distributions: str) -> dict[str, str]:
    """Installed versions, with livek12's own."""
    versions = {"livek12": __version__}
    for name in distributions:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


_log = logging.getLogger(__name__)


class Context:
    """A model's context of `size` tokens (None: unknown).

    The request keeps its full budget: an answer cut off by the context counts as such.
    """

    def __init__(self, model: str, size: int | None = None) -> None:
        self.size = size
        self._model = model
        self._said = False

    def left(self, question: int, wanted: int) -> int:
        """Tokens left of `wanted`; ≤ 0 if the question does not fit."""
        return wanted if self.size is None else min(wanted, self.size - question)

    def tell(self, question: int, wanted: int) -> None:
        """Warns once if a question leaves fewer tokens."""
        if not self._said and 0 < self.left(question, wanted) < wanted:
            self._said = True
            _log.warning(
                "%s: a question and an answer of up to %s tokens do not fit into %s: longer answers are cut off there,"
                " which the report counts (give the model a larger context, or ask for less with --max-tokens)",
                self._model,
                f"{wanted:,}",
                f"{self.size:,}",
            )


def figures_of(engine: object) -> Figures:
    """An engine's figures, if any."""
    figures = getattr(engine, "figures", None)
    return figures if isinstance(figures, Figures) else Figures()


def together(parts: Iterable[Figures]) -> Figures:
    """Figures of parallel engines."""
    figures = list(parts)
    return Figures(
        context=_of(min, figures, "context"),
        kv_tokens=_of(sum, figures, "kv_tokens"),
        preemptions=_of(sum, figures, "preemptions"),
        stages={name: max(each.stages.get(name, 0.0) for each in figures) for each in figures for name in each.stages},
    )


def one_after_another(earlier: Figures, later: Figures) -> Figures:
    """Figures of an engine and its replacement."""
    both = [earlier, later]
    return Figures(
        context=_of(min, both, "context"),
        kv_tokens=earlier.kv_tokens if later.kv_tokens is None else later.kv_tokens,
        preemptions=_of(sum, both, "preemptions"),
        stages=earlier.stages or later.stages,
    )


def _of(how: Callable[[list[int]], int], parts: Iterable[Figures], name: str) -> int | None:
    values = [value for part in parts if (value := getattr(part, name)) is not None]
    return how(values) if values else None


class Stages:
    """Seconds of a start by stage."""

    def __init__(self, name: str, words: str) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = 0.0
        self.begin(name, words)

    def begin(self, name: str, words: str) -> None:
        """Ends the previous stage."""
        if name == self._name:
            return
        self.end()
        self._name, self._since = name, time.monotonic()
        tell_stage(words)

    def end(self) -> None:
        """Ends the last stage."""
        if self._name:
            spent = self.seconds.get(self._name, 0.0) + time.monotonic() - self._since
            self.seconds = {**self.seconds, self._name: round(spent, 2)}
            self._name = ""
