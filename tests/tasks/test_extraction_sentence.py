"""The one number of a closing sentence is a value; a number in a remark, a step, a hedge or a comparison is none."""

from __future__ import annotations

import pytest

from livek12.tasks.extraction import extract
from livek12.tasks.extraction.closings import sentence_value
from tests.judges.helpers import mark, options, question
from tests.seconds import within

SAID = [
    ("He pays 900 + 180.\nThe total is $1,080.", "$1,080"),
    ("He has 14 plates.", "14 plates"),
    ("There were 9 apples and 5 were eaten, so 4 are left.", "4"), ("He had 9. He ate 5. So 4 are left.", "4"),
    ("It drops to -6 degrees.", "-6 degrees"),
    ("The temperature is **4**.", "4"), ("The total is $1,080.50", "$1,080.50"),
    ("So she will have 50 dollars after a week.", "50 dollars"), ("First, 7*2=14.\n\nHe needs 14 plates.", "14 plates"),
    ("所以他每天赚9美元。", "9美元"), ("따라서 매일 9달러를 번다", "9달러"), ("The share is 5%.", "5%"),
]  # fmt: skip
NOT_SAID = [
    "It isn't 12.", "Is it 12?", "It may be 12.", "It is about 12.", "She has 12 more than Bob.", "Twice that is 12.",
    "Half of the total is 12.", "We solve it in 3 steps.",
    "Let us go through step 3.", "See equation (1).",
    "There are 5 cases to consider:", "So there are 5 possible cases.", "This was asked in 2019.",
    "It happened in 2019.",
    "Divide both sides by 2.", "It is between 10 and 12.", "If it were 12, we would be done.", "She says it is 12.",
    "The angles of a triangle add up to 180 degrees.", "It is a multiple of 9.",
    "He has two boxes of 6 pencils.",
    "The first number is 5.", "The area is 12x.", "He came 3rd.", "They meet at 12:30.", "It equals 2^10.",
    "The prime 12 is not one.", "He has 3 and 4.", "So the rest is 3 dozen.", "The answer is 4 fifths.",
    "所以他比小明多9元。", "所以至少需要9人。", "所以共9万元。", "他每天赚9美元，每月赚20天的钱。",
    "따라서 약 9달러이다.",
    "따라서 9만 원이다.", "因此第3步成立。", "所以有两种情况，各9人。",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SAID)
def test_a_closing_sentence_says_a_number(text: str, value: str) -> None:
    asked = question(answer=["1"], question_type="short_answer")
    assert extract(text, asked, "stop").answers[0] in {value, value.rstrip("abcdefghijklmnopqrstuvwxyz").strip()}
    assert sentence_value(text) == value


@pytest.mark.parametrize("text", NOT_SAID)
def test_a_number_in_passing_is_none(text: str) -> None:
    assert sentence_value(text) is None


def test_it_is_the_weakest_claim() -> None:
    asked = question(answer=["1"], question_type="short_answer")
    assert extract("The answer is 3.\nHe has 14 plates.", asked, "stop").answers == ["3"]
    assert extract("I add.\nHe has 14 plates.", asked, "length").answers == []


STYLES = [
    ("short_answer", "en", "How far does it fall?", "45 m", "We use $d=5t^2$.\n\n**The ball falls 45 m.**"),
    ("short_answer", "ko", "속력은?", "12 m/s", "따라서 물체의 속력은 12 m/s이다."),
    ("short_answer", "en", "How many ways?", "210", "In both orders: 15 × 14 = 210 ways in total. Hope that helps!"),
    ("multiple_choice", "en", "Which of these hold?", "AD", "The statements that hold are **A** and **D**."),
]


@pytest.mark.parametrize(("kind", "language", "asked", "key", "text"), STYLES)
def test_endings_of_chat_models_commit(kind: str, language: str, asked: str, key: str, text: str) -> None:
    put = question(kind, answer=[key], language=language, question=asked)
    assert mark(put, *extract(text, put, "stop").answers).correct is True


def test_a_bullet_behind_a_part_is_none_of_it() -> None:
    asked = question("short_answer", answer=["2 kg", "3 m/s"])
    assert extract("### Answers\n- (a) 2 kg\n- (b) 3 m/s", asked, "stop").answers == ["2 kg", "3 m/s"]


CHANGED = [
    ("Find x.", "So x is minus 7."), ("Find x.", "So x is the square root of 7."), ("Find x.", "So x is 7 squared."),
    ("Find x.", "The answer is the cube root of 7."), ("Find x.", "There are 7 thousand."),
    ("求x", "所以x等于负7。"), ("求x", "所以x等于7的平方。"), ("求x", "一共有7百个。"),
    ("x를 구하시오.", "따라서 x는 마이너스 7이다."), ("x를 구하시오.", "따라서 x는 7의 제곱근이다."),
    ("Trouve x.", "La réponse est la racine carrée de 7."), ("x は？", "答えはマイナス7です。"),
    ("Find the radius.", "The diameter is 7."), ("求面积", "周长为7"), ("반지름을 구하시오.", "지름은 7이다."),
    ("Find x.", "y = 7"), ("Find x.", r"\boxed{y = 7}"), ("Find f'(1).", "f(1) = 7"), ("Find P(A).", "P(B) = 7"),
    ("Find a_5.", "a_4 = 7"), ("Find ∠A.", r"\angle B = 7"), ("Find AB.", "AC = 7"),
    ("Find x.", '{"answer": 7 or 8}'), ("Find x.", r'{"answer": 7\pi}'),
]  # fmt: skip
"""A word makes another number of it, or it is the value of another quantity."""
KEPT = [
    ("Find x.", "So x is exactly 7."),
    ("Find AB.", "BA = 7"),
    ("Find ∠A.", r"\angle A = 7"),
    ("Find x.", "x = 7"),
    ("Find the radius of the circle.", "The radius is 7."),
    ("Find θ.", r"\theta = 7"),
    ("What is 6 + 1?", "[[7]]"),
    ("How many boxes are left?", "So 7 boxes are left."),
    ("Find x.", '{"answer": 7}'),
]


@pytest.mark.parametrize(("put", "text"), CHANGED)
def test_the_number_of_another_value_is_no_answer(put: str, text: str) -> None:
    asked = question("short_answer", answer=["7"], question=put)
    assert mark(asked, *extract(text, asked, "stop").answers).correct is not True


@pytest.mark.parametrize(("put", "text"), KEPT)
def test_the_number_of_this_value_is_the_answer(put: str, text: str) -> None:
    asked = question("short_answer", answer=["7"], question=put)
    assert mark(asked, *extract(text, asked, "stop").answers).correct is True


def test_long_texts_take_no_time() -> None:
    for text in ("1" * 100_000, "so " * 50_000 + "1", "the total is 1, " * 20_000, "1,111" * 20_000):
        with within(1):
            assert sentence_value(text) is None


RULED = [
    f"{label}\n{sign}\n18\n{sign}" for label in ("Answer:", "FINAL ANSWER:", "答案：") for sign in ("---", "===", '"""')
]
TWO_THINGS = [
    ("How old is Tom?", "Tom is 17 years old, and his sister is 23."), ("What is x?", "x is 5 and y is 7."),
    ("What is the smaller root?", "The smaller root is 2 and the larger root is 5."),
    ("Who commanded Apollo 11?", "The Apollo 11 mission was commanded by Neil Armstrong."),
]  # fmt: skip
LEFT_OUT = ["Therefore, we can eliminate (D).", "So we rule out (D).", "所以排除(D)。"]


@pytest.mark.parametrize("text", RULED)
def test_a_rule_behind_a_label_is_no_answer(text: str) -> None:
    assert extract(text, question("short_answer", question="How many?"), "stop").answers == ["18"]


@pytest.mark.parametrize(("prompt", "text"), TWO_THINGS)
def test_a_number_of_another_thing_is_left_open(prompt: str, text: str) -> None:
    put = question("short_answer", language="en", question=prompt)
    for key in ("5", "7", "23", "11", "2"):
        answers = extract(text, put, "stop").answers
        assert mark(put.model_copy(update={"answer": [key]}), *answers).correct is None


@pytest.mark.parametrize("text", LEFT_OUT)
def test_a_bracket_behind_a_verb_is_no_blank_of_the_stem(text: str) -> None:
    put = question("single_choice", question="Which colour?", options=options("red", "green", "blue", "white"))
    answers = extract(text, put, "stop").answers
    assert mark(put.model_copy(update={"answer": ["D"]}), *answers).correct is not True
