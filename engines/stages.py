"""Stages of an engine's start: shown while they last, and their seconds kept for the session."""

from __future__ import annotations

import time

from livek12.core.progress import tell_stage


class Stages:
    """Seconds of a start by stage; begins with the first one.

    Args:
        name: of the first stage, as sessions keep it.
        words: what is being done, as the progress line says it.
    """

    def __init__(self, name: str, words: str) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = 0.0
        self.begin(name, words)

    def begin(self, name: str, words: str) -> None:
        """Ends the stage before; one that comes again goes on."""
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
