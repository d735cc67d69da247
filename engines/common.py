"""Small things every engine needs: one-line reasons, grouped trials, message conversion, library versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import metadata
from typing import Any, Literal

from livek12.core.records import Failure, Message, Request
from livek12.core.run.claims import TOGETHER
from livek12.core.text import one_line
from livek12.core.version import __version__

Json = dict[str, Any]
NO_COUNT = 1 << 53
"""Nobody wrote so many tokens: from here on floats are not exact, and in the end scores cannot be computed."""


def failure(
    request: Request, reason: object, state: Literal["failed", "unsupported"] = "failed", final: bool = False
) -> Failure:
    """The outcome of a request that got no response; `final` when it never will."""
    return Failure(key=request.key, state=state, reason=one_line(reason), final=final)


def cannot_see(request: Request, model: str) -> Failure:
    """The outcome of an image request on a model that reads text only."""
    return failure(request, f"{model} reads text only, and the question has images", "unsupported", final=True)


def has_images(request: Request) -> bool:
    """Whether any message shows an image."""
    return any(part.type == "image" for message in request.messages for part in message.content)


def seed_of(request: Request) -> int:
    """The seed of one sample: the request's own plus its trial, however trials are sent (engines.base)."""
    return request.sampling.seed + request.key.trial


def same_prompt(a: Request, b: Request) -> bool:
    """Whether two requests differ in their trial only."""
    return (
        (a.key.task, a.key.question_id) == (b.key.task, b.key.question_id)
        and a.sampling == b.sampling
        and a.messages == b.messages
        and a.answer_schema == b.answer_schema
    )


def grouped(requests: Iterable[Request], limit: int = TOGETHER) -> Iterator[list[Request]]:
    """Runs of at most `limit` consecutive requests for successive trials of one prompt, lazily."""
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
    """A text-only message as one string (its parts joined as they stand), else its parts in order."""
    if all(part.type == "text" for part in message.content):
        return "".join(part.text or "" for part in message.content)
    return content_parts(message, picture)


def content_parts(message: Message, picture: Callable[[str], Json]) -> list[Json]:
    """The parts of a message; `picture` gives the part for the sha256 of an image."""
    return [
        {"type": "text", "text": part.text or ""} if part.type == "text" else picture(part.image or "")
        for part in message.content
    ]


@cache
def versions_of(*distributions: str) -> dict[str, str]:
    """Installed versions by distribution name, with livek12's own; what is not installed is left out."""
    found = {"livek12": __version__}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
