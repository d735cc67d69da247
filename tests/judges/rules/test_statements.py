"""Answers in prose or in several statements, and relations beside values."""

from __future__ import annotations

import pytest

from tests.judges.rules.test_symbolic import outcome

OTHER_STATEMENTS = [
    (r"\frac{B_0 R^2}{2a}", r"\text{(a)}~\text{The field } \mathbf{B} \text{ complies with Maxwell's equations}"),
    (r"h = 3.59 \times 10^4 \text{ km}",
     r"\begin{aligned} &\text{Height } h \approx 22078\,\text{km}, \\ &D = 11\,\text{m} \end{aligned}"),
    (r"\lambda_2 = 5000 \, \text{Å}, \text{ green}", r"667 \text{ nm}"),
    (r"W = 460 \, \text{W/m}^2", r"W \approx ..."),
    (r"E = \frac{Q}{4\pi r^2} \quad (r > R)", r"\frac{Q r}{4\pi R^3}"),
    ("v > 3", "2"), (r"R \le 150 \text{ km}", r"19 \text{ km}"), (r"t \to \infty", "188"),
    (r"c = \frac{\Delta}{kT} e^{-\Delta/kT}", r"c = \frac{\Delta}{kT} e^{-2\Delta/kT}"),
    (r"C = \frac{\pi}{\ln(2b/a)}", r"\frac{2\pi\epsilon_0}{\ln(b/a)}"),
    (r"A e^{-\gamma t}", r"\frac{3 A k_1}{2 b_2}"), (r"L^2 = 2\hbar^2", "0"), ("E_0 = 2 a b", r"E_n^{max} = 3 a b^2"),
    (r"8.64 \times 10^{-26} \text{ Am}^2", r"5.76 \times 10^{22} \text{ Am}^2"),
]  # fmt: skip
OPEN = [
    ("It rises.", "The balloon goes up."), ("5 m", "5 widgets per second"), ("[3, 5]", "3, 5"), ("0", "It vanishes."),
    ("(2,3)", "The other vertex is (5, 3)."), (r"4.5 \text{ gob}", r"3360 \text{ W}"), ("5", "3 for n=1, 5 for n=2"),
    ("v > 3", "3"), (r"r = \sqrt{GM/d^3}", r"r = \sqrt{G(m_1 + m_2)/d^3}"), (r"\cos(mc^2t/\hbar)", r"\cos(mt)"),
    (r"4a^2 \frac{\sin^2 u}{u^2}", r"4a^2 \frac{\sin^2(kd/2)}{(kd/2)^2}"), ("n < 3", "n_m = 2"),
    (r"\ddot{x} + 2gx/a = 0", r"x = A\cos(\sqrt{2g/a} t)"),
    ("3.5", "x vaut 35"), ("a+b", "La somme de trois nombres"),
    (r"\sin(kd/2)", r"\sin(\pi d/\lambda)"), (r"\int_0^1 f(x) dx", r"\int_0^2 f(x) dx"),
]  # fmt: skip
EQUAL = [
    (r"d = \sqrt{\frac{2}{a b}}", r"d = \sqrt{\frac{2}{ab}}\;[m]"), ("a m", "a [m]"),
    (r"\exp(k_1 x), \quad \text{where } k_1 = \sqrt{2m}", r"e^{\sqrt{2m} x}"),
    (r"\frac{C}{p} \int p \, dx", r"\frac{C \int p dx}{p}"),
    (r"L^2 = 2\hbar^2", r"2\hbar^2"), (r"P = x^4/(1+x)^4, \text{ where } x = e^{-t}", r"(\frac{x}{1+x})^4"),
    (r"\phi_0 \left\{ \frac{R}{r} + 1 \right\}", r"\phi_0 (1 + R/r)"), ("I \\propto 2x", "I \\propto 2 x"),
    (r"\frac{\hslash}{2}", r"\frac{\hbar}{2}"), (r"d = 4260 \, \overset{\circ}{A}", r"426 \text{ nm}"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), OTHER_STATEMENTS)
def test_statements_that_are_not_the_key_are_rejected(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), OPEN)
def test_statements_that_may_be_the_key_are_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_notation_of_one_formula_is_equal(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"
