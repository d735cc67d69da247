"""Dataset builders: one module per benchmark, and the dataset that is built from it.

Contract: `build` writes a folder that `datasets.load_dataset(DIR, CONFIG)` reads, and replaces an earlier build only
once the new one is complete.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from livek12.dataset_builders.building import build as build
    from livek12.dataset_builders.writing.validation import validate as validate

_PUBLIC = {"build": "building", "validate": "writing.validation"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
