"""Where questions come from: one module a benchmark, and the data set they are built into.

Contract: `build` writes a folder that `datasets.load_dataset(DIR, CONFIG)` reads, and replaces an earlier build
only once the new one is whole; `validate` says what is wrong with such a folder, one line a problem.
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
    """Builds the data set of a benchmark, or of all in one.

    Args:
        benchmark: one of `sources.names`.
        source: a file or folder, or "hub" for the published data; several for `all`, see `sources.find_sources`; not
            used by `sample`.
        out: folder of the data set; created, or replaced if it holds nothing but a data set.
        hosts: the only hosts that pictures may be fetched from.
        subsets: reviewed sheets of `livek12 subsets`, whose accepted members are marked.
        step: called once a record, to show that the work goes on.
        base: the earlier data set that the source's release is added to: a folder, or ORG/NAME[@REVISION] on the Hub.
        withdraw: a list of questions of `base` to withdraw, see `releases.read_withdrawals`.
        base_answers: the data set with the answers that `base` holds back, where it holds some back.
        keep: whether a record that was read goes into the data set; default all.
        given: what the keys of the source mean, and which of them are meant to be left out.

    Raises:
        UserError: unknown benchmark, nothing to read, text or pictures would be lost, or `out` cannot be written.
    """
    from livek12.dataset_builders.building import build as run
    from livek12.dataset_builders.reading.naming import NOTHING

    return run(benchmark, source, out, hosts, subsets, step, base, withdraw, keep, base_answers, given or NOTHING)


def validate(folder: Path, step: Callable[[], None] = lambda: None) -> list[str]:
    """What is wrong with a built data set: one line a problem, none when it is sound.

    Args:
        folder: the data set.
        step: called once a row, to show that the work goes on.

    Raises:
        UserError: the folder is not a data set at all.
    """
    from livek12.dataset_builders.writing.validation import validate as run

    return run(folder, step)
