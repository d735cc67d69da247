"""Values in a sentence or twice: "The vertex is (2, 3).", "作者是李白", "3 (or 6/2)", "1/2 (=0.5)".

A double value is right when both are, or one is and the other equals or rounds it; wrong when both are and agree; else
undecided, unless "or" makes a list.
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

MAX_SENTENCE = 160
_ENGLISH = late(
    r"(?:(?:so|thus|hence|therefore),?\s+)?"
    r"(?:it['’]s|(?:i|we)\s(?:get|got|obtain|find|have)|(?P<subject>(?:it|he|she|they|this|that|the|its|his|her|their|our)\b[^.,;:=?!\n]{0,80}?)"
    r"\s(?:is|are|was|were|equals?|becomes?|gives?|yields?)(?:\s(?:equal to|called|given by))?:?)\s+(?P<value>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = late(
    r"(?:所以|因此|故|综上)?[,，]?\s?(?:[^，,。；;：:=？?！!\n]{0,30}?(?:\s?[:：]\s?|是|为|叫做?|称为|等于)|(?:我们)?(?:可以)?(?:[解可求算]得|得[到出])\s?[:：]?)"
    r"(?P<value>.+?)(?:[,，]\s?经检验[^。]{0,40})?",
    re.DOTALL,
)
_KOREAN = late(
    r"(?:따라서|그러므로|그래서)?\s*(?P<subject>[^,.;:=?!\n]{1,40}?[가-힣\w)])[은는]\s+"
    r"(?P<value>\S.{0,80}?)\s?(?:이다|입니다|이에요|예요|임)",
    re.DOTALL,
)
OTHERWISE = late(
    r"\b(?:not|no|never|none|neither|nor|cannot|if|when|unless|whether|where|because|since|but|although|or|maybe|perhaps"
    r"|probably|possibly|might|may|could|would|should|guess\w*|wrong|incorrect|false|mistake\w*|other|another|first|second"
    r"|third|last|next|one|each|either|both|half|twice|previous|original|initial|what|which|why|how|than|opposite|inverse"
    r"|reciprocal|negative|square|given|assum\w+|suppos\w+|say|says|said|claim\w*|think\w*|friend|student|odds)\b|n['’]t\b"
    r"|[疑恐]|增根|不(?!等[式号]|变|饱和|规则|可逆|连续)"
    r"|[没非未无否若如假设错误可或另其余哪谁吗呢倍半]|至[少多]|第[一二三]|[大小多少高低]于|超过|相反|倒数|绝对值|次方|[平立]方(?!单位|[千厘分毫]?米)"
    r"|아니|않|없|못|만약|라면|아마|틀[리린렸]|잘못|오답|모르|또는|다른|첫|두 번째|역수|절반|보다"
    r"|절댓값|[두세네] ?배|제곱(?! ?(?:미터|센티|킬로|[ck]?m))",
    re.IGNORECASE,
)
_ENDED = late(r"[.。!！?？;；\n](?=\s*\S)(?!\d)")
_COPULA_AGAIN = late(r"\b(?:is|are|was|were)\b|[是为]|(?:은|는)\s", re.IGNORECASE)
_TEXT = late(r"\\text\s?\{([^{}]*)\}")
_CJK = late(r"[\u4e00-\u9fff]")
_HANGUL = late(r"[\uac00-\ud7a3]")
_LATIN = late(r"[A-Za-z]")
_GLOSSED = late(r"(?P<word>[^()（）\d=<>+]{1,30}?)\s?[(（](?P<gloss>[^()（）]{1,40})[)）]")


def complement(text: str) -> str | None:
    """The complement of the one copula of a plain, unqualified sentence."""
    if not 4 <= len(text) <= MAX_SENTENCE or text[0] == "…":  # quoted for a reader
        return None
    plain = _TEXT.sub(r"\1", bare(text))
    pattern = _KOREAN if _HANGUL.search(plain) else _CHINESE if _CJK.search(plain) else _ENGLISH
    match = pattern.fullmatch(text.strip(" .。*\n") if pattern is _KOREAN else plain)
    if match is None or plain.endswith("!") or _ENDED.search(plain) or OTHERWISE.search(plain):
        return None  # what ends in "5!" may be a factorial
    value = match["value"].strip()
    return None if _COPULA_AGAIN.search(value) else value


def glossed(text: str) -> list[str]:
    """Readings of a word with a gloss (a number, another script): 삼투압(osmotic pressure), 碳酸钠（Na2CO3）."""
    match = _GLOSSED.fullmatch(bare(text)) if len(text) <= MAX_SENTENCE else None
    if match is None or OTHERWISE.search(text):
        return []
    word, gloss = match["word"].strip(), match["gloss"].strip()
    if gloss.isdigit():
        return [word] if _scripts(word) - {"latin"} else []
    return [word, gloss] if _scripts(word) and _scripts(gloss) and not _scripts(word) & _scripts(gloss) else []


def _scripts(text: str) -> set[str]:
    scripts = (("han", _CJK), ("hangul", _HANGUL), ("latin", _LATIN))
    return {name for name, pattern in scripts if pattern.search(text)}


NAME = "restated"
MAX_CHARS = 300
Compare = Callable[[str, str], Decision]
"""The verdict of the rules on a key and an answer, or (`alike`) on two values of one text, in any form."""


class Restated(NamedTuple):
    """Two values, and the relation in words: alternatives, equal, a rounding, or ""."""

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
    """Splits an answer that gives two values."""
    if len(text) > MAX_CHARS or (text.isascii() and not any(sign in text for sign in ",;)")):
        return None
    plain = bare(text)
    return _in_brackets(plain) or _side_by_side(plain)


def _in_brackets(text: str) -> Restated | None:
    """A second value in final brackets; without a word only behind a number (factor)."""
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
    if first is None or second is None:
        return False
    pairs = ((first, second), (second, first))
    if any(compare_quantities(*pair, None)[0] == "accept" for pair in pairs):
        return True
    if first.unit != second.unit or first.percent != second.percent or first.quantum == second.quantum:
        return False
    return abs(first.value - second.value) < max(first.quantum or 0, second.quantum or 0)


def _rounded(pair: Restated, alike: Compare) -> bool:
    second = read_number(pair.second)
    if _agree(read_number(pair.first), second):
        return True
    return second is not None and alike(f"≈{bare(pair.second)}", pair.first).decision == "accept"


def weigh(pair: Restated, comparison: AnswerComparison, whole: Decision, compare: Compare, alike: Compare) -> Decision:
    """The verdict on a double value, given that on the whole text."""
    if _as_a_whole(pair, comparison, whole) or _is_product(pair, alike):
        return whole
    decisions = [compare(comparison.gold, form) for form in (pair.first, pair.second)]
    outcomes = [decision.decision for decision in decisions]
    if outcomes == ["accept", "accept"]:
        return decisions[0]
    if pair.kind == "or" and (listed := compare(comparison.gold, pair.as_list)).decision != "undecided":
        return listed
    if outcomes == ["reject", "reject"] and _one_value(pair, alike):
        return decisions[0]
    if "accept" in outcomes and pair.kind != "about" and _one_value(pair, alike):
        return accept(NAME, "right in one of two equal forms")
    exact = outcomes[0] == "accept" if pair.kind == "about" else "accept" in outcomes
    if exact and "reject" not in outcomes and _rounded(pair, alike):
        return accept(NAME, "right, and rounded")
    if whole.decision == "undecided" and set(outcomes) == {"undecided"}:
        return whole
    return undecided(NAME, "two values that may differ", whole.lasting)


def weigh_key(
    pair: Restated, comparison: AnswerComparison, whole: Decision, compare: Compare, alike: Compare
) -> Decision:
    """The verdict for a double key: either form is right if they are one value."""
    if _as_a_whole(pair, comparison, whole) or _is_product(pair, alike):
        return whole
    outcomes: set[Outcome] = {compare(form, comparison.answer).decision for form in (pair.first, pair.second)}
    if "accept" in outcomes and _one_value(pair, alike):
        return accept(NAME, "one of two forms of the key")
    listed = compare(pair.as_list, comparison.answer)
    if listed.decision == "accept":
        return listed
    if outcomes == {"reject"} and listed.decision == "reject":
        return reject(NAME, "neither form of the key")
    return undecided(NAME, "a key with two values")


def _as_a_whole(pair: Restated, comparison: AnswerComparison, whole: Decision) -> bool:
    product = whole.by == "symbolic" and normal_form(comparison.gold) != normal_form(comparison.answer)
    return whole.decision == "accept" and (pair.kind == "bare" or not product)


def _is_product(pair: Restated, alike: Compare) -> bool:
    return pair.kind == "bare" and not _rounded(pair, alike) and not _one_value(pair, alike)


def _one_value(pair: Restated, alike: Compare) -> bool:
    outcome = alike(pair.first, pair.second).decision
    return outcome == "accept" or (pair.kind == "about" and outcome == "undecided" and _rounded(pair, alike))
