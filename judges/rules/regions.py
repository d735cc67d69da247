"""Intervals, unions, set-builders and inequalities in one variable, as regions of the line. Worker only.

With numeric ends, regions are disjoint ascending spans. Inequalities of rational functions are solved (|u| and a number
are squared); `solved` marks regions written as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import sympy

from livek12.judges.rules.expressions import affine, at, is_small
from livek12.judges.rules.trees import NOT_SCALAR, Node, has_sign
from livek12.judges.rules.values import Unsupported, Value, value_of

FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
MAX_DEGREE = 6
MAX_ENDS = 24
_REALS: Node = ["const", "reals"]
_SAME_END = sympy.Float("1e-20")
_INFINITE = Value(sympy.oo, sympy.oo)
_MINUS_INFINITE = Value(-sympy.oo, -sympy.oo)


@dataclass(frozen=True)
class LineSpan:
    """One interval; a point is closed on both sides."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True)
class Region:
    """Intervals, the inequality's variable, if any, and whether written as a region."""

    spans: tuple[LineSpan, ...]
    variable: str | None = None
    solved: bool = True


def region_of(node: Node) -> Region | None:
    """The region of a tree; a pair in round brackets is an open interval."""
    region = _region_of(node)
    return replace(region, spans=_normal(region.spans)) if region else None


def _region_of(node: Node) -> Region | None:
    if node[0] == "interval" or (node[0] == "tuple" and len(node[1]) == 2):
        ends = node[1:3] if node[0] == "interval" else node[1]
        closed = node[3:5] if node[0] == "interval" else [False, False]
        if any(has_sign(end) or end[0] in NOT_SCALAR for end in ends):
            return None
        return Region((LineSpan(value_of(ends[0]), value_of(ends[1]), *closed),))
    if node[0] == "union":
        return _joined([_points(part) or _region_of(part) for part in node[1]])
    if node[0] == "list":
        return _listed(node)
    if node[0] == "builder":
        inner = _region_of(node[1])
        return replace(inner, variable=None) if inner else None
    if node[0] == "without" or (node[0] == "add" and node[1][0] == _REALS):
        return _without(node)
    if node == _REALS:
        return Region((LineSpan(_MINUS_INFINITE, _INFINITE, False, False),))
    return _of_relation(node) if node[0] == "rel" and "=" not in node[1] else None


def _listed(node: Node) -> Region | None:
    kind, parts = node[1], node[2]
    if kind == "or":
        return _joined([_region_of(part) for part in parts])
    if not all(part[0] == "rel" and "=" not in part[1] for part in parts):
        return None
    if kind == "and" or any("!=" in part[1] for part in parts):
        regions = [_of_relation(part) for part in parts]
        present = [region for region in regions if region is not None]
        return _meeting(present) if len(present) == len(parts) else None
    return None


def _joined(parts: list[Region | None]) -> Region | None:
    present = [part for part in parts if part is not None]
    variables = {part.variable for part in present}
    if len(present) < len(parts) or len(variables) != 1:
        return None
    spans = tuple(span for part in present for span in part.spans)
    return Region(spans, variables.pop(), all(part.solved for part in present))


def _without(node: Node) -> Region | None:
    if node[0] == "add":
        if len(node[1]) != 2 or node[1][1][0] != "neg" or node[1][1][1][0] != "set":
            return None
        node = ["without", _REALS, node[1][1][1]]
    left = _REALS if node[1] == ["sym", "R"] else node[1]
    right = node[2] if node[2][0] in NOT_SCALAR else ["set", [node[2]]]
    base, holes = _region_of(left), _points(right) or _region_of(right)
    if base is None or holes is None:
        return None
    spans: list[LineSpan] = []
    low, closed = _MINUS_INFINITE, False
    for span in _normal(holes.spans):
        if span.low.expr != -sympy.oo:
            spans.append(LineSpan(low, span.low, closed, not span.low_closed))
        low, closed = span.high, not span.high_closed
    if low.expr != sympy.oo:
        spans.append(LineSpan(low, _INFINITE, closed, False))
    return _meeting([base, Region(tuple(spans), base.variable)]) if spans else None


def _points(node: Node) -> Region | None:
    if node[0] != "set" or any(has_sign(entry) or entry[0] in NOT_SCALAR for entry in node[1]):
        return None
    return Region(tuple(LineSpan(value, value, True, True) for value in map(value_of, node[1])))


# --- inequalities -------------------------------------------------------------------------------------------------


def _of_relation(node: Node) -> Region | None:
    operators, sides = node[1], [value_of(side) for side in node[2]]
    if any(side.is_matrix for side in sides) or len(sides) > 3:
        return None
    steps = [
        _isolated(sides[i], operators[i], sides[i + 1]) or _solved(sides[i], operators[i], sides[i + 1])
        for i in range(len(operators))
    ]
    present = [step for step in steps if step is not None]
    if len(present) < len(steps):
        return None
    if len(present) == 1:
        return present[0]
    if operators[0][0] != operators[1][0] or "!=" in operators:
        return None
    return _meeting(present) or _between(present)


def _isolated(left: Value, operator: str, right: Value) -> Region | None:
    bound = _isolate(left.expr, right)
    if bound is None:
        bound, operator = _isolate(right.expr, left), FLIPPED[operator]
    if bound is None:
        return None
    value, flipped, variable = bound
    return Region(_ray(FLIPPED[operator] if flipped else operator, value), variable)


def _ray(operator: str, end: Value) -> tuple[LineSpan, ...]:
    low = LineSpan(_MINUS_INFINITE, end, False, operator == "<=")
    high = LineSpan(end, _INFINITE, operator == ">=", False)
    return {"<": (low,), ">": (high,), "!": (low, high)}[operator[0]]


def _isolate(side: Any, other: Value) -> tuple[Value, bool, str] | None:
    if side.free_symbols & other.expr.free_symbols:
        return None
    if side.is_Symbol:
        return other, False, str(side)
    if len(side.free_symbols) != 1:
        return None
    variable = next(iter(side.free_symbols))
    line = affine(side, variable)
    if line is None or not line[0].is_number or not line[0].is_real:
        return None
    solved = (other.expr - line[1]) / line[0]
    return Value(solved, solved, loose=other.loose), bool(line[0] < 0), str(variable)


def _solved(left: Value, operator: str, right: Value) -> Region | None:
    difference = left.expr - right.expr
    if len(difference.free_symbols) != 1 or left.loose or right.loose:
        return None
    symbol = next(iter(difference.free_symbols))
    sides = [left.expr, right.expr]
    for index, side in enumerate(sides):
        if isinstance(side, sympy.Abs) and sides[1 - index].is_nonnegative:
            difference = (sides[0] ** 2).subs(sympy.Abs(side.args[0]), side.args[0]) - (sides[1] ** 2).subs(
                sympy.Abs(side.args[0]), side.args[0]
            )
    if not is_small(difference):
        return None
    top, bottom = sympy.fraction(sympy.together(difference))
    if not (top.is_polynomial(symbol) and bottom.is_polynomial(symbol)):
        return None
    polys = [sympy.Poly(part, symbol) for part in (top, bottom)]
    if any(poly.degree() > MAX_DEGREE or not all(c.is_number and c.is_real for c in poly.coeffs()) for poly in polys):
        return None
    roots, poles = ([Value(root, root) for root in _real_roots(poly)] for poly in polys)
    quotient = top / bottom

    def inside(point: Any) -> bool:
        return _holds(operator, quotient.subs(symbol, point))

    closed = operator.endswith("=") and operator != "!="
    spans = _between_ends([*roots, *poles], inside)
    points = [LineSpan(root, root, True, True) for root in roots] if closed else []
    free = [span for span in spans if span.low is not span.high]
    kept = tuple(_normal((*free, *[one for one in points if not any(_order(one.low, pole) == 0 for pole in poles)])))
    return Region(kept, str(symbol), solved=False) if kept else None


def _real_roots(poly: Any) -> list[Any]:
    if poly.degree() <= 0:
        return []
    roots = sympy.roots(poly, quartics=False)
    if sum(roots.values()) == poly.degree():
        return [root for root in roots if (at(root, {}) or (0, 1))[1] == 0]
    if all(coefficient.is_Rational for coefficient in poly.coeffs()):
        return list(dict.fromkeys(sympy.real_roots(poly)))
    raise Unsupported("roots")


def _holds(operator: str, value: Any) -> bool:
    number = at(value, {})
    if number is None or number[1] != 0:
        raise Unsupported("an inequality without a sign")
    return bool(number[0] != 0) if operator == "!=" else bool(number[0] < 0) == (operator[0] == "<")


def _between_ends(ends: list[Value], inside: Callable[[Any], bool]) -> tuple[LineSpan, ...]:
    ordered = _sorted(ends)
    if not ordered:
        return (LineSpan(_MINUS_INFINITE, _INFINITE, False, False),) if inside(sympy.Integer(0)) else ()
    numbers = [sympy.Rational(str(_number(end).round(12))) for end in ordered]
    tests = [numbers[0] - 1, *((a + b) / 2 for a, b in pairwise(numbers)), numbers[-1] + 1]
    borders = [_MINUS_INFINITE, *ordered, _INFINITE]
    return tuple(LineSpan(borders[i], borders[i + 1], False, False) for i, test in enumerate(tests) if inside(test))


# --- order and normal form ----------------------------------------------------------------------------------------


def _number(end: Value) -> Any:
    if end.expr.is_infinite:
        return end.expr
    number = None if end.expr.free_symbols else at(end.expr, {})
    if number is None or number[1] != 0:
        raise Unsupported("an end that is no number")
    return number[0]


def _order(first: Value, second: Value) -> int:
    if first.expr == second.expr:
        return 0
    one, two = _number(first), _number(second)
    if abs(one) != sympy.oo and abs(two) != sympy.oo and abs(one - two) <= _SAME_END * (1 + abs(one)):
        return 0
    return -1 if one < two else 1


def _sorted(ends: list[Value]) -> list[Value]:
    if len(ends) > MAX_ENDS:
        raise Unsupported("too many ends")
    ordered: list[Value] = []
    for end in sorted(ends, key=cmp_to_key(_order)):
        if not ordered or _order(ordered[-1], end) != 0:
            ordered.append(end)
    return ordered


def _by_low(first: LineSpan, two: LineSpan) -> int:
    return _order(first.low, two.low) or two.low_closed - first.low_closed


def _by_high(first: LineSpan, two: LineSpan) -> int:
    return _order(first.high, two.high) or first.high_closed - two.high_closed


def _normal(spans: tuple[LineSpan, ...]) -> tuple[LineSpan, ...]:
    if len(spans) < 2:
        return spans
    try:
        ordered = sorted(spans, key=cmp_to_key(_by_low))
        merged = [ordered[0]]
        for span in ordered[1:]:
            last = merged[-1]
            gap = _order(span.low, last.high)
            if gap > 0 or (gap == 0 and not (span.low_closed or last.high_closed)):
                merged.append(span)
                continue
            beyond = _order(span.high, last.high)
            if beyond > 0:
                merged[-1] = replace(last, high=span.high, high_closed=span.high_closed)
            elif beyond == 0:
                merged[-1] = replace(last, high_closed=last.high_closed or span.high_closed)
        return tuple(merged)
    except Unsupported:
        return spans


def _meeting(regions: list[Region]) -> Region | None:
    variables = {region.variable for region in regions}
    if len(variables) != 1:
        return None
    spans = list(_normal(regions[0].spans))
    try:
        for region in regions[1:]:
            spans = [both for span in spans for two in region.spans if (both := _common(span, two))]
    except Unsupported:
        return None
    return Region(tuple(spans), variables.pop(), all(region.solved for region in regions)) if spans else None


def _common(first: LineSpan, two: LineSpan) -> LineSpan | None:
    low, high = max((first, two), key=cmp_to_key(_by_low)), min((first, two), key=cmp_to_key(_by_high))
    apart = _order(low.low, high.high)
    if apart > 0 or (apart == 0 and not (low.low_closed and high.high_closed)):
        return None
    return LineSpan(low.low, high.high, low.low_closed, high.high_closed)


def _between(rays: list[Region]) -> Region | None:
    if rays[0].variable != rays[1].variable or any(len(ray.spans) != 1 for ray in rays):
        return None
    first, second = rays[0].spans[0], rays[1].spans[0]
    if first.low.expr == -sympy.oo:
        first, second = second, first
    if first.high.expr != sympy.oo or second.low.expr != -sympy.oo:
        return None
    return Region((LineSpan(first.low, second.high, first.low_closed, second.high_closed),), rays[0].variable)


def is_numeric(region: Region) -> bool:
    """Checks whether all ends are numbers."""
    return not any(end.expr.free_symbols for span in region.spans for end in (span.low, span.high))
