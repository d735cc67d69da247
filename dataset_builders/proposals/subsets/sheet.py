"""Proposal sheet: CSV, reviewed in a spreadsheet, read back, counted and applied to a build.

Contract: a decision counts with name and date (year first), for the question's exact text. `merged` transfers reviews
by subset, id and text, and loses none. `apply` changes only `subsets` (or `is_korean_specific`): contradictory rows, in
any sheets, cancel; proposals of runs or draws count unless a reviewer decided otherwise, as in the articles. An
apostrophe, removed on reading, guards texts that would start a formula.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.records import Page, Question
from livek12.core.statistics import cohen_kappa
from livek12.core.tables import bare, csv_text
from livek12.dataset_builders.base import Log, one_line
from livek12.dataset_builders.proposals.subsets.candidates import text_sha256
from livek12.dataset_builders.proposals.subsets.criteria import KOREAN_SPECIFIC, SUBSETS
from livek12.dataset_builders.writing.listings import MemberRow

STATES = ("proposed", "reserve", "undecided", "out", "kept")
"""reserve: over the quota; undecided: evidence missing; out: not proposed; kept: reviewed, no longer proposed."""
LABEL = "label:"
"""Begins `subset` in a row that holds an open label of a field."""
REVIEW = ("decision", "by", "at", "reason")
COLUMNS = (
    *("subset", "state", "id", *REVIEW, "score", "criteria", "unknown", "evidence", "language", "subject"),
    *("question", "pictures", "features", "annotator", "made_by", "text_sha256"),
)
DECISIONS = {"accept": True, "accepted": True, "reject": False, "rejected": False}
_AFTER_SEPARATOR = re.compile(r"([;,\t\r\n])(?=[=+\-@＝＋－＠])")
_DATE = re.compile(r"(\d{4})[-/.]\s?(\d{1,2})[-/.]\s?(\d{1,2})\.?(?:[T ]\s?\d{1,2}:\d{2}(?::\d{2})?.{0,12})?")
_MAX_BYTES = 512 << 20
_EXACT = ("subset", "state", "id", "text_sha256", "language", "subject")
_OWN = {*_EXACT, "score", *REVIEW}


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


def _row(cells: Mapping[str | None, str | list[str] | None], line: int, file: Path) -> SheetRow:
    texts = {name: bare(value) for name, value in cells.items() if name and isinstance(value, str)}
    if None in cells:
        raise UserError(f"{file}:{line}: more cells than columns; mend or restore the file")
    try:
        score = float(texts.get("score") or "none")
    except ValueError:
        score = None
    return SheetRow(
        **{name: texts.get(name, "") for name in _EXACT},
        score=score,
        review={name: texts.get(name, "") for name in REVIEW},
        shown={name: texts[name] for name in COLUMNS if name in texts and name not in _OWN},
        extra={name: text for name, text in texts.items() if name not in COLUMNS},
        line=line,
    )


def _cells(row: SheetRow) -> dict[str, str]:
    exact = {name: str(getattr(row, name)) for name in _EXACT}
    shown = {name: _AFTER_SEPARATOR.sub(r"\1 ", text.replace("\0", "")) for name, text in row.shown.items()}
    return {**shown, **exact, "score": "" if row.score is None else f"{row.score:.3f}", **row.review, **row.extra}


@dataclass(frozen=True)
class ReviewerPair:
    """Agreement of two reviewers on one subset.

    Attributes:
        both: decided by both.
        agreed: of these, decided alike.
        accepted: of these, accepted by both.
        only_one: decided by one of them.
    """

    subset: str
    both: int
    agreed: int
    accepted: int
    kappa: float | None
    disputed: list[str]
    only_one: int


def counts(rows: Sequence[SheetRow]) -> dict[str, Counter[str]]:
    """Rows by subset, and there by state, decision and subject."""
    tallies: dict[str, Counter[str]] = {}
    for row in (row for row in rows if row.subset in SUBSETS):
        verdict, problem = row.verdict
        taken = row.state == "proposed" and SUBSETS[row.subset].as_proposed
        undecided = "taken as proposed" if taken else "open"
        decision = "does not count" if problem else {True: "accepted", False: "rejected", None: undecided}[verdict]
        tally = tallies.setdefault(row.subset, Counter())
        tally[row.state] += 1
        tally[decision] += 1
        if verdict:
            tally[f"accepted {row.language} {row.subject}".rstrip()] += 1
    return tallies


def problems(rows: Sequence[SheetRow]) -> list[str]:
    """Unknown subsets and invalid decisions, a line each."""
    lines: tuple[list[str], list[str]] = [], []
    for row in rows:
        named = row.subset in SUBSETS or row.subset.startswith(LABEL)
        if problem := row.verdict[1] if named else f"there is no subset {row.subset!r}":
            lines[named].append(f"line {row.line} ({row.id}): {problem}")
    return [*lines[0], *lines[1]]


def agreement(first: Sequence[SheetRow], second: Sequence[SheetRow]) -> list[ReviewerPair]:
    """Reviewers' agreement by subset."""
    a, b = _decisions(first), _decisions(second)
    return [_pair(subset, a, b) for subset in sorted({key[0] for key in (*a, *b)})]


def _pair(subset: str, a: dict[tuple[str, str, str], bool], b: dict[tuple[str, str, str], bool]) -> ReviewerPair:
    shared = sorted(key for key in a.keys() & b.keys() if key[0] == subset)
    ours, theirs = [a[key] for key in shared], [b[key] for key in shared]
    return ReviewerPair(
        subset=subset,
        both=len(shared),
        agreed=sum(x == y for x, y in zip(ours, theirs, strict=True)),
        accepted=sum(x and y for x, y in zip(ours, theirs, strict=True)),
        kappa=cohen_kappa(ours, theirs),
        disputed=[key[1] for key in shared if a[key] != b[key]],
        only_one=sum(key[0] == subset for key in a.keys() ^ b.keys()),
    )


def _decisions(rows: Sequence[SheetRow]) -> dict[tuple[str, str, str], bool]:
    return {row.key: verdict for row in rows if (verdict := row.verdict[0]) is not None}


Accepted = dict[str, list[tuple[str, SheetRow]]]
"""Valid rows with their place (sheet and line), by question id."""


def apply(
    records: Iterator[Page | Question], files: Sequence[Path], log: Log, members: list[MemberRow] | None = None
) -> Iterator[Page | Question]:
    """Marks accepted members among the records of a build.

    `members` collects an entry for each as the records pass.
    """
    return _marked(records, _accepted(files, log), log, [] if members is None else members)


def _marked(
    records: Iterator[Page | Question], accepted: Accepted, log: Log, members: list[MemberRow]
) -> Iterator[Page | Question]:
    met: set[str] = set()
    for record in records:
        if isinstance(record, Question) and record.id in accepted:
            met.add(record.id)
            yield _with(record, accepted[record.id], log, members)
        else:
            yield record
    for id, rows in accepted.items():
        for place, row in rows if id not in met else ():
            log.note(place, id, f"{_how(row)} for {row.subset}, and no question of this data set")


def _accepted(files: Sequence[Path], log: Log) -> Accepted:
    decided: dict[tuple[str, str, str], list[tuple[bool, str, SheetRow]]] = {}
    waiting: dict[tuple[str, str, str], tuple[str, SheetRow]] = {}
    unsound: set[tuple[str, str, str]] = set()
    for place, row in ((f"{file.name}:{row.line}", row) for file in files for row in read(file)):
        verdict, problem = row.verdict
        if problem:
            unsound.add(row.key)
            log.note(place, row.id, f"does not count: {problem}")
        elif verdict is not None and row.subset not in SUBSETS:
            log.note(place, row.id, f"does not count: there is no subset {row.subset!r}")
        elif verdict is not None:
            decided.setdefault(row.key, []).append((verdict, place, row))
        elif row.state == "proposed" and row.subset in SUBSETS:
            waiting.setdefault(row.key, (place, row))
    open_ = {key: entries for key, entries in waiting.items() if key not in decided.keys() | unsound}
    accepted: Accepted = {}
    for place, row in open_.values():
        if SUBSETS[row.subset].as_proposed:
            accepted.setdefault(row.id, []).append((place, row))
    if people := Counter(row.subset for _, row in open_.values() if not SUBSETS[row.subset].as_proposed):
        total, each = people.total(), ", ".join(f"{count} {name}" for name, count in people.items())
        what, them = ("proposal", "it") if total == 1 else ("proposals", "them")
        log.notes.append(
            f"waiting for a person: {total} {what} ({each}); `decision`, `by` and `at` in the sheet bring {them} in"
        )
    for entries in decided.values():
        first, place, row = entries[0]
        if other := next((where for verdict, where, _ in entries if verdict != first), None):
            log.note(place, row.id, f"does not count: both accepted and rejected for {row.subset} (see {other})")
        elif first:
            accepted.setdefault(row.id, []).append((place, row))
    return accepted


def _how(row: SheetRow) -> str:
    return "accepted" if row.verdict[0] else "proposed"


def _member(question: Question, row: SheetRow) -> MemberRow:
    reviewed = row.verdict[0] is True
    by, at = (row.review.get(name, "").strip() if reviewed else "" for name in ("by", "at"))
    how, made_by = "reviewed" if reviewed else "proposed", row.shown.get("made_by", "")
    return MemberRow(row.subset, question.benchmark, question.id, how, by, at, made_by)


def _with(question: Question, rows: Sequence[tuple[str, SheetRow]], log: Log, members: list[MemberRow]) -> Question:
    text = text_sha256(question)
    for place, row in rows:
        subset = SUBSETS[row.subset]
        if row.text_sha256 != text:
            log.note(
                place,
                row.id,
                f"{_how(row)} for {row.subset} with another text: {'review' if row.verdict[0] else 'propose'} it again",
            )
        elif not subset.takes(question.benchmark):
            log.note(place, row.id, f"{row.subset} takes no {question.benchmark} questions")
        elif subset.name == KOREAN_SPECIFIC:
            flags = question.flags.model_copy(update={"is_korean_specific": True})
            question = question.model_copy(update={"flags": flags})
            members.append(_member(question, row))
        elif subset.name not in question.subsets:
            question = question.model_copy(update={"subsets": [*question.subsets, subset.name]})
            members.append(_member(question, row))
    return question
