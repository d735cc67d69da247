"""Kinks: places where an expression may change its formula, and points on all their sides. Worker only.

Kinks (of |u|, floors, signs, roots, logarithms, inverse functions) are zeros, steps or ends of u in one
variable, the others fixed. Polynomials are solved; anything else is searched on a bounded grid.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath
import sympy

from livek12.core.patterns import late
from livek12.judges.rules.values import evaluate

Expr = Any
Point = Mapping[Expr, Expr]
MAX_ROOTS, MAX_DIPS, MAX_KINKS, MAX_DEGREE, MAX_ARGUMENTS, MAX_SYMBOLS = 8, 6, 16, 8, 12, 4
_TOUCHES = 1e-9
SEARCHED_TURNS = 2
"""Of several symbols, kinks that no polynomial gives are searched for so many values of the others."""
WHOLE_NAMES = frozenset({"k", "l", "m", "n", "N"})
_STEPPED = (sympy.floor, sympy.ceiling)
_BOUNDED = (sympy.asin, sympy.acos, sympy.acosh, sympy.atanh)
_SINGLE = (sympy.Abs, sympy.sign, sympy.log)
_STEPS = (0, 1, -1, 2, -2)
_COMPLEX = late(r"[zwZ](?:_\w+)?|omega")
_FAR = (17.3, -23.7, 129.1, -171.9, 2017.3, -4031.9, 100003.7, -310021.3, 2.1e7, -3.3e9)
_FAR_WHOLE = (12, 37, 100, 101, 1000, 1003)
_BASES = ((0.05, 0.95), (1.1, 4.0), (-3.0, -0.2), (30.0, 400.0), (-500.0, -30.0))


def arguments(expr: Expr) -> list[Expr]:
    """Expressions whose zeros are kinks of another, innermost first."""
    seen: dict[Expr, None] = {}
    for part in sympy.postorder_traversal(expr):
        for zero in _zeros_of(part):
            seen.update(dict.fromkeys(factor for factor in _factors(zero) if factor.free_symbols))
        if len(seen) >= MAX_ARGUMENTS:
            break
    return list(seen)


def _factors(expr: Expr) -> list[Expr]:
    parts = expr.args if expr.is_Mul else (expr,)
    return [part.base if part.is_Pow and part.base.free_symbols else part for part in parts]


def _zeros_of(part: Expr) -> list[Expr]:
    if isinstance(part, _SINGLE) or (part.is_Pow and not part.exp.is_Integer):
        return [part.args[0]]
    if isinstance(part, _STEPPED):
        return [part.args[0] - step for step in _STEPS]
    if isinstance(part, _BOUNDED):
        return [part.args[0] - 1, part.args[0] + 1]
    if isinstance(part, sympy.atan | sympy.acot):
        return [1 / part.args[0], part.args[0]]
    return []


def has_kinks(*exprs: Expr) -> bool:
    """Checks for several formulas in one expression."""
    return any(arguments(expr) for expr in exprs)


@dataclass(frozen=True)
class KinkSide:
    """Points between two kinks, or beyond the last.

    Attributes:
        points: at least one must be evaluated if `needed`.
        of_sign: the only kink is 0, for one of several (as a rule positive) symbols.
    """

    points: Sequence[Point]
    needed: bool = False
    of_sign: bool = False


@dataclass(frozen=True)
class Further:
    """Points far from 0, on each side of each kink, and complex ones."""

    far: Sequence[Point]
    sides: Sequence[KinkSide]
    complex: Sequence[Point]


def further(left: Expr, right: Expr, search: bool = True) -> Further:
    """Points for a second comparison, the same in every process."""
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    zeros = list(dict.fromkeys([*arguments(left), *arguments(right)]))[:MAX_ARGUMENTS]
    draw = random.Random(20260322)
    sides: list[KinkSide] = []
    if zeros and len(symbols) <= MAX_SYMBOLS:
        for turn, (low, high) in enumerate(_BASES[: 1 if len(symbols) == 1 else None]):
            base = {name: _rational(draw.uniform(low, high)) for name in symbols}
            for symbol in symbols:
                sides += _around(symbol, base, zeros, search and turn < SEARCHED_TURNS)
    imaginary = any(
        _is_complex(name) for side in (left, right) for part in side.atoms(sympy.Abs) for name in part.free_symbols
    )
    far = [point for point in _far(symbols, draw) if not _is_kink(point, zeros)]
    return Further(far, sides, list(_complex(symbols, draw)) if imaginary else [])


def _is_kink(point: Point, zeros: Sequence[Expr]) -> bool:
    whole = any(value.is_Integer for value in point.values())
    return whole and any(zero.xreplace(dict(point)) == 0 for zero in zeros)


def _far(symbols: Sequence[Expr], draw: random.Random) -> Iterator[Point]:
    for size in _FAR:
        yield {name: _rational(size * draw.uniform(0.7, 1.4)) for name in symbols}
    if any(str(name) in WHOLE_NAMES for name in symbols):
        for size in (*range(1, 12), *_FAR_WHOLE):
            yield {
                name: sympy.Integer(size + 3 * index) if str(name) in WHOLE_NAMES else _rational(draw.uniform(1.1, 4))
                for index, name in enumerate(symbols)
            }


def _complex(symbols: Sequence[Expr], draw: random.Random) -> Iterator[Point]:
    for _ in range(3):
        yield {
            name: _rational(draw.uniform(-3, 3)) + int(_is_complex(name)) * _rational(draw.uniform(0.5, 3)) * sympy.I
            for name in symbols
        }


def _is_complex(name: Expr) -> bool:
    return _COMPLEX.fullmatch(str(name)) is not None


def _around(symbol: Expr, base: Point, zeros: Sequence[Expr], search: bool) -> list[KinkSide]:
    kinks = kinks_of(symbol, base, zeros, search)
    if not kinks:
        return []
    low, high = kinks[0], kinks[-1]
    places = [[low - 1e-3 * (1 + abs(low)), low - 0.5, low - 3 - abs(low)]]
    places += [[(first + two) / 2, first + (two - first) / 7] for first, two in pairwise(kinks)]
    places += [[high + 1e-3 * (1 + abs(high)), high + 0.5, high + 3 + abs(high)]]
    of_sign = len(base) > 1 and low == high == 0
    sides = [KinkSide([{**base, symbol: _rational(place)} for place in side], True, of_sign) for side in places]
    if str(symbol) in WHOLE_NAMES:
        whole = {round(place) for side in places for place in side if abs(place) < 10**9}
        points = [{**base, symbol: sympy.Integer(number)} for number in sorted(whole)]
        sides += [KinkSide([point]) for point in points if not _is_kink(point, zeros)]
    return sides


def kinks_of(symbol: Expr, base: Point, zeros: Sequence[Expr], search: bool = True) -> list[float]:
    """Ascending real zeros in one symbol; of too many those nearest 0."""
    fixed = {name: value for name, value in base.items() if name != symbol}
    found: list[float] = []
    for zero in zeros:
        if symbol not in zero.free_symbols:
            continue
        section = zero.xreplace(fixed)
        roots = _polynomial_roots(section, symbol)
        if roots is None:
            roots = _searched(section, symbol, found) if search else []
        found += roots
    distinct: list[float] = []
    for value in sorted(found):
        if not distinct or value - distinct[-1] > 1e-11 * (1 + abs(value)):
            distinct.append(value)
    return sorted(sorted(distinct, key=abs)[:MAX_KINKS])


def _polynomial_roots(section: Expr, symbol: Expr) -> list[float] | None:
    if section.has(sympy.Abs, *_STEPPED) or section.count_ops() > 200:
        return None
    top, bottom = section.as_numer_denom()
    if not (top.is_polynomial(symbol) and bottom.is_polynomial(symbol)):
        return None
    roots: list[float] = []
    for part in (top, bottom):
        try:
            poly = sympy.Poly(part, symbol)
            if all(number.is_Rational for number in poly.all_coeffs()):
                poly = poly.sqf_part()
            if poly.degree() > MAX_DEGREE:
                return None
            with mpmath.workdps(30):
                numbers = [mpmath.mpmathify(c.evalf(30)) for c in poly.all_coeffs()]
                found = mpmath.polyroots(numbers, maxsteps=100, extraprec=100) if poly.degree() > 0 else []
        except (ValueError, TypeError, ArithmeticError, sympy.PolynomialError, mpmath.libmp.NoConvergence):
            return None
        roots += [float(root.real) for root in found if abs(root.imag) <= 1e-6 * (1 + abs(root.real))]
    return roots


_GRID = sorted(
    {
        *(float(number) for number in range(-40, 41)),
        *(sign * 10 ** (power / 6) for sign in (1, -1) for power in range(-18, 55)),
    }
)


def _searched(section: Expr, symbol: Expr, kinks: Sequence[float]) -> list[float]:
    """Zeros on a grid around 0 and known kinks: sign changes and dips."""
    places = sorted({*_GRID, *(kink + step for kink in kinks for step in (-1, -0.01, 0.01, 1))})
    samples = [(place, _real(section, symbol, place)) for place in places]
    values = [(place, value) for place, value in samples if value is not None]
    roots: list[float] = []
    for (low, first), (high, two) in sorted(pairwise(values), key=lambda pair: abs(pair[0][0])):
        if len(roots) >= MAX_ROOTS:
            break
        if math.isnan(first) != math.isnan(two):
            roots.append(_border(section, symbol, low, high, real=math.isnan(two)))
        elif (first < 0) != (two < 0):
            roots.append(_bisected(section, symbol, low, high, first < 0))
    real = [(place, value) for place, value in values if not math.isnan(value)]
    dips = [
        (low[0], high[0], middle[1] < 0)
        for low, middle, high in zip(real, real[1:], real[2:], strict=False)
        if middle[0] not in kinks and _is_dip(low[1], middle[1], high[1])
    ]
    for low, high, below in sorted(dips, key=lambda dip: abs(dip[0]))[:MAX_DIPS]:
        roots += _dip(section, symbol, low, high, below)
    return sorted(roots, key=abs)[:MAX_ROOTS]


def _is_dip(low: float, middle: float, high: float) -> bool:
    return (low < 0) == (middle < 0) == (high < 0) and abs(middle) < abs(low) and abs(middle) <= abs(high)


def _dip(section: Expr, symbol: Expr, low: float, high: float, below: bool) -> list[float]:
    left, right = low, high
    value: float | None
    for _ in range(30):
        first, second = left + (right - left) / 3, right - (right - left) / 3
        one, two = _real(section, symbol, first), _real(section, symbol, second)
        if one is None or two is None or math.isnan(one) or math.isnan(two):
            return []
        for place, value in ((first, one), (second, two)):
            if (value < 0) != below:
                ends = _bisected(section, symbol, low, place, below), _bisected(section, symbol, place, high, not below)
                return list(ends)
        left, right = (left, second) if abs(one) < abs(two) else (first, right)
    value = _real(section, symbol, (left + right) / 2)
    return [(left + right) / 2] if value is not None and abs(value) < _TOUCHES else []


def _bisected(section: Expr, symbol: Expr, low: float, high: float, below: bool) -> float:
    for _ in range(40):
        middle = (low + high) / 2
        value = _real(section, symbol, middle)
        if value is None:
            break
        low, high = (middle, high) if (value < 0) == below else (low, middle)
    return (low + high) / 2


def _border(section: Expr, symbol: Expr, low: float, high: float, real: bool) -> float:
    for _ in range(40):
        middle = (low + high) / 2
        value = _real(section, symbol, middle)
        inside = value is None or not math.isnan(value)
        low, high = (middle, high) if inside == real else (low, middle)
    return (low + high) / 2


def _real(section: Expr, symbol: Expr, place: float) -> float | None:
    """A float, NaN where not real, None where undecidable."""
    try:
        value = evaluate(section, {symbol: _rational(place)}, 20)
    except OverflowError:
        return None
    if value is None:
        return None
    return float(mpmath.re(value)) if abs(mpmath.im(value)) <= 1e-12 * abs(value) else math.nan


def _rational(value: float) -> Expr:
    return sympy.Rational(f"{value:.15e}")
