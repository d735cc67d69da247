"""Subset membership from reviewed sheets.

Contract: `apply` keeps the order of records and changes only `subsets` (or `is_korean_specific`). A row counts if
accepted with name and date for the question's exact text; contradictory rows, in any sheets, cancel. Proposals of runs
or draws count unless a reviewer decided otherwise, as in the articles. Invalid rows are logged; open proposals share
one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from livek12.core.records import Page, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.proposals.subsets import sheet
from livek12.dataset_builders.proposals.subsets.candidates import text_sha256
from livek12.dataset_builders.proposals.subsets.criteria import KOREAN_SPECIFIC, SUBSETS
from livek12.dataset_builders.writing.listings import MemberRow

Accepted = dict[str, list[tuple[str, sheet.SheetRow]]]
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
    decided: dict[tuple[str, str, str], list[tuple[bool, str, sheet.SheetRow]]] = {}
    waiting: dict[tuple[str, str, str], tuple[str, sheet.SheetRow]] = {}
    unsound: set[tuple[str, str, str]] = set()
    for place, row in ((f"{file.name}:{row.line}", row) for file in files for row in sheet.read(file)):
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


def _how(row: sheet.SheetRow) -> str:
    return "accepted" if row.verdict[0] else "proposed"


def _member(question: Question, row: sheet.SheetRow) -> MemberRow:
    reviewed = row.verdict[0] is True
    by, at = (row.review.get(name, "").strip() if reviewed else "" for name in ("by", "at"))
    how, made_by = "reviewed" if reviewed else "proposed", row.shown.get("made_by", "")
    return MemberRow(row.subset, question.benchmark, question.id, how, by, at, made_by)


def _with(
    question: Question, rows: Sequence[tuple[str, sheet.SheetRow]], log: Log, members: list[MemberRow]
) -> Question:
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
