"""Small questions about one or two trees that `algebra` asks: kinds of answers, sizes, bases. Worker only."""

from __future__ import annotations

import re
from typing import Any

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.expressions import at, equal
from livek12.judges.rules.nodes import Node
from livek12.judges.rules.trees import as_quotient
from livek12.judges.rules.values import TooBig, value_of

Said = tuple[Outcome, str]


def is_complete(node: Node) -> bool:
    """Whether a list is plainly all of its solutions: alternatives, or values of one name."""
    names = {entry[1] for entry in node[2] if entry[0] == "named"}
    return node[1] == "or" or (len(names) == 1 and all(entry[0] == "named" for entry in node[2]))


def based(gold: Node, answer: Node) -> Said:
    """Numbers in a base; the base may be left out of the answer, not the digits."""
    if answer[0] == "num" and gold[0] == "based" and gold[2] != "10" and gold[1] == answer[1]:
        return "accept", "the same digits, the base left out"
    if gold[0] != answer[0]:
        return "undecided", "a number in a base beside another"
    values = [int(node[1], int(node[2])) for node in (gold, answer)]
    if gold[2] == answer[2]:
        return ("accept", "the same number") if values[0] == values[1] else ("reject", "other digits")
    return ("undecided", "another base") if values[0] == values[1] else ("reject", "another number")


def one_is_huge(gold: Node, answer: Node) -> Said:
    """A number too big to hold beside one that is not."""
    sizes = []
    for node in (gold, answer):
        try:
            value = value_of(as_quotient(node)).expr
            sizes.append("small" if value.is_Rational else "")
        except TooBig:
            sizes.append("huge" if is_tower(node) else "")
    return ("reject", "another size") if sorted(sizes) == ["huge", "small"] else ("undecided", "a power too big")


def is_tower(node: Node) -> bool:
    """Powers of whole numbers only: whatever is too big among them is a big number."""
    return (node[0] == "num" and "." not in node[1]) or (node[0] == "pow" and all(map(is_tower, node[1:])))


def holds_interval(node: Any) -> bool:
    """Whether an interval stands anywhere in a tree."""
    return isinstance(node, list) and (node[:1] == ["interval"] or any(map(holds_interval, node)))


def agree_all(relation: Node) -> bool:
    """Whether all sides of an equation are one value: an identity (1/2 = 0.5)."""
    values = [value_of(side) for side in relation[2]]
    return all(equal(values[0], value)[0] == "accept" for value in values[1:])


def entries(gold: Node, answer: Node) -> tuple[list[Node], list[Node]]:
    """The entries of tuples and matrices; a tuple may stand for a single row or column."""
    flat = [[entry for row in node[1] for entry in row] if node[0] == "matrix" else node[1] for node in (gold, answer)]
    return flat[0], flat[1]


def is_vector(node: Node) -> bool:
    """Whether a tuple or matrix is one row or one column."""
    return node[0] != "matrix" or len(node[1]) == 1 or all(len(row) == 1 for row in node[1])


_GREATER = late(r"max|larg|great|最大|较大|최대|최댓", re.IGNORECASE)
_LESS = late(r"min|small|least|最小|较小|최소|최솟", re.IGNORECASE)


def named_by_size(nodes: list[Node]) -> bool | None:
    """Whether two values named as the greater and the lesser one are so by size; None where the names say nothing."""
    sizes: dict[str, Any] = {}
    for node in nodes:
        kinds = (("greater", _GREATER), ("less", _LESS)) if node[0] == "named" else ()
        for kind in (kind for kind, pattern in kinds if pattern.search(node[1])):
            value = at(value_of(node[3]).expr, {})
            if value is not None and value[1] == 0:
                sizes[kind] = value[0]
    return bool(sizes["greater"] > sizes["less"]) if len(nodes) == len(sizes) == 2 else None


def may_be_interval(pair: Node) -> bool:
    """Whether a tuple of two may be an open interval: its second entry is not below the first."""
    ends = [at(value_of(end).expr, {}) for end in pair[1]] if len(pair[1]) == 2 else []
    known = [end[0] for end in ends if end is not None and end[1] == 0]
    return len(ends) == 2 and not (len(known) == 2 and bool(known[0] >= known[1]))
