"""The protocol of engines.

An engine takes all requests of a task lazily and yields an outcome for each as it finishes, in any order: a Response,
or a Failure of that request alone. It raises UserError only if nothing can run (no such model or endpoint), and
EngineDied if it is lost with all requests in hand: a new engine may repeat those without an outcome (pool/). It holds a
bounded number of requests. Consecutive requests that differ in their trial only may be one prompt with n samples; trial
t has the seed `sampling.seed` + t, and only engines add t. The optional attribute `figures` is valid at any moment and
after the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from livek12.core.records import Failure, Request, Response

Outcome = Response | Failure


class EngineDied(Exception):
    """The engine is lost (killed, out of memory, crashed); the message is one line."""


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
        """Frees memory and processes; idempotent."""
        ...
