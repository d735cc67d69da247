"""Trees as sympy expressions, every step bounded beforehand, and their values at points. Worker only.

`evaluate` uses mpmath, many times faster than `evalf`. It returns a number good to at least 25 digits, or None
(cancellation, unknown function, no value): then use `evalf`. OverflowError marks values too big to hold, also for
`evalf`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import mpmath
import sympy

from livek12.judges.rules.trees import DIRECTED, Node, nodes
from livek12.judges.rules.unknowns import MAX_EXPONENT, commuting, norm, opaque, power

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
_ALIKE = "sin cos tan cot sec csc sinh cosh tanh coth asin acos atan asinh acosh atanh log factorial".split()
_FUNCTIONS: dict[Any, Callable[[Any], Any]] = {
    **{getattr(sympy, name): getattr(mpmath, name) for name in _ALIKE}, sympy.Abs: abs,
    sympy.floor: lambda value: mpmath.floor(_between(value)), sympy.ceiling: lambda value: mpmath.ceil(_between(value)),
}  # fmt: skip
_GROWING = {sympy.exp, sympy.sinh, sympy.cosh, sympy.factorial, sympy.sin, sympy.cos, sympy.tan}


class _Unsure(Exception):
    """No promise."""


def evaluate(expr: Expr, point: Mapping[Expr, Expr], digits: int = DIGITS) -> Any:
    """A number (mpf or mpc), good to all but half of DIGITS of its `digits`, or None.

    Beyond DIGITS digits, a sum that vanishes in nine tenths of them is 0.

    Raises:
        OverflowError: an intermediate value is too big.
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
        return mpmath.mpf(expr.p) if expr.q == 1 else mpmath.mpf(expr.p) / expr.q
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
    if expr in _CONSTANTS:
        return _CONSTANTS[expr]()
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
    """A clear non-integer: rounding decides at integers."""
    if mpmath.im(value) != 0 or abs(value - mpmath.nint(value)) < LOST * (1 + abs(value)):
        raise _Unsure
    return mpmath.re(value)


def _small(value: Any) -> Any:
    if abs(value) > BIG:
        raise OverflowError
    return value


MAX_BITS = 12_288
MAX_POWER = 10_000
MAX_ROOT = 1000
MAX_FACTORIAL = 200
MAX_ROWS = 4


class Unsupported(Exception):
    """A tree that is no expression, or too big."""


class TooBig(Unsupported):
    """A positive number beyond 2 to the MAX_BITS."""


@dataclass(frozen=True)
class Value:
    """An expression and its written form.

    `plain` keeps degrees. `quantum` and `digits` are those of a decimal; `loose`: a decimal inside; `vague`: a
    logarithm without base.
    """

    expr: Expr
    plain: Expr
    quantum: Fraction | None = None
    digits: int = 0
    marked: bool = False
    percent: bool = False
    loose: bool = False
    vague: bool = False

    @property
    def is_matrix(self) -> bool:
        """Checks for a matrix."""
        return isinstance(self.expr, sympy.MatrixBase)

    def renamed(self, old: Expr, new: Expr) -> Value:
        """The value with another symbol."""
        return replace(self, expr=self.expr.xreplace({old: new}), plain=self.plain.xreplace({old: new}))


def value_of(node: Node) -> Value:
    """The value of a tree; raises Unsupported."""
    marked = node[0] == "approx"
    if marked:
        node = node[1]
    quantum, digits = _written(node)
    parts = list(nodes(node))
    degrees = ["const", "deg"] in parts
    expr = commuting(build(node, sympy.pi / 180))
    plain = commuting(build(node, sympy.Integer(1))) if degrees else expr
    if expr.has(sympy.nan, sympy.zoo):
        raise Unsupported("undefined")
    loose = quantum is None and any(part[:1] == ["num"] and "." in part[1] for part in parts)
    logarithm = any(part[:2] == ["call", "log"] for part in parts)
    return Value(expr, plain, quantum, digits, marked, node[0] == "percent", loose, logarithm)


def _written(node: Node) -> tuple[Fraction | None, int]:
    if node[0] == "neg":
        return _written(node[1])
    if node[0] == "percent":
        quantum, digits = _written(node[1])
        return quantum / 100 if quantum else None, digits
    if node[0] == "mul" and len(node[1]) == 2 and node[1][1][:2] == ["pow", ["num", "10"]]:
        number = node[1][0]
        whole = number[0] == "num" and "." not in number[1]
        quantum, digits = (Fraction(1), len(number[1])) if whole else _written(number)
        power = build(node[1][1], sympy.Integer(1))
        if quantum and power.is_Rational:
            return quantum * Fraction(int(power.p), int(power.q)), digits
    if node[0] == "num" and "." in node[1]:
        return Fraction(1, 10 ** len(node[1].partition(".")[2])), len(node[1].replace(".", "").lstrip("0"))
    return None, 0


# --- building -----------------------------------------------------------------------------------------------------

_BY_NAME = {
    **{name: getattr(sympy, name) for name in "sin cos tan cot sec csc sinh cosh tanh coth sech csch exp log".split()},
    **{f"arc{name}": getattr(sympy, f"a{name}") for name in "sin cos tan cot sec csc".split()},
    **{f"ar{name}": getattr(sympy, f"a{name}") for name in "sinh cosh tanh".split()}, "ln": sympy.log,
}  # fmt: skip
_NAMED_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}


def build(node: Node, degree: Expr) -> Expr:
    """The expression of a tree, bounded at every step; raises Unsupported."""
    kind, rest = node[0], node[1:]
    if kind == "num":
        return sympy.Rational(rest[0])
    if kind == "sym":
        return sympy.Symbol(rest[0], commutative=not rest[0].startswith(DIRECTED))
    if kind == "opaque":
        return opaque(rest[0], [build(part, degree) for part in rest[1]])
    if kind == "const":
        if rest[0] != "deg" and rest[0] not in _NAMED_CONSTANTS:
            raise Unsupported(rest[0])
        return degree if rest[0] == "deg" else _NAMED_CONSTANTS[rest[0]]
    if kind in {"add", "mul"}:
        return _combine(kind, [build(item, degree) for item in rest[0]])
    if kind == "det":
        return _determinant([[build(entry, degree) for entry in row] for row in rest[0]])
    if kind == "matrix":
        return sympy.ImmutableMatrix([[build(entry, degree) for entry in row] for row in rest[0]])
    if kind == "call":
        argument = build(rest[1], degree)
        return sympy.log(argument, 10) if rest[0] == "lg" else _call(_BY_NAME[rest[0]], argument)
    if kind == "neg":
        return -build(rest[0], degree)
    if kind == "ratio":
        return reduce(_divide, [build(item, degree) for item in rest[0]])
    if kind in {"cases", "based"}:
        raise Unsupported("pieces" if kind == "cases" else "a number in a base")
    if kind in _BINARY or kind in _UNARY:
        return _operate(kind, [build(item, degree) for item in rest])
    raise Unsupported(str(kind))


def _call(function: Any, argument: Expr) -> Expr:
    if isinstance(argument, sympy.MatrixBase) or not argument.is_commutative:
        raise Unsupported("function of a matrix")
    return function(argument)


def _combine(kind: str, items: list[Expr]) -> Expr:
    if not any(isinstance(item, sympy.MatrixBase) for item in items):
        return sympy.Add(*items) if kind == "add" else sympy.Mul(*items)
    total = items[0]
    try:
        for item in items[1:]:
            total = total + item if kind == "add" else total * item
    except (TypeError, ValueError) as error:
        raise Unsupported("matrices that do not fit") from error
    return total


def _operate(kind: str, items: list[Expr]) -> Expr:
    if any(isinstance(item, sympy.MatrixBase) for item in items):
        raise Unsupported("operation on a matrix")
    if any(not item.is_commutative for item in items):
        return _of_vectors(kind, items)
    return (_BINARY | _UNARY)[kind](*items)


def _of_vectors(kind: str, items: list[Expr]) -> Expr:
    if kind == "abs":
        return norm(items[0])
    if kind == "div" and items[1].is_commutative:
        return _divide(*items)
    if kind == "pow" and items[1].is_Integer and abs(items[1]) <= MAX_EXPONENT:
        return power(*items)
    raise Unsupported("operation on a vector")


def _divide(top: Expr, bottom: Expr) -> Expr:
    if bottom == 0:
        raise Unsupported("division by zero")
    return top / bottom


def _determinant(rows: list[list[Expr]]) -> Expr:
    if len(rows) > MAX_ROWS or any(isinstance(entry, sympy.MatrixBase) for row in rows for entry in row):
        raise Unsupported("a big determinant")
    return sympy.Matrix(rows).det(method="berkowitz")


def _raised(base: Expr, exponent: Expr) -> Expr:
    if exponent.is_Integer and exponent > MAX_BITS and base.is_Integer and base >= 2:
        raise TooBig("a power too big")
    if exponent.is_number and not exponent.is_Number:
        try:
            value = evaluate(exponent, {})
        except OverflowError as error:
            raise Unsupported("an exponent too big") from error
        if value is not None and abs(value) > BIG:
            raise Unsupported("an exponent too big")
    if exponent.is_Number and not (abs(exponent) <= MAX_POWER and exponent.q <= MAX_ROOT):
        raise Unsupported("an exponent too big")
    if base.is_Rational and exponent.is_Rational:
        bits = max(abs(int(base.p)).bit_length(), int(base.q).bit_length())
        if bits * abs(int(exponent.p)) > MAX_BITS * int(exponent.q):
            raise (TooBig if base >= 2 and exponent > 0 and base.q == exponent.q == 1 else Unsupported)(
                "a power too big"
            )
    if base == 0 and exponent.is_negative:
        raise Unsupported("division by zero")
    return sympy.Pow(base, exponent)


def _root(radicand: Expr, index: Expr) -> Expr:
    if not (index.is_Integer and 2 <= index <= 100):
        raise Unsupported("a root of that kind")
    if radicand.is_Number and radicand.is_negative and index % 2 == 1:
        return -sympy.root(-radicand, index)
    return sympy.root(radicand, index)


def _factorial(argument: Expr) -> Expr:
    if argument.is_Number and not (argument.is_Integer and 0 <= argument <= MAX_FACTORIAL):
        raise Unsupported("a factorial of that size")
    return sympy.factorial(argument)


def _binomial(n: Expr, k: Expr) -> Expr:
    if any(item.is_Number and not abs(item) <= MAX_POWER for item in (n, k)):
        raise Unsupported("a binomial of that size")
    return sympy.binomial(n, k)


_BINARY = {"div": _divide, "pow": _raised, "root": _root, "binom": _binomial,
           "log": lambda base, argument: sympy.log(argument, base)}  # fmt: skip
_UNARY = {
    "fact": _factorial,
    "abs": sympy.Abs,
    "percent": lambda item: item / 100,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
}
