"""Text normal forms accept what reads the same and nothing else."""

from __future__ import annotations

import pytest

from livek12.judges.text import normal_form
from tests.judges.helpers import outcome


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("取代反应", "取代反应。"), ("负极、正极", "负极，正极"), (r"\text{Evelyn}", "evelyn"),
        ("H₂O", r"$\mathrm{H_2O}$"), ("Ｎa", "Na"),
        ("黑刺：白刺 $=1:1$", "黑刺:白刺=1:1"), ("红光和蓝紫光", "红光 和 蓝紫光"),
        (r"3\text{Co}^{2+}", r"3\mathrm{Co}^{2+}"),
        ("분자 결정", "분자 결정."), ("**增大**", "增大"), ("ＡＢ型", "AB型"), ("Odd", "odd"),
    ],
)  # fmt: skip
def test_the_same_in_other_dress(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "accept"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("AaBb", "AABB"), ("Aabb", "aabb"), ("CO", "Co"), ("①②", "12"), ("x²", "x_2"), (r"\frac{1}{23}x!",
        r"\frac{12}{3}x!"),
        ("减小", "增大"), ("y'", "y"), (">0", "0"), ("Fe²⁺", "Fe³⁺"), ("10_2 base", "102 base"), ("5!", "5"), ("23号",
        "2*3号"),
    ],
)  # fmt: skip
def test_what_differs_is_never_accepted(gold: str, answer: str) -> None:
    assert normal_form(gold) != normal_form(answer)
    assert outcome(gold, answer, "fill_in_blank") != "accept"
