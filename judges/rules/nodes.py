"""Nodes of the trees that `judges.rules.latex` reads: plain lists, put together here. No sympy."""

from __future__ import annotations

from typing import Any

from livek12.judges.rules.tokens import Unparsable

Node = list[Any]


def chosen(base: Node, exponent: Node) -> Node | None:
    """C_5^2 and A_5^2 as the numbers of combinations and arrangements; None for anything else."""
    kind, _, total = str(base[1]).partition("_") if base[0] == "sym" else ("", "", "")
    if kind not in {"C", "A"} or not total.isdigit() or exponent[0] != "num" or not exponent[1].isdigit():
        return None
    if int(exponent[1]) > int(total):
        return None
    if kind == "C":
        return ["binom", ["num", total], exponent]
    return ["div", ["fact", ["num", total]], ["fact", ["num", str(int(total) - int(exponent[1]))]]]


def named_by_points(kind: str, points: str) -> Node | None:
    """What is named by two or three points: ∠ABC is ∠CBA, a segment AB is BA, a vector AB is -BA; else None."""
    if not (points.isascii() and points.isalpha() and points.isupper()):
        return None
    turned = min(points, points[::-1])
    if kind == "vec" and len(points) == 2:
        named: Node = ["sym", f"vec({turned})"]
        return named if turned == points else ["neg", named]
    if kind == "angle" and len(points) == 3:
        return ["sym", f"angle({turned})"]
    if kind == "triangle" and len(points) == 3:
        return ["sym", f"triangle({''.join(sorted(points))})"]
    return ["sym", f"{kind}({turned})"] if kind in {"bar", "overline", "arc"} and len(points) == 2 else None


def in_base(digits: str, base: str) -> Node:
    """A whole number in a base of 2 to 36; else a number with an index, which is a name."""
    base = base.strip("()")
    valid = (
        base.isdigit() and 2 <= int(base) <= 36 and digits.isdigit() and all(int(digit) < int(base) for digit in digits)
    )
    return ["based", digits, base] if valid else ["sym", f"{digits}_{base}"]


def transposed(node: Node) -> Node:
    """A row as a column; tuples have no direction."""
    if node[0] == "matrix":
        return ["matrix", [list(column) for column in zip(*node[1], strict=True)]]
    return node if node[0] == "tuple" else ["tuple", node[1:3]]


def plus(left: Node | None, operator: str, right: Node) -> Node:
    """A sum, or both signs behind ± and ∓; a sum takes another term in."""
    if operator in {"pm", "mp"}:
        return ["pm", left, right, operator]
    term = ["neg", right] if operator == "-" else right
    if left is None:
        return term
    return ["add", [*left[1], term]] if left[0] == "add" else ["add", [left, term]]


def times(left: Node, right: Node) -> Node:
    """A product; a product takes another factor in."""
    return ["mul", [*left[1], right]] if left[0] == "mul" else ["mul", [left, right]]


def is_mixed(whole: Node, fraction: Node) -> bool:
    """A whole number directly before a proper fraction of whole numbers is a mixed number."""
    return _is_beside(whole, fraction) and int(fraction[1][1]) < int(fraction[2][1])


def is_improper(whole: Node, fraction: Node) -> bool:
    """A whole number directly before an improper fraction: perhaps a sum, perhaps a product."""
    return _is_beside(whole, fraction) and int(fraction[1][1]) >= int(fraction[2][1])


def _is_beside(whole: Node, fraction: Node) -> bool:
    numbers = [whole, *fraction[1:]] if fraction[0] == "div" else []
    return len(numbers) == 3 and all(node[0] == "num" and node[1].isdigit() for node in numbers)


def decorated(node: Node, mark: str) -> Node:
    """A symbol with a mark behind it."""
    if node[0] != "sym":
        raise Unparsable("a mark on an expression")
    return ["sym", node[1] + mark]


def holds_symbol(node: Any, name: str | None = None) -> bool:
    """Whether a symbol, or the one of a name, stands anywhere in a tree."""
    if not isinstance(node, list):
        return False
    own = node[:1] == ["sym"] and name in {None, *node[1:2]}
    return own or any(holds_symbol(child, name) for child in node)


def symbols(node: Any) -> set[str]:
    """The names of all symbols in a tree."""
    if not isinstance(node, list):
        return set()
    return {node[1]} if node[:1] == ["sym"] else set().union(*map(symbols, node))


def of_rows(entries: list[Node]) -> Node | None:
    """The matrix of [[1, 2], [3, 4]], whose rows were read as brackets; None where they are no rows of one length."""
    closed = [entry[1:3] if entry[0] == "interval" and entry[3] and entry[4] else entry for entry in entries]
    rows = [entry[1] if entry[0] == "tuple" else entry if isinstance(entry[0], list) else [entry] for entry in closed]
    plain = all(cell[0] not in {"interval", "tuple", "list", "set"} for row in rows for cell in row)
    return ["matrix", rows] if plain and len({len(row) for row in rows}) == 1 else None
