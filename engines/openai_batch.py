"""What one call of the openai engine's `generate` has not sent yet, and what came of the rest."""

from __future__ import annotations

import asyncio
from collections import deque
from queue import SimpleQueue

from livek12.core.records import Request
from livek12.engines.base import Outcome


class Batch:
    """The requests of one `generate` that are not on their way yet, who sends them, and what came of the others."""

    def __init__(self) -> None:
        self.waiting: deque[Request] = deque()
        self.done: SimpleQueue[Outcome | Exception] = SimpleQueue()
        self.workers = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def taken(self) -> Outcome:
        """The next outcome; raises what stopped the work."""
        outcome = self.done.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def dismiss(self) -> None:
        """Ends what nobody waits for any more."""
        self.waiting.clear()
        for task in self.tasks:
            task.cancel()
