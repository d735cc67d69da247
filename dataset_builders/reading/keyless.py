"""Questions without their keys.

Contract: questions that differ only in key, solution and reasoning give the same result.
"""

from __future__ import annotations

from typing import Any

from livek12.core.question_types import CHOICE, CHOICE_TYPES, keyless, kind_of
from livek12.core.records import Option, Question
from livek12.core.text import CIRCLED
from livek12.dataset_builders.reading.choice_keys import plain_label
from livek12.dataset_builders.reading.text import split_options

_EMPTY: dict[str, Any] = {
    "answer": [],
    "answer_images": [],
    "solution": None,
    "solution_images": [],
    "reasoning_flow": [],
}
_FIRST_LABELS = "1ㄱ가"
"""First labels other than letters; they mark options only if a key names one."""
_CIRCLED_FIRST = "①"


def without_answers(question: Question) -> Question:
    """The question without its answer, with type and options as inferred without the key."""
    variables = [variable.model_copy(update={"value": ""}) for variable in question.variables]
    text, options = _apart(question)
    plain = (plain_label(option.label) if option.label in CIRCLED else option.label for option in options)
    options = [option.model_copy(update={"label": label}) for option, label in zip(options, plain, strict=True)]
    kind, raw = keyless(question.question_type_raw, has_options=bool(options))
    inferred = {"question": text, "options": options, "question_type": kind, "question_type_raw": raw}
    return question.model_copy(update={**_EMPTY, **inferred, "variables": variables})


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
