"""Pairs that all but agree, and units or per cent that the question decides about."""

from __future__ import annotations

import pytest

from livek12.tasks.extraction import extract
from tests.judges.helpers import mark, outcome, question

SAME = r"""
10^{50} @ 10^{25}\cdot10^{25}
2^{100}-1 @ (2^{50}-1)(2^{50}+1)
100! @ 100\cdot 99!
e^{100} @ (e^{50})^2
1-(\frac{1}{2})^{n+60} @ 1-2^{-n-60}
10^{30}x @ x\cdot10^{30}
(x+1)^{50} @ (1+x)^{50}
\sin^2 x+\cos^2 x @ 1
a+b\approx 2c @ a+b\approx 2c
v=gt=at @ v=gt=at
z=1+1=2 @ z=3-1=2
\begin{vmatrix}1&2\\3&4\end{vmatrix} @ -2
\begin{pmatrix}1\\2\\3\end{pmatrix} @ (1,2,3)
(3,1) @ 3,1
1, 2 @ Maximum = 2, Minimum = 1
x\in\mathbb{R} @ (-\infty,\infty)
ㄱ, ㄷ @ ㄷ, ㄱ
ㄱ, ㄷ @ ㄱㄷ
②③ @ 2, 3
\Omega @ $\Omega$
8 @ = 8
8 @ ∴ 8
"""
OTHER = r"""
10^{50} @ 10^{50}+1
2^{100}-1 @ 2^{100}
100! @ 100!+1
1-\frac{1}{2^{100}} @ 1
e^{100} @ e^{100}+1
\sqrt{10^{20}+1} @ 10^{10}
\ln(10^{30}+1) @ 30\ln10
a+b\approx 2c @ a+b\approx 3c
\begin{pmatrix}1&0\\0&1\end{pmatrix} @ (1,0,0,1)
\begin{pmatrix}1&0\\0&1\end{pmatrix} @ \begin{pmatrix}0&1\\1&0\end{pmatrix}
\begin{vmatrix}1&2\\3&4\end{vmatrix} @ 10
②③ @ 1, 2
ㄱ, ㄷ @ ㄱ, ㄴ
"""
NOT_ACCEPTED = r"""
10^{30}x @ 10^{30}x+1
x+10^{-20} @ x
\tanh(x+50) @ 1
1-(\frac{1}{2})^{n+60} @ 1
2^{100}x=1 @ (2^{100}+1)x=1
T=(\frac{S}{4s})^{1/4}=\sqrt{\frac{R}{2d}}K @ T=(\frac{S}{4s})^{1/5}=\sqrt{\frac{R}{2d}}K
\begin{vmatrix}1&2\\3&4\end{vmatrix} @ \begin{pmatrix}1&2\\3&4\end{pmatrix}
\begin{pmatrix}1&0\\0&1\end{pmatrix} @ \begin{Vmatrix}1&0\\0&1\end{Vmatrix}
(0,1) @ 0,1
1, 2 @ Maximum = 1, Minimum = 2
②③ @ (3,2)
\Omega @ \omega
\Delta U @ \delta U
NO @ No
32349 @ 32, 349
"""


def lines(table: str) -> list[tuple[str, ...]]:
    return [tuple(line.split(" @ ")) for line in table.strip().splitlines()]


@pytest.mark.parametrize(("gold", "answer"), lines(SAME))
def test_what_is_the_same_is_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "accept"


@pytest.mark.parametrize(("gold", "answer"), lines(OTHER))
def test_what_all_but_agrees_is_rejected(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "reject"


@pytest.mark.parametrize(("gold", "answer"), lines(NOT_ACCEPTED))
def test_what_may_differ_is_not_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") != "accept"


ASKED = [
    ("What percentage of the pupils are girls?", "42", "42%", True),
    ("占总数的百分之几？", "42", "42％", True),
    ("女生占____%。", "42", "42%", True),
    ("What percentage of the pupils are girls?", "42", "43%", False),
    ("How many pupils are girls?", "42", "42%", None),
    ("How many newtons?", "0.64N", "0.64", True),
    ("拉力F（N）为____", "0.64N", "0.64", None),
    ("Find the force.", "0.64N", "0.64", False),
]


@pytest.mark.parametrize(("text", "gold", "answer", "right"), ASKED)
def test_the_question_decides_about_units(text: str, gold: str, answer: str, right: bool | None) -> None:
    assert mark(question(question=text, answer=[gold]), answer).correct is right


def test_a_printed_unit_may_be_left_out() -> None:
    assert outcome("5 m/s", "5", "fill_in_blank", unit="m/s") == "accept"
    assert outcome("5 m/s", "6", "fill_in_blank", unit="m/s") == "reject"


@pytest.mark.parametrize(
    ("response", "right"), [("$13.45$ m", True), ("所以速度为 $13.45$ m。", True), ("$13.45$ s", False)]
)
def test_a_unit_behind_a_formula_belongs_to_the_answer(response: str, right: bool) -> None:
    asked = question(answer=["13.45 m"])
    assert mark(asked, *extract(response, asked, "stop").answers).correct is right
