"""Contamination test: the model completes the beginning of a question (KMMMU, section 7 and its appendix).

The prompt shows the first 35 % of each question longer than 150 tokens, in `completion_hinted` with the name and year
of the exam. `livek12 study completion` measures the overlap with the rest. Tokens are those of `core.text`, as the
article names no tokenizer.
"""

from __future__ import annotations

from functools import partial

from livek12.core.prompts import without_marks
from livek12.core.records import Question
from livek12.core.text import tokens_in
from livek12.tasks.families import Diagnostic, variant_of

SHOWN = 0.35
"""The share of a question in the prompt."""
LONGER_THAN = 150
"""Tokens; shorter texts are excluded."""
COMPLETION, HINTED = "completion", "completion_hinted"


def text_of(question: Question) -> str:
    """Stem and options, without pictures."""
    options = [f"{option.label}. {option.text}" for option in question.options]
    return without_marks("\n".join([question.question, *options])).strip()


def split(text: str) -> tuple[str, str]:
    """Beginning for the prompt, and the rest."""
    wanted = SHOWN * tokens_in(text)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if tokens_in(text[:middle]) < wanted else (low, middle)
    place = low
    while 0 < place < len(text) and _in_a_word(text[place - 1]) and _in_a_word(text[place]):
        place += 1
    return text[:place], text[place:]


def _in_a_word(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _completion(kind: str, hinted: bool, question: Question) -> list[Question]:
    text = text_of(question)
    if tokens_in(text) <= LONGER_THAN or (hinted and not (question.exam and question.year)):
        return []
    begun, rest = split(text)
    if not rest.strip():
        return []
    hint = f"{question.exam}, {question.year}\n\n" if hinted else ""
    return [
        variant_of(
            question,
            kind,
            question=hint + begun,
            question_type="open_ended",
            answer=[rest],
            **Question.empty("options", "images", "part_points", "part_units", "points"),
            **Question.empty("answer_images", "solution", "solution_images"),
        )
    ]


_LONG = f"a text of more than {LONGER_THAN} tokens"
DIAGNOSTICS = (
    Diagnostic(
        COMPLETION,
        "the first 35 % of the text, to go on with",
        partial(_completion, COMPLETION, False),
        style=COMPLETION,
        needs=_LONG,
        own_key=True,
        of=lambda task: not task.without_pictures,
        changes={"modality": "text_only"},
    ),
    Diagnostic(
        HINTED,
        "the same with the name and year of the exam",
        partial(_completion, HINTED, True),
        style=HINTED,
        needs=f"{_LONG}, and exam and year",
        own_key=True,
        of=lambda task: not task.without_pictures,
        changes={"modality": "text_only"},
    ),
)
