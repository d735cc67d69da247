"""The shape of a tree: whether it is factored, expanded, worked out, in lowest terms. No sympy, no values.

Contract: pure functions of trees that the reader made, each in time linear in its size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import gcd, isqrt
from typing import Any

from livek12.judges.rules.nodes import Node, holds_symbol, is_mixed
from livek12.judges.rules.trees import has_sign

_SCALAR = frozenset(
    "num sym const add mul neg div pow root call log apply abs fact binom percent floor ceil det".split()
)
_FUNCTIONS = frozenset({"call", "log", "root", "fact", "binom", "det", "floor", "ceil"})
MAX_SQUARE = 10**12
MAX_FACTORS = 64


def sides(node: Node) -> list[Node]:
    """What an answer says its value is: all members of a chain of equals, without name, unit and "about"."""
    if node[0] in {"unit", "approx"}:
        return sides(node[1])
    if node[0] == "named":
        return [side for member in [*(node[4] if len(node) > 4 else []), node[3]] for side in sides(member)]
    if node[0] == "rel" and set(node[1]) == {"="}:
        return [side for member in node[2] for side in sides(member)]
    return [node]


def is_scalar(node: Any) -> bool:
    """Whether a tree is one value, which no list, set, relation or ± is part of."""
    if not isinstance(node, list) or not node or node[0] not in _SCALAR or has_sign(node):
        return False
    return all(is_scalar(part) for part in _parts(node))


def _parts(node: Node) -> list[Node]:
    """The trees that stand directly in a scalar."""
    if node[0] in {"add", "mul"}:
        return list(node[1])
    if node[0] in {"call", "apply"}:
        return list(node[2]) if node[0] == "apply" else [node[2]]
    if node[0] in {"num", "sym", "const"}:
        return []
    if node[0] == "det":
        return [cell for row in node[1] for cell in row]
    return [part for part in node[1:] if isinstance(part, list)]


def walk(node: Node) -> Iterator[Node]:
    """A scalar and all that stands in it."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += _parts(part)


def size(node: Node) -> int:
    """The number of nodes."""
    return sum(1 for _ in walk(node))


def canonical(node: Any) -> Any:
    """A tree with the terms of sums and the factors of products in one order: what stays is how it is written."""
    if not isinstance(node, list):
        return node
    if node[:1] == ["num"]:
        return ["num", node[1] if node[1][:1] != "." else f"0{node[1]}"]
    parts = [canonical(part) for part in node]
    if parts[:1] in (["add"], ["mul"]):
        flat = [inner for part in parts[1] for inner in (part[1] if part[0] == parts[0] else [part])]
        return [parts[0], sorted(flat, key=json.dumps)]
    return parts


def unsigned(node: Node) -> Node:
    """A tree without the minus signs before it."""
    while node[0] == "neg":
        node = node[1]
    return node


def integer(node: Node) -> int | None:
    """The whole number that a tree is; None for any other."""
    if node[0] == "neg":
        inner = integer(node[1])
        return None if inner is None else -inner
    return int(node[1]) if node[0] == "num" and node[1].isdigit() else None


# --- products and sums --------------------------------------------------------------------------------------------


def is_sum(node: Node) -> bool:
    """Whether a tree is a sum, which a mixed number is not."""
    node = unsigned(node)
    return node[0] == "add" and not (len(node[1]) == 2 and is_mixed(*node[1]))


def factors(node: Node) -> list[Node] | None:
    """The factors of a product, powers taken apart; None where a quotient by a symbol or a high power is among them."""
    node = unsigned(node)
    if node[0] == "mul":
        parts = [factors(part) for part in node[1]]
        return None if None in parts else [one for part in parts for one in part or []]
    if node[0] == "pow" and (times := integer(node[2])) is not None:
        base = factors(node[1])
        return base * times if base is not None and 0 < times * len(base) <= MAX_FACTORS else None
    if node[0] == "div" and not holds_symbol(node[2]):
        return factors(node[1])
    return None if node[0] in {"div", "pow"} and holds_symbol(node) else [node]


def multiplied_sums(node: Node) -> int:
    """How many sums are multiplied at the top of a tree, each by the number of its power."""
    return sum(is_sum(factor) and holds_symbol(factor) for factor in factors(node) or [])


def unexpanded(node: Node) -> bool:
    """Whether a product or power of a sum stands anywhere among the terms of a tree."""
    node = unsigned(node)
    if node[0] == "add":
        return any(map(unexpanded, node[1]))
    found = factors(node) or []
    return len(found) > 1 and any(is_sum(factor) and holds_symbol(factor) for factor in found)


# --- numbers ------------------------------------------------------------------------------------------------------


def is_number(node: Node) -> bool:
    """Whether a tree is one number as people write results: 4, -0.5, 3/4, 1 1/2, 20 %."""
    node = unsigned(node)
    if node[0] == "percent":
        return is_number(node[1])
    mixed = node[0] == "add" and len(node[1]) == 2 and is_mixed(*node[1])
    return node[0] == "num" or mixed or is_fraction(node)


def is_fraction(node: Node) -> bool:
    """Whether a tree is a quotient of two whole numbers."""
    node = unsigned(node)
    return node[0] == "div" and all(integer(part) is not None for part in node[1:])


def repeats(node: Node) -> bool:
    """Whether a fraction of whole numbers has no last decimal."""
    for part in walk(node):
        if is_fraction(part):
            top, bottom = (abs(integer(side) or 0) for side in part[1:])
            rest = bottom // gcd(top, bottom) if bottom else 1
            for prime in (2, 5):
                while rest % prime == 0:
                    rest //= prime
            if rest != 1:
                return True
    return False


def is_mixed_number(node: Node) -> bool:
    """Whether a tree is a whole number with a proper fraction."""
    node = unsigned(node)
    return node[0] == "add" and len(node[1]) == 2 and is_mixed(*node[1])


def is_decimal(node: Node) -> bool:
    """Whether a tree is a number with a point."""
    node = unsigned(node)
    return node[0] == "num" and "." in node[1]


def reducible(node: Node) -> bool:
    """Whether a quotient stands in a tree of which a whole number can be cancelled."""
    for part in walk(node):
        if part[0] == "div" and (bottom := integer(part[2])):
            tops = part[1][1] if part[1][0] == "mul" else [unsigned(part[1])]
            if abs(bottom) == 1 or any(gcd(bottom, integer(top) or 1) > 1 for top in tops):
                return True
    return False


SIMPLE = frozenset({"add", "mul", "pow"})
WORK = SIMPLE | _FUNCTIONS
ALL_WORK = WORK | {"div"}


def standing(node: Node, kinds: frozenset[str] = ALL_WORK) -> bool:
    """Whether something between plain numbers is left to be worked out: 2+3, 2·3, 2^3, 5!, 6/4, √9, sin 30°.

    Args:
        node: a scalar.
        kinds: the nodes that count.
    """
    return any(part[0] in kinds and _stands(part) for part in walk(node))


def _stands(node: Node) -> bool:
    if node[0] in {"add", "mul"}:
        return sum(map(is_number, node[1])) > 1 and not is_mixed_number(node)
    if node[0] == "div":
        return reducible(node) or any(map(is_decimal, node[1:]))
    if node[0] == "pow":
        base, exponent = integer(node[1]), integer(node[2])
        return base is not None and base != 10 and exponent is not None
    if node[0] == "root":
        return _square_in(node)
    return node[0] in _FUNCTIONS and not holds_symbol(node)


def _square_in(node: Node) -> bool:
    """Whether a square can be taken out of a square root of a whole number."""
    number = integer(node[1])
    if node[2] != ["num", "2"] or number is None or not 1 < number < MAX_SQUARE:
        return False
    return any(number % (step * step) == 0 for step in range(2, min(isqrt(number), 1000) + 1))


def root_below(node: Node) -> bool:
    """Whether a root stands in a denominator."""
    return any(part[0] == "div" and any(below[0] == "root" for below in walk(part[2])) for part in walk(node))


def mantissa(node: Node) -> Node | None:
    """What stands before a power of ten ("1" where nothing does); None where a tree is no number with such a power."""
    node = unsigned(node)
    if _power_of_ten(node):
        return ["num", "1"]
    parts = node[1] if node[0] == "mul" else []
    return parts[0] if len(parts) == 2 and parts[0][0] == "num" and _power_of_ten(parts[1]) else None


def _power_of_ten(node: Node) -> bool:
    return node[0] == "pow" and node[1] == ["num", "10"] and integer(node[2]) is not None
