"""Nodes of the trees that `judges.rules.latex` reads: plain lists, put together here. No sympy."""

from __future__ import annotations

from typing import Any

from livek12.judges.rules.tokens import Unparsable

Node = list[Any]
DIRECTED = ("vec(", "bold(", "hat(")
"""How the names of vectors, and of operators of quantum mechanics, begin."""
TURNED = ("^T", "^dagger")
"""How the names of transposes and adjoints end."""
UNKNOWN = frozenset({"unknown", "cross", "applied", "ordered"})
"""Nodes that equal only themselves, but for the identities written in `vectors` and `unknowns`."""


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


def is_directed(node: Node) -> bool:
    """Whether a tree is a vector by its marks: an arrow, bold type or a hat over one factor, or a sum of such."""
    kind = node[0]
    if kind == "sym":
        return str(node[1]).startswith(DIRECTED)
    if kind in {"add", "mul"}:
        directed = [is_directed(part) for part in node[1]]
        return any(directed) if kind == "add" else directed.count(True) == 1
    if kind in {"neg", "div"}:
        return is_directed(node[1])
    return kind in {"cross", "nabla"} or (kind == "unknown" and any(map(is_directed, node[2])))


def with_products_of_vectors(factors: list[tuple[str, Node]]) -> Node | None:
    r"""A product of factors with the signs before them, where \times or \cdot joins two vectors; None where none does.

    A cross product is formed before a dot product.
    """
    for sign, kind in (("times", "cross"), ("*", "dot")):
        joined = [factors[0]]
        for operator, right in factors[1:]:
            left = joined[-1][1]
            if operator == sign and _is_of_vectors(kind, left, right):
                joined[-1] = (joined[-1][0], [kind, left, right])
            else:
                joined.append((operator, right))
        factors = joined
    if not any(node[0] in {"cross", "dot"} for _, node in factors):
        return None
    return factors[0][1] if len(factors) == 1 else ["mul", [node for _, node in factors]]


def _is_of_vectors(kind: str, left: Node, right: Node) -> bool:
    directed = is_directed(left), is_directed(right)
    if all(directed) or kind == "dot":
        return all(directed)
    return any(directed) and (right if directed[0] else left)[0] == "sym"


def is_matrix_name(name: str) -> bool:
    """Whether a name may be that of a matrix or operator: one capital, or a letter with a mark."""
    letter = name.removesuffix(TURNED[0]).removesuffix(TURNED[1]).partition("_")[0]
    return name.startswith(DIRECTED) or (letter.isupper() and len(letter) == 1)


def holds_kind(node: Any, kinds: frozenset[str]) -> bool:
    """Whether a node of some kinds is anywhere in a tree."""
    return isinstance(node, list) and (
        (bool(node) and isinstance(node[0], str) and node[0] in kinds) or any(holds_kind(part, kinds) for part in node)
    )


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
