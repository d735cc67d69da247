"""The `Builder` that a benchmark exports, and the reading of its sources.

Contract: a benchmark's module `builder` (built in: its package in `dataset_builders.benchmarks`) exports a `Builder` as
`BUILDER`. Its folder holds `card.md.jinja` and, if there is something to cite, `citation.bib`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from livek12.core.records import Page, Question
from livek12.dataset_builders.base import BadRow, Log, PageKey
from livek12.dataset_builders.reading.built import exam_files
from livek12.dataset_builders.reading.fields import with_scheme
from livek12.dataset_builders.reading.images import ImageLoader, find_pages, unused_pictures
from livek12.dataset_builders.reading.languages import VOTERS, FileLanguage, asked_text, vote
from livek12.dataset_builders.reading.making import UNFORESEEN, P, Packing, to_packs, to_questions
from livek12.dataset_builders.reading.naming import NOTHING, Given, Naming, headed
from livek12.dataset_builders.reading.publishers import UNKNOWN, Origin, origin_of
from livek12.dataset_builders.reading.rows import SourceRow, read_rows, source_root, unread_files
from livek12.dataset_builders.reading.text import without_invisible

_SHOWN = 5
ASKED = ("question", "options", *"ABCDEFGHIJ", "passage")
"""The fields of a row that are asked; the passage last, since it may be a sheet of data."""
PROSE = frozenset({"passage", "solution", "marking", "scheme", "reasoning_flow", "images", "solution_images"})
"""The fields of a row that are not compared: texts for people, and names of files."""


@dataclass(frozen=True)
class Layout:
    """The tables, configs and splits of a dataset.

    A config is one table or several that share no question.

    Attributes:
        configs: the tables of each config, the default config first.
        split: a name that `datasets` accepts.
        whole: the configs that together hold every question once; default: the first.
    """

    configs: Mapping[str, tuple[str, ...]]
    tables: Callable[[Question, Collection[PageKey]], Iterable[str]]
    split: Callable[[Question], str] = lambda question: "test"
    whole: tuple[str, ...] = ()

    @property
    def every_question(self) -> tuple[str, ...]:
        """Configs that together hold every question once."""
        return self.whole or tuple(self.configs)[:1]


def own_tables(*configs: str) -> dict[str, tuple[str, ...]]:
    """Configs of one table each, named like the config."""
    return {config: (config,) for config in configs}


@dataclass(frozen=True)
class Beside:
    """Context of rows; `read` is the result of `Builder.beside`."""

    images: ImageLoader
    pages: Collection[PageKey] = frozenset()
    read: Any = None


@dataclass(frozen=True)
class Builder:
    """Recipe for a benchmark's dataset.

    Attributes:
        question: the question of a row, None for a head; raises `BadRow`. A module-level function, for several
            processes.
        licence: the publisher's, for a revision that states none itself.
        files: the origins of published files, by SHA-256.
        month: of the article, YYYY-MM.
        beside: reads, once per source, the context of the rows; must be picklable.
        keys: those that `question` reads: other spellings (`reading/names.txt`) are renamed, and a build that would
            drop others with content fails.
    """

    question: Callable[[SourceRow, Beside, Log], Question | None]
    layout: Layout
    hub: str = ""
    licence: str | None = None
    files: Mapping[str, Origin] = field(default_factory=dict)
    month: str = ""
    subsets: tuple[str, ...] = ()
    pages: Callable[[Iterable[SourceRow], Mapping[PageKey, Path], ImageLoader, Log], Iterator[Page]] | None = None
    beside: Callable[[Path, Log], Any] | None = None
    other_files: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()
    rows: Callable[[SourceRow], Sequence[SourceRow]] = lambda row: [row]


@dataclass(frozen=True)
class _Maker:
    question: Callable[[SourceRow, Beside, Log], Question | None]
    beside: Beside
    naming: Naming
    benchmark: str = ""

    @property
    def loader(self) -> ImageLoader:
        return self.beside.images

    def __call__(self, row: SourceRow, log: Log) -> Question | None:
        named = _without_invisible(self.naming(row, log), log)
        question = self.question(named, self.beside, log)
        if question and "marking" in self.naming.keys:
            question = with_scheme(question, named.data, row.where, log)
        if question and self.benchmark and question.benchmark != self.benchmark:
            raise BadRow(f"its builder makes it a question of benchmark {question.benchmark!r}, not {self.benchmark!r}")
        return question


def _without_invisible(row: SourceRow, log: Log) -> SourceRow:
    shown = {key: value if key in PROSE else without_invisible(value) for key, value in row.data.items()}
    if names := [str(key) for key, value in shown.items() if value is not row.data[key]]:
        log.note(row.where, None, f"characters that cannot be seen are left out of {', '.join(names)}")
        return row.holding(shown)
    return row


@dataclass(frozen=True)
class SourcePlace:
    """A source and the origin it was fetched from."""

    path: Path
    origin: Origin = UNKNOWN


@dataclass(frozen=True)
class _Reading:
    """Reads the rows of a source: one per question, with the origin and language of its file."""

    builder: Builder
    origin: Origin
    naming: Naming

    def __call__(self, rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
        file: Path | None = None
        origin, language = UNKNOWN, FileLanguage()
        for row in self._one_a_question(rows):
            if row.file is not file:
                file = row.file
                origin = origin_of(file, self.builder.files) if self.origin is UNKNOWN else self.origin
                language = self._language_of(file)
            row.origin, row.language = origin, language
            yield row

    def named(self, rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
        return (self.naming(row, Log()) for row in self(rows))

    def _one_a_question(self, rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
        for row in headed(rows) if self.builder.keys else rows:
            try:
                yield from list(self.builder.rows(row))
            except (BadRow, *UNFORESEEN):
                yield row

    def _language_of(self, file: Path) -> FileLanguage:
        if self.naming.given.language:
            return FileLanguage(self.naming.given.language, given=True)
        first = islice(self._one_a_question(read_rows(file, Log())), VOTERS)
        named = (self.naming(row, Log()).data for row in first)
        return vote(asked_text(data, *ASKED) for data in named if not data.get("language"))


def read(
    builder: Builder,
    source: Path,
    log: Log,
    given: Given = NOTHING,
    benchmark: str = "",
    origin: Origin = UNKNOWN,
    pack: Packing[P] | None = None,
) -> Iterator[Page | Question | list[P]]:
    """Yields the pages, then the questions of a source, with `pack` packed where made.

    Rows of another benchmark than `benchmark` are left out; "" accepts all. The default `origin` is what the source's
    files prove.
    """
    reading = _Reading(builder, origin, Naming(builder.keys, given))
    make, pages = _made_of(reading, source, log, benchmark)
    yield from pages
    used: set[str] = set()
    if pack is None:
        for question in to_questions(source, make, log, other_files=builder.other_files, forms=reading):
            used.update(image.path or "" for image in (*question.images, *question.solution_images))
            yield question
    else:
        for packs in to_packs(source, make, log, pack, other_files=builder.other_files, forms=reading):
            used.update(name for packed in packs for name in packed.pictures())
            yield packs
    _tell_of_rest(builder, source, used, log)


def _made_of(reading: _Reading, source: Path, log: Log, benchmark: str) -> tuple[_Maker, Iterator[Page]]:
    builder, naming = reading.builder, reading.naming
    naming.check()
    root = source_root(source)
    loader, pages = ImageLoader(root, naming.given.hosts), find_pages(root) if builder.pages else {}
    if pages and source.is_file():  # the folder beside a file may hold the pages of other exams
        papers = {row.data.get("paper_id") for row in reading.named(read_rows(source, Log()))}
        pages = {page: file for page, file in pages.items() if page[0] in papers}
    context = builder.beside(root, log) if builder.beside else None
    make = _Maker(builder.question, Beside(loader, frozenset(pages), context), naming, benchmark)
    if builder.pages is None or not pages:
        return make, iter(())
    return make, builder.pages(reading.named(read_rows(source, Log())), pages, loader, log)


def _tell_of_rest(builder: Builder, source: Path, used: Collection[str], log: Log) -> None:
    pictures = unused_pictures(source, used) if source.is_dir() else []
    for what, files in (
        ("pictures that no question has", pictures),
        (
            "files that are not read",
            unread_files(source, (*builder.other_files, *(file.name for file in exam_files(source)))),
        ),
    ):
        if files:
            named = ", ".join(files[:_SHOWN]) + ", …" * (len(files) > _SHOWN)
            log.note(source.name, None, f"{what}: {len(files)} ({named})")
    if log.unread:
        log.note(source.name, None, f"columns with no place in a question: {', '.join(sorted(log.unread))}")
