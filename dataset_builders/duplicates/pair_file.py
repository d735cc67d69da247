"""The file of pairs that a person decides on: a row a pair, JSONL or CSV by its name; decisions in it are kept.

Contract: the reviewer fills `decision` with one of `DECISIONS` (and `by`, `at`, `reason`, as they like). A decision
belongs to the two very texts: when one changes, the pair is open again, and a line says so. Decided pairs that are
found no longer stay at the end of the file. The file is written whole or not at all.
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
    """What a file of pairs says already.

    Attributes:
        rows: the decided pairs, by their ids, releases and texts.
        problems: one line a decision that does not count.
    """

    rows: dict[Key, dict[str, Any]]
    problems: list[str]

    def on(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The decision on a pair, if there is one on these very texts."""
        return self.rows.get(_key(row))

    def outdated(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The decision on the pair when one of its texts was another, if there is none on these."""
        *pair, _ = key = _key(row)
        return None if key in self.rows else self._pairs.get(tuple(pair))

    @cached_property
    def _pairs(self) -> dict[Key, dict[str, Any]]:
        return {key[:-1]: row for key, row in self.rows.items()}


def read_decisions(file: Path) -> Decided:
    """The decisions in a file of pairs; none where there is no file.

    Raises:
        UserError: it is not a file of pairs.
    """
    decided = Decided({}, [])
    if not file.is_file():
        return decided
    try:
        rows = list(_rows(file))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read as pairs ({one_line(error, 120)}); mend it or give another") from None
    for number, row in enumerate(rows, start=1):
        said = " ".join(str(row.get("decision") or "").split()).lower()
        if not said:
            continue
        shown = f"{file}: row {number} ({one_line(row.get('id'), 60)}, {one_line(row.get('other'), 60)})"
        if said not in DECISIONS:
            decided.problems.append(f"{shown}: decision {one_line(said, 40)!r} is none of {', '.join(DECISIONS)}")
        else:
            decided.rows[_key(row)] = {**row, "decision": said}
    return decided


def pair_rows(library: Library, pairs: Pairs, decided: Decided) -> Iterator[dict[str, Any]]:
    """The rows of the pairs, the later question first, with what was decided on them."""
    for place, other_place, similarity, difference in pairs:
        one, other = library.stem(other_place), library.stem(place)
        apart = distance(one.figures, other.figures)
        row = {
            "id": one.id,
            "other": other.id,
            "kind": "variant" if difference else "duplicate",
            "why": difference or _same(one.text == other.text, similarity),
            "similarity": round(similarity, 4),
            "figures": None if apart is None else round(apart, 4),
            "text": one.shown,
            "other_text": other.shown,
            "release": one.release or "",
            "other_release": other.release or "",
            "texts": f"{hash_of(one.text):016x}{hash_of(other.text):016x}",
            **dict.fromkeys(_REVIEWED, ""),
        }
        before = decided.on(row)
        yield {**row, **{name: before.get(name) or "" for name in _REVIEWED}} if before else row


def write_pairs(file: Path, library: Library, pairs: Pairs, decided: Decided) -> dict[str, int]:
    """Writes the pairs found, and behind them the decided ones that are found no longer.

    Returns:
        How many duplicates and variants there are, how many duplicates are open, and how many pairs are decided.
    """
    counts = {"duplicates": 0, "variants": 0, "open": 0, "decided": 0}
    left = dict(decided.rows)

    def lines() -> Iterator[str]:
        as_csv = file.suffix.lower() == ".csv"
        if as_csv:
            yield _csv_line(dict(zip(COLUMNS, COLUMNS, strict=True)))
        for row in pair_rows(library, pairs, decided):
            left.pop(_key(row), None)
            if (old := decided.outdated(row)) is not None:
                shown = f"{one_line(row['id'], 60)}, {one_line(row['other'], 60)}"
                decided.problems.append(f"{shown}: {old['decision']!r} was decided on other texts; decide again")
            counts["variants" if row["kind"] == "variant" else "duplicates"] += 1
            counts["decided"] += bool(row["decision"])
            counts["open"] += row["kind"] == "duplicate" and not row["decision"]
            yield _csv_line(row) if as_csv else json.dumps(row, ensure_ascii=False) + "\n"
        for row in left.values():
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
