"""Prints the result of a study: a table for each group of like things, the rest name by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def show(kind: str, found: Mapping[str, Any]) -> None:
    """Prints the whole result, nothing left out but examples beyond their first lines."""
    from rich.console import Console

    console = Console(markup=False, highlight=False)
    _section(console, kind, found)


def _section(console: Any, title: str, found: Mapping[str, Any]) -> None:
    single = {name: value for name, value in found.items() if not isinstance(value, Mapping)}
    if single:
        _table(console, title, {name: {"value": value} for name, value in single.items()})
    for name, value in found.items():
        if not _is_group(value):
            continue
        if _is_table(value):
            _table(console, f"{title}: {name}", value)
        else:
            _section(console, f"{title}: {name}", value)


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _is_table(value: Mapping[str, Any]) -> bool:
    """Whether all members are mappings of plain values: rows of one table."""
    return all(_is_group(row) and not any(_is_group(cell) for cell in row.values()) for row in value.values())


def _table(console: Any, title: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    heads = ("" if column == "value" else column for column in columns)
    table = Table("", *heads, box=box.SIMPLE_HEAD, show_header=columns != ["value"])
    for name, row in rows.items():
        table.add_row(name, *(_cell(row.get(column)) for column in columns))
    console.print(title, style="bold")
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return "; ".join(_cell(entry) for entry in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(entry)}" for name, entry in value.items())
    return "".join(c if c.isprintable() else " " for c in str(value))
