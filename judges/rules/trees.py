"""Plain operations on trees: expanding ±, renaming, taking names off. No sympy."""

from __future__ import annotations

from typing import Any

from livek12.judges.rules.nodes import Node, of_rows

HOLDERS = frozenset({"list", "set"})
NOT_SCALAR = frozenset(
    {
        "tuple",
        "interval",
        "list",
        "set",
        "rel",
        "named",
        "matrix",
        "union",
        "builder",
        "unit",
        "cases",
        "congruent",
        "without",
    }
)
DOTS: Node = ["const", "dots"]
EMPTY: Node = ["const", "empty"]


def expand(node: Node) -> list[Node]:
    """The values that a tree stands for: the entries of a list or set, both signs of ±. A set within stays one."""
    if node[0] in HOLDERS:
        entries = node[2] if node[0] == "list" else node[1]
        return [value for entry in entries for value in ([entry] if is_set(entry) else expand(entry))]
    if has_sign(node):
        return [_signed(node, upper) for upper in (True, False)]
    return [node]


def is_set(node: Node) -> bool:
    """Whether a tree is a set by its braces, or the empty set."""
    return node[0] == "set" or node == EMPTY


def has_sign(node: Any) -> bool:
    """Whether ± stands anywhere in a tree."""
    return isinstance(node, list) and (node[:1] == ["pm"] or any(has_sign(child) for child in node))


def _signed(node: Any, upper: bool) -> Any:
    """The tree with every ± read as its upper (or lower) sign."""
    if not isinstance(node, list):
        return node
    if node[:1] != ["pm"]:
        return [_signed(child, upper) for child in node]
    left, right, sign = node[1], _signed(node[2], upper), node[3]
    term = right if upper == (sign == "pm") else ["neg", right]
    return term if left is None else ["add", [_signed(left, upper), term]]


def bound_variable(name: str) -> tuple[str, str] | None:
    """Head and variable of a name like f(x)."""
    head, bracket, rest = name.partition("(")
    return (head, rest[0]) if bracket and len(rest) == 2 and rest[1] == ")" and rest[0].isalpha() else None


def named_sets(node: Node) -> tuple[str, list[str]] | None:
    """The names of a union or difference of sets that only have names (A - B is one too); None for anything else."""
    if node[0] == "add" and len(node[1]) == 2 and node[1][1][0] == "neg":
        parts, kind = [node[1][0], node[1][1][1]], "without"
    elif node[0] in {"union", "without"}:
        parts, kind = node[1] if node[0] == "union" else node[1:], node[0]
    else:
        return None
    names = [part[1] for part in parts if part[0] == "sym" and part[1][0].isupper()]
    if len(names) < len(parts):
        return None
    return kind, sorted(names) if kind == "union" else names


def numbered(names: list[str]) -> bool:
    """Whether names are one letter with different indices: x_1, x_2."""
    return len({name.partition("_")[0] for name in names}) == 1 and all("_" in name for name in names)


def grouped(entries: list[Node]) -> list[Node]:
    """Named values that repeat the same names in turn (p=5, q=2; p=7, q=2) as points; otherwise as they are."""
    names = [entry[1] for entry in entries if entry[0] == "named"]
    width = len(set(names))
    if len(names) < len(entries) or not 1 < width < len(names) or len(names) % width:
        return entries
    if names != names[:width] * (len(names) // width):
        return entries
    values = [entry[3] for entry in entries]
    return [["tuple", values[start : start + width]] for start in range(0, len(values), width)]


def named_entries(node: Node) -> list[Node] | None:
    """The named values of (x, y) = (1, 2), one by one; None where a tree is nothing of the kind."""
    if node[0] != "named" or node[3][0] != "tuple" or not (node[2] and node[2][0] == "tuple"):
        return None
    names, values = node[2][1], node[3][1]
    if len(names) != len(values):
        return None
    return [["named", name_of(name), name, value] for name, value in zip(names, values, strict=True)]


def name_of(node: Node) -> str:
    """How a named value writes the name that a tree is."""
    if node[0] == "apply":
        return f"{node[1]}({','.join(name_of(argument) for argument in node[2])})"
    return str(node[1])


def rename(node: Any, old: str, new: str) -> Any:
    """The tree with another symbol."""
    if not isinstance(node, list):
        return node
    return ["sym", new] if node == ["sym", old] else [rename(child, old, new) for child in node]


def unnamed(node: Node) -> Node:
    """A tree without the name before its value."""
    value: Node = node[3] if node[0] == "named" else node
    return value


def as_quotient(node: Node) -> Node:
    """A ratio of two as a fraction."""
    return ["div", *node[1]] if node[0] == "ratio" and len(node[1]) == 2 else node


def as_count(node: Node) -> Node:
    """C(7, 3), P(7, 3) and A(7, 3) of whole numbers as the number of choices; any other tree as it is."""
    if node[0] != "named" or node[1] not in {"C", "P", "A"} or node[2] is not None or node[3][0] != "tuple":
        return node
    pair = node[3][1]
    if len(pair) != 2 or not all(entry[0] == "num" and entry[1].isdigit() for entry in pair):
        return node
    if int(pair[0][1]) < int(pair[1][1]):
        return node
    chosen: Node = ["binom", *pair]
    return chosen if node[1] == "C" else ["mul", [chosen, ["fact", pair[1]]]]


def rows_of(node: Node) -> Node:
    """A closed pair [1, 2] as a tuple, a tuple of tuples as a matrix; any other tree as it is."""
    if node[0] == "interval" and node[3] and node[4]:
        return ["tuple", node[1:3]]
    if node[0] == "tuple" and all(entry[0] in {"tuple", "interval"} for entry in node[1]):
        return of_rows(node[1]) or node
    return node
