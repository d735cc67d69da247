"""Doubles: their bound holds against many digits, and what has no bound is left to those."""

from __future__ import annotations

from random import Random

import pytest
import sympy

from livek12.judges.rules.doubles import CLOSE, functions_of, same_value
from livek12.judges.rules.values import evaluate

NAMES = tuple(sympy.symbols("x y"))
X, Y = NAMES


def _tree(draw: Random, depth: int) -> sympy.Expr:
    if depth == 0:
        return draw.choice([X, Y, sympy.pi, sympy.Rational(draw.randint(1, 9), draw.randint(1, 9))])
    left, right = _tree(draw, depth - 1), _tree(draw, depth - 1)
    whole = sympy.Integer(draw.randint(-3, 3))
    return draw.choice(
        [left + right, left - right, left * right, left**whole, sympy.sqrt(left), sympy.sin(left), sympy.cos(left),
         sympy.log(left), sympy.exp(-left), sympy.Abs(left - right)]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_holds(seed: int) -> None:
    draw = Random(seed)
    expr = _tree(draw, 3)
    functions = functions_of(expr, expr, NAMES)
    assert functions is None or expr.free_symbols <= set(NAMES)
    for _ in range(10 if functions else 0):
        point = (draw.uniform(0.1, 3), draw.uniform(0.1, 3))
        try:
            value, error = functions[0](point) if functions else (0.0, 0.0)
        except (ArithmeticError, ValueError):
            continue
        exact = evaluate(expr, dict(zip(NAMES, map(sympy.Rational, point), strict=True)))
        if error <= CLOSE and exact is not None:
            assert abs(value - exact) <= 4 * max(error, 2**-52) * abs(value)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ((X + Y) ** 2, X**2 + 2 * X * Y + Y**2, True),
        (X + Y, X - Y, False),
        (X, X + sympy.Rational(1, 10**9), None),
        ((X + 1) ** 2 - X**2 - 2 * X - 1 + Y / 10**13, Y / 10**13, None),
        (sympy.exp(-(10**4) * X), Y, None),
        (sympy.gamma(X), Y, "no functions"),
        (sympy.I * X, Y, "no functions"),
        (sympy.Symbol("A", commutative=False), Y, "no functions"),
    ],
)
def test_what_doubles_do_not_tell_is_left_open(left: sympy.Expr, right: sympy.Expr, same: bool | str | None) -> None:
    functions = functions_of(sympy.sympify(left), right, NAMES)
    assert (same_value(functions, (0.7, 0.3)) if functions else "no functions") == same
