"""Configs and splits of a data set, from the layouts of the benchmarks in it.

Contract: a question is stored in the tables that its benchmark's layout gives; a config is one table or several that
share no row, so that no question is stored again for being in a large config: only image-only rows (which have no
pictures) and members of subsets have rows of their own besides. A config of several tables has their rows one table
after the other, each in the order of the source. Pages are split by language and release. The first config is the
default. In the merged data set the configs of all benchmarks but livek12 carry the benchmark's name as prefix, and a
few have a name without it besides (`NAMED`): the same files, under the name that people ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from livek12.core.benchmarks import RESERVED
from livek12.core.errors import UserError
from livek12.core.records import BenchmarkName, Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PageKey, by_release
from livek12.dataset_builders.builder import Layout
from livek12.dataset_builders.registry import builder_of

_UNPREFIXED = "livek12"
NAMED = {
    "text_only": "livek12",
    "text_image": "livek12",
    "image_only": "livek12",
    "hard": "kmmmu",
    "korean_specific": "kmmmu",
}
"""The names without a prefix that a merged data set is asked for, and whose they are."""


def split_of(record: Question | Page) -> str:
    """The split a record belongs to.

    Raises:
        UserError: nothing here builds the record's benchmark.
    """
    return by_release(record) if isinstance(record, Page) else builder_of(record.benchmark).layout.split(record)


def tables(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    """The tables of a question in the data set of its benchmark."""
    return builder_of(question.benchmark).layout.tables(question, pages)


def merged_tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    """The tables of a question in the data set of several benchmarks."""
    return (_prefixed(question.benchmark, table) for table in tables(question, pages))


def as_stored(table: str, question: Question) -> Question:
    """The row of a question in a table: image-only rows leave the figures to their pages."""
    return question.model_copy(update={"images": []}) if table == IMAGE_ONLY else question


def merged(benchmarks: Collection[BenchmarkName]) -> Layout:
    """The layout of one data set for several benchmarks.

    Raises:
        UserError: configs of two benchmarks would have one name.
    """
    configs: dict[str, tuple[str, ...]] = {}
    for benchmark in sorted(benchmarks, key=lambda name: name != _UNPREFIXED):  # its default is that of all
        for config, parts in builder_of(benchmark).layout.configs.items():
            name = _prefixed(benchmark, config)
            if name in configs:
                raise UserError(f"two benchmarks have a config {name}: build {benchmark} into a data set of its own")
            configs[name] = tuple(_prefixed(benchmark, part) for part in parts)
    for name, benchmark in NAMED.items():
        if benchmark in benchmarks:
            configs.setdefault(name, configs[_prefixed(benchmark, name)])
    return Layout(configs, merged_tables)


def names_of(data_set: str, rows: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """The names that a merged data set is asked for, each with its benchmark and its rows, 0 where it is not there.

    Args:
        data_set: as `statistics.json` calls it; others than the merged ones have no such names.
        rows: of each config.
    """
    listed = NAMED.items() if data_set in RESERVED else ()
    return [(name, benchmark, rows.get(name, 0)) for name, benchmark in listed]


def _prefixed(benchmark: BenchmarkName, name: str) -> str:
    return name if benchmark == _UNPREFIXED else f"{benchmark}_{name}"
