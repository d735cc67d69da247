r"""Notation that equals only itself: vectors, operators, matrices, unknown functions. Worker only.

- A letter before a bracket (E, P, g, \Gamma, …) is a factor if it is alone somewhere.
- Capitals multiplied with an inverse, transpose or adjoint are ordered matrices, unless a tree divides by one or puts
  one into a function; so are two that one tree multiplies in both orders.
- Two operators in square brackets are a commutator, unless the other side is a region.
- Bold may be an arrow, or nothing if the other side has neither.
- Dot and cross products are bilinear for sums of vectors with a factor each.
- Vectors, matrices and operators do not commute, except in terms with only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import sympy

from livek12.judges.rules.trees import (
    DIRECTED,
    ORDERED,
    TURNED,
    Node,
    is_matrix_name,
    mapped,
    nodes,
    substituted,
    symbols,
)

Expr = Any
OPENING_MARK = "⟦"
"""Prefix of an unknown's name; no letter begins with it."""
MAX_EXPANDED = 200
MAX_EXPONENT = 6


def opaque(head: str, parts: list[Expr]) -> Expr:
    """An opaque node with its parts, by its identity if it has one."""
    identity = _IDENTITIES.get(head)
    if identity is not None and not any(isinstance(part, sympy.MatrixBase) for part in parts):
        return identity(*parts)
    if head.startswith(ORDERED):
        return sympy.Symbol(head.removeprefix(ORDERED), commutative=False)
    return sympy.Symbol(f"{OPENING_MARK}{head}: {'; '.join(map(_text, parts))}⟧")


def is_unknown(expr: Expr) -> bool:
    """Checks for what equals only itself."""
    return any(str(name).startswith(OPENING_MARK) for name in expr.free_symbols) or not expr.is_commutative


def _text(part: Expr) -> str:
    return str(sympy.sstr(_expanded(part) if isinstance(part, sympy.Expr) else part))


def _expanded(expr: Expr) -> Expr:
    return sympy.expand(expr) if expr.count_ops() <= MAX_EXPANDED else expr


def _dot(left: Expr, right: Expr) -> Expr:
    terms = _linear(left), _linear(right)
    if terms[0] is None or terms[1] is None:
        first, second = sorted((_text(left), _text(right)))
        return sympy.Symbol(f"{OPENING_MARK}{first} . {second}⟧")
    return sympy.Add(
        *(a * b * _product(first_vector, two) for first_vector, a in terms[0].items() for two, b in terms[1].items())
    )


def _product(first_vector: Expr, two: Expr) -> Expr:
    if first_vector == two:
        return _length(first_vector) ** 2
    first, second = sorted((str(first_vector), str(two)))
    return sympy.Symbol(f"{first} . {second}")


def _length(vector: Expr) -> Expr:
    return sympy.Symbol(f"|{vector}|", nonnegative=True)


def norm(vector: Expr) -> Expr:
    """The length of a sum of vectors; else a symbol."""
    terms = _linear(vector)
    if terms is None:
        return opaque("abs", [vector])
    if len(terms) == 1:
        ((letter, factor),) = terms.items()
        return sympy.Abs(factor) * _length(letter)
    return sympy.sqrt(_dot(vector, vector))


def power(base: Expr, exponent: Expr) -> Expr:
    """A power with a small whole exponent; a vector's square is its length's."""
    names = [str(name) for name in base.free_symbols if not name.is_commutative]
    arrows = all(name.startswith(("vec(", "bold(")) and not name.endswith(TURNED) for name in names)
    return _dot(base, base) if exponent == 2 and arrows else sympy.Pow(base, exponent)


def _cross(left: Expr, right: Expr) -> Expr:
    terms = _linear(left), _linear(right)
    if terms[0] is None or terms[1] is None:
        texts = _text(left), _text(right)
        named = sympy.Symbol(f"{OPENING_MARK}{min(texts)} x {max(texts)}⟧", commutative=False)
        return named if texts[0] <= texts[1] else -named
    return sympy.Add(
        *(a * b * _area(first_vector, two) for first_vector, a in terms[0].items() for two, b in terms[1].items())
    )


def _area(first_vector: Expr, two: Expr) -> Expr:
    if first_vector == two:
        return sympy.Integer(0)
    named = sympy.Symbol(
        f"{OPENING_MARK}{min(str(first_vector), str(two))} x {max(str(first_vector), str(two))}⟧", commutative=False
    )
    return named if str(first_vector) < str(two) else -named


_BASES = tuple(
    tuple(f"{mark}({letter})" for letter in letters) for mark in ("hat", "vec", "bold") for letters in ("ijk", "xyz")
)


def components_of(vector: Expr, count: int) -> list[Expr] | None:
    """The components of a sum of unit vectors; None for other expressions."""
    names = {str(name): name for name in vector.free_symbols}
    basis = next((basis for basis in _BASES if names.keys() & {*basis[:count]}), None)
    if basis is None or not vector.is_commutative:
        return None
    letters = [names.get(name, sympy.Dummy()) for name in basis[:count]]
    parts = [sympy.diff(vector, letter) for letter in letters]
    rest = _expanded(vector - sympy.Add(*(part * letter for part, letter in zip(parts, letters, strict=True))))
    return parts if rest == 0 and not any(part.has(*letters) for part in parts) else None


def _linear(expr: Expr) -> dict[Expr, Expr] | None:
    factors: dict[Expr, Expr] = {}
    for term in sympy.Add.make_args(_expanded(expr)):
        scalar, vectors = term.args_cnc()
        if len(vectors) != 1 or not vectors[0].is_Symbol:
            return None
        factors[vectors[0]] = factors.get(vectors[0], 0) + sympy.Mul(*scalar)
    return factors


_IDENTITIES: dict[str, Callable[[Expr, Expr], Expr]] = {"dot": _dot, "cross": _cross}


def commuting(expr: Expr) -> Expr:
    """Makes letters commute if no term has two that do not."""
    if expr.is_commutative or isinstance(expr, sympy.MatrixBase):
        return expr
    names = [name for name in expr.free_symbols if not name.is_commutative]
    terms = sympy.Add.make_args(_expanded(expr)) if len(names) > 1 else []
    if any(sum(not name.is_commutative for name in term.free_symbols) > 1 for term in terms):
        return expr
    return expr.xreplace({name: sympy.Symbol(str(name)) for name in names})


def same_in_order(left: Expr, right: Expr) -> bool:
    """Checks equality of non-commuting expressions."""
    return bool(_expanded(left - right) == 0)


_MINUS_ONE: tuple[Node, ...] = (["neg", ["num", "1"]], ["num", "-1"])
_REGIONS = frozenset({"interval", "rel", "union", "without", "builder", "list", "set", "tuple", "named"})
_OF_SCALARS = frozenset({"call", "log", "root", "fact", "percent", "floor", "ceil"})


def settled(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Both trees with ambiguities resolved."""
    if not any(map(_may_be_ambiguous, nodes([gold, answer]))):
        return gold, answer
    gold, answer = _with_commutators(gold, answer), _with_commutators(answer, gold)
    alone = symbols([gold, answer])
    gold, answer = (mapped(node, lambda part: _applied(part, alone)) for node in (gold, answer))
    gold, answer = _with_derivatives(gold, answer), _with_derivatives(answer, gold)
    matrices = _matrices(gold, answer)
    if matrices:
        ordered = {name: ["opaque", ORDERED + name, []] for name in matrices}
        gold, answer = (substituted(node, ordered) for node in (gold, answer))
    return _without_bold(gold, answer), _without_bold(answer, gold)


def _may_be_ambiguous(node: Node) -> bool:
    return node[:1] in (["opaque"], ["interval"]) or (node[:1] == ["sym"] and is_matrix_name(node[1]))


def _applied(node: Node, alone: set[str]) -> Node:
    if node[:1] == ["opaque"] and node[1].endswith("()") and node[1][:-2] in alone and len(node[2]) == 1:
        return ["mul", [["sym", node[1][:-2]], *node[2]]]
    return node


def _with_derivatives(node: Node, other: Node) -> Node:
    """Marked letters as derivatives where the other side has those: y' is dy/dx, a dot is d/dt."""
    marked: dict[str, Node | None] = {}
    for letter, variables in _derivatives(other):
        order = len(variables.split())
        marks = [letter + "'" * order]
        if set(variables.split()) == {"t"} and order <= len(_DOTS):
            marks.append(f"{_DOTS[order - 1]}({letter})")
        for mark in marks:
            marked[mark] = None if mark in marked else ["opaque", f"d / {variables}", [["sym", letter]]]
    return substituted(node, {mark: tree for mark, tree in marked.items() if tree})


_DOTS = ("dot", "ddot", "dddot")


def _derivatives(tree: Node) -> set[tuple[str, str]]:
    derivatives = set()
    for node in nodes(tree):
        if node[:1] == ["opaque"] and node[1].startswith("d / ") and node[2][0][0] == "sym":
            variables = node[1].removeprefix("d / ")
            if len(set(variables.split())) == 1:
                derivatives.add((node[2][0][1], variables))
    return derivatives


def _with_commutators(node: Node, other: Node) -> Node:
    return node if other[0] in _REGIONS else mapped(node, _commutator)


def _commutator(node: Node) -> Node:
    if (
        node[:1] == ["interval"]
        and node[3]
        and node[4]
        and all(is_matrix_name(_base_name(factor)) for end in node[1:3] for factor in _factors(["mul", [end]]))
    ):
        return ["opaque", "commutator", node[1:3]]
    return node


def _matrices(gold: Node, answer: Node) -> set[str]:
    node = ["both", gold, answer]
    matrices = _in_both_orders(gold) | _in_both_orders(answer)
    for factors in _products(node):
        names = {name for factor in factors if (name := _base_name(factor)) and is_matrix_name(name)}
        if len(names) > 1 and any(_is_turned(factor) for factor in factors):
            matrices |= names
    plain = {name for name in matrices if not name.startswith(DIRECTED) and not name.endswith(TURNED)}
    return matrices if not plain & _scalars(node) else matrices - plain


def _in_both_orders(node: Node) -> set[str]:
    names = [[_base_name(factor) for factor in factors] for factors in _products(node)]
    pairs = {pair for product in names for pair in pairwise(product) if all(map(is_matrix_name, pair))}
    return {name for pair in pairs if pair[0] != pair[1] and pair[::-1] in pairs for name in pair}


def _products(tree: Node) -> Iterator[list[Node]]:
    for node in nodes(tree):
        if node[:1] == ["mul"]:
            yield _factors(node)
        elif node[:1] == ["pow"] and node[2] in _MINUS_ONE and node[1][0] == "mul":
            yield [*_factors(node[1]), ["pow", ["sym", "I"], node[2]]]


def _factors(node: Node) -> list[Node]:
    return [factor for part in node[1] for factor in (_factors(part) if part[0] == "mul" else [part])]


def _base_name(factor: Node) -> str:
    base = factor[1] if factor[0] == "pow" else factor
    return str(base[1]) if base[0] == "sym" else ""


def _is_turned(factor: Node) -> bool:
    return (factor[0] == "pow" and factor[2] in _MINUS_ONE) or _base_name(factor).endswith(TURNED)


def _scalars(tree: Node) -> set[str]:
    below = [node[2] for node in nodes(tree) if node[:1] in (["div"], ["pow"])]
    functions = [node for node in nodes(tree) if node and isinstance(node[0], str) and node[0] in _OF_SCALARS]
    return symbols(below + functions)


def _without_bold(node: Node, other: Node) -> Node:
    names, others = symbols(node), symbols(other)
    bold = {name: name[len("bold(") : -1] for name in names if name.startswith("bold(") and name.endswith(")")}
    if not bold or any(name.startswith("bold(") for name in others):
        return node
    if any(name.startswith("vec(") for name in others):
        bold = {name: f"vec({letter})" for name, letter in bold.items()}
    elif any(len(bold.keys() & set(map(_base_name, factors))) > 1 for factors in _products(node)):
        return node
    plain = {} if names & set(bold.values()) else {name: ["sym", letter] for name, letter in bold.items()}
    return substituted(node, plain)
