"""Small questions about one or two trees that `judges.algebra` asks: kinds of answers, sizes, bases. Worker only."""

from __future__ import annotations

from typing import Any

from livek12.judges.base import Outcome
from livek12.judges.expressions import equal
from livek12.judges.nodes import Node
from livek12.judges.trees import as_quotient
from livek12.judges.values import TooBig, value_of

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
