"""The questions of a run by id where there may be a million: only where each stands is in memory.

Contract: the same questions as `RunFolder.questions`, read again when they are looked up; a lookup is one read of the
file, which stays open as long as an index lives. Any number of threads may look up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from livek12.core.errors import UserError, why
from livek12.core.journal import line_at
from livek12.core.records import Question
from livek12.core.run_folder import RunQuestion


class QuestionIndex(Mapping[str, Question]):
    """The questions of one task.

    Args:
        file: a questions.jsonl, open.
        places: id → where the line of the question begins.
    """

    def __init__(self, file: BinaryIO, places: dict[str, int]) -> None:
        self._file, self._places = file, places

    def __getitem__(self, id: str) -> Question:
        return RunQuestion.model_validate_json(line_at(self._file.fileno(), self._places[id])).question

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def question_indexes(file: Path) -> dict[str, QuestionIndex]:
    """An index for each task of a questions.jsonl.

    Raises:
        UserError: it cannot be read.
    """
    places: dict[str, dict[str, int]] = {}
    try:
        opened = file.open("rb")
        with file.open("rb") as lines:
            start = 0
            for line in lines:
                item = RunQuestion.model_validate_json(line)
                places.setdefault(item.task, {})[item.question.id] = start
                start += len(line)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}; start a new run") from error
    return {task: QuestionIndex(opened, found) for task, found in places.items()}
