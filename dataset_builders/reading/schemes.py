"""Gives a question the marking scheme of its row, or the scheme's text as a part of its solution."""

from __future__ import annotations

from typing import Any

from livek12.core.records import Question, Scheme, SchemeCriterion, check_scheme
from livek12.core.schemes import marks_in_solution, read_scheme
from livek12.dataset_builders.base import BadRow, Log, one_line
from livek12.dataset_builders.reading.fields import Data, as_text, stated
from livek12.dataset_builders.reading.latex import restore
from livek12.dataset_builders.reading.text import parse_list


def with_scheme(question: Question, data: Data, where: str, log: Log) -> Question:
    """The question with its row's scheme; what is no sound scheme stays readable in the solution.

    Raises:
        BadRow: a `scheme`, which is our own form, is not sound.
    """
    own, marking = stated(data, "scheme"), stated(data, "marking")
    if own is None and marking is None:
        printed = (
            marks_in_solution(text, question.points) for text in (question.solution, "\n".join(question.answer)) if text
        )
        scheme = next(filter(None, printed), None)
        return question.model_copy(update={"scheme": scheme}) if scheme else question
    try:
        scheme = scheme_of(marking if own is None else own, question)
        return question.model_copy(update={"scheme": scheme})
    except ValueError as error:
        if own is not None:
            raise BadRow(str(error)) from None
        log.note(where, question.id, f"{one_line(error)}: the scheme is kept as text of the solution")
    text = "\n\n".join(filter(None, (question.solution, prose_of(marking))))
    return question.model_copy(update={"solution": text or None})


def scheme_of(value: Any, question: Question) -> Scheme:
    """A scheme that fits the question's points; ValueError says what does not."""
    given = parse_list(value) if isinstance(value, str) and value.lstrip()[:1] == "[" else value
    scheme = [[_restored(criterion) for criterion in criteria] for criteria in read_scheme(given, question.points)]
    if not any(scheme):
        return []
    try:
        check_scheme(scheme, question.points, question.part_points)
    except ValueError as error:
        words = "; ".join(f"{criterion.points:g}: {criterion.text}" for criteria in scheme for criterion in criteria)
        raise ValueError(f"{error} ({one_line(words, 160)})") from None
    return scheme


def _restored(criterion: SchemeCriterion) -> SchemeCriterion:
    return criterion.model_copy(update={"text": restore(criterion.text)})


def prose_of(marking: Any) -> str:
    """A marking scheme as text, a line per criterion; several schemes follow each other."""
    given = parse_list(marking)
    schemes = given if any(isinstance(scheme, list) for scheme in given) else [given]
    texts = ["\n".join(f"- {as_text(line).strip()}" for line in parse_list(scheme) if line) for scheme in schemes]
    return "\n\nor\n\n".join(restore(text) for text in texts if text)
