"""An answer that is denied, corrected or doubted later is never accepted; one that stands is."""

from __future__ import annotations

from itertools import islice

import pytest

from livek12.core.records import Question
from livek12.tasks.extraction import extract
from tests.judges.helpers import mark, options, question
from tests.tasks import extraction_crossed as cases

LANGUAGES = ("zh", "en", "ko")
TAKEN_BACK = [
    *((language, behind) for language in LANGUAGES for behind in (cases.NAMED, cases.UNNAMED)),
]
STEP = 23
"""One of so many of the crossed texts: all of them take a minute, and differ in little."""


def choice(language: str, asked: str) -> Question:
    key = cases.LABELS[language][0]
    offered = [] if language == "ko" else options("3", "5", "7", "9")
    return question("single_choice", answer=[key], options=offered, language=language, question=asked)


def is_accepted(response: str, asked: Question) -> bool:
    return mark(asked, *extract(response, asked, "stop").answers).correct is True


RIGHT_ASKED = {"zh": "下列说法正确的是（ ）", "en": "Which of the following is correct?", "ko": "옳은 것은?"}


@pytest.mark.parametrize("with_question", [False, True])
@pytest.mark.parametrize(("language", "behind"), TAKEN_BACK)
def test_a_choice_taken_back_is_never_accepted(
    language: str, behind: dict[str, list[str]], with_question: bool
) -> None:
    asked = choice(language, RIGHT_ASKED[language] if with_question else "")
    texts = islice(cases.crossed(language, behind, *cases.LABELS[language]), 0, None, STEP)
    assert [text for text in texts if is_accepted(text, asked)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_choice_that_stands_is_accepted(language: str) -> None:
    asked = choice(language, "")
    texts = islice(cases.crossed(language, cases.STANDING, *cases.LABELS[language]), 0, None, STEP)
    assert [text for text in texts if not is_accepted(text, asked)] == []


@pytest.mark.parametrize(("value", "other"), cases.VALUES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_value_taken_back_is_never_accepted(language: str, value: str, other: str) -> None:
    asked = question(answer=[value], language=language)
    behinds = (cases.NAMED_VALUE, cases.UNNAMED)
    texts = [text for behind in behinds for text in cases.crossed(language, behind, value, other)]
    assert [text for text in texts[::STEP] if is_accepted(text, asked)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_value_that_stands_is_accepted(language: str) -> None:
    asked = question(answer=["12"], language=language)
    texts = islice(cases.crossed(language, cases.STANDING, "12", "13"), 0, None, STEP)
    assert [text for text in texts if not is_accepted(text, asked)] == []
