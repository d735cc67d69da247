"""Solutions of differential equations: families that are linear in arbitrary constants. Worker only.

Two of them are one where the functions behind their constants span the same space and the parts without constants
differ by a member of it: C₁eˣ + C₂e⁻ˣ is A cosh x + B sinh x, and not C₁eˣ + C₂e⁻²ˣ.
"""

from __future__ import annotations

from typing import Any

import mpmath
import sympy

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.expressions import VARIABLES, at, points

_ARBITRARY = late(r"[Cc](?:_?\d)?|[ABDKk](?:_?\d)?")
_OF_A_KEY = late(r"[Cc](?:_?\d)?")
MAX_CONSTANTS = 4
_NOTHING = mpmath.mpf("1e-12")
"""A singular value of unit columns that is smaller counts as none."""


def same_solutions(gold: Any, answer: Any) -> tuple[Outcome, str] | None:
    """What two families come to; None where they are not both linear in as many constants of one variable.

    Args:
        gold: of a key, whose constants are C, C_1, c_2 and the like.
        answer: of an answer, whose constants may be called A, B or K, too.
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
    """The functions behind the constants, and the part without them; None where an expression is not linear in them."""
    slopes = [sympy.diff(expr, name) for name in names]
    if any(slope.free_symbols & set(names) for slope in slopes):
        return None
    return slopes, expr.xreplace(dict.fromkeys(names, sympy.Integer(0)))


def _rank(columns: list[Any], variable: Any, known: set[Any]) -> int | None:
    """How many of the functions of a variable are independent, all other symbols held; None where that is not plain."""
    held = next(iter(points(known - {variable})), {})
    rows = []
    for point in points({variable}):
        values = [at(column, {**held, **point}) for column in columns]
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
