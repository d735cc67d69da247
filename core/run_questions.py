"""The questions of a run in its folder: questions.jsonl, as a whole or by what names them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from livek12.core.errors import UserError, why
from livek12.core.journal import write_atomically
from livek12.core.records import Image, Question, Record
from livek12.core.run_spec import RunSpec

QUESTIONS = "questions.jsonl"


class RunQuestion(Record):
    """A line of questions.jsonl."""

    task: str
    question: Question


class _Named(BaseModel):
    id: str


class QuestionHead(BaseModel):
    """Of such a line, what names the question; the rest is not looked at."""

    task: str
    question: _Named


Q = TypeVar("Q", RunQuestion, QuestionHead)


def question_lines(path: Path, spec: RunSpec, model: type[Q]) -> Iterator[tuple[Q, int]]:
    """The lines of a run folder's questions, as much of each as a model takes, each with its first byte.

    Raises:
        UserError: the file cannot be read; or, at its end, it is not what the run began with.
    """
    file, digest, place = path / QUESTIONS, hashlib.sha256(), 0
    tasks = {task.name for task in spec.tasks}
    try:
        with file.open("rb") as lines:
            for line in lines:
                digest.update(line)
                item = model.model_validate_json(line)
                if item.task not in tasks:
                    raise ValueError(f"{item.task!r:.80} is no task of the run")
                yield item, place
                place += len(line)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}; start a new run") from error
    if spec.questions_sha256 not in (None, digest.hexdigest()):
        raise UserError(f"{file}: is not what the run began with; put the file back or start a new run")


def write_questions(path: Path, questions: Mapping[str, Iterable[Question]]) -> str:
    """Writes the questions of each task into a run folder; returns the hash of the file."""
    digest = hashlib.sha256()

    def lines() -> Iterator[str]:
        for task, asked in questions.items():
            for question in asked:
                line = RunQuestion(task=task, question=without_bytes(question)).model_dump_json() + "\n"
                digest.update(line.encode())
                yield line

    write_atomically(path / QUESTIONS, lines())
    return digest.hexdigest()


def without_bytes(question: Question) -> Question:
    """The question with each picture replaced by its hash (as `path`)."""

    def names(images: Iterable[Image]) -> list[Image]:
        return [Image(path=image.sha256 if image.bytes is not None else image.path) for image in images]

    return question.model_copy(
        update={name: names(getattr(question, name)) for name in ("images", "answer_images", "solution_images")}
    )
