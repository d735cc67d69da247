"""Puts questions into the subsets a reviewer accepted them for.

Contract: `apply` passes every record on in its order and changes nothing but `subsets` (or the flag
`is_korean_specific`) of accepted members. A row counts when it is accepted with a name and a date, and its question
is there with the very text that was reviewed; where two rows decide one proposal otherwise (two reviewers), neither
counts, in whatever sheets they stand. Every accepted row that does not count costs one line in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from livek12.core.records import Page, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.proposals.subsets import sheet
from livek12.dataset_builders.proposals.subsets.candidates import text_sha256
from livek12.dataset_builders.proposals.subsets.criteria import KOREAN_SPECIFIC, SUBSETS

Accepted = dict[str, list[tuple[str, sheet.SheetRow]]]
"""The rows that count, each with its place (sheet and line), by the id of the question."""


def apply(records: Iterator[Page | Question], files: Sequence[Path], log: Log) -> Iterator[Page | Question]:
    """Marks accepted members among the records.

    Args:
        records: the pages and questions of a build.
        files: reviewed sheets of `livek12 subsets propose`; each may hold several subsets.
        log: told of rows that do not count, one line each.

    Raises:
        UserError: a sheet cannot be read.
    """
    return _marked(records, _accepted(files, log), log)


def _marked(records: Iterator[Page | Question], accepted: Accepted, log: Log) -> Iterator[Page | Question]:
    met: set[str] = set()
    for record in records:
        if isinstance(record, Question) and record.id in accepted:
            met.add(record.id)
            yield _with(record, accepted[record.id], log)
        else:
            yield record
    for id, rows in accepted.items():
        for place, row in rows if id not in met else ():
            log.note(place, id, f"accepted for {row.subset}, and no question of this data set")


def _accepted(files: Sequence[Path], log: Log) -> Accepted:
    """The rows that count; contradictory ones count for nothing."""
    decided: dict[tuple[str, str, str], list[tuple[bool, str, sheet.SheetRow]]] = {}
    for place, row in ((f"{file.name}:{row.line}", row) for file in files for row in sheet.read(file)):
        verdict, problem = row.verdict
        if problem:
            log.note(place, row.id, f"does not count: {problem}")
        elif verdict is not None and row.subset not in SUBSETS:
            log.note(place, row.id, f"does not count: there is no subset {row.subset!r}")
        elif verdict is not None:
            decided.setdefault(row.key, []).append((verdict, place, row))
    accepted: Accepted = {}
    for found in decided.values():
        first, place, row = found[0]
        if other := next((where for verdict, where, _ in found if verdict != first), None):
            log.note(place, row.id, f"does not count: both accepted and rejected for {row.subset} (see {other})")
        elif first:
            accepted.setdefault(row.id, []).append((place, row))
    return accepted


def _with(question: Question, rows: Sequence[tuple[str, sheet.SheetRow]], log: Log) -> Question:
    text = text_sha256(question)
    for place, row in rows:
        subset = SUBSETS[row.subset]
        if row.text_sha256 != text:
            log.note(place, row.id, f"accepted for {row.subset} with another text: review it again")
        elif not subset.takes(question.benchmark):
            log.note(place, row.id, f"{row.subset} takes no {question.benchmark} questions")
        elif subset.name == KOREAN_SPECIFIC:
            flags = question.flags.model_copy(update={"is_korean_specific": True})
            question = question.model_copy(update={"flags": flags})
        elif subset.name not in question.subsets:
            question = question.model_copy(update={"subsets": [*question.subsets, subset.name]})
    return question
