"""Readings of latex2sympy2_extended as our trees. Worker only.

Contract: no text is evaluated: numbers are read here, and sympy's evaluation of texts is disabled for the process.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NoReturn

import sympy

from livek12.core.process import untimed
from livek12.judges.rules.second_reader import may_read, plain
from livek12.judges.rules.tokens import Unparsable
from livek12.judges.rules.trees import Node

MAX_TERMS, MAX_NODES = 60, 400


def second_reading(text: str) -> Node:
    """The tree of a formula.

    Raises:
        Unparsable: unreadable or not comparable.
    """
    if not may_read(text):
        raise Unparsable("not for the second reader")
    try:
        read = _reader().parse(plain(text))
    except Exception as error:
        raise Unparsable(f"no second reading ({type(error).__name__})") from None
    return _node(read)


@cache
def _refuse_evaluation() -> None:
    from sympy.parsing import sympy_parser

    def refused(*_: object) -> NoReturn:
        raise ValueError("no text is evaluated")

    sympy_parser.eval_expr = refused


def _reader() -> Any:
    _refuse_evaluation()
    with untimed():
        from latex2sympy2_extended import latex2sympy2 as library

    class Reader(library._Latex2Sympy):  # type: ignore[misc]
        def parse_number(self, text: str) -> Any:
            if not text.isascii() or not text.isdigit():
                raise Unparsable("a number")
            return sympy.Integer(int(text))

        def handle_gcd_lcm(self, f: str, args: Any) -> Any:
            """Numbers only: for symbols sympy computes that of polynomials."""
            if not all(getattr(argument, "is_Integer", False) for argument in args):
                raise Unparsable("a divisor of symbols")
            return super().handle_gcd_lcm(f, args)

    return Reader(config=library.ConversionConfig(lowercase_symbols=False, interpret_contains_as_eq=False))


_FUNCTIONS: dict[Any, str] = {
    sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan", sympy.cot: "cot", sympy.sec: "sec", sympy.csc: "csc",
    sympy.exp: "exp",
}  # fmt: skip
_KINDS: dict[Any, str] = {sympy.Abs: "abs", sympy.floor: "floor", sympy.ceiling: "ceil", sympy.factorial: "fact",
                          sympy.binomial: "binom"}  # fmt: skip
_CONSTANTS: dict[Any, str] = {sympy.pi: "pi", sympy.E: "e", sympy.I: "i", sympy.oo: "oo"}


def _node(expr: Any) -> Node:
    if not isinstance(expr, sympy.Basic) or sum(1 for _ in sympy.preorder_traversal(expr)) > MAX_NODES:
        raise Unparsable("another kind of reading")
    if expr in _CONSTANTS:
        return ["const", _CONSTANTS[expr]]
    if expr.is_Symbol:
        return ["sym", _name(expr)]
    if expr.is_Rational:
        return _number(expr)
    if isinstance(expr, sympy.UnevaluatedExpr):
        return _node(expr.args[0])
    if isinstance(expr, sympy.Sum | sympy.Product):
        return _unrolled(expr)
    if isinstance(expr, sympy.Max | sympy.Min):
        return ["max" if isinstance(expr, sympy.Max) else "min", [_node(part) for part in expr.args]]
    if expr.is_Add or expr.is_Mul:
        return ["add" if expr.is_Add else "mul", [_node(part) for part in expr.args]]
    if isinstance(expr, sympy.Pow):
        return _power(expr)
    if expr.func in _FUNCTIONS and len(expr.args) == 1:
        return ["call", _FUNCTIONS[expr.func], _node(expr.args[0])]
    if expr.func in _KINDS:
        return [_KINDS[expr.func], *map(_node, expr.args)]
    raise Unparsable("another kind of reading")


def _name(symbol: Any) -> str:
    return re.sub(r"[{}\\\\ ]", "", str(symbol))


def _number(value: Any) -> Node:
    size: Node = ["num", str(abs(int(value.p)))]
    size = size if value.q == 1 else ["div", size, ["num", str(int(value.q))]]
    return ["neg", size] if value < 0 else size


def _power(expr: Any) -> Node:
    exponent = expr.exp
    if exponent.is_Rational and exponent.p == 1 and exponent.q > 1:
        return ["root", _node(expr.base), ["num", str(int(exponent.q))]]
    return ["pow", _node(expr.base), _node(exponent)]


def _unrolled(expr: Any) -> Node:
    if len(expr.limits) != 1 or len(expr.limits[0]) != 3:
        raise Unparsable("a sum of another kind")
    name, low, high = expr.limits[0]
    if not (low.is_Integer and high.is_Integer and 0 <= high - low < MAX_TERMS):
        raise Unparsable("a sum without an end")
    term, index = _node(expr.function), _name(name)
    terms = [_put(term, index, _number(sympy.Integer(value))) for value in range(int(low), int(high) + 1)]
    return ["add" if isinstance(expr, sympy.Sum) else "mul", terms]


def _put(node: Any, name: str, value: Node) -> Any:
    if not isinstance(node, list):
        return node
    return value if node == ["sym", name] else [_put(child, name, value) for child in node]
