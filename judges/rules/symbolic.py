"""Symbolic equality: trees are read here and compared by sympy in a worker process.

Unreadable, big or slow comparisons are undecided.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, accept, reject, undecided
from livek12.judges.rules.chemistry import is_chemical
from livek12.judges.rules.dates import compare_times
from livek12.judges.rules.latex import AMBIGUOUS, parse
from livek12.judges.rules.notation import bare, key_value, named_together, without_part_labels
from livek12.judges.rules.numeric import compare_quantities, read_number
from livek12.judges.rules.pool import SymbolicPool, shared_pool
from livek12.judges.rules.tokens import Unparsable
from livek12.judges.rules.trees import Node, mapped, nodes, scaled
from livek12.judges.rules.units import conversion

NAME = "symbolic"
MAX_WRITTEN = 20_000
"""Characters of a key or an answer as written (`tokens.MAX_CHARS` bounds the cleaned text)."""


class SymbolicStage:
    """Accepts provable equality, rejects demonstrable difference."""

    name = NAME

    def __init__(self, pool: SymbolicPool | None = None) -> None:
        self._pool = pool

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept, reject, or undecided with the reason."""
        key, text = key_value(comparison.gold), comparison.answer
        if None not in (read_number(key), read_number(text)):
            return undecided(NAME)
        if max(len(key), len(text)) > MAX_WRITTEN:
            return undecided(NAME, "too long")
        labels, (key, text) = without_part_labels(key, text)
        if len(labels) > 1:
            return undecided(NAME, "labels of two parts")
        comparison = replace(comparison, answer=text)
        try:
            gold, answer, readings = _trees(key, text)
        except Unparsable as error:
            return undecided(NAME, str(error))
        if _comma_may_be_a_point(key, comparison.answer):
            return _with_decimal_comma(key, comparison.answer)
        if gold == answer:
            return accept(NAME, "same expression")
        if is_chemical(comparison.gold) and is_chemical(comparison.answer):
            return undecided(NAME, "chemistry, not algebra")
        decision = self._asked(gold, answer, comparison)
        doubtful = _DOUBTFUL_END.search(comparison.answer) is not None and not _DOUBTFUL_END.search(key)
        others = (self._asked(*reading, comparison).decision if reading else "undecided" for reading in readings)
        if decision.decision == "reject" and (doubtful or any(other != "reject" for other in others)):
            return undecided(NAME, "a letter that may be a unit, or an exclamation")
        if not (comparison.all_asked or comparison.language in _POINT) and _other_as_decimals(key, text, decision):
            return undecided(NAME, "decimals with a comma, or values")
        if compare_times(key, comparison.answer) is not None:
            return undecided(NAME, "times of day, or equal ratios")
        if (
            decision.decision == "reject"
            and (listed := _as_lists(key, comparison.answer))
            and self._equal(listed, comparison)
        ):
            return accept(NAME, "the same values, with commas between them")
        if decision.decision == "reject" and gold[0] == "tuple" and (named := named_together(text)):
            return self.decide(replace(comparison, gold=key, answer=", ".join(named)))
        if decision.decision == "reject" and _equal_as_units(key, comparison.answer):
            return undecided(NAME, "powers of units, or a sum")
        if decision.decision == "reject" and _OPTION.fullmatch(bare(key)) and answer[0] != "sym":
            return undecided(NAME, "a letter that may be an option")
        return decision

    def _asked(self, gold: Node, answer: Node, comparison: AnswerComparison) -> Decision:
        demands = {name: getattr(comparison, name) for name in ("open_ends", "ends_count", "all_asked", "solutions")}
        request = {"gold": gold, "answer": _in_the_keys_unit(gold, answer), **demands}
        reply = (self._pool or shared_pool()).compare(request)
        if reply["decision"] == "accept":
            return accept(NAME, reply["reason"])
        if reply["decision"] == "reject":
            return reject(NAME, reply["reason"])
        return undecided(NAME, reply["reason"], lasting=not reply.get("limit", False))

    def _equal(self, texts: tuple[str, str], comparison: AnswerComparison) -> bool:
        try:
            gold, answer = map(parse, texts)
        except Unparsable:
            return False
        return self._asked(gold, answer, comparison).decision == "accept"


Trees = tuple[Node, Node]


def _trees(gold: str, answer: str) -> tuple[Node, Node, list[Trees | None]]:
    """Both trees, and their other readings (None: unclear)."""
    try:
        plain = parse(gold), parse(answer)
        if (plain[0][0] == "unit") == (plain[1][0] == "unit"):
            return *plain, []
    except Unparsable:
        plain = None
    try:
        guessed = parse(gold, letters=True), parse(answer, letters=True)
    except Unparsable as error:
        if str(error) != AMBIGUOUS:
            raise
        return parse(gold, division="tight"), parse(answer, division="tight"), [_loose(gold, answer)]
    return *guessed, [plain] if guessed != plain else []


def _loose(gold: str, answer: str) -> Trees | None:
    try:
        return parse(gold, division="loose"), parse(answer, division="loose")
    except Unparsable:
        return None


_OPTION = late(r"[A-F]")
_DOUBTFUL_END = late(r"(?:[ΩΩ]|\\Omega|!)[\s}$)\\.]*\Z")
_GROUPED = late(r"[+-]?\d{1,3}(?:,\d{3})+")


def _as_lists(gold: str, answer: str) -> tuple[str, str] | None:
    texts = [bare(gold), bare(answer)]
    apart = [text.replace(",", ", ") if _GROUPED.fullmatch(text) else text for text in texts]
    return (apart[0], apart[1]) if apart != texts else None


_TIGHT = late(r"(?<=[A-Za-z])-(?:(?P<power>[1-3])(?!\d)|(?=[A-Za-z]))")


def _equal_as_units(gold: str, answer: str) -> bool:
    """Compares with a unit's hyphen as no minus: "5 m s-1", "5 N-m"."""
    texts = [
        _TIGHT.sub(lambda sign: f"^{{-{sign['power']}}}" if sign["power"] else "\\cdot ", text)
        for text in (gold, answer)
    ]
    if texts == [gold, answer]:
        return False
    first, other = (read_number(text) for text in texts)
    return first is not None and other is not None and compare_quantities(first, other, None)[0] == "accept"


def _in_the_keys_unit(gold: Node, answer: Node) -> Node:
    units, others = ({part[2] for part in nodes(side) if part[:1] == ["unit"]} - {""} for side in (gold, answer))
    if len(units) != 1 or others <= units:
        return answer
    (unit,) = units

    def converted(node: Node) -> Node:
        fit, factor = conversion(node[2], unit) if node[:1] == ["unit"] and node[2] else ("", Fraction(1))
        if fit != "convertible":
            return node
        size = ["div", ["num", str(factor.numerator)], ["num", str(factor.denominator)]]
        return ["unit", scaled(node[1], size), unit, node[3]]

    return mapped(answer, converted)


def _with_decimal_comma(gold: str, answer: str) -> Decision:
    """A key with a point has one value; of a key with a comma, "1,2" may be one and two."""
    texts = [bare(text) for text in (gold, answer)]
    key, number = (read_number(_pointed(text)) for text in texts)
    plain = "." in texts[0] or any(_PLAIN_COMMA.fullmatch(text) for text in texts)
    if plain and key is not None and number is not None and compare_quantities(key, number, None)[0] == "accept":
        return accept(NAME, "equal with a decimal comma")
    return undecided(NAME, "a comma that may be a decimal point")


def _other_as_decimals(gold: str, answer: str, decision: Decision) -> bool:
    """Checks for two lists of two numbers that are two other or rounded decimals ("3,5" and "5,3")."""
    texts = [text.strip(" $") for text in (gold, answer)]
    first, second = (read_number(_pointed(text)) if _COMMA.fullmatch(text) else None for text in texts)
    if first is None or second is None:
        return False
    return "accept" in {compare_quantities(first, second, None)[0]} ^ {decision.decision}


def _pointed(text: str) -> str:
    comma = _COMMA.fullmatch(text)
    return f"{comma['whole'].replace('.', '')}.{comma['rest']}" if comma else text


_POINT = frozenset({"zh", "ko"})
"""Languages without a decimal comma; English may be any other with Latin letters."""
_PLAIN_COMMA = late(r"[+-]?(?:0,\d+|\d+,\d{2,}|\d{1,3}(?:\.\d{3})+,\d+)")
"""A comma that is no sign of a list: "0,5", "3,14", "1.234,5"."""
_COMMA = late(r"(?P<whole>[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)),(?P<rest>\d+(?:\s?[^\s\d,;][^\d,;]{0,30})?)")


_THOUSANDS = late(r", (?=\d{3}$)")


def _comma_may_be_a_point(gold: str, answer: str) -> bool:
    texts = [_THOUSANDS.sub(",", bare(text)) for text in (gold, answer)]
    commas = [_COMMA.fullmatch(text) is not None for text in texts]
    return commas[0] != commas[1] and read_number(texts[commas[0]]) is not None
