"""Intervals, unions, set-builders and inequalities in one variable, as regions of the line. Worker only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from livek12.judges.expressions import Value, affine, value_of
from livek12.judges.reader import Node
from livek12.judges.trees import NOT_SCALAR, has_sign

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class Span:
    """One interval of a region."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True)
class Region:
    """Some intervals, and the variable of the inequality they come from, if any."""

    spans: tuple[Span, ...]
    variable: str | None = None


def region_of(node: Node) -> Region | None:
    """The region that a tree is; None when it is none. A pair in round brackets counts as an open interval."""
    if node[0] == "interval" or (node[0] == "tuple" and len(node[1]) == 2):
        ends = node[1:3] if node[0] == "interval" else node[1]
        closed = node[3:5] if node[0] == "interval" else [False, False]
        if any(has_sign(end) or end[0] in NOT_SCALAR for end in ends):
            return None
        return Region((Span(value_of(ends[0]), value_of(ends[1]), *closed),))
    if node[0] == "union":
        return _joined([_points(part) or region_of(part) for part in node[1]])
    if node[0] == "list" and node[1] == "or":
        return _joined([region_of(part) for part in node[2]])
    if node[0] == "builder":
        inner = region_of(node[1])
        return Region(inner.spans) if inner else None
    if node == ["const", "reals"]:
        return Region((_line(None, None, "<", "<"),))
    return _solved(node) if node[0] == "rel" and "=" not in node[1] else None


def _joined(parts: list[Region | None]) -> Region | None:
    known = [part for part in parts if part is not None]
    variables = {part.variable for part in known}
    if len(known) < len(parts) or len(variables) != 1:
        return None
    return Region(tuple(span for part in known for span in part.spans), variables.pop())


def _points(node: Node) -> Region | None:
    """A finite set within a union."""
    if node[0] != "set" or any(has_sign(entry) or entry[0] in NOT_SCALAR for entry in node[1]):
        return None
    return Region(tuple(Span(value, value, True, True) for value in map(value_of, node[1])))


def _line(low: Value | None, high: Value | None, low_operator: str, high_operator: str) -> Span:
    ends = [low or Value(-sympy.oo, -sympy.oo), high or Value(sympy.oo, sympy.oo)]
    return Span(ends[0], ends[1], low_operator.endswith("="), high_operator.endswith("="))


def _solved(node: Node) -> Region | None:
    """The region of an inequality in one variable that stands alone or linearly."""
    operators, sides = node[1], [value_of(side) for side in node[2]]
    if len(sides) == 3:
        return _between(operators, sides)
    if len(sides) != 2:
        return None
    operator = operators[0]
    bound = _isolate(sides[0].expr, sides[1])
    if bound is None:
        bound, operator = _isolate(sides[1].expr, sides[0]), _FLIPPED[operator]
    if bound is None:
        return None
    value, flipped, variable = bound
    operator = _FLIPPED[operator] if flipped else operator
    if operator == "!=":
        return Region((_line(None, value, "<", "<"), _line(value, None, "<", "<")), variable)
    span = _line(None, value, "<", operator) if operator[0] == "<" else _line(value, None, operator, "<")
    return Region((span,), variable)


def _between(operators: list[str], sides: list[Value]) -> Region | None:
    """The region of low < x < high, or of high > x > low."""
    if operators[0][0] != operators[1][0] or "!=" in operators:
        return None
    if operators[0][0] == ">":
        sides, operators = sides[::-1], [_FLIPPED[operator] for operator in operators[::-1]]
    low, high = _isolate(sides[1].expr, sides[0]), _isolate(sides[1].expr, sides[2])
    if low is None or high is None or low[1] or high[1]:
        return None
    return Region((_line(low[0], high[0], operators[0], operators[1]),), low[2])


def _isolate(side: Any, other: Value) -> tuple[Value, bool, str] | None:
    """What the variable of one side is compared with, whether the relation turns round, and the variable."""
    if isinstance(side, sympy.MatrixBase) or other.is_matrix or side.free_symbols & other.expr.free_symbols:
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
