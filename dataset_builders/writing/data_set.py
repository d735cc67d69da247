"""Writes records as a dataset: Parquet and metadata, in a hidden folder that replaces the dataset.

Contract: `out` is replaced at the end or not at all; a killed process leaves at most its hidden folder, which the next
build of the same `out` removes. A running build locks its folder; of concurrent builds the last to finish wins.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.features import PREFIX, is_flat
from livek12.core.questions import CARD
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, Log, one_line
from livek12.dataset_builders.builder import Layout
from livek12.dataset_builders.reading.built import Tables, members_of, tables_of
from livek12.dataset_builders.reading.images import look_of
from livek12.dataset_builders.reading.making import CHUNK_BYTES, CHUNK_ROWS, COLLECTED
from livek12.dataset_builders.registry import split_of
from livek12.dataset_builders.writing.card import MARK, METADATA, kept_back, write_metadata
from livek12.dataset_builders.writing.listings import MemberRow, read_members, read_mended, write_members, write_mended
from livek12.dataset_builders.writing.parquet import Counts, Packed, Packer, TableWriters, not_on_pages
from livek12.dataset_builders.writing.releases import Base
from livek12.dataset_builders.writing.statistics import FILE as STATISTICS
from livek12.dataset_builders.writing.statistics import Statistics, read_statistics

MIB = 1 << 20


@dataclass
class BuildReport:
    """Report of a build; `statistics` is the content of `statistics.json`, `configs` the rows by split."""

    benchmark: str
    out: Path
    rows_read: int
    skipped: list[str]
    notes: list[str]
    configs: Counts
    statistics: Mapping[str, Any]
    bytes: int

    @property
    def written(self) -> int:
        """Distinct questions in the dataset."""
        return int(self.statistics["all"]["questions"])

    def as_json(self) -> dict[str, Any]:
        """The report as JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "statistics"}
        return {**fields, "out": str(self.out), "questions": self.written}

    def lines(self) -> list[str]:
        """Report for a person, one line per fact."""
        images = self.statistics["all"]["numbers"].get("image_bytes", {}).get("n", 0)
        pages = self.statistics["pages"]["pages"]
        return [
            *self.skipped,
            *self.notes,
            *(
                f"config {config}: " + ", ".join(f"{split} {rows}" for split, rows in splits.items())
                for config, splits in self.configs.items()
            ),
            *self._sizes(),
            f"{self.benchmark}: {self.rows_read} rows read, {self.written} questions with {images} images"
            f"{f', {pages} pages' if pages else ''} written, {len(self.skipped)} left out: {self.out}",
        ]

    def _sizes(self) -> list[str]:
        """Size with pages stored once, and with pages stored per question."""
        pages = self.statistics["pages"]
        if not pages["image_only_questions"]:
            return []
        stored, unshared = pages["bytes"], pages["bytes_if_stored_with_each_question"]
        otherwise = self.bytes - stored + unshared
        return [
            f"pages: stored once {stored / MIB:.1f} MiB, with each of their questions {unshared / MIB:.1f} MiB"
            f" ({unshared / max(stored, 1):.1f} times); the data set has {self.bytes / MIB:.1f} MiB,"
            f" otherwise {otherwise / MIB:.1f} MiB ({otherwise / self.bytes:.1f} times)"
        ]


@dataclass(frozen=True)
class Carried:
    """Further content of a dataset: an earlier revision, and members of subsets."""

    older: Base | None = None
    base: str = ""
    members: Sequence[MemberRow] = ()


def write(
    benchmark: str,
    records: Iterable[Page | Question | list[Packed]],
    layout: Layout,
    out: Path,
    log: Log,
    step: Callable[[], None] = lambda: None,
    shown: str = "",
    carried: Carried | None = None,
    beside: Callable[[Path], None] = lambda folder: None,
    packer: Packer | None = None,
) -> BuildReport:
    """Writes records (pages, then questions) as a dataset, which replaces `out` once complete.

    `beside` writes further files of `METADATA` into the folder; `packer` packs unpacked questions, by default by the
    layout; `step` is called once per record.
    """
    carried = carried or Carried()
    out, older = out.parent.resolve() / out.name, carried.older  # d/../d would go with d
    check_out(out, benchmark)
    try:
        with workspace(out) as scratch, _few_collections():
            folder = scratch / "data"
            folder.mkdir()
            if reserved := next(filter(is_flat, layout.configs), None):
                raise UserError(
                    f"config {reserved}: names that begin with {PREFIX} are kept for `livek12 publish`; rename it"
                )
            tables, statistics = _write(records, packer or Packer(layout.tables, set()), folder, log, step)
            members = list(carried.members)  # which reading the records has filled
            if older:
                older.carry(folder)
                members = [*read_members(older.folder), *members]
                statistics.merge(older.statistics)
                tables = {
                    table: _sum([tables.get(table, {}), older.counts.get(table, {})])
                    for table in {**tables, **older.counts}
                }
                log.notes.append(f"{older.questions} questions carried over from {carried.base}")
            if not statistics.questions:
                raise UserError(f"{shown}: no question could be read{log.left_out}")
            write_members(folder, members)
            write_mended(folder, log.mended + (read_mended(older.folder) if older else Counter()))
            configs = _configs(layout, tables)
            for config in (config for config in layout.configs if config not in configs):
                no_pages = config == IMAGE_ONLY and PAGES not in tables
                why = "the source has no page images" if no_pages else "no question belongs to it"
                log.notes.append(f"config {config}: left out, {why}")
            summary = statistics.summary(benchmark, configs)
            log.notes += kept_back(summary["all"])
            beside(folder)
            write_metadata(folder, summary, configs)
            size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
            check_out(out, benchmark)  # again: others may have written into it
            log.notes += _replaced(out, folder, shown)
            replace(out, folder, scratch / "old")
    except OSError as error:
        raise UserError(f"{_at_fault(error, out)}: {error.strerror or error}; nothing was changed") from None
    counts = {config: _sum([tables[table] for table in parts]) for config, parts in configs.items()}
    return BuildReport(benchmark, out, log.read, log.skipped, log.notes, counts, summary, size)


def _at_fault(error: OSError, out: Path) -> str:
    named = Path(error.filename) if isinstance(error.filename, str) else out
    own = (
        named in (out, *out.parents)
        or out in named.parents
        or any(part.startswith(prefix(out)) for part in named.parts)
    )
    return f"cannot write {out}" if own else f"cannot use {named}"


@contextmanager
def _few_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _write(
    records: Iterable[Page | Question | list[Packed]],
    packer: Packer,
    folder: Path,
    log: Log,
    step: Callable[[], None],
) -> tuple[Counts, Statistics]:
    statistics = Statistics()
    unpaged: Counter[str] = Counter()
    with TableWriters(folder) as writers:
        for record in _packed(records, packer):
            if isinstance(record, Page):
                step()
                split = split_of(record)
                writers.write(PAGES, split, record)
                statistics.add_page(record, split)
                packer.pages.add((record.paper_id, record.page_number))
                continue
            writers.take(record)
            for packed in record:
                statistics.take(packed.counted, packed.tables, packed.split)
                unpaged[packed.split] += len(packed.not_on_pages)
                for _ in packed.places:
                    step()
            packer.compares = statistics.compares
            for split, id, why in not_on_pages(record):
                log.note(split, id, f"{why}: not in {IMAGE_ONLY}")
        counts = writers.counts
    log.notes += [
        f"{IMAGE_ONLY} {split}: {count} questions cannot be asked from page images"
        for split, count in unpaged.items()
        if count
    ]
    return counts, statistics


def _packed(records: Iterable[Page | Question | list[Packed]], packer: Packer) -> Iterator[Page | list[Packed]]:
    waiting, size = list[Question](), 0
    for record in records:
        if isinstance(record, Question):
            waiting.append(record)
            size += sum(look_of(image).size for image in record.images)
            if len(waiting) < CHUNK_ROWS and size < CHUNK_BYTES:
                continue
        if waiting:
            yield packer(waiting)
            waiting, size = [], 0
        if not isinstance(record, Question):
            yield record
    if waiting:
        yield packer(waiting)


def _configs(layout: Layout, tables: Counts) -> dict[str, tuple[str, ...]]:
    present = {config: tuple(part for part in parts if part in tables) for config, parts in layout.configs.items()}
    if PAGES in tables:
        present[PAGES] = (PAGES,)
    return {config: parts for config, parts in present.items() if parts}


def _sum(tables: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for splits in tables:
        total.update(splits)
    return dict(total)


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """An empty folder on the disk of `out`, locked, and removed at the end."""
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove_dead(out)
    folder, lock = _locked(out)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def replace(out: Path, new: Path, old: Path) -> None:
    """Moves `new` to `out` and former content to `old`; undone on failure."""
    with suppress(FileNotFoundError):
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise


def check_out(out: Path, benchmark: str) -> None:
    """Refuses to replace anything but an earlier build of the benchmark."""
    if out.is_file():
        raise UserError(f"{out} is a file: give --out a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    card = out / CARD
    if not card.is_file() or MARK not in card.read_text(encoding="utf-8", errors="replace"):
        raise UserError(f"{out} is not empty and no data set of `livek12 build`: give --out another folder")
    own = {out / name for name in METADATA}
    with suppress(UserError):
        own.update(file for splits in _tables(out).values() for files in splits.values() for file in files)
    foreign = sorted(file for file in out.rglob("*") if file not in own and (file.is_symlink() or not file.is_dir()))
    if foreign:
        nested = [file.parent for file in foreign if file.name == STATISTICS]
        what = f"another data set ({nested[0].relative_to(out)})" if nested else ""
        what = what or f"other files ({foreign[0].relative_to(out)})"
        raise UserError(f"{out} holds {what}: move {'it' if nested else 'them'}, or give another --out")
    had = benchmark
    with suppress(UserError):
        had = read_statistics(out).get("data_set", benchmark)
    if had != benchmark:
        raise UserError(f"{out} holds a data set of {had}, not of {benchmark}: give another --out, or remove it")


def _tables(folder: Path) -> Tables:
    return tables_of(folder, missing_ok=True)[1]


def _replaced(out: Path, new: Path, source: str) -> Iterator[str]:
    """Reports questions missing in the new dataset; refuses to replace one whose questions are all others."""
    try:
        had = members_of(_tables(out)) if out.is_dir() else {}
    except UserError:  # damaged, which a build repairs
        return
    lost = had.keys() - members_of(_tables(new)).keys() if had else set()
    if not lost:
        return
    named = f"{len(lost)} questions that are not in {source}, such as {one_line(min(lost)[1], 80)}"
    if len(lost) == len(had):
        raise UserError(f"{out} holds a set made of another source ({named}): give another --out, or remove it")
    yield f"replaces {named}"


def prefix(out: Path) -> str:
    """Prefix of the hidden folders for `out`."""
    return f".{out.name}.building-"


def _locked(out: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix(out), dir=out.parent))
        with suppress(OSError):  # one that starts at the same time may have taken it for a dead one
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_dead(out: Path) -> None:
    for folder in out.parent.glob(f"{prefix(out)}*"):
        with suppress(OSError):  # held by a living build, or gone by now
            lock = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
