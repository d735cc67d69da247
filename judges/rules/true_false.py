"""True or false, in Chinese, Korean and English. Anything else, also "not false", is undecided."""

from __future__ import annotations

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.judges.base import AnswerComparison, Decision, accept, reject, undecided
from livek12.judges.rules.notation import bare

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
_STEMS_ZH = {
    **dict.fromkeys("正确 真 对 成立 无误 没错 没有错 没有错误 属实 准确".split(), True),
    **dict.fromkeys("错误 假 错 有误 有错 有错误 存在错误 不属实 不准确".split(), False),
}
_STEMS_KO = {
    **dict.fromkeys("참 사실 옳 맞 올바르 올바른 올바릅 옳바른".split(), True),
    **dict.fromkeys("거짓 틀리 틀린 틀렸 틀립 틀 잘못되 잘못된 잘못됐 잘못되었".split(), False),
}
_STEMS = {**_STEMS_ZH, **_STEMS_KO, "accurate": True, "inaccurate": False}
_ONCE_NEGATED = {"无误", "没错", "没有错", "没有错误"}
"""Words that say no error: a "not" before them says nothing plain."""
_EN_SUBJECT = (
    r"(?:(?:the|this|that|given|above|following)\s+)*"
    r"(?:(?:statement|claim|assertion|proposition|conclusion|sentence|theorem|description|it|this|that)s?\s*)?"
)
_ZH_THING = "(?:说法|命题|结论|判断|叙述|陈述|句话|观点|题|表述|描述|论述|论断|断言|推断|推论|语句|句子|解释)"
_KO_THING = "(?:진술|명제|설명|문장|말|주장|내용|서술|표현)"
_SENTENCES = [
    late(
        rf"{_EN_SUBJECT}(?:(?:is|'s|was|are|must\s+be|can(?=not|'t))\s*)?"
        r"(?:(?:definitely|clearly|indeed|certainly|obviously|actually|completely|absolutely|totally|entirely)\s+)?"
        r"(?P<not>not\s+be\s+|'t\s+be\s+|n't\s+|not\s+)?(?:an?\s+)?"
        r"(?P<word>true|false|correct|incorrect|right|wrong|valid|invalid|untrue|accurate|inaccurate)"
        r"(?:\s+(?:statement|claim|assertion|proposition|conclusion|sentence|description|one))?"
    ),
    late(
        rf"(?:该|此|这一?[个种条句]?|那个?|本|它|上述|以上|题中|题目中?|原)?的?{_ZH_THING}?(?:应该|应当|应|就)?"
        r"(?:完全|显然|明显|确实|肯定|的确)?(?:是|为|属于)?(?:完全|显然|明显)?(?:一个|一种)?"
        rf"(?P<not>不是|并不是|并不|并非|不)?(?P<word>{'|'.join(_STEMS_ZH)})(?:的|了)?{_ZH_THING}?"
    ),
    late(
        rf"(?:이|위|그|해당|주어진|본)?{_KO_THING}?(?:은|는|이|가)?(?P<word>{'|'.join(_STEMS_KO)})"
        r"(?P<not>지(?:가)?않|이아니|가아니|이아닙|이아닌)?"
        rf"(?:이|입|인)?(?:다|음|임|니다|습니다|는다|아요|어요|려요|에요|예요|은|는|인|ㄴ)?(?:{_KO_THING}"
        r"(?:이다|입니다|임|이에요|예요|(?P<after>이아니다|이아닙니다|이아님|은아니다|은아닙니다))?)?"
    ),
]
_REASONED = late(r"^([^,，.。:：;；!！(（\n]{1,60}?)\s*[,，.。:：;；!！(（\n]\s*")
_PIECES = late(r"[,，.。:：;；!！()（）\n]")
_BUT = late(r"(?:but|except|unless|however|though|although)\b|但|不过|然而|除非|除了|다만|하지만|그러나|단[,，\s]")
_ONLY_IF = late(
    r"(?:only|if|provided|when|in some|sometimes)\b|仅|只有|只要|只在|如果|若|当|有时|前提|만약"
    r"|[^,，.。]{1,20}(?:때만|경우에만)"
)
"""Behind "true" a condition; behind "false" it is how a counterexample begins."""
MAX_CHARS = 80
MAX_REST = 2000


class TrueFalseStage:
    """Decides where the key is a truth value."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or reject; undecided unless both are clear."""
        judged = type_of(comparison.question_type).answer == "truth"
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
    """The truth value of an answer or key.

    Args:
        text: the answer or key.
        signs: allows √, ×, O, X, T, F and whole sentences.
        reasoned: allows a reason ("错误，因为…").
    """
    plain = bare(text).lower().replace("’", "'").strip("()（）")
    value = _value(plain, signs)
    if value is None and reasoned and (head := _REASONED.match(plain)):
        value = _value(head[1], signs)
        if value is not None and _takes_back(plain[head.end() :], value):
            return None
    return value


def _takes_back(rest: str, value: bool) -> bool:
    if _BUT.match(rest) or (value and _ONLY_IF.match(rest)):
        return True
    for piece in _PIECES.split(rest[:MAX_REST]):
        truth = _said(piece.strip()) or (_WORDS.get(piece.strip(), value),)
        if truth[0] is not value:
            return True
    return False


def _value(plain: str, signs: bool) -> bool | None:
    table = {**_WORDS, **_SIGNS} if signs else _WORDS
    squeezed = "".join(plain.split()).removesuffix("的")
    if plain in table or squeezed in table:
        return table.get(plain, table.get(squeezed))
    truth = _said(plain) if signs else None
    return truth[0] if truth else None


def _said(plain: str) -> tuple[bool | None] | None:
    """The value of "the statement is not true", in a tuple (None: double negation)."""
    if not plain or len(plain) > MAX_CHARS:
        return None
    squeezed = "".join(plain.split())
    for pattern in _SENTENCES:
        match = pattern.fullmatch(plain) or pattern.fullmatch(squeezed)
        if match:
            word = match["word"]
            value = _STEMS.get(word, _WORDS.get(word))
            negated = [name for name in ("not", "after") if match.groupdict().get(name)]
            if not negated:
                return (value,)
            return (False if value and len(negated) == 1 and word not in _ONCE_NEGATED else None,)
    return None
