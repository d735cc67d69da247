"""Registry of benchmarks: packages of this one, installed packages, and folders that the user names.

A benchmark has two independent modules or packages, `tasks` and `builder`. Outside this package they belong to an entry
point of the group `livek12.benchmarks`, or to a folder given by `--include` (LIVEK12_INCLUDE, inherited by child
processes). Contract: only code named by the user is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args

from livek12.core.errors import UserError

GROUP = "livek12.benchmarks"
VARIABLE = "LIVEK12_INCLUDE"
INCLUDED = "livek12.core.included"
RESERVED = ("sample", "all")
"""Data sets that hold several benchmarks."""
Side = Literal["tasks", "builder"]
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True)
class Benchmark:
    """Name, folder or distribution (for people), and package of its sides."""

    name: str
    place: str
    package: str


def include(folders: Collection[Path]) -> None:
    """Adds folders of benchmarks for this process and its children."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--include {folder}: no such folder; name the folder of a benchmark")
        if not {file.stem for file in folder.iterdir()} & {*get_args(Side)}:
            raise UserError(f"--include {folder}: holds neither tasks.py nor builder.py; name a benchmark's folder")
        _check_name(folder.resolve().name, str(folder))
        if os.pathsep in str(folder.resolve()):
            raise UserError(f"--include {folder}: its path holds {os.pathsep!r}, which parts folders; move it")
    folders_by_path = dict.fromkeys([*included(), *(folder.resolve() for folder in folders)])
    os.environ[VARIABLE] = os.pathsep.join(map(str, folders_by_path))


def named() -> str:
    """Value of LIVEK12_INCLUDE, a cache key of the benchmarks."""
    return os.environ.get(VARIABLE, "")


def included() -> list[Path]:
    """Folders named by `--include` and LIVEK12_INCLUDE."""
    return [Path(place).resolve() for place in named().split(os.pathsep) if place]


def include_flags() -> list[str]:
    """Arguments for another `livek12`."""
    return [word for folder in included() for word in ("--include", str(folder))]


def sides(side: Side, room: str, marker: str) -> dict[str, ModuleType]:
    """One side of every benchmark that has it, by name, those of this package first.

    `marker` is a file that only the benchmarks' packages in `room` have.
    """
    return _sides(side, room, marker, named())


@cache
def _sides(side: Side, room: str, marker: str, named: str) -> dict[str, ModuleType]:
    modules = {name: importlib.import_module(f"{room}.{name}") for name in _inside(room, marker)}
    for benchmark in _outside(included(), tuple(modules)):
        if module := _imported(benchmark, side):
            modules[benchmark.name] = module
    return modules


def _outside(folders: Iterable[Path], inside: Iterable[str]) -> list[Benchmark]:
    taken = dict.fromkeys(inside, "livek12 itself") | dict.fromkeys(RESERVED, "the data set of that name")
    outsiders = []
    for benchmark in (*_installed(), *(Benchmark(f.name, str(f), f"{INCLUDED}.{f.name}") for f in folders)):
        _check_name(benchmark.name, benchmark.place)
        if benchmark.name in taken:
            raise UserError(
                f"two benchmarks are called {benchmark.name}: {taken[benchmark.name]} and {benchmark.place};"
                " rename one or leave it out"
            )
        taken[benchmark.name] = benchmark.place
        outsiders.append(benchmark)
    return outsiders


def _check_name(name: str, place: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(
            f"benchmark {name!r} ({place}): a name is a small letter and then up to 31 small letters, digits and _;"
            " rename it"
        )


def _inside(room: str, marker: str) -> list[str]:
    paths = [Path(path) for path in importlib.import_module(room).__path__]
    names = [module.name for module in pkgutil.iter_modules(map(str, paths)) if module.ispkg]
    return [name for name in names if any((path / name / marker).exists() for path in paths)]


def _installed() -> Iterator[Benchmark]:
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        yield Benchmark(entry.name, f"the installed {entry.dist.name if entry.dist else entry.value}", entry.module)


def _imported(benchmark: Benchmark, side: Side) -> ModuleType | None:
    name = f"{benchmark.package}.{side}"
    try:
        if benchmark.package.startswith(INCLUDED):
            importlib.import_module(INCLUDED).add(Path(benchmark.place))
        return importlib.import_module(name) if importlib.util.find_spec(name) else None
    except UserError:
        raise
    except Exception as error:  # whatever code outside raises
        raise UserError(
            f"benchmark {benchmark.name} ({benchmark.place}): {side} cannot be imported"
            f" ({type(error).__name__}: {error}); mend it or leave it out"
        ) from error
