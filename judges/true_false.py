"""True or false, in Chinese, Korean and English. What is not plainly one of them is undecided; so is "not false"."""

from __future__ import annotations

import re

from livek12.judges.base import Comparison, Decision, accept, reject, undecided
from livek12.judges.notation import bare

NAME = "true_false"
_TRUE = "正确 对 真 是 成立 true yes correct right valid 맞다 맞음 참 예 네 옳다 옳음 그렇다 맞습니다 옳습니다".split()
_FALSE = (
    "错误 错 假 不正确 不对 否 不是 不成立 false no incorrect wrong untrue invalid "
    "틀리다 틀림 틀렸다 틀립니다 틀렸습니다 거짓 아니다 아니오 아니요"
).split()
_SIGNS = {"√": True, "✓": True, "✔": True, "✅": True, "○": True, "〇": True, "o": True, "t": True, "v": True,
          "⭕": True, "\\checkmark": True, "\\surd": True, "\\bigcirc": True, "×": False, "✗": False, "✘": False,
          "❌": False, "x": False, "f": False, "\\times": False}  # fmt: skip
_WORDS = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
_SENTENCES = [
    re.compile(
        r"(?:(?:the|this|that|given|above)\s+)*(?:(?:statement|claim|assertion|proposition|conclusion|sentence|it)s?\s*)?"
        r"(?P<not>(?:is|'s|are)?\s*not\s+|(?:is)?n't\s+|is\s+)?(?P<word>true|false|correct|incorrect|right|wrong|valid|invalid|untrue)"
    ),
    re.compile(
        r"(?:该|此|这一?个?|那个?|本|上述|题中)?(?:说法|命题|结论|判断|叙述|陈述|句话|观点|题|表述)?(?:应该|应当|应|就)?(?:是|为|属于)?"
        r"(?P<not>不是|并不|并非|不)?(?P<word>正确|错误|真|假|对|错|成立)(?:的|了)?(?:命题|说法|结论)?"
    ),
    re.compile(
        r"(?:이|위|그|해당)?(?:진술|명제|설명|문장|말)?(?:은|는|이|가)?(?P<word>참|거짓|옳|맞|틀리|틀렸|사실)(?:이)?"
        r"(?P<not>지않|이아니|가아니)?(?:다|음|습니다|는다|입니다|은진술|은명제|은설명|인명제)?"
    ),
]
_STEMS = {"옳": True, "맞": True, "사실": True, "틀리": False, "틀렸": False}
_REASONED = re.compile(r"^([^,，.。:：;；!！(（\n]{1,60}?)\s*[,，.。:：;；!！(（\n]")
MAX_CHARS = 80


class TrueFalseStage:
    """Decides where the key is a truth value."""

    name = NAME

    def decide(self, comparison: Comparison) -> Decision:
        """Accept or reject; undecided unless both say plainly true or false."""
        if comparison.is_choice:
            return undecided(NAME)
        judged = comparison.question_type == "true_false"
        if not judged and bare(comparison.gold) == "NO":
            return undecided(NAME, "perhaps nitric oxide")
        gold = read_truth(comparison.gold, signs=judged)
        if gold is None:
            return undecided(NAME, "the key is no truth value" if judged else "")
        answer = read_truth(comparison.answer, signs=judged, reasoned=judged)
        if answer is None:
            return undecided(NAME, "the answer is no truth value")
        return accept(NAME, "same truth value") if answer == gold else reject(NAME, "other truth value")


def read_truth(text: str, signs: bool, reasoned: bool = False) -> bool | None:
    """The truth value that a text is.

    Args:
        text: the answer or key.
        signs: whether √, ×, O, X, T and F count, and whole sentences ("the statement is not true").
        reasoned: whether a reason may follow ("错误，因为…").
    """
    plain = bare(text).lower().replace("’", "'").strip("()（）")
    value = _value(plain, signs)
    if value is None and reasoned and (head := _REASONED.match(plain)):
        value = _value(head[1], signs)
    return value


def _value(plain: str, signs: bool) -> bool | None:
    table = {**_WORDS, **_SIGNS} if signs else _WORDS
    squeezed = "".join(plain.split()).removesuffix("的")
    if plain in table or squeezed in table:
        return table.get(plain, table.get(squeezed))
    return _sentence(plain, squeezed) if signs and len(plain) <= MAX_CHARS else None


def _sentence(plain: str, squeezed: str) -> bool | None:
    """What "the statement is not true" says; None for a negated negation."""
    for pattern in _SENTENCES:
        said = pattern.fullmatch(plain) or pattern.fullmatch(squeezed)
        if said:
            value = _STEMS.get(said["word"], _WORDS.get(said["word"]))
            negated = (said["not"] or "").strip() not in {"", "is"}
            return value if not negated else False if value else None
    return None
