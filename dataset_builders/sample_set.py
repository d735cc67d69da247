"""Reads the sample exam that ships inside the package: all four benchmarks in one data set."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from livek12.dataset_builders.base import Log, Records


def read(source: Path, log: Log, hosts: Collection[str] = ()) -> Records:
    """The pages of the sample papers, then the questions of every group; the source is the package itself."""
    from livek12.dataset_builders import sample

    yield from sample.pages()
    for group in sample.PAPERS:
        for question in sample.load(group):
            log.read += 1
            yield question
