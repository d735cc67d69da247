"""Base models write "A: 27" and run on into questions that they invent: what they answer first is the answer."""

from __future__ import annotations

import pytest

from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import own_turn
from tests.judges.helpers import question

DIALOGUES = [
    ("9*3=27\nA: 27", "27"), ("A: 27.", "27"), ("9*3=27 eggs\n**A:** $27", "$27"), ("A: x^2", "x^2"),
    ("A: She has 9 rows of 3. The answer is 27.", "27"), ("Answer - 27", "27"), ("Final answer \u2013 $-2$", "$-2$"),
    ("The answer is 27.\n\nQ: Tom has 4 cats. How many?\nA: The answer is 4.", "27"),
    ("9*3=27.\nA: 27\n\nQ: Tom has 4 cats. How many?\nA: 4", "27"), ("5\n\nQ: What is 3+4?\nA: 7", "5"),
    ("The answer is 5.\nHuman: Thanks!\nAssistant: The answer is 8.", "5"),
    ("答案是5。\n\n问：3+4是多少？\n答：7", "5"),
    ("So the total is 5.\n\nQuestion: What is 3+4?\nAnswer: 7", "5"),
    ("Q: How many eggs are in the nine rows?\nA: 27\n\nQ: How many cats?\nA: 4", "27"),
    ("Let us see.\nQuestion: what do we know?\nAnswer: 7", "7"), ("Q: What is 3+4?\nA: 7", "7"),
    ("Q: Is it even?\nA: yes.\nQ: So what is it?\nA: 8", "8"),
    ("The answer is not given yet.\n\nQuestion: How many eggs are in the nine rows?\nThe answer is 7.", "7"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "value"), DIALOGUES)
def test_the_first_answer_counts(response: str, value: str) -> None:
    asked = question(answer=["1"], question="How many eggs are in the nine rows?", question_type="short_answer")
    assert [one.rstrip(".") for one in extract(response, asked, "stop").answers] == [value]


@pytest.mark.parametrize(
    "text", ["B\nQ: Which is a moon?\nAnswer: C", "答案：B\n\n12. 哪个是卫星（ ）\n答案：C", "B\n27,什么,C,C"]
)
def test_a_label_ends_before_the_next_question(text: str) -> None:
    asked = question("single_choice", answer=["B"], question="Which is a planet?")
    assert extract(text, asked, "stop").answers == ["B"]


def test_a_list_of_labels_is_no_answer() -> None:
    asked = question(answer=["1"], question_type="short_answer")
    assert extract("A: 27\nB: 28", asked, "stop").answers == ["A: 27\nB: 28"]


def test_many_questions_take_no_longer() -> None:
    text = "So what?\n" * 3 + "Q: and now?\n" * 200_000
    assert own_turn(text, "") == text
