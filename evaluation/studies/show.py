"""Prints the result of a study: first what it found, in sentences; then a table for each group of like things."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from livek12.core.visible import visible

Found = Mapping[str, Any]


def show(kind: str, found: Found, sentences: Callable[[Found], Iterator[str]]) -> None:
    """Prints the whole result, nothing left out but examples beyond their first lines.

    Args:
        kind: the title of its tables.
        found: the result.
        sentences: what it says in words.
    """
    from rich.console import Console

    console = Console(markup=False, highlight=False)
    for sentence in sentences(found):
        console.print(visible(sentence), soft_wrap=True)
    console.print()
    _section(console, kind, found)


# --- tables ---------------------------------------------------------------------------------------------------------


_OURS = frozenset({"by_stage", "between_raters", "false_accepts", "false_rejects", "not_shared", "question_type"})
"""Groups that are named here; all others bear the names of runs, judges, raters, tasks."""


def _section(console: Any, title: str, found: Found) -> None:
    single = {name: value for name, value in found.items() if not isinstance(value, Mapping) and not _is_list(value)}
    if single:
        _table(console, title, {_words(name): {"value": value} for name, value in single.items()})
    for name, value in found.items():
        below = f"{title}: {_words(name) if name in _OURS else name}"
        if _is_list(value):
            _table(console, below, {str(number): row for number, row in enumerate(value, 1)})
        elif _is_group(value):
            if _is_table(value):
                _table(console, below, value)
            else:
                _section(console, below, value)


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _is_list(value: Any) -> bool:
    """Whether it is a list of rows."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _is_table(value: Found) -> bool:
    """Whether all members are mappings of plain values: rows of one table."""
    return all(
        _is_group(row) and not any(_is_group(cell) or _is_list(cell) for cell in row.values()) for row in value.values()
    )


def _table(console: Any, title: str, rows: Mapping[str, Found]) -> None:
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    heads = ["" if column == "value" else _words(column) for column in columns]
    cells = [[_cell(row.get(column)) for column in columns] for row in rows.values()]
    names = [visible(name) for name in rows]
    if columns != ["value"] and len(rows) < len(columns) and _too_wide(console, heads, names, cells):
        heads, names, cells = names, heads, [list(column) for column in zip(*cells, strict=True)]
    table = Table("", *heads, box=box.SIMPLE_HEAD, show_header=columns != ["value"])
    for name, line in zip(names, cells, strict=True):
        table.add_row(name, *line)
    console.print(visible(title), style="bold")
    console.print(table)


def _too_wide(console: Any, heads: Sequence[str], names: Sequence[str], cells: Sequence[Sequence[str]]) -> bool:
    """Whether a table would be cut at the right: then it is turned, a line for each column."""
    from rich.cells import cell_len

    columns = [names, *([head, *column] for head, column in zip(heads, zip(*cells, strict=True), strict=True))]
    width: int = console.width
    return sum(3 + max(map(cell_len, column), default=0) for column in columns) > width


def _words(name: str) -> str:
    """A key of a result as people write it."""
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return "; ".join(_cell(entry) for entry in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {_cell(entry)}" for name, entry in value.items())
    return visible(" ".join(str(value).split()))
