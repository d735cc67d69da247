"""Builds a dataset: finds its sources, reads their records, writes Parquet and metadata; or previews the first rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from livek12.core.errors import UserError
from livek12.core.hub import endpoint
from livek12.core.records import Page, Question
from livek12.dataset_builders import builder, sample
from livek12.dataset_builders.base import Log, Records, one_line
from livek12.dataset_builders.builder import Layout, SourcePlace
from livek12.dataset_builders.reading.built import write_exams
from livek12.dataset_builders.reading.naming import NOTHING, Given, lost_keys, refuse_losses
from livek12.dataset_builders.reading.publishers import Origin, stated_licence
from livek12.dataset_builders.reading.rows import hub_snapshot
from livek12.dataset_builders.registry import builder_of, builders, merged, merged_tables, tables
from livek12.dataset_builders.writing.data_set import BuildReport, Carried, write
from livek12.dataset_builders.writing.listings import MemberRow
from livek12.dataset_builders.writing.parquet import Packed, Packer
from livek12.dataset_builders.writing.releases import Base, read_withdrawals

ALL, SAMPLE = "all", "sample"
HUB = "hub"


def names() -> tuple[str, ...]:
    """Datasets that can be built."""
    return (SAMPLE, *builders(), ALL)


def _layout_of(data_set: str, benchmarks: Collection[str]) -> Layout:
    if data_set in (ALL, SAMPLE):
        return merged(benchmarks if data_set == ALL else sample.BENCHMARKS)
    return builder_of(data_set).layout


def read_source(
    name: str,
    source: SourcePlace,
    log: Log,
    given: Given = NOTHING,
    pack: Packer | None = None,
) -> Iterator[Page | Question | list[Packed]]:
    """Records of a benchmark's source, or the sample; packed with `pack`."""
    if name == SAMPLE:
        return sample.read(log)
    return builder.read(builder_of(name), source.path, log, given, name, source.origin, pack)


def find_sources(benchmark: str, given: Sequence[str], log: Log) -> dict[str, SourcePlace]:
    """Source of each benchmark to build, as in `builders`.

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


def build(
    benchmark: str,
    source: str | Sequence[str],
    out: Path,
    subsets: Sequence[Path] = (),
    step: Callable[[], None] = lambda: None,
    base: str = "",
    withdraw: Path | None = None,
    keep: Callable[[Question | Page], bool] | None = None,
    base_answers: str = "",
    given: Given = NOTHING,
) -> BuildReport:
    """Builds the dataset of one or all benchmarks into `out`.

    `source` is a file or folder, or "hub"; several for `all`, see `find_sources`. `subsets` are reviewed sheets. The
    release is added to `base` (a folder, or ORG/NAME[@REVISION]), whose withheld answers are in `base_answers`.
    `withdraw` is a list for `releases.read_withdrawals`.
    """
    log = Log()
    sources = [source] * bool(source) if isinstance(source, str) else source
    only_withdraws = withdraw is not None and not sources and benchmark in names()
    places = {} if only_withdraws else find_sources(benchmark, sources, log)
    older = _base(base, benchmark, withdraw, base_answers)
    layout = _layout_of(benchmark, [name for name in builders() if name in places or older])
    packer = Packer(merged_tables if benchmark in (ALL, SAMPLE) else tables, set())
    members: list[MemberRow] = []
    shown = source if isinstance(source, str) else " ".join(source)
    looks = bool(older or subsets or keep)  # each of which looks at questions
    records = _read_all(places, log, given, None if looks else packer)
    if looks:
        wanted = cast(Records, records)
        if subsets:
            from livek12.dataset_builders.proposals.subsets import sheet

            wanted = sheet.apply(wanted, subsets, log, members)
        wanted = filter(keep, wanted) if keep else wanted
        records = older.new(wanted, log) if older else wanted
    carried = Carried(older, base, members)
    folders = [place.path for name, place in places.items() if name != SAMPLE]
    exams = partial(write_exams, folders, older.folder if older else None, log)
    return write(benchmark, records, layout, out, log, step, shown or benchmark, carried, exams, packer)


def _read_all(
    places: Mapping[str, SourcePlace], log: Log, given: Given, pack: Packer | None
) -> Iterator[Page | Question | list[Packed]]:
    for benchmark, source in places.items():
        own = Log()
        yield from read_source(benchmark, source, own, given, pack)
        refuse_losses(source.path, own)
        log.read += own.read
        log.mended += Counter({f"{benchmark} {name}": count for name, count in own.mended.items()})
        before = f"{benchmark}: " * (len(places) > 1)
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


SHOWN = 3
LOOKED_AT = 200
"""Questions of a source that are read to estimate losses."""
_LONGEST = 400


@dataclass(frozen=True)
class Preview:
    """Preview of a source; `lost` counts rows with text in unplaced keys."""

    questions: list[dict[str, Any]]
    lost: dict[str, int]
    said: list[str]
    looked_at: int

    def lines(self) -> Iterator[str]:
        """A block per question, a line per field."""
        for question in self.questions:
            yield f"{one_line(question['id'], 120)}:"
            yield from (f"  {name}: {_shown(value)}" for name, value in question.items() if name != "id")
        yield from self.said
        for key, count in self.lost.items():
            yield f"would be lost: {one_line(key, 60)}, which holds text in {count} rows"
        yield f"{self.looked_at} questions looked at, nothing written"


def preview(benchmark: str, source: str | Sequence[str], given: Given = NOTHING) -> Preview:
    """Reads each source's first questions as built."""
    questions: list[dict[str, Any]] = []
    lost: dict[str, int] = {}
    messages: list[str] = []
    looked_at = 0
    sources = [source] if isinstance(source, str) else source
    for name, place in find_sources(benchmark, sources, Log()).items():
        log = Log()
        records = (record for record in read_source(name, place, log, given) if isinstance(record, Question))
        sample = list(islice(records, LOOKED_AT))
        records.close()
        questions += [_held(question) for question in sample[:SHOWN]]
        lost |= lost_keys(log)
        messages += [*log.skipped[:SHOWN], *log.notes[:SHOWN]]
        looked_at += len(sample)
        if not sample:
            unknown = f"; keys without a place: {one_line(', '.join(sorted(log.unread)))}" if log.unread else ""
            raise UserError(f"{place.path}: no question could be read{log.left_out}{unknown}")
    return Preview(questions, lost, messages, looked_at)


def _held(question: Question) -> dict[str, Any]:
    pictures = ("images", "answer_images", "solution_images")
    fields = question.model_dump(mode="json", exclude={*pictures}, exclude_defaults=True)
    named = {name: [image.path for image in getattr(question, name)] for name in pictures if getattr(question, name)}
    return {**fields, **named}


def _shown(value: object) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)
