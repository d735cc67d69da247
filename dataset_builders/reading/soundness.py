"""Whether a question agrees with itself: asked when it is read from a source, and again of a built data set."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

from livek12.core.records import CHOICE_TYPES, IMAGE_MARK, Question


def problems(question: Question, image_only: bool = False) -> Iterator[str]:
    """What in a question contradicts something else in it, one phrase each.

    Args:
        question: as read or as stored.
        image_only: stored for its page images, without its own figures.
    """
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
    """Whether an answer in the labels' own kind of characters (capitals, or digits) has one that is no label."""
    if entry in labels:
        return False
    joined = "".join(labels)
    for kind in ("[A-Z]+", "[0-9]+"):
        if re.fullmatch(kind, joined) and re.fullmatch(kind, entry):
            return not set(entry) <= set(labels)
    return False
