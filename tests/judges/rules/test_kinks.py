"""Two formulas that agree near 0 and part further out are never taken for one; what is equal everywhere still is."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.judges.rules.algebra import Comparer
from livek12.judges.rules.kinks import arguments, kinks_of
from livek12.judges.rules.latex import parse

NOT_EQUAL = r"""
|x-20| @ 20-x
20-x @ |x-20|
\ln|x+10| @ \ln(x+10)
y=\ln|x+10| @ y=\ln(x+10)
f(x)=|x-20| @ f(x)=20-x
\sqrt{(t-60)^2} @ 60-t
\sqrt[4]{(x-9)^4} @ 9-x
|x^2-100| @ 100-x^2
|x-10^6| @ 10^6-x
|n-1000| @ 1000-n
|a-20|+|b-20| @ 40-a-b
\sqrt{(a-b-50)^2} @ 50-a+b
\frac{|x-20|}{x-20}+x @ x-1
e^{\ln|x-20|} @ 20-x
|2^x-1000| @ 1000-2^x
||x-20|-30| @ ||x-20|-30|+|x-40|-40+x
|\sin x-0.999| @ 0.999-\sin x
x+\lfloor\frac{x}{100}\rfloor-\lfloor\frac{x}{101}\rfloor @ x
\lfloor x\rfloor @ \lfloor x+10^{-9}\rfloor
\lfloor\frac{n}{100}\rfloor+n @ n
\lceil\frac{x}{50}\rceil+x @ x+1
\arcsin(\sin\frac{x}{100}) @ \frac{x}{100}
\arctan(\tan\frac{x}{100}) @ \frac{x}{100}
\arccos(\cos\frac{x}{100}) @ |\frac{x}{100}|
|\cos(10^{-6}x)| @ \cos(10^{-6}x)
|\sin\frac{x}{1000}|+x @ \sin\frac{x}{1000}+x
|x-10^{12}| @ 10^{12}-x
x+\lfloor\frac{n}{5000}\rfloor @ x+0n
|a-20|+b+c+d+e @ 20-a+b+c+d+e
|xy| @ xy
\sqrt{x^2y^2} @ xy
\ln|x+10|+y @ \ln(x+10)+y
|z|^2 @ z^2
|x-20|=5 @ 20-x=5
\sqrt{(x-60)^2}>y @ 60-x>y
y<|x-60| @ y<60-x
\sqrt{x^2} @ x
\ln|x+10|+C @ \ln(x+10)+C
b+c @ b+c+1
x+c @ x-c
A+C @ A+C+1
\sqrt{1-\sin^2 x} @ \cos x
(-1)^n @ (-1)^{n(n-1)/2}
"""
EQUAL = r"""
|x-20| @ |20-x|
\sqrt{(t-60)^2} @ |t-60|
\ln(x^2+1) @ \ln(1+x^2)
|x|^2 @ x^2
|xy| @ |x||y|
|x-20|+|x-30| @ |30-x|+|20-x|
\frac{|x-2|}{3} @ |\frac{x-2}{3}|
\sqrt{4x+80} @ 2\sqrt{x+20}
\ln(x-30)+\ln 2 @ \ln(2x-60)
\sqrt{1-\sin^2 x} @ |\cos x|
\ln e^x @ x
\ln(x^2 y) @ 2\ln x+\ln y
\sqrt{\frac{2gh(M+m)}{m}} @ \sqrt{2gh(1+\frac{M}{m})}
e^{x+1} @ e\cdot e^x
\lfloor x+100\rfloor @ \lfloor x\rfloor+100
\frac{x^2-400}{x-20} @ x+20
(-1)^n @ \cos(n\pi)
\arctan x+\frac{\pi}{4} @ \frac{\pi}{4}+\arctan x
\frac{1}{2}\ln|x|+C @ \frac12\ln|2x|+C
\sin^2 x+C @ -\cos^2 x+c
2|x-20|=10 @ |x-20|=5
\binom{n+1}{2} @ \frac{n^2+n}{2}
"""


def lines(table: str) -> list[tuple[str, str]]:
    return [(line.partition(" @ ")[0], line.partition(" @ ")[2]) for line in table.strip().splitlines()]


def said(gold: str, answer: str) -> str:
    return Comparer().compare(parse(gold), parse(answer))[0]


@pytest.mark.parametrize(("gold", "answer"), lines(NOT_EQUAL))
def test_what_parts_behind_a_kink_is_not_accepted(gold: str, answer: str) -> None:
    assert said(gold, answer) != "accept"
    assert said(answer, gold) != "accept"


@pytest.mark.parametrize(("gold", "answer"), lines(EQUAL))
def test_what_is_equal_on_all_sides_is_accepted(gold: str, answer: str) -> None:
    assert said(gold, answer) == "accept"


@given(
    st.integers(5, 10**7),
    st.sampled_from(["x", "t", "a", "n"]),
    st.integers(1, 9),
    st.sampled_from([r"|{}|", r"\sqrt{{({})^2}}"]),
)
@settings(max_examples=20, deadline=None)
def test_an_absolute_value_is_no_straight_line(place: int, name: str, slope: int, form: str) -> None:
    inner = f"{slope}{name}-{place}"
    assert said(form.format(inner), f"{place}-{slope}{name}") != "accept"
    assert said(form.format(inner), inner) != "accept"
    assert said(form.format(inner), f"|{place}-{slope}{name}|") == "accept"


def test_kinks_are_found_wherever_they_lie() -> None:
    x = sympy.Symbol("x")
    cases = [
        (sympy.Abs(x - 10**6), [10**6]),
        (sympy.log(x**2 - 9), [-3, 3]),
        (sympy.Abs(2**x - 1024), [10]),
        (sympy.Abs(sympy.log(x) - 5), [148.4131591]),
    ]
    for expr, wanted in cases:
        found = kinks_of(x, {x: sympy.Integer(0)}, arguments(expr))
        assert all(any(abs(kink - place) < 1e-4 * abs(place) for kink in found) for place in wanted), expr
