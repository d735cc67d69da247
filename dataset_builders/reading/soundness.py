"""Consistency of a question, checked when it is read from a source and again in a built dataset."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import BadRow, Log

_LARGEST = 99_999
_LONGEST_ID, _LONGEST_TEXT = 200, 1_000_000
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
"""Control characters that no text has: the original character is lost."""


def sound(question: Question, where: str, log: Log) -> Question:
    """The question as kept; BadRow if `problems` finds an error that would spoil the dataset.

    Points and units of parts that do not match the number of answers are emptied and logged.
    """
    _check_bounds(question)
    answers = len(question.answer)
    for name, parts in (("part_points", question.part_points), ("part_units", question.part_units)):
        if parts and answers and len(parts) != answers:
            log.note(where, question.id, f"{name} has {len(parts)} entries for {answers} answers: left empty")
            question = question.model_copy(update={name: []})
    if problem := next(problems(question), None):
        raise BadRow(problem)
    return question


def _check_bounds(question: Question) -> None:
    if not question.id.isprintable() or len(question.id) > _LONGEST_ID:
        raise BadRow(f"its id is longer than {_LONGEST_ID} characters, or holds some that cannot be printed")
    if abs(question.year or 0) > _LARGEST or not all(0 < page <= _LARGEST for page in question.page_numbers):
        raise BadRow("year or page_numbers is out of range")
    if not all(0 <= points <= _LARGEST for points in question.part_points):  # neither is nan
        raise BadRow("part_points holds what is not a number of points")
    texts = [question.question, *(option.text for option in question.options), *question.answer]
    if sum(map(len, [*texts, question.solution or ""])) > _LONGEST_TEXT:
        raise BadRow(f"its text has more than {_LONGEST_TEXT} characters")
    if damage := next(filter(None, map(_CONTROLS.search, texts)), None):
        raise BadRow(f"its text or key holds the control character U+{ord(damage[0]):04X}, so part of it is lost")


def problems(question: Question, image_only: bool = False) -> Iterator[str]:
    """The contradictions within a question, one phrase each; `image_only` questions are stored without figures."""
    if not question.id.strip():
        yield "it has no id"
    texts = [question.question, *(option.text for option in question.options)]
    marks = sum(text.count(IMAGE_MARK) for text in texts)
    if image_only and question.images:
        yield f"it has {len(question.images)} images, which its pages show"
    elif marks != len(question.images) and not image_only:
        yield f"{marks} image marks for {len(question.images)} images"
    labels = [option.label for option in question.options]
    if len({*labels}) < len(labels):
        for label, count in Counter(labels).items():
            if count > 1:
                yield f"{count} options are labelled {label!r}"
    if labels and question.question_type in CHOICE_TYPES:
        yield from (f"answer {entry!r} names no option" for entry in question.answer if _names_none(entry, labels))
    if not all(0 <= points < math.inf for points in (question.points or 0, *question.part_points)):
        yield "points or part_points holds what is not a number of points"
    for name, parts in (("part_points", question.part_points), ("part_units", question.part_units)):
        if parts and question.answer and len(parts) != len(question.answer):
            yield f"{name} has {len(parts)} entries for {len(question.answer)} answers"


def _names_none(entry: str, labels: Collection[str]) -> bool:
    if entry in labels:
        return False
    joined = "".join(labels)
    for kind in ("[A-Z]+", "[0-9]+"):
        if re.fullmatch(kind, joined) and re.fullmatch(kind, entry):
            return not set(entry) <= set(labels)
    return False
