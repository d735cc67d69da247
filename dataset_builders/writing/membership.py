"""Provenance of subset members: `subsets.csv`, a row for each member added by a sheet."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import NamedTuple

from livek12.core.files import write_atomically
from livek12.core.tables import csv_rows, csv_text

FILE = "subsets.csv"


class MemberRow(NamedTuple):
    """One member of a subset.

    Attributes:
        how: `reviewed` if a person accepted it, `proposed` if runs or a seeded draw decided.
        made_by: the rules, runs, seed or annotator that proposed it.
    """

    subset: str
    benchmark: str
    id: str
    how: str
    by: str
    at: str
    made_by: str


def read_members(folder: Path) -> list[MemberRow]:
    """The rows of the file; none without it."""
    if not (folder / FILE).is_file():
        return []
    rows = csv_rows((folder / FILE).read_text("utf-8"))
    return [MemberRow(*(row.get(name, "") for name in MemberRow._fields)) for row in rows]


def write_members(folder: Path, members: Iterable[MemberRow]) -> None:
    """Writes the file, each member once, if there are any."""
    rows = list(dict.fromkeys(members))
    if not rows:
        return
    write_atomically(folder / FILE, csv_text([MemberRow._fields, *rows]))


def members_of(members: Iterable[MemberRow], kept: Container[tuple[str, str]]) -> list[MemberRow]:
    """The members whose question (benchmark and id) is kept."""
    return [member for member in members if (member.benchmark, member.id) in kept]
