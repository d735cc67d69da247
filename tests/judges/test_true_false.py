"""Truth values in three languages."""

from __future__ import annotations

import pytest

from tests.judges.helpers import outcome


@pytest.mark.parametrize("gold", ["对", "√", "True", "맞다", "正确", "T"])
@pytest.mark.parametrize("answer", ["对", "√", "true", "○", "是", "正确。", "Yes", "참", r"\text{True}", "正确，因为…"])
def test_true_is_true(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "true_false") == "accept"
    assert outcome("×", answer, "true_false") == "reject"


@pytest.mark.parametrize("answer", ["错", "×", "False", "不正确", "틀리다", "거짓", "No", "F", "错误（理由如下）"])
def test_false_is_false(answer: str) -> None:
    assert outcome("错误", answer, "true_false") == "accept"
    assert outcome("√", answer, "true_false") == "reject"


@pytest.mark.parametrize("answer", ["也许", "5", "not sure", "正确 and 错误", "no solution exists", ""])
def test_anything_else_is_not_decided(answer: str) -> None:
    assert outcome("对", answer, "true_false") == "undecided"


def test_signs_are_truth_values_only_where_truth_is_asked() -> None:
    assert outcome("x", "F", "short_answer") == "undecided"
    assert outcome("true", "True", "short_answer") == "accept"
