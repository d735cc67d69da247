"""The questions of a run by id where there may be a million: only where each stands is in memory.

Contract: the same questions as `RunFolder.questions`, read again when they are looked up; a lookup is one read of the
file, which stays open as long as an index lives. Any number of threads may look up.
"""

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
    """The questions of one task.

    Args:
        task: which.
        file: a questions.jsonl, open.
        places: of every task and id where the line of the question begins.
    """

    def __init__(self, task: str, file: BinaryIO, places: Mapping[tuple[str, str], int]) -> None:
        self._task, self._places = task, places
        # Of no method of ours: a file in a ring of references would stay open until that is collected.
        self._known = lru_cache(HELD)(partial(_read, file))

    def __getitem__(self, id: str) -> Question:
        """The question; the same object for answers that follow each other, as rules remember what it says.

        Raises:
            KeyError: there is none of this id.
            UserError: its line cannot be read.
        """
        return self._known(id, self._places[self._task, id])

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
    """An index for each task of a run.

    Raises:
        UserError: its questions.jsonl cannot be read, or is not what the run began with.
    """
    places = run.asked()
    file = (run.path / QUESTIONS).open("rb")
    return {task.name: QuestionIndex(task.name, file, places) for task in run.spec().tasks}
