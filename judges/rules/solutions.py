"""Families of solutions: a·k + b over whole k, and combinations with arbitrary constants. Worker only.

Solutions of a differential equation are equal if the functions behind their constants span one space and their
constant-free parts differ by a member of it: C₁eˣ + C₂e⁻ˣ is A cosh x + B sinh x.
"""

from __future__ import annotations

from typing import Any

import mpmath
import sympy

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.expressions import VARIABLES, affine, at, points
from livek12.judges.rules.kinks import WHOLE_NAMES
from livek12.judges.rules.trees import Node
from livek12.judges.rules.values import Unsupported, value_of

Said = tuple[Outcome, str]
_WHOLE = sympy.Float("1e-12")
MAX_CLASSES = 60


def is_periodic(expr: Any, parameter: Any) -> bool:
    """Checks for a·k + b with a rational multiple of π for a."""
    line = affine(expr, parameter)
    return line is not None and (line[0] / sympy.pi).is_Rational is True


def shifted(gold: Any, answer: Any, parameter: Any) -> Said:
    """Two families: equal steps, and offsets that differ by whole steps."""
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
    """Two unions of families; None unless steps are in rational proportion."""
    try:
        lines = [[_line(node) for node in nodes] for nodes in (golds, answers)]
    except Unsupported:
        return None
    lines_read = [[line for line in side if line is not None] for side in lines]
    if any(len(read) < len(side) for read, side in zip(lines_read, lines, strict=True)):
        return None
    unit = lines_read[0][0][0]
    ratios = [sympy.nsimplify(sympy.simplify(line[0] / unit)) for side in lines_read for line in side]
    if not all(ratio.is_Rational and ratio != 0 for ratio in ratios):
        return None
    period = sympy.ilcm(*[abs(ratio.p) for ratio in ratios]) / sympy.Integer(sympy.igcd(*[ratio.q for ratio in ratios]))
    classes = []
    for side in lines_read:
        read: set[Any] = set()
        for slope, constant in side:
            ratio = abs(sympy.nsimplify(sympy.simplify(slope / unit)))
            count = period / ratio
            if not count.is_Integer or count > MAX_CLASSES:
                return None
            read |= {_residue(constant / unit + ratio * index, period) for index in range(int(count))}
        classes.append(read)
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
    number = at(offset / period, {})
    if number is None or number[1] != 0:
        return None
    part = number[0] - sympy.floor(number[0] + _WHOLE)
    return str(sympy.Float(abs(part), 20).round(12))


_ARBITRARY = late(r"[Cc](?:_?\d)?|[ABDKk](?:_?\d)?")
_OF_A_KEY = late(r"[Cc](?:_?\d)?")
MAX_CONSTANTS = 4
_NOTHING = mpmath.mpf("1e-12")
"""A singular value of unit columns that is smaller counts as none."""


def same_solutions(gold: Any, answer: Any) -> tuple[Outcome, str] | None:
    """Compares two families linear in as many constants of one variable.

    Args:
        gold: has constants C, C_1, c_2 and the like.
        answer: may also use A, B or K.
    """
    known = {name for name in gold.free_symbols if not _OF_A_KEY.fullmatch(str(name))}
    constants = [
        sorted(gold.free_symbols - known, key=str),
        sorted((name for name in answer.free_symbols - known if _ARBITRARY.fullmatch(str(name))), key=str),
    ]
    variables = [name for name in known if str(name) in VARIABLES]
    if len(constants[0]) != len(constants[1]) or not 0 < len(constants[0]) <= MAX_CONSTANTS or len(variables) != 1:
        return None
    if answer.free_symbols - known - set(constants[1]):
        return None
    mine, theirs = _parts(gold, constants[0]), _parts(answer, constants[1])
    if mine is None or theirs is None:
        return None
    (first, own), (second, other) = mine, theirs
    ranks = [_rank(columns, variables[0], known) for columns in (first, second, [*first, *second, own - other])]
    if None in ranks or ranks[0] != ranks[1] or ranks[0] != len(first):
        return None
    return ("accept", "the same solutions") if ranks[2] == ranks[0] else ("reject", "other solutions")


def _parts(expr: Any, names: list[Any]) -> tuple[list[Any], Any] | None:
    slopes = [sympy.diff(expr, name) for name in names]
    if any(slope.free_symbols & set(names) for slope in slopes):
        return None
    return slopes, expr.xreplace(dict.fromkeys(names, sympy.Integer(0)))


def _rank(columns: list[Any], variable: Any, constants: set[Any]) -> int | None:
    """Number of independent functions of a variable; None if unclear."""
    fixed = next(iter(points(constants - {variable})), {})
    rows = []
    for point in points({variable}):
        values = [at(column, {**fixed, **point}) for column in columns]
        if all(value is not None and value[1] == 0 for value in values):
            rows.append([mpmath.mpf(str(value[0])) for value in values if value is not None])
    if len(rows) < 2 * len(columns):
        return None
    matrix = mpmath.matrix(rows)
    for index in range(len(columns)):
        size = max(abs(row[index]) for row in rows)
        for line in range(len(rows)):
            matrix[line, index] = matrix[line, index] / size if size else mpmath.mpf(0)
    with mpmath.workdps(25):
        return sum(bool(value > _NOTHING) for value in mpmath.svd_r(matrix, compute_uv=False))
