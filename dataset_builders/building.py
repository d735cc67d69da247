"""Builds a data set: reads the records of a source and writes Parquet and a card.

Contract: see `livek12.dataset_builders`. Everything is written beside `out` and moved there at the end, so that a
build that fails or is killed leaves an earlier one as it was.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.questions import CARD
from livek12.core.records import Page
from livek12.dataset_builders import cfe, livek12, sample_set
from livek12.dataset_builders.base import Log, PageKey, Records
from livek12.dataset_builders.card import MARK, Statistics, write_card
from livek12.dataset_builders.layouts import (
    IMAGE_ONLY,
    LAYOUTS,
    PAGES,
    Layout,
    as_stored,
    merged,
    not_from_pages,
    page_keys,
    split_of,
)
from livek12.dataset_builders.parquet import Counts, TableWriters
from livek12.dataset_builders.rows import hub_snapshot


@dataclass(frozen=True)
class Builder:
    """How the data set of one benchmark is made.

    Attributes:
        read: the reader of its sources.
        layout: its configs.
        card: its template in `hub_cards`.
        hub: where its data is published; None where it is not, or needs no source.
    """

    read: Callable[[Path, Log], Records]
    layout: Layout
    card: str
    hub: str | None = None


BENCHMARKS: dict[str, Builder] = {
    "sample": Builder(sample_set.read, merged(), "sample"),
    "livek12": Builder(livek12.read, LAYOUTS["livek12"], "livek12", "Shawn-wxh/livek12bench"),
    "cfe": Builder(cfe.read, LAYOUTS["cfe"], "cfe", "analogyai/CFE_Benchmark"),
}


@dataclass
class BuildReport:
    """What a build read, wrote and left out.

    Attributes:
        rows_read: rows found in the source.
        skipped: one line a row that is left out.
        notes: one line a thing worth knowing about what was kept.
        configs: rows of each config, by split.
    """

    benchmark: str
    out: Path
    rows_read: int
    skipped: list[str]
    notes: list[str]
    configs: Counts
    statistics: Statistics

    @property
    def written(self) -> int:
        """Questions in the data set, each counted once."""
        return self.statistics.questions

    def lines(self) -> list[str]:
        """The report for a person, one line a fact."""
        stats = self.statistics
        pages = f", {stats.pages} pages" if stats.pages else ""
        return [
            *self.skipped,
            *self.notes,
            *(
                f"config {config}: " + ", ".join(f"{split} {rows}" for split, rows in splits.items())
                for config, splits in self.configs.items()
            ),
            f"{self.benchmark}: {self.rows_read} rows read, {stats.questions} questions with {stats.images} images"
            f"{pages} written, {len(self.skipped)} left out: {self.out}",
        ]


def build(benchmark: str, source: str, out: Path) -> BuildReport:
    """See `livek12.dataset_builders.build`."""
    if benchmark not in BENCHMARKS:
        raise UserError(f"unknown benchmark {benchmark!r}: there is a builder for {', '.join(BENCHMARKS)}")
    builder = BENCHMARKS[benchmark]
    path = _source(benchmark, source)
    out = out.absolute()
    _check_out(out)
    log = Log()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
            folder = Path(scratch) / "data"
            folder.mkdir()
            tables, statistics = _write(builder.read(path, log), builder.layout, folder, log)
            if not statistics.questions:
                raise UserError(f"{source or benchmark}: no question could be read{_first(log.skipped)}")
            configs = _configs(builder.layout, tables)
            log.notes += [
                f"config {config}: left out, {_why_empty(config, tables)}"
                for config in builder.layout.configs
                if config not in configs
            ]
            counts = {config: _sum([tables[table] for table in parts]) for config, parts in configs.items()}
            write_card(folder, builder.card, configs, tables, statistics)
            _replace(out, folder, Path(scratch) / "old")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}; nothing was changed") from None
    return BuildReport(benchmark, out, log.read, log.skipped, log.notes, counts, statistics)


def _source(benchmark: str, source: str) -> Path:
    hub = BENCHMARKS[benchmark].hub
    if hub and not source:
        raise UserError(f"build {benchmark} needs --source: a file or folder, or hub for {hub}")
    return hub_snapshot(hub) if hub and source == "hub" else Path(source)


def _write(records: Records, layout: Layout, folder: Path, log: Log) -> tuple[Counts, Statistics]:
    statistics, pages = Statistics(), set[PageKey]()
    unpaged: Counter[str] = Counter()
    with TableWriters(folder) as writers:
        for record in records:
            statistics.add(record)
            split = split_of(record)
            if isinstance(record, Page):
                writers.write(PAGES, split, record)
                pages.add((record.paper_id, record.page_number))
                continue
            tables = list(layout.tables(record, pages))
            for table in tables:
                writers.write(table, split, as_stored(table, record))
            if pages and record.benchmark == "livek12" and IMAGE_ONLY not in tables:
                unpaged[split] += 1
                if page_keys(record):
                    log.note(split, record.id, f"{not_from_pages(record, pages)}: not in {IMAGE_ONLY}")
        counts = writers.counts
    log.notes += [
        f"{IMAGE_ONLY} {split}: {count} questions cannot be asked from page images" for split, count in unpaged.items()
    ]
    return counts, statistics


def _configs(layout: Layout, tables: Counts) -> dict[str, tuple[str, ...]]:
    """The configs that hold rows, with the tables they are made of; the pages last."""
    present = {config: tuple(part for part in parts if part in tables) for config, parts in layout.configs.items()}
    if PAGES in tables:
        present[PAGES] = (PAGES,)
    return {config: parts for config, parts in present.items() if parts}


def _why_empty(config: str, tables: Counts) -> str:
    no_pages = config == IMAGE_ONLY and PAGES not in tables
    return "the source has no page images" if no_pages else "no question belongs to it"


def _sum(tables: list[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for splits in tables:
        total.update(splits)
    return dict(total)


def _check_out(out: Path) -> None:
    """Refuses to replace anything but an earlier build."""
    if out.is_file():
        raise UserError(f"{out} is a file: give --out a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    card = out / CARD
    if not card.is_file() or MARK not in card.read_text(encoding="utf-8", errors="replace"):
        raise UserError(f"{out} is not empty and no data set of `livek12 build`: give --out another folder")
    foreign = [file for file in out.rglob("*") if not (file.is_dir() or file.name == CARD or file.suffix == ".parquet")]
    if foreign:
        raise UserError(f"{out} holds other files ({foreign[0].relative_to(out)}): move them, or give another --out")


def _replace(out: Path, new: Path, old: Path) -> None:
    if out.exists():
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _first(lines: list[str]) -> str:
    return f" ({len(lines)} rows left out; the first: {lines[0]})" if lines else ""
