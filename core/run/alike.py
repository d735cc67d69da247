"""Answers of a run without responses, by kind: records that differ only in the key are read once.

Contract: None where anything needs the records themselves (marks by people, later keys, damaged lines).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from livek12.core.records import Failure, Key, Question, Response, Verdict
from livek12.core.rows import Row, row_of
from livek12.core.run.folder import QUESTIONS, RunFolder, RunQuestion
from livek12.core.run.journal import journal_lines
from livek12.core.run.markings import REGRADES

if TYPE_CHECKING:
    from livek12.core.statistics import Codes

_MOST_BYTES = 64 << 20
"""Of a list of questions that is held."""
_TOKENS = re.compile(rb'"completion_tokens":(\d{1,12}),')
_END = b'"trial":0},'


@dataclass(frozen=True, eq=False)
class AlikeExam:
    """Tasks and questions of runs, in order."""

    questions: tuple[tuple[str, Question], ...]

    @cached_property
    def places(self) -> dict[bytes, int]:
        """Places by key, as JSON without the trial."""
        keys = (Key(task=task, question_id=q.id).model_dump_json().encode() for task, q in self.questions)
        return {key[:-1]: place for place, key in enumerate(keys)}


@dataclass(frozen=True, eq=False)
class AlikeAnswers:
    """One answer to each question of a run.

    Attributes:
        rows: the first of each kind.
        kinds: index into `rows` of each question.
        tokens: of each answer; None where not stated.
    """

    exam: AlikeExam
    rows: list[Row]
    kinds: Codes
    tokens: list[int | None]


def read_alike(run: RunFolder) -> AlikeAnswers | None:
    """The answers of a run by kind, or None."""
    import numpy as np

    exam = read_exam(run)
    if exam is None or run.spec().trials != 1 or (run.path / REGRADES).exists():
        return None
    records: list[list[bytes | None]] = []
    tokens: list[int | None] = [None] * len(exam.questions)
    for stem in ("responses", "failures", "verdicts"):
        own: list[bytes | None] = [None] * len(exam.questions)
        for line in journal_lines(run.path, stem):
            key, end, rest = line.partition(_END)
            place = exam.places.get(key[len(b'{"key":') :] + end[:-2])
            if place is None or own[place] is not None:
                return None
            if stated := _TOKENS.match(rest):
                tokens[place], rest = int(stated[1]), rest[stated.end() :]
            own[place] = rest
        records.append(own)
    codes: dict[tuple[object, ...], int] = {}
    rows: list[Row] = []
    kinds: Codes = np.empty(len(exam.questions), dtype=np.int64)
    for place, (task, question) in enumerate(exam.questions):
        response, failure, verdict = (own[place] for own in records)
        kind = (task, response, failure, verdict, len(question.answer), len(question.variables))
        if kind not in codes:
            row = _row(task, question, response, failure, verdict)
            if row is None or not _is_own(row, run):
                return None
            codes[kind] = len(rows)
            rows.append(row)
        kinds[place] = codes[kind]
    return AlikeAnswers(exam, rows, kinds, tokens)


def read_exam(run: RunFolder) -> AlikeExam | None:
    """The questions of a run without responses; None where they need a reader."""
    file, spec = run.path / QUESTIONS, run.spec()
    if not spec.cells or run.key_book().versions or not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return None
    content = file.read_bytes()
    return _exam(content) if hashlib.sha256(content).hexdigest() == spec.questions_sha256 else None


@lru_cache(maxsize=1)
def _exam(content: bytes) -> AlikeExam:
    items = map(RunQuestion.model_validate_json, content.splitlines())
    return AlikeExam(tuple((item.task, item.question) for item in items))


def _row(
    task: str, question: Question, response: bytes | None, failure: bytes | None, verdict: bytes | None
) -> Row | None:
    begin = b'{"key":' + Key(task=task, question_id=question.id).model_dump_json().encode() + b","
    try:
        return row_of(
            task,
            question,
            0,
            Response.model_validate_json(begin + response) if response else None,
            Failure.model_validate_json(begin + failure) if failure else None,
            Verdict.model_validate_json(begin + verdict) if verdict else None,
        )
    except ValueError:
        return None


def _is_own(row: Row, run: RunFolder) -> bool:
    spec, response = run.spec(), row.response
    return response is None or (response.model == spec.model and response.run == spec.identity)
