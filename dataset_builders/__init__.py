"""Dataset builders: one module per benchmark, and the dataset that is built from it.

Contract: `build` writes a folder that `datasets.load_dataset(DIR, CONFIG)` reads, and replaces an earlier build only
once the new one is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livek12.core.records import Page, Question
    from livek12.dataset_builders.reading.naming import Given
    from livek12.dataset_builders.writing.data_set import BuildReport


def build(
    benchmark: str,
    source: str | Sequence[str],
    out: Path,
    hosts: Collection[str] = (),
    subsets: Sequence[Path] = (),
    step: Callable[[], None] = lambda: None,
    base: str = "",
    withdraw: Path | None = None,
    keep: Callable[[Question | Page], bool] | None = None,
    base_answers: str = "",
    given: Given | None = None,
) -> BuildReport:
    """Builds the dataset of one benchmark, or of all of them, into `out`.

    `source` is a file or folder, or "hub"; several for `all`, see `sources.find_sources`. Pictures are fetched only
    from `hosts`. `subsets` are reviewed sheets of `livek12 subsets`. The release is added to `base` (a folder, or
    ORG/NAME[@REVISION]), whose withheld answers are in `base_answers`. `withdraw` is a list for
    `releases.read_withdrawals`.
    """
    from livek12.dataset_builders.building import build as run
    from livek12.dataset_builders.reading.naming import NOTHING

    return run(benchmark, source, out, hosts, subsets, step, base, withdraw, keep, base_answers, given or NOTHING)


def validate(folder: Path, step: Callable[[], None] = lambda: None) -> list[str]:
    """Returns the problems of a built dataset, one line each; `step` is called once per row."""
    from livek12.dataset_builders.writing.validation import validate as run

    return run(folder, step)
