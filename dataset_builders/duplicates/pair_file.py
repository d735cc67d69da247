"""Pair file for human decisions, JSONL or CSV by its name.

Contract: the reviewer sets `decision` (and `by`, `at`, `reason`). A decision belongs to two exact texts: a change
reopens the pair with a warning. Decided pairs that no longer match go last. Writes are atomic.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.tables import csv_rows, csv_text
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.duplicates.figures import distance
from livek12.dataset_builders.duplicates.finding import Pairs
from livek12.dataset_builders.duplicates.library import Library, hash_of

DECISIONS = ("same", "different", "newer wins")
COLUMNS = (
    *("id", "other", "kind", "why", "similarity", "figures", "text", "other_text", "release", "other_release"),
    *("texts", "decision", "by", "at", "reason"),
)
_REVIEWED = ("decision", "by", "at", "reason")
Key = tuple[str, ...]


@dataclass(frozen=True)
class Decided:
    """Recorded decisions by ids, releases and texts, and a line for each invalid one."""

    rows: dict[Key, dict[str, Any]]
    problems: list[str]

    def on(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the decision on a pair with these exact texts, if any."""
        return self.rows.get(_key(row))

    def outdated(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns a decision on other texts of the pair if there is none on these."""
        *pair, _ = key = _key(row)
        return None if key in self.rows else self._pairs.get(tuple(pair))

    @cached_property
    def _pairs(self) -> dict[Key, dict[str, Any]]:
        return {key[:-1]: row for key, row in self.rows.items()}


def read_decisions(file: Path) -> Decided:
    """Reads the decisions of a pair file; none if it does not exist."""
    decided = Decided({}, [])
    if not file.is_file():
        return decided
    try:
        rows = list(_rows(file))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read as pairs ({one_line(error, 120)}); mend it or give another") from None
    for number, row in enumerate(rows, start=1):
        decision = " ".join(str(row.get("decision") or "").split()).lower()
        if not decision:
            continue
        shown = f"{file}: row {number} ({one_line(row.get('id'), 60)}, {one_line(row.get('other'), 60)})"
        if decision not in DECISIONS:
            decided.problems.append(f"{shown}: decision {one_line(decision, 40)!r} is none of {', '.join(DECISIONS)}")
        else:
            decided.rows[_key(row)] = {**row, "decision": decision}
    return decided


def pair_rows(library: Library, pairs: Pairs, decided: Decided) -> Iterator[dict[str, Any]]:
    """Yields the rows of the pairs, the later question first, with their decisions."""
    for place, other_place, similarity, difference in pairs:
        later, earlier = library.stem(other_place), library.stem(place)
        apart = distance(later.figures, earlier.figures)
        row = {
            "id": later.id,
            "other": earlier.id,
            "kind": "variant" if difference else "duplicate",
            "why": difference or _same(later.text == earlier.text, similarity),
            "similarity": round(similarity, 4),
            "figures": None if apart is None else round(apart, 4),
            "text": later.shown,
            "other_text": earlier.shown,
            "release": later.release or "",
            "other_release": earlier.release or "",
            "texts": f"{hash_of(later.text):016x}{hash_of(earlier.text):016x}",
            **dict.fromkeys(_REVIEWED, ""),
        }
        before = decided.on(row)
        yield {**row, **{name: before.get(name) or "" for name in _REVIEWED}} if before else row


def write_pairs(file: Path, library: Library, pairs: Pairs, decided: Decided) -> dict[str, int]:
    """Writes the pairs, then decided pairs that no longer match.

    Returns the numbers of duplicates, variants, open duplicates and decided pairs.
    """
    counts = {"duplicates": 0, "variants": 0, "open": 0, "decided": 0}
    unmatched = dict(decided.rows)

    def lines() -> Iterator[str]:
        as_csv = file.suffix.lower() == ".csv"
        if as_csv:
            yield _csv_line(dict(zip(COLUMNS, COLUMNS, strict=True)))
        for row in pair_rows(library, pairs, decided):
            unmatched.pop(_key(row), None)
            if (old := decided.outdated(row)) is not None:
                shown = f"{one_line(row['id'], 60)}, {one_line(row['other'], 60)}"
                decided.problems.append(f"{shown}: {old['decision']!r} was decided on other texts; decide again")
            counts["variants" if row["kind"] == "variant" else "duplicates"] += 1
            counts["decided"] += bool(row["decision"])
            counts["open"] += row["kind"] == "duplicate" and not row["decision"]
            yield _csv_line(row) if as_csv else json.dumps(row, ensure_ascii=False) + "\n"
        for row in unmatched.values():
            yield _csv_line(row) if as_csv else json.dumps(row, ensure_ascii=False) + "\n"

    _write(file, lines())
    return counts


def _write(file: Path, lines: Iterator[str]) -> None:
    if file.suffix.lower() not in (".jsonl", ".csv"):
        raise UserError(f"{file}: give a name that ends in .jsonl or .csv")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror}); choose another place") from None
    write_atomically(file, lines)


def _same(identical: bool, similarity: float) -> str:
    return "same text" if identical else f"{similarity:.0%} of the text is the same"


def _key(row: Mapping[str, Any]) -> Key:
    return tuple(str(row.get(name) or "") for name in ("id", "release", "other", "other_release", "texts"))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    text = file.read_text(encoding="utf-8-sig")
    if file.suffix.lower() == ".csv":
        yield from csv_rows(text)
        return
    for line in text.splitlines():
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is no object")
            yield row


def _csv_line(row: Mapping[str, Any]) -> str:
    return csv_text([[row.get(name) for name in COLUMNS]])
