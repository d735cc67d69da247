"""What a benchmark exports to have its data set built, and how its sources are read.

Contract: the module `builder` of a benchmark (inside: its package in `dataset_builders.benchmarks`) exports a `Builder`
as `BUILDER`. Beside the module lie `card.md.jinja`, which extends `base.md.jinja` of `hub_cards` and fills its blocks,
and `citation.bib` where there is something to cite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from livek12.core.records import Page, Question
from livek12.dataset_builders.base import BadRow, Log, PageKey, Records
from livek12.dataset_builders.reading.images import ImageLoader
from livek12.dataset_builders.reading.languages import VOTERS, FileLanguage, asked_text, vote
from livek12.dataset_builders.reading.making import UNFORESEEN, P, Packing, to_packs, to_questions
from livek12.dataset_builders.reading.naming import NOTHING, Given, Naming, headed
from livek12.dataset_builders.reading.pictures import find_pages, unused_pictures
from livek12.dataset_builders.reading.publishers import UNKNOWN, Origin, origin_of
from livek12.dataset_builders.reading.rows import SourceRow, read_rows, source_root, unread_files
from livek12.dataset_builders.reading.text import without_invisible

_SHOWN = 5
ASKED = ("question", "options", *"ABCDEFGHIJ", "passage")
"""What of a row is asked, by our names; a passage last, for it may be a sheet of data."""
PROSE = frozenset({"passage", "solution", "marking", "reasoning_flow", "images", "solution_images"})
"""What of a row is not compared, by our names: texts for people, and names of files."""


@dataclass(frozen=True)
class Layout:
    """How the questions of a data set are spread over tables, and which tables make a config.

    A config is one table or several that share no question, whose rows it has one table after the other.

    Attributes:
        configs: the tables of each config, the default config first.
        tables: the tables a question goes into, given the pages the data set holds.
        split: the split of a question: a name `datasets` accepts.
        whole: the configs that together hold every question once; default: the first.
    """

    configs: Mapping[str, tuple[str, ...]]
    tables: Callable[[Question, Collection[PageKey]], Iterable[str]]
    split: Callable[[Question], str] = lambda question: "test"
    whole: tuple[str, ...] = ()

    @property
    def every_question(self) -> tuple[str, ...]:
        """The configs that together hold every question once."""
        return self.whole or tuple(self.configs)[:1]


def own_tables(*configs: str) -> dict[str, tuple[str, ...]]:
    """Configs of one table each, which has the config's name."""
    return {config: (config,) for config in configs}


@dataclass(frozen=True)
class Beside:
    """What stands beside the rows of a source.

    Attributes:
        images: loads the pictures that rows refer to; nothing outside the source's folder is read.
        pages: the page images, by paper and number; none where the benchmark has no pages.
        read: what `Builder.beside` read.
    """

    images: ImageLoader
    pages: Collection[PageKey] = frozenset()
    read: Any = None


@dataclass(frozen=True)
class Builder:
    """How the data set of a benchmark is made.

    Attributes:
        question: the question of a row; raises `BadRow` where it is none, and gives None for a row that is to hold none
            (a head). A function of a module, for large sources are read by several processes.
        layout: the configs and splits.
        hub: where its data is published, ORG/NAME; "" where `--source hub` has nothing to fetch.
        licence: what that publisher states of them, for a revision that states nothing itself.
        files: the origins of published files, by their SHA-256: a local copy of one has them, and no other file.
        month: when its article appeared, YYYY-MM as far as it is known; newer benchmarks come first.
        subsets: names of the subsets that can be proposed for its questions, beside those for any benchmark.
        pages: the page images of a source, from its rows (as `question` is given them) and its page files by paper and
            number; None where it has none.
        beside: reads, once a source, what else the rows need; can be pickled.
        other_files: names of files that hold no rows of questions.
        keys: the keys of a row that `question` reads. With them, a key that a source names otherwise (`reading.names`)
            comes by the name given here, and a build that would drop keys with text or pictures fails; without them,
            rows come as they are.
        rows: the rows, one a question, that a row of a form known here comes to; default: itself.
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
    """Makes the question of a row, given what stands beside all of them, and what its keys are called."""

    question: Callable[[SourceRow, Beside, Log], Question | None]
    beside: Beside
    naming: Naming
    benchmark: str = ""

    @property
    def loader(self) -> ImageLoader:
        return self.beside.images

    def __call__(self, row: SourceRow, log: Log) -> Question | None:
        question = self.question(_without_invisible(self.naming(row, log), log), self.beside, log)
        if question and self.benchmark and question.benchmark != self.benchmark:
            raise BadRow(f"its builder makes it a question of benchmark {question.benchmark!r}, not {self.benchmark!r}")
        return question


def _without_invisible(row: SourceRow, log: Log) -> SourceRow:
    """The row without characters that nobody sees in what is compared: everything but `PROSE`."""
    shown = {key: value if key in PROSE else without_invisible(value) for key, value in row.data.items()}
    if names := [str(key) for key, value in shown.items() if value is not row.data[key]]:
        log.note(row.where, None, f"characters that cannot be seen are left out of {', '.join(names)}")
        return row.holding(shown)
    return row


@dataclass(frozen=True)
class SourcePlace:
    """A source that was found.

    Attributes:
        path: its file or folder.
        origin: where it was fetched from.
    """

    path: Path
    origin: Origin = UNKNOWN


@dataclass(frozen=True)
class _Reading:
    """How the rows of a source are read: one a question, each with the origin and the language of its file."""

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
        """The rows by the names that the builder reads; what they lose is said when their questions are made."""
        return (self.naming(row, Log()) for row in self(rows))

    def _one_a_question(self, rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
        """What breaks the reading of a form is left for `question` to refuse."""
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
    hosts: Collection[str] = (),
    given: Given = NOTHING,
    benchmark: str = "",
    origin: Origin = UNKNOWN,
) -> Records:
    """The pages, then the questions of a source: a file of rows (see `rows.SUFFIXES`), or a folder of them.

    See `read_packed` for the arguments.
    """
    reading = _Reading(builder, origin, Naming(builder.keys, given))
    make, pages = _made_of(reading, source, log, hosts, benchmark)
    yield from pages
    used: set[str] = set()
    for question in to_questions(source, make, log, other_files=builder.other_files, forms=reading):
        used.update(image.path or "" for image in (*question.images, *question.solution_images))
        yield question
    _tell_of_rest(builder, source, used, log)


def read_packed(
    builder: Builder,
    source: Path,
    log: Log,
    hosts: Collection[str] = (),
    given: Given = NOTHING,
    benchmark: str = "",
    origin: Origin = UNKNOWN,
    *,
    pack: Packing[P],
) -> Iterator[Page | list[P]]:
    """As `read`, but the questions come packed, some at a time, by whichever process made them.

    Args:
        pack: packs questions.
        builder: of the benchmark.
        source: the file or folder to read.
        log: takes a line for each row that is left out.
        hosts: the only hosts that images may be fetched from, as HOST or HOST:PORT.
        given: what whoever builds says of the source's keys.
        benchmark: the builder's name: a row that it makes a question of another one is left out; "" lets all pass.
        origin: where the source was fetched from; default: what its files prove.

    Raises:
        UserError: the source is not there or holds no rows.
    """
    reading = _Reading(builder, origin, Naming(builder.keys, given))
    make, pages = _made_of(reading, source, log, hosts, benchmark)
    yield from pages
    used: set[str] = set()
    for packs in to_packs(source, make, log, pack, other_files=builder.other_files, forms=reading):
        for one in packs:
            used.update(one.pictures())
        yield packs
    _tell_of_rest(builder, source, used, log)


def _made_of(
    reading: _Reading, source: Path, log: Log, hosts: Collection[str], benchmark: str
) -> tuple[_Maker, Iterator[Page]]:
    """What makes the questions of a source, and its pages."""
    builder, naming = reading.builder, reading.naming
    naming.check()
    root = source_root(source)
    loader, pages = ImageLoader(root, hosts), find_pages(root) if builder.pages else {}
    if pages and source.is_file():  # the folder beside a file may hold the pages of other exams
        papers = {row.data.get("paper_id") for row in reading.named(read_rows(source, Log()))}
        pages = {page: file for page, file in pages.items() if page[0] in papers}
    known = builder.beside(root, log) if builder.beside else None
    make = _Maker(builder.question, Beside(loader, frozenset(pages), known), naming, benchmark)
    if builder.pages is None or not pages:
        return make, iter(())
    return make, builder.pages(reading.named(read_rows(source, Log())), pages, loader, log)


def _tell_of_rest(builder: Builder, source: Path, used: Collection[str], log: Log) -> None:
    """Says what of a source no question has; a file is all of its source, whatever lies beside it."""
    pictures = unused_pictures(source, used) if source.is_dir() else []
    for what, files in (
        ("pictures that no question has", pictures),
        ("files that are not read", unread_files(source, builder.other_files)),
    ):
        if files:
            named = ", ".join(files[:_SHOWN]) + ", …" * (len(files) > _SHOWN)
            log.note(source.name, None, f"{what}: {len(files)} ({named})")
    if log.unread:
        log.note(source.name, None, f"columns with no place in a question: {', '.join(sorted(log.unread))}")
