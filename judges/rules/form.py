"""Form guard: rejects answers that miss the form the question asks for, by tree shape alone.

Runs before all accepts; rejects certain misses (the asked expression itself, a sum for factors), doubts debatable ones.
A demand that the key itself misses is ignored; an answer written like the key passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import gcd, isqrt, prod
from typing import Any, Final, Literal

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, reject, undecided
from livek12.judges.rules.latex import parse
from livek12.judges.rules.notation import bare, key_value, to_latex
from livek12.judges.rules.text import normal_form
from livek12.judges.rules.tokens import Unparsable
from livek12.judges.rules.trees import Node, has_sign, holds_symbol, is_mixed, mapped

_SCALAR = frozenset(
    "num sym const add mul neg div pow root call log opaque abs fact binom percent floor ceil det".split()
)
_FUNCTIONS = frozenset({"call", "log", "root", "fact", "binom", "det", "floor", "ceil"})
MAX_SQUARE = 10**12
MAX_FACTORS = 64


def _sides(node: Node) -> list[Node]:
    """The members of a chain of equals, without name, unit and "about"."""
    if node[0] in {"unit", "approx"}:
        return _sides(node[1])
    if node[0] == "named":
        return [side for member in [*(node[4] if len(node) > 4 else []), node[3]] for side in _sides(member)]
    if node[0] == "rel" and set(node[1]) == {"="}:
        return [side for member in node[2] for side in _sides(member)]
    return [node]


def _is_scalar(node: Any) -> bool:
    """Checks for one value without list, set, relation or ±."""
    if not isinstance(node, list) or not node or node[0] not in _SCALAR or has_sign(node):
        return False
    return all(_is_scalar(part) for part in _parts(node))


def _parts(node: Node) -> list[Node]:
    if node[0] in {"add", "mul"}:
        return list(node[1])
    if node[0] in {"call", "opaque"}:
        return list(node[2]) if node[0] == "opaque" else [node[2]]
    if node[0] in {"num", "sym", "const"}:
        return []
    if node[0] == "det":
        return [cell for row in node[1] for cell in row]
    return [part for part in node[1:] if isinstance(part, list)]


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += _parts(part)


def _size(node: Node) -> int:
    return sum(1 for _ in _walk(node))


def _canonical(tree: Node) -> Node:
    """A tree with ordered terms and factors: only the form remains."""
    return mapped(tree, _ordered)


def _ordered(node: Node) -> Node:
    if node[:1] == ["num"]:
        return ["num", node[1] if node[1][:1] != "." else f"0{node[1]}"]
    if node[:1] not in (["add"], ["mul"]):
        return node
    flat = [inner for part in node[1] for inner in (part[1] if part[0] == node[0] else [part])]
    return [node[0], sorted(flat, key=json.dumps)]


def _unsigned(node: Node) -> Node:
    while node[0] == "neg":
        node = node[1]
    return node


def _integer(node: Node) -> int | None:
    if node[0] == "neg":
        inner = _integer(node[1])
        return None if inner is None else -inner
    return int(node[1]) if node[0] == "num" and node[1].isdigit() else None


# --- products and sums --------------------------------------------------------------------------------------------


def _is_sum(node: Node) -> bool:
    node = _unsigned(node)
    return node[0] == "add" and not (len(node[1]) == 2 and is_mixed(*node[1]))


def _factors(node: Node) -> list[Node] | None:
    """Factors of a product, powers split; None with a quotient by a symbol or a high power."""
    node = _unsigned(node)
    if node[0] == "mul":
        parts = [_factors(part) for part in node[1]]
        return None if None in parts else [factor for part in parts for factor in part or []]
    if node[0] == "pow" and (times := _integer(node[2])) is not None:
        base = _factors(node[1])
        return base * times if base is not None and 0 < times * len(base) <= MAX_FACTORS else None
    if node[0] == "div" and not holds_symbol(node[2]):
        return _factors(node[1])
    return None if node[0] in {"div", "pow"} and holds_symbol(node) else [node]


def _unexpanded(node: Node) -> bool:
    node = _unsigned(node)
    if node[0] == "add":
        return any(map(_unexpanded, node[1]))
    parts = _factors(node) or []
    return len(parts) > 1 and any(_is_sum(factor) and holds_symbol(factor) for factor in parts)


# --- numbers ------------------------------------------------------------------------------------------------------


def _is_number(node: Node) -> bool:
    """Checks for one number as results are written: 4, -0.5, 3/4, 1 1/2, 20 %."""
    node = _unsigned(node)
    if node[0] == "percent":
        return _is_number(node[1])
    mixed = node[0] == "add" and len(node[1]) == 2 and is_mixed(*node[1])
    return node[0] == "num" or mixed or _is_fraction(node)


def _is_fraction(node: Node) -> bool:
    node = _unsigned(node)
    return node[0] == "div" and all(_integer(part) is not None for part in node[1:])


def _repeats(node: Node) -> bool:
    for part in _walk(node):
        if _is_fraction(part):
            top, bottom = (abs(_integer(side) or 0) for side in part[1:])
            rest = bottom // gcd(top, bottom) if bottom else 1
            for prime in (2, 5):
                while rest % prime == 0:
                    rest //= prime
            if rest != 1:
                return True
    return False


def _is_mixed_number(node: Node) -> bool:
    node = _unsigned(node)
    return node[0] == "add" and len(node[1]) == 2 and is_mixed(*node[1])


def _is_decimal(node: Node) -> bool:
    node = _unsigned(node)
    return node[0] == "num" and "." in node[1]


def _reducible(node: Node) -> bool:
    for part in _walk(node):
        if part[0] == "div" and (bottom := _integer(part[2])):
            tops = part[1][1] if part[1][0] == "mul" else [_unsigned(part[1])]
            if abs(bottom) == 1 or any(gcd(bottom, _integer(top) or 1) > 1 for top in tops):
                return True
    return False


SIMPLE = frozenset({"add", "mul", "pow"})
WORK = SIMPLE | _FUNCTIONS
ALL_WORK = WORK | {"div"}


def _standing(node: Node, kinds: frozenset[str] = ALL_WORK) -> bool:
    """Checks for arithmetic left to do: 2+3, 2·3, 2^3, 5!, 6/4, √9, sin 30°."""
    return any(part[0] in kinds and _stands(part) for part in _walk(node))


def _stands(node: Node) -> bool:
    if node[0] in {"add", "mul"}:
        return sum(map(_is_number, node[1])) > 1 and not _is_mixed_number(node)
    if node[0] == "div":
        return _reducible(node) or any(map(_is_decimal, node[1:]))
    if node[0] == "pow":
        base, exponent = _integer(node[1]), _integer(node[2])
        return base is not None and base != 10 and exponent is not None
    if node[0] == "root":
        return _square_in(node)
    return node[0] in _FUNCTIONS and not holds_symbol(node)


def _square_in(node: Node) -> bool:
    number = _integer(node[1])
    if node[2] != ["num", "2"] or number is None or not 1 < number < MAX_SQUARE:
        return False
    return any(number % (step * step) == 0 for step in range(2, min(isqrt(number), 1000) + 1))


def _root_below(node: Node) -> bool:
    return any(part[0] == "div" and any(below[0] == "root" for below in _walk(part[2])) for part in _walk(node))


def _mantissa(node: Node) -> Node | None:
    """The factor before a power of ten (default "1"); None without such a power."""
    node = _unsigned(node)
    if _power_of_ten(node):
        return ["num", "1"]
    parts = node[1] if node[0] == "mul" else []
    return parts[0] if len(parts) == 2 and parts[0][0] == "num" and _power_of_ten(parts[1]) else None


def _power_of_ten(node: Node) -> bool:
    return node[0] == "pow" and node[1] == ["num", "10"] and _integer(node[2]) is not None


NAME = "form"
MAX_CHARS = 400
"""A longer answer or key is not one expression."""
_SURE: Final = 2
_DOUBT: Final = 1
_FINE: Final = 0
Asked = Literal["", "unread", "symbols", "arithmetic", "number"]
"""The kind of the asked expression; "" for none."""
Miss = int
"""Certainty that an answer misses a form: `_FINE`, `_DOUBT` or `_SURE`."""


class FormStage:
    """Rejects or doubts answers that miss the demanded form."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Reject; undecided with a reason only for a doubt."""
        if not (comparison.asked_form or comparison.asked_expression):
            return undecided(NAME)
        key = key_value(comparison.gold)
        if max(len(key), len(comparison.answer)) > MAX_CHARS or normal_form(key) == normal_form(comparison.answer):
            return undecided(NAME)
        kinds = tuple(comparison.asked_form.split())
        if (miss := _restated(key, comparison.answer, comparison.asked_expression, kinds)) != _FINE:
            return _said(miss, "the asked expression itself")
        if "radians" in kinds and "\\circ" in to_latex(comparison.answer) and "\\circ" not in to_latex(key):
            return _said(_DOUBT, "not in the form asked for: radians")
        if {"solve", "solved"} & set(kinds) and _another_side(_tree(key), _tree(comparison.answer)):
            return _said(_DOUBT, "not solved for what is asked")
        golds, answers = _values(key), _values(comparison.answer)
        if not golds or not answers:
            return undecided(NAME)
        task_kind = _asked_kind(comparison.asked_expression)
        for kind in kinds:
            miss = min(_missed(gold, answer, kind, task_kind) for gold in golds for answer in answers)
            if miss != _FINE:
                return _said(miss, f"not in the form asked for: {kind}")
        return undecided(NAME)


def _said(miss: Miss, reason: str) -> Decision:
    return reject(NAME, reason) if miss == _SURE else undecided(NAME, reason)


def _missed(gold: Node, answer: Node, kind: str, task_kind: Asked) -> Miss:
    name = kind.partition(":")[0]
    if _same(gold, answer):
        return _FINE
    if name in _DOUBTS:
        return _DOUBT if _DOUBTS[name](gold, answer) else _FINE
    return _CHECKS[name](gold, answer, kind, task_kind) if name in _CHECKS else _FINE


_E_NOTATION = late(r"^\s*\$?\s*([+-]?\d{1,20}(?:\.\d{1,20})?)[eE]([+-]?\d{1,3})\s*\$?\s*$")


@lru_cache(maxsize=4096)
def _tree(text: str) -> Node | None:
    try:
        return parse(_E_NOTATION.sub(r"\1\\times 10^{\2}", text))
    except Unparsable:
        return None


def _values(text: str) -> list[Node]:
    node = _tree(text)
    values = _sides(node) if node is not None else []
    return values if all(map(_is_scalar, values)) else []


def _asked_kind(expression: str) -> Asked:
    node = _tree(expression) if expression else None
    if node is None:
        return "unread" if expression else ""
    if _is_number(node):
        return "number"
    plain = _is_scalar(node) and not any(part[0] in {"sym", "opaque"} for part in _walk(node))
    return "arithmetic" if plain else "symbols"


# --- the asked expression itself ----------------------------------------------------------------------------------

_OTHER_FORM = frozenset(
    "factor expand rationalise convert square scientific fraction decimal percent mixed lowest places".split()
)
"""Demands for an expression in another form, of any length."""
_UNFOLDED = late(r"\\(?:overline|bar|dot)(?![a-z])|\.{3}|…|[（(]\d+[)）]$")


def _restated(key: str, answer: str, expression: str, kinds: tuple[str, ...]) -> Miss:
    if not expression or bool(_UNFOLDED.search(expression)) != bool(_UNFOLDED.search(answer)):
        return _FINE
    printed, given, gold = _tree(expression), _tree(answer), _tree(key)
    if printed is None or given is None:
        return (
            _SURE if _same_text(expression, answer) and not _same_text(expression, key) and gold is not None else _FINE
        )
    if "solve" in kinds and printed[0] in {"rel", "named", "list"}:
        return _SURE if gold is not None and _same(printed, given) and not _same(printed, gold) else _FINE
    names = [printed, *_sides(printed)]
    if not any(_same(name, given) or all(_same(name, side) for side in _sides(given)) for name in names):
        return _FINE
    if gold is None or any(_same(name, side) for side in _sides(gold) for name in names):
        return _DOUBT if gold is None else _FINE
    by_value = _OTHER_FORM.isdisjoint(kind.partition(":")[0] for kind in kinds)
    if by_value and _is_scalar(gold) and _is_scalar(printed):
        left = _standing(printed) and not _standing(gold)
        return _SURE if left or _size(gold) < _size(printed) else _DOUBT
    return _SURE


def _another_side(gold: Node | None, answer: Node | None) -> bool:
    if gold is None or answer is None or gold[0] != "named" or not holds_symbol(gold[3]):
        return False
    return answer[0] == "rel" or (answer[0] == "named" and answer[1] != gold[1] and "(" not in gold[1] + answer[1])


def _same(first: Node, other: Node) -> bool:
    return _canonical(first) == _canonical(other)


def _same_text(first: str, other: str) -> bool:
    return normal_form(bare(first)).replace(" ", "") == normal_form(bare(other)).replace(" ", "")


# --- one function a form: how surely an answer misses what the key has ----------------------------------------------

Check = Callable[[Node, Node, str, Asked], Miss]


def _factored(gold: Node, answer: Node, _kind: str, task_kind: Asked) -> Miss:
    wanted, given = _factors(gold), _factors(answer)
    if _is_sum(gold) or wanted is None or len(wanted) < 2:
        return _FINE
    if _is_sum(answer):
        if not holds_symbol(answer) or not any(map(_is_sum, wanted)):
            return _FINE
        return _SURE if task_kind else _DOUBT
    if given is None:
        return _FINE
    return _DOUBT if _count(given) < _count(wanted) or _content(given) < _content(wanted) else _FINE


def _count(parts: list[Node]) -> int:
    symbols = [factor for factor in parts if holds_symbol(factor)]
    return len(symbols or parts)


def _content(parts: list[Node]) -> int:
    return prod(_integer(factor) or 1 for factor in parts) if any(map(holds_symbol, parts)) else 1


def _expanded(gold: Node, answer: Node, _kind: str, task_kind: Asked) -> Miss:
    if not _is_sum(gold) or _unexpanded(gold):
        return _FINE
    sums = [factor for factor in _factors(answer) or [] if _is_sum(factor) and holds_symbol(factor)]
    if task_kind and len(sums) > 1:
        return _SURE
    return _DOUBT if _unexpanded(answer) else _FINE


def _lowest(gold: Node, answer: Node, _kind: str, task_kind: Asked) -> Miss:
    if _reducible(gold) or not _reducible(answer):
        return _FINE
    return _SURE if task_kind == "number" and _is_fraction(answer) else _DOUBT


def _evaluated(gold: Node, answer: Node, _kind: str, task_kind: Asked) -> Miss:
    """Arithmetic left to do; a fraction is a value."""
    if not task_kind or not _is_number(gold) or _standing(gold):
        return _FINE
    return _DOUBT if _standing(answer, WORK if task_kind in {"arithmetic", "number"} else SIMPLE) else _FINE


def _scientific(gold: Node, answer: Node, _kind: str, task_kind: Asked) -> Miss:
    if _mantissa(gold) is None:
        return _FINE
    before = _mantissa(answer)
    if before is None:
        return _SURE if task_kind == "number" and _unsigned(answer)[0] == "num" else _DOUBT
    return _FINE if before[1].partition(".")[0] in set("123456789") else _DOUBT


def _exact(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    """A decimal for a root, π or 1/3; 1/4 may be one."""
    decimals = [any(map(_is_decimal, _walk(node))) for node in (gold, answer)]
    ends = _is_number(gold) and not _repeats(gold)
    return _DOUBT if decimals == [False, True] and not ends else _FINE


def _rounded(gold: Node, answer: Node, kind: str, task_kind: Asked) -> Miss:
    gold, answer = _unsigned(gold), _unsigned(answer)
    places = int(kind.partition(":")[2])
    if not task_kind or gold[0] != "num" or len(gold[1].partition(".")[2]) != places:
        return _FINE
    return _FINE if answer[0] == "num" and len(answer[1].partition(".")[2]) == places else _DOUBT


_CHECKS: dict[str, Check] = {
    "factor": _factored, "expand": _expanded, "lowest": _lowest, "scientific": _scientific, "exact": _exact,
    "places": _rounded, **dict.fromkeys(("evaluate", "find", "solve"), _evaluated),
}  # fmt: skip
_DOUBTS: dict[str, Callable[[Node, Node], bool]] = {
    "simplify": lambda gold, answer: _standing(answer) and not _standing(gold),
    "rationalise": lambda gold, answer: _root_below(answer) and not _root_below(gold),
    "square": lambda gold, answer: _unexpanded(gold) and _is_sum(answer) and not _unexpanded(answer),
    "fraction": lambda gold, answer: _is_fraction(gold) and (_is_decimal(answer) or _unsigned(answer)[0] == "percent"),
    "decimal": lambda gold, answer: _is_decimal(gold) and any(part[0] in {"div", "root"} for part in _walk(answer)),
    "percent": lambda gold, answer: (
        gold[0] == "percent" and (_is_fraction(answer) or (_is_decimal(answer) and float(_unsigned(answer)[1]) < 1))
    ),
    "mixed": lambda gold, answer: _is_mixed_number(gold) and (_is_fraction(answer) or _is_decimal(answer)),
    "pi": lambda gold, answer: ["const", "pi"] in _walk(gold) and _is_number(answer),
}
"""Forms that an answer may miss, but never surely."""
