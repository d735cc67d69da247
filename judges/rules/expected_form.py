"""What a question's wording says about the form of its answer: the unit it asks for or shows, intervals of monotony.

Pure functions of the text, linear in its length. They widen what counts as the same answer, so they read only plain
phrases ("how many meters", "in cm", "（单位：m）", "多少千米", "단위: m") and say nothing where two of them differ.
"""

from __future__ import annotations

import re
from functools import lru_cache

from livek12.core.patterns import late
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import read_unit

_PHRASES = [
    late(r"\bhow (?:many|much) (?P<unit>(?:square |cubic )?[a-z]+(?: per [a-z]+)?)\b", re.IGNORECASE),
    late(r"\b(?:in|the nearest) (?:units of )?(?P<unit>(?:square |cubic )?[a-zA-Z]+(?: per [a-z]+)?)\s*[?.,;)]"),
    late(r"[(（]\s*(?:in|单位(?:为|是)?[:：]?|단위[:：]?)\s*(?P<unit>[^()（）]{1,24})[)）]"),
    late(r"多少(?P<unit>(?:平方|立方)?[\u4e00-\u9fff]{1,4})[?？。，,]"),
    late(r"몇\s*(?P<unit>[\uac00-\ud7a3]{1,6}|[a-zA-Z/]{1,6})(?:인가|입니까|일까|이다|인지)"),
]
_MONOTONY = late(
    r"monoton|\b(?:in|de)creasing\b|\b(?:in|de)creases\b|单调|递增|递减|增区间|减区间|증가하는|감소하는|단조",
    re.IGNORECASE,
)
_PER_CENT = late(
    r"\bwhat (?:is the )?percent(?:age)?\b|\bas an? percent(?:age)?\b|百分之(?:几|多少)"
    r"|百分(?:数|比|率)[是为]?(?:多少|几|[_＿(（?？])"
    r"|(?:多少|几)[%％]|몇\s*(?:%|퍼센트|프로)|(?:_{2,}|[(（]\s*[)）])\s*(?:\\?%|％)",
    re.IGNORECASE,
)
MAX_CHARS = 20_000
MAX_KEY = 200
_SPACING = late(r"\\(?:text|mathrm|rm|[,;:! ])|[\s{}$~]")
_NUMBER = late(r"^.*\d[\s})]*", re.DOTALL)


@lru_cache(maxsize=4096)
def asked_unit(question: str) -> str | None:
    """The one unit that a question asks for; None where it names none, or several."""
    found: dict[str, str] = {}
    for phrase in _PHRASES:
        for match in phrase.finditer(question[:MAX_CHARS]):
            unit = read_unit(to_latex(match["unit"].strip(" $")))
            if unit is not None and unit.symbol:
                found[unit.symbol] = match["unit"].strip(" $")
    if not found and _PER_CENT.search(question[:MAX_CHARS]):
        return "%"
    return next(iter(found.values())) if len(found) == 1 else None


@lru_cache(maxsize=4096)
def shows_unit(question: str, gold: str) -> bool:
    """Whether what stands behind the last digit of a key stands anywhere in the question, letter by letter."""
    behind = _SPACING.sub("", _NUMBER.sub("", gold[-MAX_KEY:]))
    return behind != "" and behind in _SPACING.sub("", question[:MAX_CHARS])


@lru_cache(maxsize=4096)
def asks_for_monotony(question: str) -> bool:
    """Whether a question asks where something rises or falls: either end may belong to such an interval or not."""
    return _MONOTONY.search(question[:MAX_CHARS]) is not None


_THINGS = r"(?:values?|solutions?|roots?|zeros?|pairs?|triples?|numbers?|integers?|primes?|functions?|points?)"
_ALL = late(
    r"\b(?:find|determine|list|give|state|identify|solve for|what are|write down)\b"
    r"(?!\s+the\s+(?:sum|product|number|average|mean))"
    rf"[^.?!]{{0,30}}\ball\b[^.?!,]{{0,40}}\b{_THINGS}\b"
    r"|(?:求|求出|写出|列出|找出)[^。？?，,和积]{0,12}(?:所有|全部)(?![^。？?]{0,20}(?:之?和|之?积|个数))"
    r"|모두 (?:구하|찾|쓰)|모든[^.?]{0,20}(?:값|해|근|쌍|수)[을를] (?:구하|찾|쓰)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def asks_for_all(question: str) -> bool:
    """Whether a question plainly asks for all values, so that one of several is wrong."""
    return _ALL.search(question[:MAX_CHARS]) is not None


_SOLUTIONS = late(
    r"general\s+solution|differential\s+equation|\bODEs?\b|通解|微分方程|일반해|미분\s?방정식"
    r"|(?<![A-Za-z])[yuxw]\s?(?:'{1,4}|\^\{\\prime|\^\{\(\d\)\})|\\(?:ddot|dot)\s?\{?[a-z]|\\d?frac\s?\{\s?(?:\\mathrm\s?\{?)?d\}?\^?\{?\d?\}?\s?[yuxw]\s?\}"
)


@lru_cache(maxsize=4096)
def asks_for_solutions(question: str) -> bool:
    """Whether a question is about a differential equation, in whose solutions constants may have any name."""
    return _SOLUTIONS.search(question[:MAX_CHARS]) is not None
