"""Which responses of a journal are a run's own."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path
from typing import Protocol

from livek12.core.records import Key


class ByModel(Protocol):
    """What is to be known of a response."""

    @property
    def key(self) -> Key:
        """Names it."""

    @property
    def model(self) -> str:
        """Who said it."""


class Expected:
    """Whether a response is by the model of a run, and to something that it asks; counts those that are not.

    Args:
        path: of the run folder.
        model: that the run asks.
        asked: task and id of each of its questions.
        trials: of each question.
        on_problem: told by `tell`.
    """

    def __init__(
        self,
        path: Path,
        model: str,
        asked: Container[tuple[str, str]],
        trials: int,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._model, self._trials, self._on_problem = path, model, trials, on_problem
        self._asked = asked
        self._others: dict[str, tuple[str, int]] = {}  # of each kind what is said of the first, and how many there are

    def __call__(self, response: ByModel) -> bool:
        """Whether it is."""
        key = response.key
        if (key.task, key.question_id) not in self._asked or not 0 <= key.trial < self._trials:
            return self._refused("unasked", f"is to {key}, which this run does not ask")
        if response.model != self._model:
            return self._refused("model", f"is by {response.model!r:.80}, and this run asks {self._model!r}")
        return True

    def tell(self) -> None:
        """Says of each kind in one line how many were passed over."""
        for first, count in self._others.values():
            if self._on_problem:
                self._on_problem(f"{self._path}: {count} of its responses passed over: the first {first}")

    def _refused(self, kind: str, told: str) -> bool:
        first, count = self._others.get(kind, (told, 0))
        self._others[kind] = (first, count + 1)
        return False
