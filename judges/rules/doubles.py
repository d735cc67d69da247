"""Values in double precision with a bound of their relative error. Worker only.

A quick look before the many digits of `values`: functions, complex values and cancellation that have no bound here
raise ArithmeticError or ValueError, and are left to `values.evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sympy

Expr = Any
Names = tuple[Expr, ...]
Bounded = tuple[float, float]
"""A value and its relative error."""
Function = Callable[[Sequence[float]], Bounded]
Functions = tuple[Function, Function]
ROUNDING = 2.0**-52
SMALLEST = 1e-290
CLOSE, APART = 1e-11, 1e-8
"""Relative differences of equal and of different values; in between more digits decide."""


def functions_of(left: Expr, right: Expr, names: Names) -> Functions | None:
    """The functions of two expressions; None where one has no bound."""
    try:
        return _function(left, names), _function(right, names)
    except (ArithmeticError, ValueError):
        return None


def same_value(functions: Functions, point: Sequence[float]) -> bool | None:
    """Compares two real functions at a point; None where doubles do not tell."""
    try:
        (first, first_error), (second, second_error) = (function(point) for function in functions)
    except (ArithmeticError, ValueError):
        return None
    scale, apart = max(abs(first), abs(second)), abs(first - second)
    if not math.isfinite(scale) or first_error * abs(first) + second_error * abs(second) > CLOSE * scale:
        return None
    return True if apart <= CLOSE * scale else False if apart > APART * scale else None


@lru_cache(maxsize=512)
def _function(expr: Expr, names: Names) -> Function:
    if expr.is_Symbol and expr.is_commutative:
        place = names.index(expr)
        return lambda point: (point[place], ROUNDING)
    if expr.is_Rational or expr in (sympy.pi, sympy.E):
        constant = (float(expr), ROUNDING)
        return lambda _: constant
    parts = [_function(part, names) for part in expr.args]
    if expr.is_Add:
        return lambda point: _sum([part(point) for part in parts])
    if expr.is_Mul:
        return lambda point: _product([part(point) for part in parts])
    if expr.is_Pow and expr.exp.is_Integer:
        base, power = parts[0], int(expr.exp)
        return lambda point: _of_size((part := base(point))[0] ** power, abs(power) * (part[1] + ROUNDING))
    if expr.is_Pow:
        base, exponent = parts
        return lambda point: _power(base(point), exponent(point))
    if expr.func not in _FUNCTIONS:
        raise ArithmeticError
    function, condition = _FUNCTIONS[expr.func]
    return lambda point: _applied(function, condition, *parts[0](point))


def _sum(terms: Sequence[Bounded]) -> Bounded:
    total = math.fsum(value for value, _ in terms)
    return total, sum(abs(value) * error for value, error in terms) / abs(total) + ROUNDING


def _product(factors: Sequence[Bounded]) -> Bounded:
    product = 1.0
    errors = 0.0
    for value, error in factors:
        product *= value
        errors += error + ROUNDING
    return _of_size(product, errors)


def _power(base: Bounded, exponent: Bounded) -> Bounded:
    size = abs(exponent[0])
    return _of_size(math.pow(base[0], exponent[0]), size * (base[1] + abs(math.log(base[0])) * exponent[1]) + ROUNDING)


def _of_size(value: float, error: float) -> Bounded:
    if abs(value) < SMALLEST:
        raise ArithmeticError
    return value, error


def _applied(function: Callable[[float], float], condition: _Condition, value: float, error: float) -> Bounded:
    result = function(value)
    return _of_size(result, condition(value, result) * error + ROUNDING)


_Condition = Callable[[float, float], float]
"""The relative change of a result by that of its argument, at most."""
_FUNCTIONS: dict[Any, tuple[Callable[[float], float], _Condition]] = {
    sympy.exp: (math.exp, lambda value, _: abs(value)),
    sympy.sin: (math.sin, lambda value, result: abs(value / result)),
    sympy.cos: (math.cos, lambda value, result: abs(value / result)),
    sympy.log: (math.log, lambda _, result: 1 / abs(result)),
    sympy.Abs: (abs, lambda *_: 1.0),
}
