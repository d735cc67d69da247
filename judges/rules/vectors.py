r"""Products of vectors, and what equals only itself, as sympy expressions. Worker only.

- A dot product is bilinear and symmetric, and that of a vector with itself is the square of its length; a cross product
  is bilinear and antisymmetric. Both only of sums of vectors with a factor each; those of anything else are unknown.
- What is unknown is a symbol named by its parts: equal to itself where its parts are written in another order.
- Vectors, matrices and operators do not commute; where no term holds two of them, that makes no difference.
"""

from __future__ import annotations

from typing import Any

import sympy

from livek12.judges.rules.nodes import TURNED

Expr = Any
OPENING_MARK = "⟦"
"""How the name of an unknown begins, which no letter does."""
MAX_EXPANDED = 200
MAX_EXPONENT = 6


def symbol(name: str, ordered: bool) -> Expr:
    """A letter; `ordered` is one that commutes with no other such letter."""
    return sympy.Symbol(name, commutative=not ordered)


def unknown(head: str, parts: list[Expr]) -> Expr:
    """A node of which nothing is known but its parts."""
    return sympy.Symbol(f"{OPENING_MARK}{head}: {'; '.join(map(_text, parts))}⟧")


def is_unknown(expr: Expr) -> bool:
    """Whether an expression holds what equals only itself."""
    return any(str(name).startswith(OPENING_MARK) for name in expr.free_symbols) or not expr.is_commutative


def _text(part: Expr) -> str:
    return str(sympy.sstr(expanded(part) if isinstance(part, sympy.Expr) else part))


def expanded(expr: Expr) -> Expr:
    """An expression multiplied out, if it is small."""
    return sympy.expand(expr) if expr.count_ops() <= MAX_EXPANDED else expr


def dot(left: Expr, right: Expr) -> Expr:
    """The dot product."""
    terms = _linear(left), _linear(right)
    if terms[0] is None or terms[1] is None:
        first, second = sorted((_text(left), _text(right)))
        return sympy.Symbol(f"{OPENING_MARK}{first} . {second}⟧")
    return sympy.Add(*(a * b * _product(one, two) for one, a in terms[0].items() for two, b in terms[1].items()))


def _product(one: Expr, two: Expr) -> Expr:
    if one == two:
        return length(one) ** 2
    first, second = sorted((str(one), str(two)))
    return sympy.Symbol(f"{first} . {second}")


def length(vector: Expr) -> Expr:
    """The length of a vector that is one letter: 1 under a hat."""
    return sympy.Symbol(f"|{vector}|", nonnegative=True)


def norm(vector: Expr) -> Expr:
    """The length of a sum of vectors; of anything else that does not commute, a symbol."""
    terms = _linear(vector)
    if terms is None:
        return unknown("abs", [vector])
    if len(terms) == 1:
        ((letter, factor),) = terms.items()
        return sympy.Abs(factor) * length(letter)
    return sympy.sqrt(dot(vector, vector))


def power(base: Expr, exponent: Expr) -> Expr:
    """A power with a small whole exponent; the square of a vector is that of its length."""
    names = [str(name) for name in base.free_symbols if not name.is_commutative]
    arrows = all(name.startswith(("vec(", "bold(")) and not name.endswith(TURNED) for name in names)
    return dot(base, base) if exponent == 2 and arrows else sympy.Pow(base, exponent)


def cross(left: Expr, right: Expr) -> Expr:
    """The cross product, a vector of its own."""
    terms = _linear(left), _linear(right)
    if terms[0] is None or terms[1] is None:
        texts = _text(left), _text(right)
        named = sympy.Symbol(f"{OPENING_MARK}{min(texts)} x {max(texts)}⟧", commutative=False)
        return named if texts[0] <= texts[1] else -named
    return sympy.Add(*(a * b * _area(one, two) for one, a in terms[0].items() for two, b in terms[1].items()))


def _area(one: Expr, two: Expr) -> Expr:
    if one == two:
        return sympy.Integer(0)
    named = sympy.Symbol(f"{OPENING_MARK}{min(str(one), str(two))} x {max(str(one), str(two))}⟧", commutative=False)
    return named if str(one) < str(two) else -named


def _linear(expr: Expr) -> dict[Expr, Expr] | None:
    """The factor of each vector in a sum of vectors; None for anything else."""
    factors: dict[Expr, Expr] = {}
    for term in sympy.Add.make_args(expanded(expr)):
        scalar, vectors = term.args_cnc()
        if len(vectors) != 1 or not vectors[0].is_Symbol:
            return None
        factors[vectors[0]] = factors.get(vectors[0], 0) + sympy.Mul(*scalar)
    return factors


def commuting(expr: Expr) -> Expr:
    """An expression with plain letters for those that do not commute, where no term holds two of these."""
    if expr.is_commutative or isinstance(expr, sympy.MatrixBase):
        return expr
    names = [name for name in expr.free_symbols if not name.is_commutative]
    terms = sympy.Add.make_args(expanded(expr)) if len(names) > 1 else []
    if any(sum(not name.is_commutative for name in term.free_symbols) > 1 for term in terms):
        return expr
    return expr.xreplace({name: sympy.Symbol(str(name)) for name in names})


def same_in_order(left: Expr, right: Expr) -> bool:
    """Whether two expressions are equal though not all their letters commute."""
    return bool(expanded(left - right) == 0)
