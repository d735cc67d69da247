"""What an engine read: a run of text with its place on the page."""

from __future__ import annotations

from dataclasses import dataclass

from livek12.dataset_builders.ingest.geometry import Bounds


@dataclass(slots=True)
class Read:
    """A run of text on one line; `places` is x of the middle of each letter, empty where that is not known."""

    text: str
    box: Bounds
    confidence: float
    places: tuple[float, ...] = ()
