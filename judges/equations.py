"""Whether two equations, or an equation and an expression, say the same. Worker only.

Equations are equal when their two sides differ by a constant factor, or when both, solved for one variable, agree.
They differ when points that satisfy the one do not satisfy the other.
"""

from __future__ import annotations

from typing import Any

import sympy

from livek12.judges.base import Outcome
from livek12.judges.expressions import (
    ENOUGH,
    Unsupported,
    Value,
    affine,
    agree,
    at,
    equal,
    one_is_real,
    points,
    value_of,
)
from livek12.judges.reader import Node

Said = tuple[Outcome, str]
MAX_DEGREE = 6
_ON_THE_CURVE = sympy.Float("1e-6")


def as_equation(node: Node) -> Node:
    """A named value as an equation.

    Raises:
        Unsupported: the name is no expression.
    """
    if node[0] != "named":
        return node
    if node[2] is None:
        raise Unsupported("a name that is no expression")
    return ["rel", ["="], [node[2], node[3]]]


def compare_equations(gold: Node, answer: Node) -> Said:
    """Two relations with one equals sign each."""
    if gold[1] != ["="] or answer[1] != ["="]:
        return "undecided", "an equation beside an inequality"
    left, right = _difference(gold), _difference(answer)
    if _factor(left, right) is not None:
        return "accept", "the same equation"
    if left.free_symbols != right.free_symbols:
        return "undecided", "other symbols"
    for symbol in sorted(left.free_symbols, key=str):
        line = affine(left, symbol)
        if line is not None:
            rest = right.xreplace({symbol: -line[1] / line[0]})
            outcome = agree(rest, sympy.Integer(0))[0]
            if outcome == "accept" and affine(right, symbol) is not None:
                return "accept", "the same equation when solved"
            return ("reject", _OFF) if outcome == "reject" else ("undecided", "equations")
    return _off_the_curve(left, right)


_OFF = "it does not hold where the key does"


def same_inequality(gold: Node, answer: Node) -> bool:
    """Whether two relations with the same sign differ by a positive factor."""
    factor = _factor(_difference(gold), _difference(answer))
    return factor is not None and bool(factor > 0)


def equation_and_value(equation: Node, other: Node) -> Said:
    """A key that is an equation linear in a variable, whose value in the others the answer may be."""
    if equation[1] != ["="]:
        return "undecided", "a relation beside a value"
    left, right = _difference(equation), value_of(other)
    for symbol in sorted(left.free_symbols - right.expr.free_symbols, key=str):
        line = affine(left, symbol)
        if line is not None and right.expr.free_symbols:
            solved = -line[1] / line[0]
            if equal(Value(solved, solved), right)[0] == "accept":
                return "accept", "the equation solved"
    return "undecided", "an equation beside a value"


def _difference(node: Node) -> Any:
    sides = [value_of(side).expr for side in node[2]]
    if len(sides) != 2 or any(isinstance(side, sympy.MatrixBase) for side in sides):
        raise Unsupported("a chain of relations")
    return sides[0] - sides[1]


def _factor(left: Any, right: Any) -> Any:
    """The constant factor between two expressions; None when there is none."""
    if left.free_symbols != right.free_symbols or not left.free_symbols:
        return None
    found: list[Any] = []
    for point in points(left.free_symbols):
        first, second = at(left, point), at(right, point)
        if first is not None and second is not None and one_is_real(first, second, point):
            return None
        if first is None or second is None or first[1] != 0 or second[1] != 0 or 0 in (first[0], second[0]):
            continue
        found.append(second[0] / first[0])
        if abs(found[-1] - found[0]) > sympy.Float("1e-12") * abs(found[0]):
            return None
    return found[0] if len(found) >= ENOUGH else None


def _off_the_curve(left: Any, right: Any) -> Said:
    """Whether real points of the curve left = 0 are not on right = 0."""
    symbol = min(left.free_symbols, key=str, default=None)
    off = 0
    for point in points(left.free_symbols) if symbol is not None else ():
        section = left.xreplace({name: value for name, value in point.items() if name != symbol})
        if not section.is_polynomial(symbol) or sympy.degree(section, symbol) > MAX_DEGREE:
            return "undecided", "equations"
        for root in sympy.Poly(section, symbol).nroots(n=30):
            value = at(right, {**point, symbol: root}) if root.is_real else None
            if value is not None and abs(value[0]) < _ON_THE_CURVE:
                return "undecided", "equations with common points"
            off += value is not None
    return ("reject", _OFF) if off >= ENOUGH else ("undecided", "equations")
