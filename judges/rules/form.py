"""The form that the question asks for: what restates the question, or is not in that form, is not the answer.

A guard before all accepts. It rejects what surely misses the form (the asked expression itself, a sum where factors
are asked for, a plain number where scientific notation is), leaves a doubt where a teacher may think otherwise, and
else says nothing. A demand that the key does not meet itself is none, and what reads as the key is never touched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Final, Literal

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, reject, undecided
from livek12.judges.rules import shapes
from livek12.judges.rules.latex import parse
from livek12.judges.rules.nodes import Node, holds_symbol
from livek12.judges.rules.notation import bare, key_value
from livek12.judges.rules.text import normal_form
from livek12.judges.rules.tokens import Unparsable

NAME = "form"
MAX_CHARS = 400
"""A longer answer or key is not one expression."""
_SURE: Final = 2
_DOUBT: Final = 1
_FINE: Final = 0
Asked = Literal["", "unread", "symbols", "arithmetic", "number"]
"""Of what kind the asked expression is; "" where there is none."""
Miss = int
"""How surely an answer misses a form: `_FINE`, `_DOUBT` or `_SURE`."""


class FormStage:
    """Rejects, or leaves in doubt with a reason, what is not in the form that the question demands."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Reject; undecided with a reason for a doubt, and without one where nothing is to be said."""
        if comparison.is_choice or not (comparison.asked_form or comparison.asked_expression):
            return undecided(NAME)
        key = key_value(comparison.gold)
        if max(len(key), len(comparison.answer)) > MAX_CHARS or normal_form(key) == normal_form(comparison.answer):
            return undecided(NAME)
        kinds = tuple(comparison.asked_form.split())
        if (miss := _restated(key, comparison.answer, comparison.asked_expression, kinds)) != _FINE:
            return _said(miss, "the asked expression itself")
        if {"solve", "solved"} & set(kinds) and _another_side(_tree(key), _tree(comparison.answer)):
            return _said(_DOUBT, "not solved for what is asked")
        golds, answers = _values(key), _values(comparison.answer)
        if not golds or not answers:
            return undecided(NAME)
        asked = _asked_kind(comparison.asked_expression)
        for kind in kinds:
            miss = min(_missed(gold, answer, kind, asked) for gold in golds for answer in answers)
            if miss != _FINE:
                return _said(miss, f"not in the form asked for: {kind}")
        return undecided(NAME)


def _said(miss: Miss, reason: str) -> Decision:
    return reject(NAME, reason) if miss == _SURE else undecided(NAME, reason)


def _missed(gold: Node, answer: Node, kind: str, asked: Asked) -> Miss:
    """How surely a value misses a form; one that is written as the key is fine."""
    check = _CHECKS.get(kind.partition(":")[0])
    return _FINE if check is None or _same(gold, answer) else check(gold, answer, kind, asked)


_E_NOTATION = late(r"^\s*\$?\s*([+-]?\d{1,20}(?:\.\d{1,20})?)[eE]([+-]?\d{1,3})\s*\$?\s*$")


@lru_cache(maxsize=4096)
def _tree(text: str) -> Node | None:
    try:
        return parse(_E_NOTATION.sub(r"\1\\times 10^{\2}", text))
    except Unparsable:
        return None


def _values(text: str) -> list[Node]:
    """The members of the chain of equals that a text is; none where one of them is no plain value."""
    node = _tree(text)
    found = shapes.sides(node) if node is not None else []
    return found if all(map(shapes.is_scalar, found)) else []


def _asked_kind(expression: str) -> Asked:
    node = _tree(expression) if expression else None
    if node is None:
        return "unread" if expression else ""
    if shapes.is_number(node):
        return "number"
    plain = shapes.is_scalar(node) and not any(part[0] in {"sym", "apply"} for part in shapes.walk(node))
    return "arithmetic" if plain else "symbols"


# --- the asked expression itself ----------------------------------------------------------------------------------

_OTHER_FORM = frozenset(
    "factor expand rationalise convert square scientific fraction decimal percent mixed lowest places".split()
)
"""What asks for an expression in another form, no matter which is the longer one."""
_UNFOLDED = late(r"\\(?:overline|bar|dot)(?![a-z])|\.{3}|…|[（(]\d+[)）]$")


def _restated(key: str, answer: str, asked: str, kinds: tuple[str, ...]) -> Miss:
    """Whether an answer is nothing but the expression that the question prints, and the key is something else."""
    if not asked or bool(_UNFOLDED.search(asked)) != bool(_UNFOLDED.search(answer)):
        return _FINE
    printed, given, gold = _tree(asked), _tree(answer), _tree(key)
    if printed is None or given is None:
        return _SURE if _same_text(asked, answer) and not _same_text(asked, key) and gold is not None else _FINE
    if "solve" in kinds and printed[0] in {"rel", "named", "list"}:
        return _SURE if gold is not None and _same(printed, given) and not _same(printed, gold) else _FINE
    names = [printed, *shapes.sides(printed)]
    if not any(_same(name, given) or all(_same(name, side) for side in shapes.sides(given)) for name in names):
        return _FINE
    if gold is None or any(_same(name, side) for side in shapes.sides(gold) for name in names):
        return _DOUBT if gold is None else _FINE
    by_value = _OTHER_FORM.isdisjoint(kind.partition(":")[0] for kind in kinds)
    if by_value and shapes.is_scalar(gold) and shapes.is_scalar(printed):
        left = shapes.standing(printed) and not shapes.standing(gold)
        return _SURE if left or shapes.size(gold) < shapes.size(printed) else _DOUBT
    return _SURE


def _another_side(gold: Node | None, answer: Node | None) -> bool:
    """Whether the key says what a symbol is in others, and the answer, an equation, does not say it of this one."""
    if gold is None or answer is None or gold[0] != "named" or not holds_symbol(gold[3]):
        return False
    return answer[0] == "rel" or (answer[0] == "named" and answer[1] != gold[1] and "(" not in gold[1] + answer[1])


def _same(one: Node, other: Node) -> bool:
    return bool(shapes.canonical(one) == shapes.canonical(other))


def _same_text(one: str, other: str) -> bool:
    return normal_form(bare(one)).replace(" ", "") == normal_form(bare(other)).replace(" ", "")


# --- one function a form: how surely an answer misses what the key has ----------------------------------------------

Check = Callable[[Node, Node, str, Asked], Miss]


def _factored(gold: Node, answer: Node, _kind: str, asked: Asked) -> Miss:
    """A sum is not factored; fewer factors than the key has are not all of them."""
    wanted, found = shapes.factors(gold), shapes.factors(answer)
    if shapes.is_sum(gold) or wanted is None or len(wanted) < 2:
        return _FINE
    if shapes.is_sum(answer):
        if not holds_symbol(answer) or not any(map(shapes.is_sum, wanted)):
            return _FINE
        return _SURE if asked else _DOUBT
    if found is None:
        return _FINE
    return _DOUBT if _count(found) < _count(wanted) or _content(found) < _content(wanted) else _FINE


def _count(found: list[Node]) -> int:
    symbols = [factor for factor in found if holds_symbol(factor)]
    return len(symbols or found)


def _content(found: list[Node]) -> int:
    """The whole number that stands before factors with symbols."""
    return prod(shapes.integer(factor) or 1 for factor in found) if any(map(holds_symbol, found)) else 1


def _expanded(gold: Node, answer: Node, _kind: str, asked: Asked) -> Miss:
    if not shapes.is_sum(gold) or shapes.unexpanded(gold):
        return _FINE
    if asked and shapes.multiplied_sums(answer) > 1:
        return _SURE
    return _DOUBT if shapes.unexpanded(answer) else _FINE


def _as_square(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    return _DOUBT if shapes.unexpanded(gold) and shapes.is_sum(answer) and not shapes.unexpanded(answer) else _FINE


def _lowest(gold: Node, answer: Node, _kind: str, asked: Asked) -> Miss:
    if shapes.reducible(gold) or not shapes.reducible(answer):
        return _FINE
    return _SURE if asked == "number" and shapes.is_fraction(answer) else _DOUBT


def _worked_out(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    """Nothing between plain numbers may be left that the key does not have."""
    return _DOUBT if shapes.standing(answer) and not shapes.standing(gold) else _FINE


def _evaluated(gold: Node, answer: Node, _kind: str, asked: Asked) -> Miss:
    """Where arithmetic is asked for, none may be left; for the value of a formula, no sum or power of whole numbers.

    A fraction is a value, cancelled or not.
    """
    if not asked or not shapes.is_number(gold) or shapes.standing(gold):
        return _FINE
    return (
        _DOUBT
        if shapes.standing(answer, shapes.WORK if asked in {"arithmetic", "number"} else shapes.SIMPLE)
        else _FINE
    )


def _rationalised(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    return _DOUBT if shapes.root_below(answer) and not shapes.root_below(gold) else _FINE


def _scientific(gold: Node, answer: Node, _kind: str, asked: Asked) -> Miss:
    if shapes.mantissa(gold) is None:
        return _FINE
    before = shapes.mantissa(answer)
    if before is None:
        return _SURE if asked == "number" and shapes.unsigned(answer)[0] == "num" else _DOUBT
    return _FINE if before[1].partition(".")[0] in set("123456789") else _DOUBT


def _as_fraction(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    other = shapes.is_decimal(answer) or shapes.unsigned(answer)[0] == "percent"
    return _DOUBT if shapes.is_fraction(gold) and other else _FINE


def _as_decimal(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    quotient = any(part[0] in {"div", "root"} for part in shapes.walk(answer))
    return _DOUBT if shapes.is_decimal(gold) and quotient else _FINE


def _as_percent(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    share = shapes.is_fraction(answer) or (shapes.is_decimal(answer) and float(shapes.unsigned(answer)[1]) < 1)
    return _DOUBT if gold[0] == "percent" and share else _FINE


def _as_mixed(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    other = shapes.is_fraction(answer) or shapes.is_decimal(answer)
    return _DOUBT if shapes.is_mixed_number(gold) and other else _FINE


def _with_pi(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    pi = ["const", "pi"]
    return _DOUBT if pi in shapes.walk(gold) and shapes.is_number(answer) else _FINE


def _exact(gold: Node, answer: Node, _kind: str, _asked: Asked) -> Miss:
    """A decimal is not the exact value of a root, of π, or of 1/3; that of 1/4 may be one."""
    decimals = [any(map(shapes.is_decimal, shapes.walk(node))) for node in (gold, answer)]
    ends = shapes.is_number(gold) and not shapes.repeats(gold)
    return _DOUBT if decimals == [False, True] and not ends else _FINE


def _rounded(gold: Node, answer: Node, kind: str, asked: Asked) -> Miss:
    """To be rounded is a printed number: one with more places, or none that has places, is still to be."""
    gold, answer = shapes.unsigned(gold), shapes.unsigned(answer)
    places = int(kind.partition(":")[2])
    if not asked or gold[0] != "num" or len(gold[1].partition(".")[2]) != places:
        return _FINE
    return _FINE if answer[0] == "num" and len(answer[1].partition(".")[2]) <= places else _DOUBT


_CHECKS: dict[str, Check] = {
    "factor": _factored,
    "expand": _expanded,
    "lowest": _lowest,
    "simplify": _worked_out,
    "evaluate": _evaluated,
    "find": _evaluated,
    "solve": _evaluated,
    "rationalise": _rationalised,
    "scientific": _scientific,
    "fraction": _as_fraction,
    "decimal": _as_decimal,
    "percent": _as_percent,
    "mixed": _as_mixed,
    "pi": _with_pi,
    "exact": _exact,
    "places": _rounded,
    "square": _as_square,
}
