"""Index of a run's questions by id: offsets in memory, one read of the file a lookup; thread-safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import BinaryIO

from livek12.core.errors import UserError, why
from livek12.core.records import Question
from livek12.core.run.folder import QUESTIONS, RunFolder, RunQuestion
from livek12.core.run.journal import line_at

HELD = 1024


class QuestionIndex(Mapping[str, Question]):
    """Questions of one task; `places` has the offset of each question by task and id."""

    def __init__(self, task: str, file: BinaryIO, places: Mapping[tuple[str, str], int]) -> None:
        self._task, self._places = task, places
        # No bound method: a reference cycle would keep the file open until it is collected.
        self._read = lru_cache(HELD)(partial(_read, file))

    def __getitem__(self, id: str) -> Question:
        return self._read(id, self._places[self._task, id])

    def __iter__(self) -> Iterator[str]:
        return (id for task, id in self._places if task == self._task)

    def __len__(self) -> int:
        return sum(task == self._task for task, _ in self._places)


def _read(file: BinaryIO, id: str, place: int) -> Question:
    try:
        return RunQuestion.model_validate_json(line_at(file.fileno(), place)).question
    except ValueError as error:
        raise UserError(f"{file.name}: {id!r:.80} cannot be read: {why(error)}; start a new run") from error


def question_indexes(run: RunFolder) -> dict[str, QuestionIndex]:
    """Index for each task of a run; UserError if questions.jsonl has changed since the run began."""
    places = run.asked()
    file = (run.path / QUESTIONS).open("rb")
    return {task.name: QuestionIndex(task.name, file, places) for task in run.spec().tasks}
