"""Registry of the builders, by benchmark."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.dataset_builders.builder import Builder

CARD = "card.md.jinja"
CITATION = "citation.bib"


def builders() -> dict[str, Builder]:
    """The builder of each benchmark, the newest benchmark first."""
    return _checked(benchmarks.named())


@cache
def _checked(included: str) -> dict[str, Builder]:
    by_name = {}
    for name, module in _modules().items():
        if not isinstance(builder := getattr(module, "BUILDER", None), Builder):
            raise UserError(f"benchmark {name}: {module.__file__} has no BUILDER = Builder(...)")
        by_name[name] = builder
    return dict(sorted(by_name.items(), key=lambda entry: entry[1].month, reverse=True))


def builder_of(benchmark: str) -> Builder:
    """The builder of a benchmark."""
    available = builders()
    if benchmark not in available:
        raise UserError(
            f"unknown benchmark {benchmark!r}: there is a builder for"
            f" {', '.join((*available, *benchmarks.RESERVED))}; --include FOLDER adds one"
        )
    return available[benchmark]


def text_of(benchmark: str, name: str) -> str | None:
    """The text of a file in the folder of a benchmark's builder; None if there is none."""
    module = _modules().get(benchmark)
    file = Path((module and module.__file__) or "").parent / name
    return file.read_text(encoding="utf-8") if module and file.is_file() else None


def _modules() -> dict[str, ModuleType]:
    return benchmarks.sides("builder", "livek12.dataset_builders.benchmarks", marker=CARD)
