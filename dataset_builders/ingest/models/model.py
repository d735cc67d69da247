"""A model that reads papers: its engine, and the cache of its replies."""

from __future__ import annotations

from pathlib import Path

from livek12.core.store import Store
from livek12.engines.asking import REPLIES, Asker, ModelSpec


class Model:
    """A started model; `folder` holds the cache, None: no cache.

    Raises:
        UserError: no such engine, or a model that it cannot run.
    """

    def __init__(self, spec: ModelSpec, folder: Path | None) -> None:
        self._engine = spec.start()
        self._asker = Asker(self._engine, Store(REPLIES, folder) if folder else None)
        self.name = self._engine.model

    def close(self) -> None:
        """Frees memory and processes."""
        self._engine.close()
        self._asker.close()
