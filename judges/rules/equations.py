"""Comparison of equations, inequalities, congruences, families of solutions. Worker only.

Equations are equal when their sides differ by a constant factor, or both agree once solved; they differ when points of
one do not satisfy the other. Inequalities allow a positive factor; they differ when a point satisfies only one.

Solutions of a differential equation are equal if the functions behind their constants span one space and their
constant-free parts differ by a member of it: C₁eˣ + C₂e⁻ˣ is A cosh x + B sinh x.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mpmath
import sympy

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules import expressions
from livek12.judges.rules.kinks import WHOLE_NAMES
from livek12.judges.rules.trees import Node
from livek12.judges.rules.unknowns import same_in_order
from livek12.judges.rules.values import Unsupported, Value, value_of

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
    if not (left.is_commutative and right.is_commutative):
        same = same_in_order(left, right) or same_in_order(left, -right)
        return ("accept", "the same equation") if same else ("undecided", "an order of factors")
    if proportion(left, right) is not None:
        return "accept", "the same equation"
    if left.free_symbols != right.free_symbols:
        return _with_other_symbols(left, right)
    lines = [(symbol, expressions.affine(left, symbol)) for symbol in sorted(left.free_symbols, key=str)]
    result: Said | None = None
    for symbol, line in lines:
        if line is None:
            continue
        rest = right.xreplace({symbol: -line[1] / line[0]})
        outcome = expressions.agree(rest, sympy.Integer(0))[0]
        other = expressions.affine(right, symbol)
        if outcome == "accept" and other is not None:
            if _has_further_factor(line) or _has_further_factor(other):
                return "undecided", "an equation with a further factor"
            return "accept", "the same equation when solved"
        result = result or (("reject", _OFF) if outcome == "reject" else ("undecided", "equations"))
    if result is not None:
        return result
    return _off_the_curve(left, right)


def _with_other_symbols(left: Any, right: Any) -> Said:
    """Equations that differ when solved for a letter of both; a derivative may be solved."""
    if any(str(name).startswith(DERIVATIVES) or "'" in str(name) for name in left.free_symbols ^ right.free_symbols):
        return "undecided", "other symbols"
    for symbol in sorted(left.free_symbols & right.free_symbols, key=str)[:MAX_SOLVED]:
        lines = expressions.affine(left, symbol), expressions.affine(right, symbol)
        if lines[0] is not None and lines[1] is not None:
            first, second = (-line[1] / line[0] for line in lines if line)
            result = expressions.equal(Value(first, first), Value(second, second))
            if result[0] == "reject":
                return result
    return "undecided", "other symbols"


MAX_SOLVED = 3
DERIVATIVES = ("dot(", "ddot(", "dddot(")
"""Prefixes of the names of derivatives in time."""


def _has_further_factor(line: tuple[Any, Any]) -> bool:
    """Checks for a second branch: x(y - 3) = 0 also holds on x = 0."""
    if not line[0].free_symbols:
        return False
    try:
        return bool(sympy.gcd(*line).free_symbols)
    except sympy.polys.polyerrors.PolynomialError:
        return True


_OFF = "it does not hold where the key does"


def compare_inequalities(gold: Node, answer: Node) -> Said:
    """Two inequalities or chains."""
    steps = [_ascending(node) for node in (gold, answer)]
    if len(steps[0]) == len(steps[1]) and all(map(_same_step, *steps)):
        return "accept", "the same inequality"
    sides = [[value_of(side).expr for side in node[2]] for node in (gold, answer)]
    symbols = [{name for side in part for name in side.free_symbols} for part in sides]
    if symbols[0] != symbols[1] or not symbols[0]:
        return "undecided", "other symbols"
    for point in [*expressions.points(symbols[0]), *_grid(symbols[0])]:
        truths = [_truth(node[1], part, point) for node, part in zip((gold, answer), sides, strict=True)]
        if None not in truths and truths[0] != truths[1]:
            return "reject", f"only one of them holds at {', '.join(f'{name} = {point[name]}' for name in point)}"
    return "undecided", "relations"


def _ascending(node: Node) -> list[tuple[str, Any]]:
    operators, sides = node[1], [value_of(side).expr for side in node[2]]
    steps = [(operator, sides[i] - sides[i + 1]) for i, operator in enumerate(operators)]
    if operators[0][0] == ">":
        steps = [(operator.replace(">", "<"), -difference) for operator, difference in reversed(steps)]
    return steps


def _same_step(first: tuple[str, Any], two: tuple[str, Any]) -> bool:
    factor = proportion(first[1], two[1]) if first[0] == two[0] else None
    return factor is not None and bool(factor > 0 or first[0] == "!=")


def _grid(symbols: set[Any]) -> list[dict[Any, Any]]:
    names = sorted(symbols, key=str)
    steps = [sympy.Rational(number, 2) for number in range(-11, 12)]
    if len(names) == 1:
        return [{names[0]: step} for step in steps]
    return [{name: step + shift * index for index, name in enumerate(names)} for step in steps for shift in (0, 1, -1)]


def _truth(operators: list[str], sides: list[Any], point: Any) -> bool | None:
    values = [expressions.at(side, point) for side in sides]
    numbers = [value[0] for value in values if value is not None and value[1] == 0]
    if len(numbers) < len(sides):
        return None
    holds = True
    for operator, left, right in zip(operators, numbers[:-1], numbers[1:], strict=True):
        apart = right - left
        if apart != 0 and abs(apart) < _ON_THE_CURVE:
            return None
        equal_sides = bool(apart == 0)
        less = bool(apart > 0) if operator[0] == "<" else bool(apart < 0)
        holds &= not equal_sides if operator == "!=" else (less or (equal_sides and operator.endswith("=")))
    return holds


def equation_and_value(equation: Node, other: Node) -> Said:
    """A key equation and the value of an identity, or of the variable solved for."""
    if equation[1] != ["="] * len(equation[1]):
        return "undecided", "a relation beside a value"
    values = [value_of(side) for side in equation[2]]
    if all(expressions.agree(values[0].expr, value.expr)[0] == "accept" for value in values[1:]):
        return _best(expressions.equal(value, value_of(other)) for value in values)
    left, right = _difference(equation), value_of(other)
    power = values[0].expr
    if len(values) == 2 and power.is_Pow and power.base.is_Symbol and power.exp.is_Integer and not right.is_matrix:
        readings = [values[1], Value(root := values[1].expr ** (1 / power.exp), root)]
        return _best(expressions.equal(reading, right) for reading in readings)
    if right.is_matrix or not (left.is_commutative and right.expr.is_commutative):
        return "undecided", "an equation beside a value"
    kinds = []
    missing = sorted(left.free_symbols - right.expr.free_symbols, key=str)
    for symbol in missing:
        line = expressions.affine(left, symbol)
        if line is not None and right.expr.free_symbols:
            solved = -line[1] / line[0]
            kinds.append(expressions.equal(Value(solved, solved), right)[0])
            if kinds[-1] == "accept":
                return "accept", "the equation solved"
    foreign = not right.expr.free_symbols <= left.free_symbols and len(kinds) < len(missing)
    if foreign or any(_may_be_its_value(right, side, equation) for side in values):
        return "undecided", "an equation beside a value"
    if set(kinds) == {"reject"}:
        return "reject", "not what the equation gives when solved"
    if not kinds and right.expr.free_symbols and proportion(left, right.expr) is None:
        return "reject", "an expression for an equation"
    return "undecided", "an equation beside a value"


def _may_be_its_value(answer: Value, side: Value, equation: Node) -> bool:
    """Checks whether a side may stand for the equation."""
    other = next((value_of(node).expr for node in equation[2] if value_of(node).expr != side.expr), side.expr)
    named = other.is_Add and all(term.is_Symbol or (-term).is_Symbol for term in other.args)
    return (named or not answer.expr.free_symbols) and expressions.equal(side, answer)[0] != "reject"


def _best(results: Iterable[Said]) -> Said:
    by_outcome = {outcome: (outcome, reason) for outcome, reason in results}
    return by_outcome.get("accept") or by_outcome.get("undecided") or by_outcome["reject"]


def compare_congruences(gold: Node, answer: Node) -> Said:
    """X ≡ a (mod m) and x ≡ b (mod n) for whole a, b, m, n."""
    (left, right), modulus = (value_of(side).expr for side in gold[1]), value_of(gold[2]).expr
    (other_left, other_right), other = (value_of(side).expr for side in answer[1]), value_of(answer[2]).expr
    apart = (left - right) - (other_left - other_right)
    if not (modulus.is_Integer and other.is_Integer and apart.is_Integer and modulus > 1 and left.is_Symbol):
        return "undecided", "congruences"
    if modulus != other:
        return "reject", "another modulus"
    return ("accept", "the same class") if apart % modulus == 0 else ("reject", "another class")


def _difference(node: Node) -> Any:
    sides = [value_of(side).expr for side in node[2]]
    if len(sides) != 2 or any(isinstance(side, sympy.MatrixBase) for side in sides):
        raise Unsupported("a chain of relations")
    return sides[0] - sides[1]


def proportion(left: Any, right: Any) -> Any:
    """The constant factor between two expressions; None for none."""
    if left.free_symbols != right.free_symbols or not left.free_symbols:
        return None
    factors: list[Any] = []
    used: list[Any] = []
    for point in expressions.points(left.free_symbols):
        first, second = expressions.at(left, point), expressions.at(right, point)
        if first is not None and second is not None and expressions.one_is_real(first, second, point):
            return None
        if first is None or second is None or first[1] != 0 or second[1] != 0 or 0 in (first[0], second[0]):
            continue
        factors.append(second[0] / first[0])
        used.append(point)
        if abs(factors[-1] - factors[0]) > sympy.Float("1e-12") * abs(factors[0]):
            return None
        if len(used) == expressions.ENOUGH and not _same_ratio(left, right, used[0], used[1]):
            return None
    if (
        len(factors) < expressions.ENOUGH
        or expressions.look_further(left, right, lambda value, two: _in_proportion(value, two, factors[0])) is None
    ):
        return None
    return factors[0]


def _in_proportion(first: expressions.Parts, second: expressions.Parts, factor: Any) -> bool:
    apart = abs(second[0] - factor * first[0]) + abs(second[1] - factor * first[1])
    return bool(apart <= sympy.Float("1e-12") * (abs(second[0]) + abs(second[1])))


def _same_ratio(left: Any, right: Any, upper: Any, two: Any) -> bool:
    crossed = left.xreplace(upper) * right.xreplace(two), left.xreplace(two) * right.xreplace(upper)
    return expressions.surely(*crossed, {}) is True


def _roots(section: Any, symbol: Any) -> list[Any]:
    try:
        return list(sympy.Poly(section, symbol).nroots(n=30, maxsteps=200))
    except (sympy.polys.polyerrors.PolynomialError, ValueError, ArithmeticError, mpmath.libmp.NoConvergence):
        return []


def _off_the_curve(left: Any, right: Any) -> Said:
    symbol = min(left.free_symbols, key=str, default=None)
    off = 0
    for point in expressions.points(left.free_symbols) if symbol is not None else ():
        section = left.xreplace({name: value for name, value in point.items() if name != symbol})
        if not section.is_polynomial(symbol) or sympy.degree(section, symbol) > MAX_DEGREE:
            return "undecided", "equations"
        for root in _roots(section, symbol):
            value = expressions.at(right, {**point, symbol: root}) if root.is_real else None
            if value is not None and abs(value[0]) < _ON_THE_CURVE:
                return "undecided", "equations with common points"
            off += value is not None
    return ("reject", _OFF) if off >= expressions.ENOUGH else ("undecided", "equations")


# --- families of solutions -------------------------------------------------------------------------------------------

_WHOLE = sympy.Float("1e-12")
MAX_CLASSES = 60


def is_periodic(expr: Any, parameter: Any) -> bool:
    """Checks for a·k + b with a rational multiple of π for a."""
    line = expressions.affine(expr, parameter)
    return line is not None and (line[0] / sympy.pi).is_Rational is True


def shifted(gold: Any, answer: Any, parameter: Any) -> Said:
    """Two families: equal steps, and offsets that differ by whole steps."""
    first, second = expressions.affine(gold, parameter), expressions.affine(answer, parameter)
    if first is None or second is None:
        return "undecided", "families"
    step, offset = expressions.at(second[0] / first[0], {}), expressions.at((second[1] - first[1]) / first[0], {})
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
    return expressions.affine(expr, names[0])


def _residue(offset: Any, period: Any) -> Any:
    number = expressions.at(offset / period, {})
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
    known = {name for name in expressions.free(gold) if not _OF_A_KEY.fullmatch(str(name))}
    constants = [
        sorted(expressions.free(gold) - known, key=str),
        sorted((name for name in expressions.free(answer) - known if _ARBITRARY.fullmatch(str(name))), key=str),
    ]
    variables = [name for name in known if str(name) in expressions.VARIABLES]
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
    fixed = next(iter(expressions.points(constants - {variable})), {})
    rows = []
    for point in expressions.points({variable}):
        values = [expressions.at(column, {**fixed, **point}) for column in columns]
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
