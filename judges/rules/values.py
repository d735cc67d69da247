"""Trees as sympy expressions, with every step bounded before it is taken. Runs only inside a worker process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy

from livek12.judges.rules import vectors
from livek12.judges.rules.evaluation import BIG, evaluate
from livek12.judges.rules.nodes import DIRECTED, Node
from livek12.judges.rules.vectors import commuting

Expr = Any  # a sympy expression; sympy has no types

MAX_BITS = 12_288
MAX_POWER = 10_000
MAX_ROOT = 1000
MAX_FACTORIAL = 200
MAX_ROWS = 4


class Unsupported(Exception):
    """The tree is no expression, or too big a one."""


class TooBig(Unsupported):
    """A positive number beyond 2 to the MAX_BITS."""


@dataclass(frozen=True)
class Value:
    """An expression and how it was written.

    `plain` is the same without degrees turned into radians. `quantum` and `digits` are those of a decimal;
    `loose` means that a decimal stands somewhere inside; `vague` that a logarithm has no base.
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
        """Whether it is a matrix and no scalar."""
        return isinstance(self.expr, sympy.MatrixBase)

    def renamed(self, old: Expr, new: Expr) -> Value:
        """The value with another symbol."""
        return replace(self, expr=self.expr.xreplace({old: new}), plain=self.plain.xreplace({old: new}))


def value_of(node: Node) -> Value:
    """The value of a tree.

    Raises:
        Unsupported: see there.
    """
    marked = node[0] == "approx"
    if marked:
        node = node[1]
    quantum, digits = _written(node)
    degrees = _contains(node, "const", "deg")
    expr = commuting(build(node, sympy.pi / 180))
    plain = commuting(build(node, sympy.Integer(1))) if degrees else expr
    if expr.has(sympy.nan, sympy.zoo):
        raise Unsupported("undefined")
    loose = quantum is None and any("." in str(text) for text in _numbers(node))
    return Value(expr, plain, quantum, digits, marked, node[0] == "percent", loose, _contains(node, "call", "log"))


def _contains(node: Any, kind: str, text: str) -> bool:
    if not isinstance(node, list):
        return False
    return node[:2] == [kind, text] or any(_contains(child, kind, text) for child in node)


def _numbers(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        if node[:1] == ["num"]:
            yield node[1]
        else:
            for child in node:
                yield from _numbers(child)


def _written(node: Node) -> tuple[Fraction | None, int]:
    """Quantum and significant digits of a tree that is a decimal, with sign, per cent or a power of ten."""
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

_FUNCTIONS = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "coth": sympy.coth,
    "sech": sympy.sech, "csch": sympy.csch, "arcsec": sympy.asec, "arccsc": sympy.acsc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "arccot": sympy.acot,
    "arsinh": sympy.asinh, "arcosh": sympy.acosh, "artanh": sympy.atanh,
    "ln": sympy.log, "log": sympy.log, "exp": sympy.exp,
}  # fmt: skip
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}


def build(node: Node, degree: Expr) -> Expr:
    """The expression of a tree, with every step bounded before it is taken.

    Raises:
        Unsupported: see there.
    """
    kind, rest = node[0], node[1:]
    if kind == "num":
        return sympy.Rational(rest[0])
    if kind in {"sym", "ordered"}:
        return vectors.symbol(rest[0], kind == "ordered" or rest[0].startswith(DIRECTED))
    if kind == "unknown":
        return vectors.unknown(rest[0], [build(part, degree) for part in rest[1]])
    if kind in _OF_VECTORS:
        return _operate(kind, [build(part, degree) for part in rest])
    if kind == "const":
        if rest[0] != "deg" and rest[0] not in _CONSTANTS:
            raise Unsupported(rest[0])
        return degree if rest[0] == "deg" else _CONSTANTS[rest[0]]
    if kind == "apply":
        names = [sympy.sstr(build(argument, degree)) for argument in rest[1]]
        return sympy.Symbol(f"{rest[0]}({','.join(names)})")
    if kind in {"add", "mul"}:
        return _combine(kind, [build(item, degree) for item in rest[0]])
    if kind in {"max", "min"}:
        return _extreme(kind, [build(item, degree) for item in rest[0]])
    if kind == "det":
        return _determinant([[build(entry, degree) for entry in row] for row in rest[0]])
    if kind == "matrix":
        return sympy.ImmutableMatrix([[build(entry, degree) for entry in row] for row in rest[0]])
    if kind == "call":
        argument = build(rest[1], degree)
        return sympy.log(argument, 10) if rest[0] == "lg" else _call(_FUNCTIONS[rest[0]], argument)
    if kind == "neg":
        return -build(rest[0], degree)
    if kind == "ratio":
        return reduce(_divide, [build(item, degree) for item in rest[0]])
    if kind in {"cases", "based"}:
        raise Unsupported("pieces" if kind == "cases" else "a number in a base")
    if kind in _BINARY or kind in _UNARY:
        return _operate(kind, [build(item, degree) for item in rest])
    raise Unsupported(str(kind))


def _extreme(kind: str, items: list[Expr]) -> Expr:
    if any(isinstance(item, sympy.MatrixBase) or item.has(sympy.I) for item in items):
        raise Unsupported("the greatest of what has no order")
    return (sympy.Max if kind == "max" else sympy.Min)(*items)


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
    return (_BINARY | _UNARY | _OF_VECTORS)[kind](*items)


def _of_vectors(kind: str, items: list[Expr]) -> Expr:
    """What is defined of vectors and matrices; the square of a letter that is a vector is that of its length.

    Raises:
        Unsupported: anything else.
    """
    if kind in _OF_VECTORS:
        return _OF_VECTORS[kind](*items)
    if kind == "abs":
        return vectors.norm(items[0])
    if kind == "div" and items[1].is_commutative:
        return _divide(*items)
    if kind == "pow" and items[1].is_Integer and abs(items[1]) <= vectors.MAX_EXPONENT:
        return vectors.power(*items)
    raise Unsupported("operation on a vector")


def _divide(top: Expr, bottom: Expr) -> Expr:
    if bottom == 0:
        raise Unsupported("division by zero")
    return top / bottom


def _determinant(rows: list[list[Expr]]) -> Expr:
    """The determinant of up to four rows, multiplied out."""
    if len(rows) > MAX_ROWS or any(isinstance(entry, sympy.MatrixBase) for row in rows for entry in row):
        raise Unsupported("a big determinant")
    return sympy.Matrix(rows).det(method="berkowitz")


def _power(base: Expr, exponent: Expr) -> Expr:
    """Base to the exponent, refused before it becomes too big to hold."""
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


_BINARY = {"div": _divide, "pow": _power, "root": _root, "binom": _binomial,
           "log": lambda base, argument: sympy.log(argument, base)}  # fmt: skip
_OF_VECTORS = {"dot": vectors.dot, "cross": vectors.cross}
_UNARY = {
    "fact": _factorial,
    "abs": sympy.Abs,
    "percent": lambda item: item / 100,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
}
