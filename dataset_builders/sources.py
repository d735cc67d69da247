"""The builders there are, and where the data of each comes from.

Contract: `BENCHMARKS` says how each benchmark is read and laid out; `find_sources` turns the words of `--source` into
the folder or file of each benchmark that is to be built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.dataset_builders import cfe, kmmmu, livek12, mdk12, sample_set
from livek12.dataset_builders.base import Log, Reader
from livek12.dataset_builders.layouts import LAYOUTS, Layout, merged
from livek12.dataset_builders.rows import hub_snapshot

ALL = "all"
HUB = "hub"


@dataclass(frozen=True)
class Builder:
    """How the data set of one benchmark is made.

    Attributes:
        read: the reader of its sources.
        layout: its configs.
        card: its template in `hub_cards`.
        hub: where its data is published; None where it needs no source.
    """

    read: Reader
    layout: Layout
    card: str
    hub: str | None = None


BENCHMARKS: dict[str, Builder] = {
    "sample": Builder(sample_set.read, merged(), "sample"),
    "livek12": Builder(livek12.read, LAYOUTS["livek12"], "livek12", "Shawn-wxh/livek12bench"),
    "kmmmu": Builder(kmmmu.read, LAYOUTS["kmmmu"], "kmmmu", "HAERAE-HUB/KMMMU"),
    "cfe": Builder(cfe.read, LAYOUTS["cfe"], "cfe", "analogyai/CFE_Benchmark"),
    "mdk12": Builder(mdk12.read, LAYOUTS["mdk12"], "mdk12", "IntJudge/MDK12"),
}
NAMES = (*BENCHMARKS, ALL)
"""What can be built."""


def find_sources(benchmark: str, given: Sequence[str], log: Log) -> dict[str, Path]:
    """The source of each benchmark to build, in the order of `BENCHMARKS`.

    Args:
        benchmark: one of `NAMES`.
        given: for one benchmark, its file or folder, or "hub". For all: "hub", BENCHMARK=PATH, BENCHMARK=hub, or a
            folder with one folder a benchmark, named like it; what names a benchmark goes before what does not.
        log: told of the benchmarks that are left out.

    Raises:
        UserError: an unknown benchmark, a source that is none, or no source at all.
    """
    if benchmark == ALL:
        return _find_all(given, log)
    if benchmark not in BENCHMARKS:
        raise UserError(f"unknown benchmark {benchmark!r}: there is a builder for {', '.join(NAMES)}")
    hub = BENCHMARKS[benchmark].hub
    if not hub:
        if given:
            raise UserError(f"{benchmark} ships inside the package: leave --source out")
        return {benchmark: Path()}
    if not given:
        raise UserError(f"build {benchmark} needs --source: a file or folder, or {HUB} for {hub}")
    if len(given) > 1:
        raise UserError(f"build {benchmark} takes one --source, not {len(given)}; put the files into one folder")
    return {benchmark: _place(benchmark, given[0])}


def _find_all(given: Sequence[str], log: Log) -> dict[str, Path]:
    published = [name for name, builder in BENCHMARKS.items() if builder.hub]
    named: dict[str, str] = {}
    found: dict[str, str] = {}
    for source in given:
        name, separator, place = source.partition("=")
        if separator and name in published:
            if named.setdefault(name, place) != place:
                raise UserError(f"--source names {name} twice: give it once")
        elif source == HUB:
            found = {**dict.fromkeys(published, HUB), **found}
        else:
            found |= _below(source, published)
    found |= named
    if not found:
        raise UserError(f"build {ALL} needs --source: {HUB}, BENCHMARK=PATH, or a folder with {', '.join(published)}")
    log.notes += [f"{name}: left out, no --source has it" for name in published if name not in found]
    return {name: _place(name, found[name]) for name in published if name in found}


def _below(source: str, published: Sequence[str]) -> dict[str, str]:
    found = {name: str(Path(source) / name) for name in published if (Path(source) / name).is_dir()}
    if not found:
        raise UserError(f"{source} has no folder {', '.join(published)}: give such a folder, {HUB}, or BENCHMARK=PATH")
    return found


def _place(benchmark: str, source: str) -> Path:
    hub = BENCHMARKS[benchmark].hub
    return hub_snapshot(hub) if hub and source == HUB else Path(source)
