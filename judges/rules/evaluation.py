"""The value of a sympy expression at a point, by plain mpmath arithmetic: many times faster than `evalf`.

Contract: `evaluate` returns a number good to at least 25 digits, or None where it cannot promise that (cancellation,
an unknown function, a value that does not exist); the caller then asks `evalf`. What would be too big to hold raises
OverflowError, and must not be asked of `evalf`. Worker only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import sympy

DIGITS = 50
LOST = mpmath.mpf("1e-22")
"""A sum this much smaller than its terms has lost too many digits."""
BIG = mpmath.mpf("1e5")
"""No exponent, and no argument of exp or a factorial, beyond this."""
Expr = Any

_CONSTANTS: dict[Any, Callable[[], Any]] = {
    sympy.pi: lambda: mpmath.pi + 0,
    sympy.E: lambda: mpmath.e + 0,
    sympy.I: lambda: mpmath.mpc(0, 1),
}
_FUNCTIONS: dict[Any, Callable[[Any], Any]] = {
    sympy.sin: mpmath.sin, sympy.cos: mpmath.cos, sympy.tan: mpmath.tan, sympy.cot: mpmath.cot,
    sympy.sec: mpmath.sec, sympy.csc: mpmath.csc, sympy.sinh: mpmath.sinh, sympy.cosh: mpmath.cosh,
    sympy.tanh: mpmath.tanh, sympy.coth: mpmath.coth, sympy.asin: mpmath.asin, sympy.acos: mpmath.acos,
    sympy.atan: mpmath.atan, sympy.asinh: mpmath.asinh, sympy.acosh: mpmath.acosh, sympy.atanh: mpmath.atanh,
    sympy.log: mpmath.log, sympy.Abs: abs, sympy.factorial: mpmath.factorial,
    sympy.floor: lambda value: mpmath.floor(_between(value)), sympy.ceiling: lambda value: mpmath.ceil(_between(value)),
}  # fmt: skip
_GROWING = {sympy.exp, sympy.sinh, sympy.cosh, sympy.factorial, sympy.sin, sympy.cos, sympy.tan}


class _Unsure(Exception):
    """No promise."""


def evaluate(expr: Expr, point: Mapping[Expr, Expr], digits: int = DIGITS) -> Any:
    """A number (mpf or mpc), good to all but half of DIGITS of its `digits`, or None.

    With more than DIGITS digits, a sum of which nothing is left in nine tenths of them is 0.

    Raises:
        OverflowError: a value on the way is too big.
    """
    with mpmath.workdps(digits):
        try:
            return _value(expr, point)
        except OverflowError:
            raise
        except (_Unsure, ArithmeticError, ValueError, TypeError, NotImplementedError):
            return None


def _value(expr: Expr, point: Mapping[Expr, Expr]) -> Any:
    if expr.is_Symbol:
        if expr not in point:
            raise _Unsure
        expr = point[expr]
    if expr.is_Rational:
        return mpmath.mpf(expr.p) / expr.q
    if expr in _CONSTANTS:
        return _CONSTANTS[expr]()
    if expr.is_Add:
        return _sum([_value(part, point) for part in expr.args])
    if expr.is_Mul:
        product = mpmath.mpf(1)
        for part in expr.args:
            product = product * _value(part, point)
        return product
    if isinstance(expr, sympy.exp):
        return mpmath.exp(_small(_value(expr.args[0], point)))
    if expr.is_Pow:
        return _power(_value(expr.base, point), expr.exp, point)
    if isinstance(expr, sympy.Max | sympy.Min):
        values = [_value(part, point) for part in expr.args]
        if any(mpmath.im(value) != 0 for value in values):
            raise _Unsure
        return max(values) if isinstance(expr, sympy.Max) else min(values)
    function = _FUNCTIONS.get(expr.func)
    if function is None or len(expr.args) != 1:
        raise _Unsure
    argument = _value(expr.args[0], point)
    value = function(_small(argument) if expr.func in _GROWING else argument)
    if not mpmath.isfinite(value):
        raise _Unsure
    return value


def _sum(terms: list[Any]) -> Any:
    total = mpmath.fsum(terms)
    size = max(abs(term) for term in terms)
    if abs(total) <= LOST * size:
        if mpmath.mp.dps <= DIGITS or abs(total) > size * mpmath.mpf(10) ** (-9 * mpmath.mp.dps // 10):
            raise _Unsure
        return mpmath.mpf(0)
    return total


def _power(base: Any, exponent: Expr, point: Mapping[Expr, Expr]) -> Any:
    if exponent.is_Integer:
        if abs(int(exponent)) > BIG:
            raise OverflowError
        return base ** int(exponent)
    if exponent == sympy.S.Half:
        return mpmath.sqrt(base)
    return mpmath.power(base, _small(_value(exponent, point)))


def _between(value: Any) -> Any:
    """A real number that is plainly no whole one: at those a rounding rest would decide."""
    if mpmath.im(value) != 0 or abs(value - mpmath.nint(value)) < LOST * (1 + abs(value)):
        raise _Unsure
    return mpmath.re(value)


def _small(value: Any) -> Any:
    if abs(value) > BIG:
        raise OverflowError
    return value
