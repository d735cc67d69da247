"""Configs and splits of every benchmark, named in this one place.

Contract: a question is stored in the tables its layout gives; a config is one table or several that share no row, so
that no question is stored again for being in a large config: only image-only rows (which have no pictures) and members
of subsets have rows of their own besides. A config of several tables has their rows one table after the other, each in
the order of the source. Splits are LANGUAGE_RELEASE for livek12 and its pages, `test` elsewhere. The first config is
the default. In the merged data set the configs of all benchmarks but livek12 carry the benchmark's name as prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from livek12.core.records import Benchmark, Page, Question
from livek12.dataset_builders.base import PageKey

PAGES = "pages"
IMAGE_ONLY = "image_only"
LIVEK12_SUBSETS = ("complex_layout", "rigorous_process", "long_horizon")
DIFFICULTIES = ("easy", "medium", "hard")
DYNAMIC = "dynamic"


@dataclass(frozen=True)
class Layout:
    """How the questions of a data set are spread over tables, and which tables make a config.

    Attributes:
        configs: the tables of each config, the default config first.
        tables: the tables a question goes into, given the pages the data set holds.
    """

    configs: Mapping[str, tuple[str, ...]]
    tables: Callable[[Question, Collection[PageKey]], Iterable[str]]


def split_of(record: Question | Page) -> str:
    """The split a record belongs to: a name `datasets` accepts."""
    if isinstance(record, Question) and record.benchmark != "livek12":
        return "test"
    name = "_".join(part for part in (record.language, record.release) if part)
    return re.sub(r"\W", "_", name) or PAGES


def as_stored(table: str, question: Question) -> Question:
    """The row of a question in a table: image-only rows leave the figures to their pages."""
    return question.model_copy(update={"images": []}) if table == IMAGE_ONLY else question


def page_keys(question: Question) -> list[PageKey]:
    """The pages a question is on; none where the source does not say."""
    return [(question.paper_id, number) for number in question.page_numbers] if question.paper_id else []


def not_from_pages(question: Question, pages: Collection[PageKey]) -> str:
    """Why a question cannot be asked from page images: a page is not among `pages`, or it has no number there.

    Empty where it can.
    """
    keys = page_keys(question)
    missing = [f"{paper} {number}" for paper, number in keys if (paper, number) not in pages]
    if missing or not keys:
        return f"no image of page {', '.join(missing) or '(none named)'}"
    return "" if (question.number or "").strip() else "no number to find it by on its page"


def _livek12(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    if question.images or question.question or question.options:  # else only its pages ask it
        yield "text_image" if question.images else "text_only"
    if not not_from_pages(question, pages):
        yield IMAGE_ONLY
    yield from (subset for subset in LIVEK12_SUBSETS if subset in question.subsets)


def _kmmmu(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    yield "default"
    if "hard" in question.subsets:
        yield "hard"
    if question.flags.is_korean_specific:
        yield "korean_specific"


def _cfe(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    yield "multimodal" if question.images else "text"


def _mdk12(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
    if DYNAMIC in question.subsets:  # a variant of another question, which `full` has
        yield DYNAMIC
        return
    yield question.difficulty if question.difficulty in DIFFICULTIES else "unrated"
    if "mini" in question.subsets:
        yield "mini"


def _own_tables(*configs: str) -> dict[str, tuple[str, ...]]:
    return {config: (config,) for config in configs}


LAYOUTS: dict[Benchmark, Layout] = {
    "livek12": Layout(
        {
            "default": ("text_only", "text_image"),
            **_own_tables("text_only", "text_image", IMAGE_ONLY, *LIVEK12_SUBSETS),
        },
        _livek12,
    ),
    "kmmmu": Layout(_own_tables("default", "hard", "korean_specific"), _kmmmu),
    "cfe": Layout(_own_tables("text", "multimodal"), _cfe),
    "mdk12": Layout({"full": (*DIFFICULTIES, "unrated"), **_own_tables("mini", *DIFFICULTIES, DYNAMIC)}, _mdk12),
}


def merged(benchmarks: Collection[Benchmark] = tuple(LAYOUTS)) -> Layout:
    """The layout of one data set for several benchmarks."""

    def tables(question: Question, pages: Collection[PageKey]) -> Iterable[str]:
        for table in LAYOUTS[question.benchmark].tables(question, pages):
            yield _prefixed(question.benchmark, table)

    configs = {
        _prefixed(benchmark, config): tuple(_prefixed(benchmark, part) for part in parts)
        for benchmark, layout in LAYOUTS.items()
        if benchmark in benchmarks
        for config, parts in layout.configs.items()
    }
    return Layout(configs, tables)


def _prefixed(benchmark: Benchmark, name: str) -> str:
    return name if benchmark == "livek12" else f"{benchmark}_{name}"
