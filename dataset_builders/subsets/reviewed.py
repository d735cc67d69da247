"""Puts questions into the subsets a reviewer accepted them for.

Contract: `apply` passes every record on in its order and changes nothing but `subsets` (or the flag
`is_korean_specific`) of accepted members. A row counts when it is accepted with a name and a date, and its question
is there with the very text that was reviewed; every accepted row that does not count costs one line in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from livek12.core.records import Page, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.subsets import sheet
from livek12.dataset_builders.subsets.candidates import text_sha256
from livek12.dataset_builders.subsets.criteria import KOREAN_SPECIFIC, SUBSETS


def apply(records: Iterator[Page | Question], file: Path, log: Log) -> Iterator[Page | Question]:
    """Marks accepted members among the records.

    Args:
        records: the pages and questions of a build.
        file: a reviewed sheet of `livek12 subsets propose`; it may hold several subsets.
        log: told of rows that do not count, one line each.

    Raises:
        UserError: the sheet cannot be read.
    """
    accepted = _accepted(file, log)
    return _marked(records, accepted, file, log)


def _marked(
    records: Iterator[Page | Question], accepted: dict[str, list[sheet.Row]], file: Path, log: Log
) -> Iterator[Page | Question]:
    met: set[str] = set()
    for record in records:
        if isinstance(record, Question) and record.id in accepted:
            met.add(record.id)
            yield _with(record, accepted[record.id], file, log)
        else:
            yield record
    for id, rows in accepted.items():
        for row in rows if id not in met else ():
            log.note(_place(file, row), id, f"accepted for {row.subset}, and no question of this data set")


def _accepted(file: Path, log: Log) -> dict[str, list[sheet.Row]]:
    """The rows that count, by id; contradictory ones count for nothing."""
    decided: dict[tuple[str, str, str], list[tuple[bool, sheet.Row]]] = {}
    for row in sheet.read(file):
        verdict, problem = row.verdict
        if problem:
            log.note(_place(file, row), row.id, f"does not count: {problem}")
        elif verdict and row.subset not in SUBSETS:
            log.note(_place(file, row), row.id, f"does not count: there is no subset {row.subset!r}")
        elif verdict is not None:
            decided.setdefault(row.key, []).append((verdict, row))
    accepted: dict[str, list[sheet.Row]] = {}
    for found in decided.values():
        first, row = found[0]
        if any(verdict != first for verdict, _ in found):
            log.note(_place(file, row), row.id, f"does not count: both accepted and rejected for {row.subset}")
        elif first:
            accepted.setdefault(row.id, []).append(row)
    return accepted


def _with(question: Question, rows: list[sheet.Row], file: Path, log: Log) -> Question:
    text = text_sha256(question)
    for row in rows:
        subset = SUBSETS[row.subset]
        if row.text_sha256 != text:
            log.note(_place(file, row), row.id, f"accepted for {row.subset} with another text: review it again")
        elif subset.benchmark not in (None, question.benchmark):
            log.note(_place(file, row), row.id, f"{row.subset} takes no {question.benchmark} questions")
        elif subset.name == KOREAN_SPECIFIC:
            flags = question.flags.model_copy(update={"is_korean_specific": True})
            question = question.model_copy(update={"flags": flags})
        elif subset.name not in question.subsets:
            question = question.model_copy(update={"subsets": [*question.subsets, subset.name]})
    return question


def _place(file: Path, row: sheet.Row) -> str:
    return f"{file.name}:{row.line}"
