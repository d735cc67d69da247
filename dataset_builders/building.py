"""Builds a dataset: reads the records of its sources, writes Parquet and the metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from livek12.core.errors import UserError
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import Log, Records
from livek12.dataset_builders.builder import SourcePlace
from livek12.dataset_builders.reading.naming import NOTHING, Given, refuse_losses
from livek12.dataset_builders.registry import builders
from livek12.dataset_builders.sources import find_sources, layout_of, names, read_packed, read_source, tables_of
from livek12.dataset_builders.writing.data_set import BuildReport, Carried, write
from livek12.dataset_builders.writing.membership import MemberRow
from livek12.dataset_builders.writing.packing import Packed, Packer
from livek12.dataset_builders.writing.releases import Base, read_withdrawals

T = TypeVar("T")


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
    given: Given = NOTHING,
) -> BuildReport:
    """See `livek12.dataset_builders.build`."""
    log = Log()
    sources = [source] * bool(source) if isinstance(source, str) else source
    only_withdraws = withdraw is not None and not sources and benchmark in names()
    places = {} if only_withdraws else find_sources(benchmark, sources, log)
    older = _base(base, benchmark, withdraw, base_answers)
    layout = layout_of(benchmark, [name for name in builders() if name in places or older])
    packer = Packer(tables_of(benchmark), set())
    members: list[MemberRow] = []
    shown = source if isinstance(source, str) else " ".join(source)
    reads = partial(_told, hosts=hosts, log=log, several=len(places) > 1, given=given)
    records: Iterable[Page | Question | list[Packed]]
    if older or subsets or keep:  # each of which looks at questions
        source_records = chain.from_iterable(reads(read_source, name, place) for name, place in places.items())
        wanted = filter(keep or (lambda record: True), _in_subsets(source_records, subsets, log, members))
        records = older.new(wanted, log) if older else wanted
    else:
        packing = partial(read_packed, pack=packer)
        records = chain.from_iterable(reads(packing, name, place) for name, place in places.items())
    carried = Carried(older, base, members)
    return write(benchmark, records, layout, out, log, step, shown or benchmark, carried, packer=packer)


def _told(
    read: Callable[[str, SourcePlace, Log, Collection[str], Given], Iterator[T]],
    benchmark: str,
    source: SourcePlace,
    hosts: Collection[str],
    log: Log,
    several: bool,
    given: Given,
) -> Iterator[T]:
    own = Log()
    yield from read(benchmark, source, own, hosts, given)
    refuse_losses(source.path, own)
    log.read += own.read
    log.mended += Counter({f"{benchmark} {name}": count for name, count in own.mended.items()})
    before = f"{benchmark}: " * several
    log.skipped += [before + line for line in own.skipped]
    log.notes += [before + line for line in own.notes]


def _base(place: str, name: str, withdraw: Path | None, answers: str) -> Base | None:
    if not place:
        if withdraw:
            raise UserError("--withdraw needs --base: the data set that the questions are withdrawn from")
        if answers:
            raise UserError("--base-answers needs --base: the data set whose answers are held back")
        return None
    return Base(place, name, read_withdrawals(withdraw) if withdraw else [], answers)


def _in_subsets(records: Records, files: Sequence[Path], log: Log, members: list[MemberRow]) -> Records:
    if files:
        from livek12.dataset_builders.proposals.subsets import sheet

        return sheet.apply(records, files, log, members)
    return records
