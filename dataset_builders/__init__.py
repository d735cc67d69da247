"""Where questions come from: one module a benchmark, and the data set they are built into.

Contract: `build` writes a folder that `datasets.load_dataset(DIR, CONFIG)` reads, and replaces an earlier build
only once the new one is whole; `validate` says what is wrong with such a folder, one line a problem.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livek12.dataset_builders.building import BuildReport


def build(benchmark: str, source: str, out: Path) -> BuildReport:
    """Builds the data set of a benchmark.

    Args:
        benchmark: one of `building.BENCHMARKS`.
        source: a file or folder, or "hub" for the published data; not used by `sample`.
        out: folder of the data set; created, or replaced if it holds nothing but a data set.

    Raises:
        UserError: unknown benchmark, nothing to read, or `out` cannot be written.
    """
    from livek12.dataset_builders.building import build as run

    return run(benchmark, source, out)


def validate(folder: Path) -> list[str]:
    """What is wrong with a built data set: one line a problem, none when it is sound.

    Raises:
        UserError: the folder is not a data set at all.
    """
    from livek12.dataset_builders.validation import validate as run

    return run(folder)
