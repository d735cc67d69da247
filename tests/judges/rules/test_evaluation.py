"""Values at a point by plain arithmetic: never another than sympy's own, or none."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.latex import parse
from livek12.judges.rules.values import MAX_BITS, TooBig, Unsupported, evaluate, value_of

X = sympy.Symbol("x")
EXPRESSIONS = [
    "x^2-2x+1", r"\frac{x+1}{x-3}", r"\sqrt{x^2+1}", r"\sin x\cos 2x", r"\ln|x|", "e^{-x^2}", r"\arctan x", "|x-1|",
    "x^{1/3}",
    r"\sin^2 x+\cos^2 x-1", r"\lfloor x \rfloor", r"\binom{7}{3}x", "5!x", r"\log_2(x^2+1)", r"\tan x", "(-1)^x",
    "i x",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
@given(st.fractions(min_value=-5, max_value=5, max_denominator=50))
def test_is_what_sympy_says(text: str, number: object) -> None:
    expr = value_of(parse(text)).expr
    point = {X: sympy.Rational(str(number))}
    mine = evaluate(expr, point)
    if mine is not None:
        theirs = sympy.N(expr.subs(point), 30)
        exactly = sympy.Float(mine.real, 30) + sympy.I * sympy.Float(mine.imag, 30)
        assert abs(exactly - theirs) <= sympy.Float("1e-20") * (1 + abs(theirs))


def test_what_is_too_big_is_refused_before_it_is_computed() -> None:
    with pytest.raises(Unsupported):
        value_of(parse("e^{e^{e^{9}}}"))
    with pytest.raises(OverflowError):
        evaluate(value_of(parse("e^{e^{e^{e^x}}}")).expr, {X: sympy.Integer(9)})


@pytest.mark.parametrize(
    ("power", "refused"),
    [
        (f"2^{{{MAX_BITS // 2}}}", None),  # two bits a factor
        (f"2^{{{MAX_BITS // 2 + 1}}}", TooBig),
        (f"2^{{-{MAX_BITS // 2}}}", None),
        (f"2^{{-{MAX_BITS // 2 + 1}}}", Unsupported),
        (f"2^{{{MAX_BITS // 2 + 1}/2}}", None),
        (rf"(\frac{{1}}{{4}})^{{{MAX_BITS // 3}}}", None),
        (rf"(\frac{{1}}{{4}})^{{{MAX_BITS // 3 + 1}}}", Unsupported),
    ],
)
def test_a_power_has_so_many_bits_at_most(power: str, refused: type[Unsupported] | None) -> None:
    if refused is None:
        value_of(parse(power))
        return
    with pytest.raises(Unsupported) as caught:
        value_of(parse(power))
    assert type(caught.value) is refused


def test_cancellation_is_left_to_sympy() -> None:
    assert evaluate(sympy.sin(X) ** 2 + sympy.cos(X) ** 2 - 1, {X: sympy.Rational(1, 3)}) is None
