"""Truth values in three languages."""

from __future__ import annotations

import pytest

from tests.judges.helpers import decide, outcome


@pytest.mark.parametrize("gold", ["对", "√", "True", "맞다", "正确", "T"])
@pytest.mark.parametrize("answer", ["对", "√", "true", "○", "是", "正确。", "Yes", "참", r"\text{True}", "正确，因为…"])
def test_true_is_true(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "true_false") == "accept"
    assert outcome("×", answer, "true_false") == "reject"


@pytest.mark.parametrize("answer", ["错", "×", "False", "不正确", "틀리다", "거짓", "No", "F", "错误（理由如下）"])
def test_false_is_false(answer: str) -> None:
    assert outcome("错误", answer, "true_false") == "accept"
    assert outcome("√", answer, "true_false") == "reject"


SENTENCES = [
    ("The statement is not true.", False),
    ("the claim isn't correct", False),
    ("It is true", True),
    ("该命题为真", True),
    ("为假", False),
    ("真命题", True),
    ("这句话是错的", False),
    ("该说法是不正确的", False),
    ("说法正确", True),
    ("참이다", True),
    ("거짓입니다", False),
    ("옳지 않다", False),
    ("맞지 않다", False),
    ("이 진술은 참이다", True),
    ("(√)", True),
    ("成立", True),
    ("不成立", False),
    ("It's true.", True),
    ("This is a true statement", True),
    ("The claim is accurate.", True),
    ("It is indeed true", True),
    ("此说法无误", True),
    ("说法没有错误", True),
    ("该说法完全正确", True),
    ("属实", True),
    ("맞는 설명입니다", True),
    ("올바른 설명입니다", True),
    ("참인 명제이다", True),
    ("This is a false statement.", False),
    ("It is not a true statement.", False),
    ("That's wrong", False),
    ("cannot be true", False),
    ("No, it is not.", False),
    ("False, when x=0 it fails", False),
    ("此说法有误", False),
    ("这是错误的说法", False),
    ("题目说法不准确", False),
    ("错误，若x=0则不成立", False),
    ("틀린 설명입니다", False),
    ("옳지 않은 설명이다", False),
    ("맞는 설명이 아닙니다", False),
    ("사실이 아니다", False),
    ("잘못된 설명입니다", False),
]


@pytest.mark.parametrize(("answer", "value"), SENTENCES)
def test_whole_sentences(answer: str, value: bool) -> None:
    assert outcome("正确" if value else "错误", answer, "true_false") == "accept"
    assert outcome("错误" if value else "正确", answer, "true_false") == "reject"


@pytest.mark.parametrize(
    "answer",
    [
        "The statement is not false.",
        "并非错误",
        "不是不正确",
        "true only if x>0",
        "The answer is correct.",
        "正确性",
        "틀리지 않다",
        "It is not an untrue statement",
        "cannot be false",
        "not entirely true",
        "It is sometimes true",
        "True, but only if x>0",
        "True. Actually, false.",
        "Yes, it is not true",
        "No, it is not false",
        "No. Yes.",
        "不完全正确",
        "部分正确",
        "不一定正确",
        "并非没有错误",
        "不是有误",
        "正确，但仅当x>0时",
        "正确（当x>0时）",
        "正确吗",
        "거짓이 아니다",
        "틀린 설명이 아니다",
        "맞지 않는 설명이 아니다",
        "참일 수도 있다",
        "대체로 맞다",
    ],
)
def test_what_is_negated_twice_or_conditional_is_not_decided(answer: str) -> None:
    for gold in ("正确", "错误"):
        assert outcome(gold, answer, "true_false") == "undecided"


@pytest.mark.parametrize("answer", ["也许", "5", "not sure", "正确 and 错误", "no solution exists", ""])
def test_anything_else_is_not_decided(answer: str) -> None:
    assert outcome("对", answer, "true_false") == "undecided"


def test_signs_are_truth_values_only_where_truth_is_asked() -> None:
    assert decide("x", "F", "short_answer").by != "true_false"
    assert outcome("true", "True", "short_answer") == "accept"
