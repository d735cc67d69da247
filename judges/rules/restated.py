"""One answer that says its value twice: "3 (or 6/2)", "1/2 (=0.5)", "x=3, i.e. x=6/2", "2/3 (≈0.667)".

`restated` takes such a text apart, and says nothing of any other; `weigh` and `weigh_key` say what the verdicts on the
two come to. An answer is right when both are, or when one is and the other equals it or is its rounding. It is wrong
when both are and agree with each other. One right and one other value are two answers: left open, unless "or" makes a
list of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, Outcome, accept, reject, undecided
from livek12.judges.rules.notation import bare
from livek12.judges.rules.numeric import Number, compare_quantities, read_number
from livek12.judges.rules.text import normal_form

NAME = "restated"
MAX_CHARS = 300
Compare = Callable[[str, str], Decision]
"""What the rules say to a key and an answer, or (`alike`) to two values of one text, whatever form is asked for."""


class Restated(NamedTuple):
    """The two values, and what the words between them say: alternatives, the same, a rounding, or nothing."""

    first: str
    second: str
    kind: Literal["or", "same", "about", "bare"]

    @property
    def as_list(self) -> str:
        """Both values as alternatives."""
        return f"{self.first} or {self.second}"


_OR = r"(?:\bor\b|或者?|또는|혹은)"
_SAME = (
    r"(?:\bi\.?\s?e\b\.?|\bthat is(?: to say)?\b|\bin other words\b|\bwhich (?:is|equals)\b|\bequivalent(?:ly| to)\b"
    r"|\bequal(?:s| to)\b|即为?|也就是|也即|亦即|等于|等价[于地]?的?|写[作成为]|化[简为]为?|记[作为]|즉|곧|다시 말해|=)"
)
_ABOUT = (
    r"(?:≈|≒|\\approx(?![a-z])|约(?:等于|为|是)?|大约为?|近似[于为]?|약|대략"
    r"|\b(?:about|approximately|approx|roughly)\b\.?)"
)
_GAP = r"[\s:：,，]*"
_LEAD = late(rf"{_GAP}(?P<or>{_OR})?{_GAP}(?P<same>{_SAME})?{_GAP}(?P<about>{_ABOUT})?{_GAP}")
_BETWEEN = late(rf"\s*[,，;；]\s*(?=(?:{_OR}{_GAP})?{_SAME}(?<!=))|\s*(?=(?:或者?\s*)?(?:即|也就是|也即|亦即|等价))")
_CLOSING = {")": "(", "）": "（"}
_BRACKET = late(r"\\[()\[\]{}]|[()（）\[\]{}]")


def restated(text: str) -> Restated | None:
    """The two values of a text that says its value twice; None for any other."""
    if len(text) > MAX_CHARS:
        return None
    plain = bare(text)
    return _in_brackets(plain) or _side_by_side(plain)


def _in_brackets(text: str) -> Restated | None:
    """A second value in brackets at the end; without a word only behind a number, of which it may be a factor."""
    opening = _opening(text)
    first, inner = text[:opening].strip(), text[opening + 1 : -1].strip()
    if opening < 1 or not first or not inner or first.endswith(("\\left", "_", "^")):
        return None
    lead = _LEAD.match(inner)
    kind = _kind(lead) if lead else None
    second = inner[lead.end() :].strip() if lead and kind else inner
    if kind is not None:
        return Restated(first, second, kind) if second and _balanced(first) else None
    apart = text[opening] == "（" or text[opening - 1].isspace()
    number = re.search(r"\d", second) or read_number(second)
    beside = apart and number and read_number(first) is not None
    return Restated(first, second, "bare") if beside else None


def _side_by_side(text: str) -> Restated | None:
    """Two values with "i.e." between them, outside all brackets."""
    for between in _BETWEEN.finditer(text):
        first, lead = text[: between.start()].strip(), _LEAD.match(text, between.end())
        kind = _kind(lead) if lead else None
        second = text[lead.end() :].strip() if lead else ""
        if kind is None or not first or not second or not (_balanced(first) and _balanced(second)):
            continue
        return Restated(first, second, kind)
    return None


def _kind(lead: re.Match[str]) -> Literal["or", "same", "about"] | None:
    if lead["about"]:
        return "about"
    if lead["or"]:
        return "or"
    return "same" if lead["same"] else None


def _opening(text: str) -> int:
    """Where the bracket that closes at the end of a text opens; -1 where none does."""
    if text[-1:] not in _CLOSING:
        return -1
    depth = 0
    for match in reversed(list(_BRACKET.finditer(text))):
        if match[0] in _CLOSING:
            depth += 1
        elif match[0] in _CLOSING.values():
            depth -= 1
            if depth == 0:
                return match.start() if match[0] == _CLOSING[text[-1]] else -1
    return -1


def _balanced(text: str) -> bool:
    signs = _BRACKET.findall(text)
    return all(signs.count(opening) == signs.count(closing) for opening, closing in ("()", "（）", "[]", "{}"))


def _agree(first: Number | None, second: Number | None) -> bool:
    """Whether two numbers may be one: equal, or one of them rounded or cut off."""
    if first is None or second is None:
        return False
    pairs = ((first, second), (second, first))
    if any(compare_quantities(*pair, None)[0] == "accept" for pair in pairs):
        return True
    if first.unit != second.unit or first.percent != second.percent or first.quantum == second.quantum:
        return False
    return abs(first.value - second.value) < max(first.quantum or 0, second.quantum or 0)


def _rounded(found: Restated, alike: Compare) -> bool:
    """Whether the one is the other, perhaps rounded."""
    second = read_number(found.second)
    if _agree(read_number(found.first), second):
        return True
    return second is not None and alike(f"≈{bare(found.second)}", found.first).decision == "accept"


def weigh(found: Restated, comparison: AnswerComparison, whole: Decision, compare: Compare, alike: Compare) -> Decision:
    """What an answer that says its value twice is worth, beside the verdict on the whole text."""
    if _as_a_whole(found, comparison, whole) or _is_product(found, alike):
        return whole
    said = [compare(comparison.gold, form) for form in (found.first, found.second)]
    outcomes = [one.decision for one in said]
    if outcomes == ["accept", "accept"]:
        return said[0]
    if found.kind == "or" and (listed := compare(comparison.gold, found.as_list)).decision != "undecided":
        return listed
    if outcomes == ["reject", "reject"] and _one_value(found, alike):
        return said[0]
    if "accept" in outcomes and found.kind != "about" and _one_value(found, alike):
        return accept(NAME, "right in one of two equal forms")
    exact = outcomes[0] == "accept" if found.kind == "about" else "accept" in outcomes
    if exact and "reject" not in outcomes and _rounded(found, alike):
        return accept(NAME, "right, and rounded")
    return whole if whole.decision == "undecided" and set(outcomes) == {"undecided"} else _two_values(whole)


def weigh_key(
    found: Restated, comparison: AnswerComparison, whole: Decision, compare: Compare, alike: Compare
) -> Decision:
    """What an answer is worth to a key that says its value twice: either form is right where they are one value."""
    if _as_a_whole(found, comparison, whole) or _is_product(found, alike):
        return whole
    outcomes: set[Outcome] = {compare(form, comparison.answer).decision for form in (found.first, found.second)}
    if "accept" in outcomes and _one_value(found, alike):
        return accept(NAME, "one of two forms of the key")
    listed = compare(found.as_list, comparison.answer)
    if listed.decision == "accept":
        return listed
    if outcomes == {"reject"} and listed.decision == "reject":
        return reject(NAME, "neither form of the key")
    return undecided(NAME, "a key with two values")


def _as_a_whole(found: Restated, comparison: AnswerComparison, whole: Decision) -> bool:
    """Whether the text is right as it stands: "2 (or 1)" is not, though the product of its two values may be."""
    product = whole.by == "symbolic" and normal_form(comparison.gold) != normal_form(comparison.answer)
    return whole.decision == "accept" and (found.kind == "bare" or not product)


def _is_product(found: Restated, alike: Compare) -> bool:
    """Whether two values without a word between them are no one value: 3 (4) is twelve, 30° (π/6) is thirty."""
    return found.kind == "bare" and not _rounded(found, alike) and not _one_value(found, alike)


def _one_value(found: Restated, alike: Compare) -> bool:
    said = alike(found.first, found.second).decision
    return said == "accept" or (found.kind == "about" and said == "undecided" and _rounded(found, alike))


def _two_values(whole: Decision) -> Decision:
    return undecided(NAME, "two values that may differ", whole.lasting)
