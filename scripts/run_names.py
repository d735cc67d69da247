"""Names for run folders in tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def run_names(runs: Sequence[Path]) -> dict[str, Path]:
    """The folders by the shortest names that tell them apart."""
    short = {path.resolve().name: path for path in runs}
    return short if len(short) == len(runs) else {str(path): path for path in runs}
