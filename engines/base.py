"""The protocol of engines.

An engine takes requests lazily, holds a bounded number, and yields an outcome for each in any order: a Response, or a
Failure of that request alone. It raises UserError only if nothing can run, and EngineDied if it is lost: a new engine
may repeat requests without an outcome (pool/). Consecutive trials may be one prompt with n samples; trial t has the
seed `sampling.seed` + t, and only engines add t. The optional attribute `figures` is valid at any moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from livek12.core.records import Failure, Request, Response

Outcome = Response | Failure


class EngineDied(Exception):
    """The engine is lost (killed, out of memory, crashed)."""


class Engine(Protocol):
    """Runs requests on one model."""

    name: str
    model: str
    revision: str | None
    images: bool
    """True if the model can see; else requests with images end as `unsupported`."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields exactly one outcome a request."""
        ...

    def versions(self) -> dict[str, str]:
        """Package and library versions."""
        ...

    def close(self) -> None:
        """Frees memory and processes; idempotent."""
        ...
