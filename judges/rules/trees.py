"""Trees of answers (plain lists, documented in `judges.rules.latex`): construction and operations. No sympy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from livek12.judges.rules.tokens import Unparsable

Node = list[Any]
DIRECTED = ("vec(", "bold(", "hat(")
"""Prefixes of the names of vectors and quantum operators."""
TURNED = ("^T", "^dagger")
"""Suffixes of the names of transposes and adjoints."""
ORDERED = "ordered "
"""Prefix of the head of an opaque letter that does not commute."""


def chosen(base: Node, exponent: Node) -> Node | None:
    """C_5^2 and A_5^2 as numbers of combinations and arrangements."""
    kind, _, total = str(base[1]).partition("_") if base[0] == "sym" else ("", "", "")
    if kind not in {"C", "A"} or not total.isdigit() or exponent[0] != "num" or not exponent[1].isdigit():
        return None
    if int(exponent[1]) > int(total):
        return None
    if kind == "C":
        return ["binom", ["num", total], exponent]
    return ["div", ["fact", ["num", total]], ["fact", ["num", str(int(total) - int(exponent[1]))]]]


def named_by_points(kind: str, points: str) -> Node | None:
    """A name by points: ∠ABC is ∠CBA, a segment AB is BA, a vector AB is -BA."""
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
    """A whole number in a base of 2 to 36; else a name with an index."""
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
    """A flattened sum, or both signs of ± and ∓."""
    if operator in {"pm", "mp"}:
        return ["pm", left, right, operator]
    term = ["neg", right] if operator == "-" else right
    if left is None:
        return term
    return ["add", [*left[1], term]] if left[0] == "add" else ["add", [left, term]]


def times(left: Node, right: Node) -> Node:
    """A flattened product."""
    return ["mul", [*left[1], right]] if left[0] == "mul" else ["mul", [left, right]]


def is_directed(node: Node) -> bool:
    """Checks for a vector mark (arrow, bold, hat) on one factor, or a sum of such."""
    kind = node[0]
    if kind == "sym":
        return str(node[1]).startswith(DIRECTED)
    if kind in {"add", "mul"}:
        directed = [is_directed(part) for part in node[1]]
        return any(directed) if kind == "add" else directed.count(True) == 1
    if kind in {"neg", "div"}:
        return is_directed(node[1])
    return kind == "opaque" and node[1] != "dot" and (node[1] == "cross" or any(map(is_directed, node[2])))


def with_products_of_vectors(factors: list[tuple[str, Node]]) -> Node | None:
    r"""A product where \times or \cdot joins two vectors, cross before dot; else None."""
    for sign, kind in (("times", "cross"), ("*", "dot")):
        joined = [factors[0]]
        for operator, right in factors[1:]:
            left = joined[-1][1]
            if operator == sign and _is_of_vectors(kind, left, right):
                joined[-1] = (joined[-1][0], ["opaque", kind, [left, right]])
            else:
                joined.append((operator, right))
        factors = joined
    if not any(node[:2] in (["opaque", "cross"], ["opaque", "dot"]) for _, node in factors):
        return None
    return factors[0][1] if len(factors) == 1 else ["mul", [node for _, node in factors]]


def _is_of_vectors(kind: str, left: Node, right: Node) -> bool:
    directed = is_directed(left), is_directed(right)
    if all(directed) or kind == "dot":
        return all(directed)
    return any(directed) and (right if directed[0] else left)[0] == "sym"


def is_matrix_name(name: str) -> bool:
    """Checks for one capital, or a letter with a mark."""
    letter = name.removesuffix(TURNED[0]).removesuffix(TURNED[1]).partition("_")[0]
    return name.startswith(DIRECTED) or (letter.isupper() and len(letter) == 1)


def holds_opaque(node: Any) -> bool:
    """Checks for notation that equals only itself; dot products of vectors are understood."""
    return any(part[:1] == ["opaque"] and part[1] != "dot" for part in nodes(node))


def is_mixed(whole: Node, fraction: Node) -> bool:
    """Checks for a whole number before a proper fraction."""
    return _is_beside(whole, fraction) and int(fraction[1][1]) < int(fraction[2][1])


def is_improper(whole: Node, fraction: Node) -> bool:
    """Checks for a whole number before an improper fraction: sum or product."""
    return _is_beside(whole, fraction) and int(fraction[1][1]) >= int(fraction[2][1])


def _is_beside(whole: Node, fraction: Node) -> bool:
    numbers = [whole, *fraction[1:]] if fraction[0] == "div" else []
    return len(numbers) == 3 and all(node[0] == "num" and node[1].isdigit() for node in numbers)


def decorated(node: Node, mark: str) -> Node:
    """A symbol with a mark appended."""
    if node[0] != "sym":
        raise Unparsable("a mark on an expression")
    return ["sym", node[1] + mark]


def with_index(node: Node, index: str) -> Node:
    """A symbol with a subscript before its marks (x'_1 is x_1'); e_x is the unit vector of x."""
    if node[1] in {"hat(e)", "bold(e)"}:
        return ["sym", f"hat({index})"]
    base = node[1].rstrip("'*+-").partition("^(")[0]
    index = "0" if index == "o" else index
    return ["sym", f"{base}_{index}{node[1][len(base) :]}"]


def nodes(tree: Any) -> Iterator[Node]:
    """A tree and all lists in it, in no certain order."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if type(part) is list:
            yield part
            waiting += part


def mapped(tree: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with each of its lists changed, the inner ones first."""
    return change([mapped(part, change) if isinstance(part, list) else part for part in tree])


def substituted(tree: Node, trees: Mapping[str, Node]) -> Node:
    """The tree with other trees in place of symbols."""
    return mapped(tree, lambda part: trees.get(part[1], part) if part[:1] == ["sym"] else part)


def holds(tree: Any, *begin: str) -> bool:
    """Checks for a node that begins so (its kind, or kind and name)."""
    size, wanted = len(begin), [*begin]
    return any(part[:size] == wanted for part in nodes(tree))


def holds_symbol(node: Any, name: str | None = None) -> bool:
    """Checks for a symbol, or the one of a name."""
    return any(part[:1] == ["sym"] and name in {None, part[1]} for part in nodes(node))


def symbols(node: Any) -> set[str]:
    """The names of all symbols."""
    return {part[1] for part in nodes(node) if part[:1] == ["sym"]}


def of_rows(entries: list[Node]) -> Node | None:
    """The matrix of [[1, 2], [3, 4]]; None unless rows have one length."""
    closed = [entry[1:3] if entry[0] == "interval" and entry[3] and entry[4] else entry for entry in entries]
    rows = [entry[1] if entry[0] == "tuple" else entry if isinstance(entry[0], list) else [entry] for entry in closed]
    plain = all(cell[0] not in {"interval", "tuple", "list", "set"} for row in rows for cell in row)
    return ["matrix", rows] if plain and len({len(row) for row in rows}) == 1 else None


HOLDERS = frozenset({"list", "set"})
NOT_SCALAR = frozenset(
    "tuple interval list set rel bond given named matrix union builder unit cases congruent without".split()
)
DOTS: Node = ["const", "dots"]
EMPTY: Node = ["const", "empty"]


def expand(node: Node) -> list[Node]:
    """The values of a list, set or ±; nested sets remain."""
    if node[0] in HOLDERS:
        entries = node[2] if node[0] == "list" else node[1]
        return [value for entry in entries for value in ([entry] if is_set(entry) else expand(entry))]
    if has_sign(node):
        return [_signed(node, upper) for upper in (True, False)]
    return [node]


def is_set(node: Node) -> bool:
    """Checks for a set in braces or the empty set."""
    return node[0] == "set" or node == EMPTY


def has_sign(node: Any) -> bool:
    """Checks for ±."""
    return holds(node, "pm")


def _signed(node: Any, upper: bool) -> Any:
    if not isinstance(node, list):
        return node
    if node[:1] != ["pm"]:
        return [_signed(child, upper) for child in node]
    left, right, sign = node[1], _signed(node[2], upper), node[3]
    term = right if upper == (sign == "pm") else ["neg", right]
    return term if left is None else ["add", [_signed(left, upper), term]]


def bound_variable(name: str) -> tuple[str, str] | None:
    """Head and variable of f(x)."""
    head, bracket, rest = name.partition("(")
    return (head, rest[0]) if bracket and len(rest) == 2 and rest[1] == ")" and rest[0].isalpha() else None


def named_sets(node: Node) -> tuple[str, list[str]] | None:
    """The names of a union or difference of named sets (also A - B)."""
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
    """Checks for one letter with indices: x_1, x_2."""
    return len({name.partition("_")[0] for name in names}) == 1 and all("_" in name for name in names)


def grouped(entries: list[Node]) -> list[Node]:
    """Values whose names repeat in turn (p=5, q=2; p=7, q=2) as points; else unchanged."""
    names = [entry[1] for entry in entries if entry[0] == "named"]
    width = len(set(names))
    if len(names) < len(entries) or not 1 < width < len(names) or len(names) % width:
        return entries
    if names != names[:width] * (len(names) // width):
        return entries
    values = [entry[3] for entry in entries]
    return [["tuple", values[start : start + width]] for start in range(0, len(values), width)]


def named_entries(node: Node) -> list[Node] | None:
    """The named values of (x, y) = (1, 2), else None."""
    if node[0] != "named" or node[3][0] != "tuple" or not (node[2] and node[2][0] == "tuple"):
        return None
    names, values = node[2][1], node[3][1]
    if len(names) != len(values):
        return None
    return [["named", name_of(name), name, value] for name, value in zip(names, values, strict=True)]


def name_of(node: Node) -> str:
    """The name for the tree of a name."""
    if node[0] == "opaque":
        return f"{node[1].removesuffix('()')}({','.join(name_of(argument) for argument in node[2])})"
    return str(node[1])


def base_letter(name: str) -> str:
    """Delta(E_1) and e' are e."""
    marked = re.fullmatch(r"[a-z]{3,}\((.*)\)", name)
    return re.split(r"[_('*+-]", marked[1] if marked else name, maxsplit=1)[0].lower()


def alike_but_for_index(name: str, other: str) -> bool:
    """E and E_1, c_p and C_P, E_b and E_{binding}, E(n, m) and E_{n,m}; not E_1 and E_2, y and y', a_n and a_{n+1}."""
    if any(name.count(sign) != other.count(sign) for sign in "'+-"):
        return False
    letters = base_letter(name), base_letter(other)
    index, longer = sorted((re.sub(r"[\W_]", "", part.lower()) for part in (name, other)), key=len)
    own = re.compile(rf"{index}(?!(?<=\d)\d|{index[-1:]}+$)")
    return letters[0] == letters[1] and letters[0].isalpha() and own.match(longer) is not None


def unnamed(node: Node) -> Node:
    """The value without its name."""
    value: Node = node[3] if node[0] == "named" else node
    return value


def is_condition(node: Node) -> bool:
    """Checks for an inequality or a limit."""
    return (node[0] == "rel" and "=" not in node[1]) or node[0] == "bond"


def definitions(node: Node) -> dict[str, Node]:
    """The letters that a condition defines ("where k = ...")."""
    conditions = node[2] if node[0] == "given" else []
    return {part[1]: part[3] for part in conditions if part[0] == "named" and part[2] and part[2][0] == "sym"}


def holds_relation(node: Node) -> bool:
    """Checks for an inequality or limit: P(X > 2), E(1 -> 2)."""
    return holds(node, "rel") or holds(node, "bond")


def scaled(node: Node, size: Node) -> Node:
    """A value, or the values of a name or relation, with a factor."""
    if node[0] == "named":
        return [*node[:3], scaled(node[3], size)]
    if node[0] in {"rel", "bond"}:
        sides = [side if side[0] in {"sym", "opaque"} else scaled(side, size) for side in sides_of(node)]
        return [*node[:2], *sides] if node[0] == "bond" else [*node[:2], sides]
    return ["mul", [size, node]]


def sides_of(node: Node) -> list[Node]:
    """The sides of a relation."""
    sides: list[Node] = node[2:] if node[0] == "bond" else node[2]
    return sides


def bounds_of(node: Node) -> list[Node]:
    """The sides of an inequality, limit or proportion that are no names; empty for other nodes."""
    if node[0] not in {"rel", "bond"} or (node[0] == "rel" and node[1] not in (["<"], [">"], ["<="], [">="])):
        return []
    sides = sides_of(node)
    return [side for side in sides if side[0] not in {"sym", "opaque"}] or sides[1:]


def as_quotient(node: Node) -> Node:
    """A ratio of two as a fraction."""
    return ["div", *node[1]] if node[0] == "ratio" and len(node[1]) == 2 else node


def as_range(node: Node) -> tuple[Fraction, Fraction] | None:
    """The ends of 6850:6950 and 0.85-0.89, near enough for a range; None for anything else."""
    match node:
        case ["ratio", [["num", low], ["num", high]]] | ["add", [["num", low], ["neg", ["num", high]]]]:
            ends = Fraction(low), Fraction(high)
            return ends if ends[0] <= ends[1] <= 2 * ends[0] else None
    return None


def as_count(node: Node) -> Node:
    """C(7, 3), P(7, 3) and A(7, 3) of whole numbers as counts; else unchanged."""
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
    """A pair [1, 2] as a tuple, a tuple of tuples as a matrix; else unchanged."""
    if node[0] == "interval" and node[3] and node[4]:
        return ["tuple", node[1:3]]
    if node[0] == "tuple" and all(entry[0] in {"tuple", "interval"} for entry in node[1]):
        return of_rows(node[1]) or node
    return node
