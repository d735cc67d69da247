"""Proposal sheet: CSV, reviewed in a spreadsheet and read back.

Contract: the reviewer sets `decision` (accept or reject), `by`, `at` (a date, year first) and `reason`. `merged`
transfers reviews by subset, id and text, and loses none. An apostrophe, removed on reading, guards texts that would
start a formula.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.tables import bare, csv_text
from livek12.dataset_builders.base import one_line

STATES = ("proposed", "reserve", "undecided", "out", "kept")
"""reserve: over the quota; undecided: evidence missing; out: not proposed; kept: reviewed, no longer proposed."""
REVIEW = ("decision", "by", "at", "reason")
COLUMNS = (
    *("subset", "state", "id", *REVIEW, "score", "criteria", "unknown", "evidence", "language", "subject"),
    *("question", "pictures", "features", "annotator", "made_by", "text_sha256"),
)
DECISIONS = {"accept": True, "accepted": True, "reject": False, "rejected": False}
_AFTER_SEPARATOR = re.compile(r"([;,\t\r\n])(?=[=+\-@＝＋－＠])")
_DATE = re.compile(r"(\d{4})[-/.]\s?(\d{1,2})[-/.]\s?(\d{1,2})\.?(?:[T ]\s?\d{1,2}:\d{2}(?::\d{2})?.{0,12})?")
_MAX_BYTES = 512 << 20


@dataclass(frozen=True)
class SheetRow:
    """One proposal. `shown` holds display-only columns, `extra` those a reviewer added."""

    subset: str
    state: str
    id: str
    text_sha256: str
    score: float | None = None
    language: str = ""
    subject: str = ""
    review: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    line: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the reviewed proposal."""
        return self.subset, self.id, self.text_sha256

    @property
    def reviewed(self) -> bool:
        """True if a reviewer wrote into the row."""
        return any(value.strip() for value in (*self.review.values(), *self.extra.values()))

    @property
    def verdict(self) -> tuple[bool | None, str]:
        """Decision (None: neither), and the reason if it does not count."""
        decision = self.review.get("decision", "").strip().casefold()
        if not decision:
            return None, ""
        if decision not in DECISIONS:
            return None, f"decision {one_line(decision, 40)!r} is neither accept nor reject"
        if not self.review.get("by", "").strip():
            return None, f"{decision} without a name in `by`"
        if not is_date(self.review.get("at", "")):
            return (
                None,
                f"{decision} with `at` {one_line(self.review.get('at', ''), 40)!r}, which is no YYYY-MM-DD date",
            )
        return DECISIONS[decision], ""


def is_date(text: str) -> bool:
    """True for a date with the year first, in the formats of common spreadsheets."""
    match = _DATE.fullmatch(text.strip())
    try:
        return bool(match and datetime.date(*(int(part) for part in match.groups())))
    except ValueError:
        return False


def read(file: Path) -> list[SheetRow]:
    """Reads a sheet saved by any spreadsheet (comma, semicolon or tab; with or without a BOM).

    Raises UserError for unreadable files and missing columns.
    """
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise UserError(f"{file}: over {_MAX_BYTES >> 20} MiB, which is no sheet of `livek12 subsets propose`")
        text = file.read_bytes().decode("utf-8-sig")  # keeps line breaks inside cells
    except UnicodeDecodeError:
        raise UserError(f"{file}: is not UTF-8; save it as CSV UTF-8") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
    head = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        names = list(reader.fieldnames or [])
        missing = [name for name in ("subset", "id", "text_sha256", *REVIEW) if name not in names]
        if missing:
            raise UserError(f"{file}: no sheet of `livek12 subsets propose`: column {missing[0]} is missing")
        # Spreadsheets keep emptied rows as separators.
        return [_row(cells, reader.line_num, file) for cells in reader if any(cells.values())]
    except csv.Error as error:
        raise UserError(f"{file}:{reader.line_num}: damaged CSV ({error}); mend or restore the file") from None


def write(file: Path, rows: Iterable[SheetRow]) -> None:
    """Writes the sheet atomically; raises UserError."""
    rows = list(rows)
    added = dict.fromkeys(name for row in rows for name in row.extra)
    columns = [*COLUMNS, *added]
    lines = ([cells.get(name, "") for name in columns] for cells in map(_cells, rows))
    write_atomically(file, "\ufeff" + csv_text([columns, *lines], quoted=True))


def merged(new: Iterable[SheetRow], old: Iterable[SheetRow]) -> list[SheetRow]:
    """Transfers old reviews to the new proposals; reviewed rows no longer proposed go last.

    Differing old rows of one proposal are all kept.
    """
    reviews: dict[tuple[str, str, str], list[SheetRow]] = {}
    for row in old:
        if row.reviewed:
            reviews.setdefault(row.key, []).append(row)
    result = []
    for row in new:
        first, *others = reviews.pop(row.key, [row])
        result.append(replace(row, review=first.review, extra=first.extra))
        result += [other for other in others if (other.review, other.extra) != (first.review, first.extra)]
    rest = (row for rows in reviews.values() for row in rows)
    return result + [replace(row, state="kept") for row in rest]


def features_cell(features: Mapping[str, object]) -> str:
    """Known features as JSON."""
    return json.dumps({name: value for name, value in features.items() if value is not None})


def _row(cells: Mapping[str | None, str | list[str] | None], line: int, file: Path) -> SheetRow:
    texts = {name: bare(value) for name, value in cells.items() if name and isinstance(value, str)}
    if None in cells:
        raise UserError(f"{file}:{line}: more cells than columns; mend or restore the file")
    try:
        score = float(texts.get("score") or "none")
    except ValueError:
        score = None
    return SheetRow(
        subset=texts.get("subset", ""),
        state=texts.get("state", ""),
        id=texts.get("id", ""),
        text_sha256=texts.get("text_sha256", ""),
        score=score,
        language=texts.get("language", ""),
        subject=texts.get("subject", ""),
        review={name: texts.get(name, "") for name in REVIEW},
        shown={name: texts[name] for name in COLUMNS if name in texts and name not in _OWN},
        extra={name: text for name, text in texts.items() if name not in COLUMNS},
        line=line,
    )


_OWN = {"subset", "state", "id", "text_sha256", "score", "language", "subject", *REVIEW}


def _cells(row: SheetRow) -> dict[str, str]:
    """Cells of a row; display-only texts get a space between separator and formula sign."""
    exact = {name: str(getattr(row, name)) for name in ("subset", "state", "id", "text_sha256", "language", "subject")}
    shown = {name: _AFTER_SEPARATOR.sub(r"\1 ", text.replace("\0", "")) for name, text in row.shown.items()}
    return {**shown, **exact, "score": "" if row.score is None else f"{row.score:.3f}", **row.review, **row.extra}
