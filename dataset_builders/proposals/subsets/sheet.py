"""The sheet of proposals: a CSV file that a person reviews in a spreadsheet and a program reads back.

Contract: one row a proposal; the reviewer fills `decision` (accept or reject), `by`, `at` (a date, year first) and
`reason`. Writing is deterministic, and never loses what a reviewer wrote: `merged` carries it over to the same
question (by subset, id and text), and keeps reviewed rows that are no longer proposed. No cell starts a formula: a
text that would gets an apostrophe before it, which reading takes off again.
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
"""reserve: over the quota; undecided: cannot be told yet; out: not proposed, shown on demand; kept: reviewed, and no
longer among the proposals."""
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
    """One proposal. `shown` holds the columns that only a person reads; `extra` those a reviewer added."""

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
        """What a review belongs to."""
        return self.subset, self.id, self.text_sha256

    @property
    def reviewed(self) -> bool:
        """Whether a person wrote anything into the row."""
        return any(value.strip() for value in (*self.review.values(), *self.extra.values()))

    @property
    def verdict(self) -> tuple[bool | None, str]:
        """Accepted, rejected or neither (None), and what keeps a decision from counting.

        A decision counts with a name and a date.
        """
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
    """Whether a text is a date with the year first, as spreadsheets of most countries leave it."""
    match = _DATE.fullmatch(text.strip())
    try:
        return bool(match and datetime.date(*(int(part) for part in match.groups())))
    except ValueError:
        return False


def read(file: Path) -> list[SheetRow]:
    """The rows of a sheet, as a spreadsheet may have saved it (comma, semicolon or tab; with or without a BOM).

    Raises:
        UserError: the file cannot be read, is no UTF-8, or lacks a column that names a proposal.
    """
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise UserError(f"{file}: over {_MAX_BYTES >> 20} MiB, which is no sheet of `livek12 subsets propose`")
        text = file.read_bytes().decode("utf-8-sig")  # line breaks inside cells stay as they are
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
        # Spreadsheets keep rows that were emptied, as separators alone.
        return [_row(cells, reader.line_num, file) for cells in reader if any(cells.values())]
    except csv.Error as error:
        raise UserError(f"{file}:{reader.line_num}: damaged CSV ({error}); mend or restore the file") from None


def write(file: Path, rows: Iterable[SheetRow]) -> None:
    """Writes the sheet whole.

    Raises:
        UserError: it cannot be written; an earlier one stands.
    """
    rows = list(rows)
    added = dict.fromkeys(name for row in rows for name in row.extra)
    columns = [*COLUMNS, *added]
    lines = ([cells.get(name, "") for name in columns] for cells in map(_cells, rows))
    write_atomically(file, "\ufeff" + csv_text([columns, *lines], quoted=True))


def merged(new: Iterable[SheetRow], old: Iterable[SheetRow]) -> list[SheetRow]:
    """The new proposals with the reviews of the old ones; reviewed rows that are no longer proposed stand last.

    Two old rows for one proposal are both kept where they differ, so that nobody's word is lost.
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
    """Features as JSON; what is not known is left out."""
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
    """The cells of a row; in what only a person reads, no separator is followed by what could start a formula."""
    exact = {name: str(getattr(row, name)) for name in ("subset", "state", "id", "text_sha256", "language", "subject")}
    shown = {name: _AFTER_SEPARATOR.sub(r"\1 ", text.replace("\0", "")) for name, text in row.shown.items()}
    return {**shown, **exact, "score": "" if row.score is None else f"{row.score:.3f}", **row.review, **row.extra}
