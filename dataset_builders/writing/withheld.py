"""Answers that are held back: `held_back.json`, which says so in a published data set, and bringing them back.

Contract: the file holds the release without answers and the private data set that has them, and nothing else. A row
of it, or a translation of one, gets its answers back from the private row of its id, and from no other.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.features import from_row, to_row
from livek12.core.questions import with_answers
from livek12.core.records import Question
from livek12.dataset_builders.reading.built import stored, tables_of

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "held_back.json"
FIELDS = ("answer", "answer_images", "solution", "solution_images", "variables", "reasoning_flow")
"""What tells the answer of a question."""
INFERRED = ("question", "options", "question_type", "question_type_raw")
"""What the answer may have had a part in, and is told as it is known without it."""


@dataclass(frozen=True)
class Withheld:
    """Which release's answers are kept where."""

    release: str
    repo: str

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False) + "\n", encoding="utf-8")


def read_withheld(folder: Path) -> Withheld | None:
    """What a data set says of held answers; None where all answers are there."""
    file = folder / FILE
    return parse_withheld(file.read_bytes()) if file.is_file() else None


def parse_withheld(content: bytes) -> Withheld | None:
    """The same from the file's content; None where it says nothing readable."""
    try:
        found = json.loads(content)
        return Withheld(str(found["release"]), str(found["repo"]))
    except (ValueError, KeyError, TypeError):
        return None


class WithheldAnswers:
    """The answers that a private data set keeps, for the public rows without them.

    Args:
        held: whose answers they are.
        place: the private data set, as the user names it.
        folder: where it lies.

    Raises:
        UserError: there is no such data set.
    """

    def __init__(self, held: Withheld, place: str, folder: Path) -> None:
        self._held, self._place = held, place
        records = (record for record, _, _ in stored(tables_of(folder)[1]))
        self._rows = {(row.benchmark, row.id): row for row in records if isinstance(row, Question)}

    def ids(self) -> set[str]:
        """The questions that it has."""
        return {id for _, id in self._rows}

    def filled(self, question: Question) -> Question:
        """A question of the public data set with its answers.

        Raises:
            UserError: they are not there, or those of another question.
        """
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
        """The rows of a table of questions with their answers, in their order."""
        import pyarrow as pa

        rows = table.to_pylist()
        for row in rows:
            filled: dict[str, Any] = to_row(self.filled(from_row(Question, row)))
            row.update({name: filled[name] for name in (*FIELDS, *INFERRED) if name in row})
        return pa.Table.from_pylist(rows, schema=table.schema)
