"""Withheld answers: questions without their keys, `held_back.json` in a published dataset, and restoring them.

Contract: questions that differ only in key, solution and reasoning are equal without answers. A question, or a
translation of one, gets its answers from the private row of its id only.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from livek12.core.errors import UserError
from livek12.core.features import from_row, to_row
from livek12.core.question_types import CHOICE, CHOICE_TYPES, keyless, kind_of
from livek12.core.questions import with_answers
from livek12.core.records import Option, Question
from livek12.core.text import CIRCLED
from livek12.dataset_builders.reading.built import questions_of
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import split_options

_FIRST_LABELS = "1ㄱ가"
"""First labels other than letters; they mark options only if a key names one."""
_CIRCLED_FIRST = "①"


def without_answers(question: Question) -> Question:
    """Question without its answer, with type and options inferred without the key."""
    variables = [variable.model_copy(update={"value": ""}) for variable in question.variables]
    text, options = _apart(question)
    plain = (plain_label(option.label) if option.label in CIRCLED else option.label for option in options)
    options = [option.model_copy(update={"label": label}) for option, label in zip(options, plain, strict=True)]
    kind, raw = keyless(question.question_type_raw, has_options=bool(options))
    inferred = {"question": text, "options": options, "question_type": kind, "question_type_raw": raw}
    return question.model_copy(update={**Question.empty(*FIELDS), **inferred, "variables": variables})


def _apart(question: Question) -> tuple[str, list[Option]]:
    kind, text = kind_of(question.question_type_raw), question.question
    certain = kind in (CHOICE, *CHOICE_TYPES)
    if question.options or not (certain or kind is None):
        return text, question.options
    for label in ("", *(_FIRST_LABELS if certain else "1" * (_CIRCLED_FIRST in text))):
        stem, options = split_options(text, {label} if label else ())
        if options:
            return stem, options
    return text, []


FILE = "held_back.json"
FIELDS = ("answer", "answer_images", "solution", "solution_images", "variables", "reasoning_flow", "scheme")
"""The fields that tell the answer of a question."""
INFERRED = ("question", "options", "question_type", "question_type_raw")
"""Fields that may be derived from the answer, and are recomputed without it."""


@dataclass(frozen=True)
class Withheld:
    """Release whose answers are withheld, and their private dataset."""

    release: str
    repo: str

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False) + "\n", encoding="utf-8")


def read_withheld(folder: Path) -> Withheld | None:
    """Record of withheld answers; None if there are none."""
    file = folder / FILE
    return parse_withheld(file.read_bytes()) if file.is_file() else None


def parse_withheld(content: bytes) -> Withheld | None:
    """The same from the file's content; None if it is unreadable."""
    try:
        fields = json.loads(content)
        return Withheld(str(fields["release"]), str(fields["repo"]))
    except (ValueError, KeyError, TypeError):
        return None


class WithheldAnswers:
    """Answers in a private dataset, for the public rows without them.

    `place` is the user's name of the dataset, `folder` its copy.
    """

    def __init__(self, held: Withheld, place: str, folder: Path) -> None:
        self._held, self._place = held, place
        self._rows = {(row.benchmark, row.id): row for row in questions_of(folder)}

    def ids(self) -> set[str]:
        """Questions with answers here."""
        return {id for _, id in self._rows}

    def filled(self, question: Question) -> Question:
        """A public question with its answers; UserError if missing or of another question."""
        row = self._rows.get((question.benchmark, question.id))
        if question.release != self._held.release and not (row and row.translation_of):
            return question
        if row is None:
            raise UserError(
                f"{self._place} does not have {question.id} of release {self._held.release}, whose answers are held"
                f" back; give the revision that has it, such as {self._held.repo}@{self._held.release}"
            )
        (filled,) = with_answers([question], [row])
        return filled

    def fill(self, table: pa.Table) -> pa.Table:
        """Rows of a table of questions with their answers, in order."""
        rows = table.to_pylist()
        for row in rows:
            filled: dict[str, Any] = to_row(self.filled(from_row(Question, row)))
            row.update({name: filled[name] for name in (*FIELDS, *INFERRED) if name in row})
        return pa.Table.from_pylist(rows, schema=table.schema)
