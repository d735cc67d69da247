"""What names no answer is wrong beside a plain key, and open beside a key in words, which may be that very phrase."""

from __future__ import annotations

import pytest

from livek12.judges.rules.refusal import is_given_up
from tests.judges.helpers import options, outcome
from tests.seconds import within

GIVEN_UP = [
    "I don't know", "I'm sorry, I don't know the answer.", "I really cannot tell.", "(see above)", "no answer here",
    "我不知道。",
    "抱歉，我无法回答这个问题。", "모르겠습니다.", "답을 알 수 없습니다.", r"\boxed{}", "[No answer]", "...",
    "I am unable to solve this problem.", "Let me see: 3+4 is 7.\n\nI don't know.",
]  # fmt: skip
PHRASES = ["cannot be determined", "It cannot be determined.", "无法确定", "不存在", "does not exist", "None",
           "unknown", "Not enough information to answer.", "존재하지 않는다"]  # fmt: skip


@pytest.mark.parametrize("answer", GIVEN_UP)
def test_no_answer(answer: str) -> None:
    assert outcome("9", answer) == outcome("0", answer) == outcome("x^2", answer) == "reject"
    assert outcome("B", answer, "single_choice", options=tuple(options("1", "2", "3"))) == "reject"
    assert outcome("the author does not know", answer) == "undecided"


@pytest.mark.parametrize("answer", PHRASES)
def test_what_may_be_an_answer(answer: str) -> None:
    assert outcome("9", answer) == "reject"
    assert outcome("B", answer, "single_choice", options=tuple(options("1", "2", "3"))) == "reject"
    assert outcome("B", answer, "single_choice", options=tuple(options("1", "2", "不能确定"))) != "accept"
    assert outcome("B", answer, "single_choice") == "undecided", "an option may say so"
    assert outcome("0", answer) == outcome("indefinite", answer) == "undecided"
    assert outcome(answer, answer) == "accept"


@pytest.mark.parametrize(
    "answer",
    ["I don't know, maybe 9.", "I don't know. 9?", "9\nI don't know.", "I cannot find more than 9", "none but 9"],
)
def test_more_is_said(answer: str) -> None:
    assert outcome("9", answer) != "reject"


def test_long_words_take_no_time() -> None:
    for answer in ("I can't" + " the answer" * 9_000 + " x", "I cannot" + " tell the" * 15 + "!", "sorry " * 9_000):
        with within(2):
            assert outcome("nine lives", answer) == "undecided"


@pytest.mark.parametrize("answer", ["", " ", "x^2+" * 90 + "1", "d = " + r"\frac{1}{2}" * 40, "word " * 400])
def test_what_is_long_or_empty_is_no_refusal(answer: str) -> None:
    assert not is_given_up(answer)
