"""Families a·k + b over all whole k, and their unions, as sets of progressions. Worker only."""

from __future__ import annotations

from typing import Any

import sympy

from livek12.judges.base import Outcome
from livek12.judges.rules.expressions import affine, at
from livek12.judges.rules.kinks import WHOLE_NAMES
from livek12.judges.rules.nodes import Node
from livek12.judges.rules.values import Unsupported, value_of

Said = tuple[Outcome, str]
_WHOLE = sympy.Float("1e-12")
MAX_CLASSES = 60


def is_periodic(expr: Any, parameter: Any) -> bool:
    """Whether an expression is a·k + b with a rational multiple of π for a: the solutions of a periodic equation."""
    line = affine(expr, parameter)
    return line is not None and (line[0] / sympy.pi).is_Rational is True


def shifted(gold: Any, answer: Any, parameter: Any) -> Said:
    """Two single families: the same set when the steps agree and the offsets differ by whole steps."""
    first, second = affine(gold, parameter), affine(answer, parameter)
    if first is None or second is None:
        return "undecided", "families"
    step, offset = at(second[0] / first[0], {}), at((second[1] - first[1]) / first[0], {})
    if step is None or offset is None or step[1] != 0 or offset[1] != 0:
        return "undecided", "families"
    if abs(abs(step[0]) - 1) > _WHOLE:
        return "reject", "a family with another step"
    if abs(offset[0] - round(offset[0])) < _WHOLE:
        return "accept", "the same family"
    return "reject", "another family"


def same_families(golds: list[Node], answers: list[Node]) -> Said | None:
    """Two unions of families; None where they are not all families with steps in a rational proportion."""
    try:
        lines = [[_line(node) for node in nodes] for nodes in (golds, answers)]
    except Unsupported:
        return None
    known = [[line for line in side if line is not None] for side in lines]
    if any(len(found) < len(side) for found, side in zip(known, lines, strict=True)):
        return None
    unit = known[0][0][0]
    ratios = [sympy.nsimplify(sympy.simplify(line[0] / unit)) for side in known for line in side]
    if not all(ratio.is_Rational and ratio != 0 for ratio in ratios):
        return None
    period = sympy.ilcm(*[abs(ratio.p) for ratio in ratios]) / sympy.Integer(sympy.igcd(*[ratio.q for ratio in ratios]))
    classes = []
    for side in known:
        found: set[Any] = set()
        for slope, constant in side:
            ratio = abs(sympy.nsimplify(sympy.simplify(slope / unit)))
            count = period / ratio
            if not count.is_Integer or count > MAX_CLASSES:
                return None
            found |= {_residue(constant / unit + ratio * index, period) for index in range(int(count))}
        classes.append(found)
    if any(None in side for side in classes):
        return None
    return ("accept", "the same families") if classes[0] == classes[1] else ("reject", "other families")


def _line(node: Node) -> tuple[Any, Any] | None:
    expr = value_of(node).expr
    names = [name for name in expr.free_symbols if str(name) in WHOLE_NAMES]
    if len(names) != 1 or len(expr.free_symbols) != 1:
        return None
    return affine(expr, names[0])


def _residue(offset: Any, period: Any) -> Any:
    """An offset within one period, as text to 12 digits; None where it is no real number."""
    number = at(offset / period, {})
    if number is None or number[1] != 0:
        return None
    part = number[0] - sympy.floor(number[0] + _WHOLE)
    return str(sympy.Float(abs(part), 20).round(12))
