"""Text normal forms: equality after unifying width, spacing, punctuation and mark-up. Accepts only.

Case counts except in words: "Evelyn" is "evelyn", but AaBb is not AABB, CO not Co, Ω not ω. CJK quotes, list separators
("、", "和"), a leading English article and a final Korean copula are ignored.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.text import of_short
from livek12.judges.base import AnswerComparison, Decision, accept, undecided
from livek12.judges.rules.notation import bare, to_latex

NAME = "text"
_STYLED = late(
    r"\\(?:text|textbf|textit|textrm|textup|textnormal|mathrm|mathbf|mathit|mathsf|boldsymbol|bm|mbox|operatorname"
    r"|ce)\s*\{([^{}]*)\}"
)
_BLANK = late(r"\\(?:displaystyle|left|right|rm|q?quad)(?![a-zA-Z])|\\[,;:! ]|[~$]|\*\*")
_FRACTION = late(r"\\[dtc]frac(?![a-zA-Z])")
_INDEX = late(r"(?<=[A-Za-z)\]])_\{?(\d+)\}?")
_SINGLE = late(r"([_^])\{(\w)\}")
_CJK_SPACE = late(r"(?<=[^\x00-\u02ff]) | (?=[^\x00-\u02ff])")
_SYMBOL_SPACE = late(r" ?([^\w\s]) ?")
_WORD = late(r"(?<![A-Za-z0-9\\])[A-Za-z]{3,}(?![A-Za-z0-9])")
_GENOTYPE = late(r"(?:([a-zA-Z])(?i:\1))+")
_NESTING = 6


class TextStage:
    """Accepts answers that read like the key."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or undecided."""
        gold, answer = (_rebound(normal_form(text)) for text in (comparison.gold, comparison.answer))
        if gold and gold == answer:
            return accept(NAME, "same text")
        if _plainest(gold) and _plainest(gold) == _plainest(answer):
            return accept(NAME, "same text but for quotes, joints or endings")
        return undecided(NAME)


def _inside(match: re.Match[str]) -> str:
    """The group of a match (a template would be looked up for each text)."""
    return match[1]


@of_short
def normal_form(text: str) -> str:
    """The text with meaningless differences unified."""
    text = _FRACTION.sub(r"\\frac", to_latex(bare(text)))
    for _ in range(_NESTING if "\\" in text else 0):
        text = _STYLED.sub(_inside, text)
    text = _SINGLE.sub(lambda match: match[1] + match[2], _INDEX.sub(_inside, _BLANK.sub(" ", text)))
    text = _SYMBOL_SPACE.sub(_inside, _CJK_SPACE.sub("", " ".join(text.split())))
    return _WORD.sub(_fold, text).rstrip(" .,;:")


_BOUND = late(r"\\(?:sum|prod)_\{?([a-zA-Z])=")


def _rebound(text: str) -> str:
    names = set(_BOUND.findall(text))
    name = names.pop() if len(names) == 1 else ""
    return re.sub(rf"(?<![A-Za-z\\]){name}(?![A-Za-z])", "□", text) if name else text


_CJK = "[\u4e00-\u9fff\uac00-\ud7a3]"
_QUOTES = late('[“”‘’"「」『』《》]')
_JOINT = late(rf"(?<={_CJK})(?:以及|[和与及]|와|과|및|그리고)(?={_CJK})|[,;；]")
_ARTICLE = late(r"^(?:the|a|an) (?=[a-z]{3,})")
_COPULA = late(r"(?<=[\uac00-\ud7a3A-Za-z0-9)])(?:입니다|이에요|예요|이다)$")


def _plainest(text: str) -> str:
    text = _COPULA.sub("", _ARTICLE.sub("", _QUOTES.sub("", text)))
    pieces = _JOINT.split(text)
    return ",".join(pieces) if all(pieces) else text


def _fold(match: re.Match[str]) -> str:
    """Lowers words; genotypes (pairs of one letter) are none."""
    word = match[0]
    plain = word.islower() or word.istitle() or (word.isupper() and len(word) >= 5)
    return word.lower() if plain and not _GENOTYPE.fullmatch(word) else word
