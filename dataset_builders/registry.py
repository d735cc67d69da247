"""Registry of the builders, by benchmark, and the configs and splits that their layouts give a dataset.

Contract: a config is one table or several without a common row: only image-only rows (without pictures) and members of
subsets are stored again. Pages are split by language and release. In the merged dataset the configs of all benchmarks
but livek12 have the benchmark's name as prefix; a few also have a familiar name without it (`NAMED`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from livek12.core import benchmarks
from livek12.core.benchmarks import RESERVED
from livek12.core.errors import UserError
from livek12.core.records import BenchmarkName, Page, Question
from livek12.dataset_builders.base import PageKey, by_release
from livek12.dataset_builders.builder import Builder, Layout

CARD = "card.md.jinja"
CITATION = "citation.bib"


def builders() -> dict[str, Builder]:
    """Builder of each benchmark, the newest benchmark first."""
    return _checked(benchmarks.named())


@cache
def _checked(included: str) -> dict[str, Builder]:
    by_name = {}
    for name, module in _modules().items():
        if not isinstance(builder := getattr(module, "BUILDER", None), Builder):
            raise UserError(f"benchmark {name}: {module.__file__} has no BUILDER = Builder(...)")
        by_name[name] = builder
    return dict(sorted(by_name.items(), key=lambda entry: entry[1].month, reverse=True))


def builder_of(benchmark: str) -> Builder:
    """Builder of a benchmark."""
    available = builders()
    if benchmark not in available:
        raise UserError(
            f"unknown benchmark {benchmark!r}: there is a builder for"
            f" {', '.join((*available, *benchmarks.RESERVED))}; --include FOLDER adds one"
        )
    return available[benchmark]


def text_of(benchmark: str, name: str) -> str | None:
    """Text of a file beside a benchmark's builder, or None."""
    module = _modules().get(benchmark)
    file = Path((module and module.__file__) or "").parent / name
    return file.read_text(encoding="utf-8") if module and file.is_file() else None


def _modules() -> dict[str, ModuleType]:
    return benchmarks.sides("builder", "livek12.dataset_builders.benchmarks", marker=CARD)


_UNPREFIXED = "livek12"
NAMED = {
    "text_only": "livek12",
    "text_image": "livek12",
    "image_only": "livek12",
    "hard": "kmmmu",
    "korean_specific": "kmmmu",
}
"""Familiar names without a prefix in a merged dataset, with their benchmarks."""


def split_of(record: Question | Page) -> str:
    """Split of a record."""
    return by_release(record) if isinstance(record, Page) else builder_of(record.benchmark).layout.split(record)


def tables(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    """Tables of a question in the dataset of its benchmark."""
    return builder_of(question.benchmark).layout.tables(question, pages)


def merged_tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    """Tables of a question in the dataset of several benchmarks."""
    return (_prefixed(question.benchmark, table) for table in tables(question, pages))


def merged(benchmarks: Collection[BenchmarkName]) -> Layout:
    """Common layout of several benchmarks; UserError if two configs share a name."""
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
    """Familiar names in a merged dataset, each with its benchmark and rows, 0 if missing.

    `data_set` is the name in `statistics.json`; datasets that are not merged have no such names.
    """
    listed = NAMED.items() if data_set in RESERVED else ()
    return [(name, benchmark, rows.get(name, 0)) for name, benchmark in listed]


def _prefixed(benchmark: BenchmarkName, name: str) -> str:
    return name if benchmark == _UNPREFIXED else f"{benchmark}_{name}"
