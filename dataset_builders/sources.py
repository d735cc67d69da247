"""The datasets that can be built, and the sources of their rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.hub import endpoint
from livek12.core.records import Page, Question
from livek12.dataset_builders import builder, sample
from livek12.dataset_builders.base import Log, PageKey, Records
from livek12.dataset_builders.builder import Layout, SourcePlace
from livek12.dataset_builders.reading.licences import stated_licence
from livek12.dataset_builders.reading.making import P, Packing
from livek12.dataset_builders.reading.naming import NOTHING, Given
from livek12.dataset_builders.reading.publishers import Origin
from livek12.dataset_builders.reading.rows import hub_snapshot
from livek12.dataset_builders.registry import builder_of, builders
from livek12.dataset_builders.writing.layouts import merged, merged_tables, tables

ALL, SAMPLE = "all", "sample"
HUB = "hub"


def names() -> tuple[str, ...]:
    """The datasets that can be built."""
    return (SAMPLE, *builders(), ALL)


def layout_of(data_set: str, benchmarks: Collection[str]) -> Layout:
    """The layout of a dataset; `all` holds the given benchmarks."""
    if data_set in (ALL, SAMPLE):
        return merged(benchmarks if data_set == ALL else sample.BENCHMARKS)
    return builder_of(data_set).layout


def tables_of(data_set: str) -> Callable[[Question, Collection[PageKey]], Iterable[str]]:
    """A module-level function that gives the tables of a question."""
    return merged_tables if data_set in (ALL, SAMPLE) else tables


def read_source(name: str, source: SourcePlace, log: Log, hosts: Collection[str], given: Given = NOTHING) -> Records:
    """The records of a benchmark's source, or the sample; see `builder.read`."""
    if name == SAMPLE:
        return sample.read(log)
    return builder.read(builder_of(name), source.path, log, hosts, given, name, source.origin)


def read_packed(
    name: str, source: SourcePlace, log: Log, hosts: Collection[str], given: Given, pack: Packing[P]
) -> Iterator[Page | Question | list[P]]:
    """As `read_source`, but with packed questions; see `builder.read_packed`."""
    if name == SAMPLE:
        yield from sample.read(log)
    else:
        yield from builder.read_packed(builder_of(name), source.path, log, hosts, given, name, source.origin, pack=pack)


def find_sources(benchmark: str, given: Sequence[str], log: Log) -> dict[str, SourcePlace]:
    """The source of each benchmark to build, in the order of `builders`.

    For one benchmark, `given` is its file or folder, or "hub". For all, it is "hub", BENCHMARK=PATH, BENCHMARK=hub, or
    a folder with a subfolder per benchmark; sources that name a benchmark take precedence.
    """
    if benchmark == ALL:
        return _find_all(given, log)
    if benchmark == SAMPLE:
        if given:
            raise UserError(f"{benchmark} ships inside the package: leave --source out")
        return {benchmark: SourcePlace(Path())}
    hub = builder_of(benchmark).hub
    if not given:
        raise UserError(f"build {benchmark} needs --source: a file or folder{f', or {HUB} for {hub}' if hub else ''}")
    if len(given) > 1:
        raise UserError(f"build {benchmark} takes one --source, not {len(given)}; put the files into one folder")
    return {benchmark: _place(benchmark, given[0])}


def _find_all(given: Sequence[str], log: Log) -> dict[str, SourcePlace]:
    benchmarks = list(builders())
    named: dict[str, str] = {}
    places: dict[str, str] = {}
    for source in given:
        name, separator, place = source.partition("=")
        if separator and name in benchmarks:
            if named.setdefault(name, place) != place:
                raise UserError(f"--source names {name} twice: give it once")
        elif source == HUB:
            places = {**dict.fromkeys((name for name in benchmarks if builder_of(name).hub), HUB), **places}
        else:
            places |= _below(source, benchmarks)
    places |= named
    if not places:
        raise UserError(f"build {ALL} needs --source: {HUB}, BENCHMARK=PATH, or a folder with {', '.join(benchmarks)}")
    log.notes += [f"{name}: left out, no --source has it" for name in benchmarks if name not in places]
    return {name: _place(name, places[name]) for name in benchmarks if name in places}


def _below(source: str, benchmarks: Sequence[str]) -> dict[str, str]:
    folders = {name: str(Path(source) / name) for name in benchmarks if (Path(source) / name).is_dir()}
    if not folders:
        raise UserError(f"{source} has no folder {', '.join(benchmarks)}: give such a folder, {HUB}, or BENCHMARK=PATH")
    return folders


def _place(benchmark: str, source: str) -> SourcePlace:
    made = builder_of(benchmark)
    if not made.hub or source != HUB:
        return SourcePlace(Path(source))
    folder = hub_snapshot(made.hub)
    address = f"{endpoint()}/datasets/{made.hub}/tree/{folder.name}"  # a snapshot is named for its revision
    return SourcePlace(folder, Origin(made.hub, stated_licence(folder) or made.licence, address))
