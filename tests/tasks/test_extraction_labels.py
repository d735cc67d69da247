"""A label with the text of another option commits to neither; one with its own text does."""

from __future__ import annotations

import pytest

from livek12 import verify

OPTIONS = {"A": "5 m/s", "B": "6 m/s", "C": "8 m/s", "D": "7 m/s"}
FORMS = (
    *("The answer is C. {}", "The answer is C: {}", "The answer is (C) {}.", "The answer is C, {}", "Answer: C ({})"),
    *("The answer is C, i.e. {}.", "The answer is C, which is {}.", "答案是C，{}。", "故选C．{}", r"\boxed{{C. {}}}"),
)


@pytest.mark.parametrize("form", FORMS)
def test_a_label_and_the_text_behind_it(form: str) -> None:
    asked = {"question": "How fast is it?", "question_type": "single_choice", "options": OPTIONS}
    assert verify("C", form.format("8 m/s"), **asked).decision == "accept"
    assert [verify(key, form.format("7 m/s"), **asked).decision for key in "CD"] == ["undecided", "undecided"]
