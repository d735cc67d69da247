"""How sure a response is stands behind its answer and is none of it; a box may have lost its backslash."""

from __future__ import annotations

import pytest

from livek12.tasks.extraction import extract
from tests.judges.helpers import options, question

VALUES = [
    ("9\nConfidence: 95", "9"), ("Answer: -4 Confidence: 80", "-4"), ("Answer: -4\n**Confidence:** 80%", "-4"),
    ("boxed(9)", "9"), ("The answer is boxed{9}", "9"), ("Confidence: 95", "Confidence: 95"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "value"), VALUES)
def test_values(response: str, value: str) -> None:
    asked = question(answer=["1"], question_type="short_answer")
    assert extract(response, asked, "stop").answers == [value]


@pytest.mark.parametrize(
    "response",
    ["I think C is correct.", "In conclusion, C is right", "I believe that C is correct"],
)
def test_one_option_as_the_subject(response: str) -> None:
    asked = question("single_choice", answer=["A"], options=options("1", "2", "3"), question="哪个？")
    assert extract(response, asked, "stop").answers == ["C"]
    wrong = question("single_choice", answer=["A"], options=options("1", "2", "3"), question="下列错误的是（  ）")
    assert extract(response, wrong, "stop").answers != ["C"]


@pytest.mark.parametrize(
    "response", ["Is C correct?", "I think C is wrong.", "C是对的吗？", "I think C is correct, or D."]
)
def test_no_option(response: str) -> None:
    asked = question("single_choice", answer=["A"], options=options("1", "2", "3"), question="哪个？")
    assert extract(response, asked, "stop").answers != ["C"]
