"""The protocol of engines.

An engine takes all requests of a task at once, lazily, and yields an outcome for each as it finishes, in any order: a
Response, or a Failure for that request alone. It raises UserError only when nothing can run at all (no such model, no
such endpoint). It keeps a bounded number of requests in hand, so a long iterable needs no more memory than a short one.
An engine that is lost with all it has in hand raises EngineDied: what has no outcome by then may be done by a new
engine (pool/). Consecutive requests that differ in their trial only may be sent as one prompt with n samples; trial t
is drawn with `sampling.seed` + t either way, and only engines add t. An engine with figures has an attribute `figures`,
right at any moment and after its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from livek12.core.records import Failure, Request, Response

Outcome = Response | Failure


class EngineDied(Exception):
    """The engine is lost (killed, out of memory, crashed); the message gives the reason on one line."""


class Engine(Protocol):
    """Runs requests on one model."""

    name: str
    model: str
    revision: str | None
    images: bool
    """True if the model can see; else requests with images end as `unsupported`."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields exactly one outcome a request, as they finish."""
        ...

    def versions(self) -> dict[str, str]:
        """Package and library versions, for the record."""
        ...

    def close(self) -> None:
        """Frees memory and processes; safe to call twice."""
        ...
