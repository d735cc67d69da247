"""True or false, in Chinese, Korean and English. What is not on the lists is undecided."""

from __future__ import annotations

import re

from livek12.judges.base import Comparison, Decision, accept, reject, undecided
from livek12.judges.notation import bare

NAME = "true_false"
_TRUE = "正确 对 是 对的 正确的 是的 true yes correct right 맞다 맞음 참 예 옳다 옳음 맞습니다 그렇다".split()
_FALSE = (
    "错误 错 不正确 不对 否 错的 错误的 不是 false no incorrect wrong "
    "틀리다 틀림 틀렸다 틀립니다 거짓 아니다 아니오 아니요 옳지않다"
).split()
_SIGNS = {"√": True, "✓": True, "✔": True, "✅": True, "○": True, "〇": True, "o": True, "t": True, "v": True,
          "\\checkmark": True, "\\surd": True, "×": False, "✗": False, "✘": False, "❌": False, "x": False,
          "f": False, "\\times": False}  # fmt: skip
_WORDS = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
_REASONED = re.compile(r"^([^\s,，.。:：;；!！(（]{1,12})\s*[,，.。:：;；!！(（\n]")


class TrueFalseStage:
    """Decides where the key is a truth value."""

    name = NAME

    def decide(self, comparison: Comparison) -> Decision:
        """Accept or reject; undecided unless both say plainly true or false."""
        if comparison.is_choice:
            return undecided(NAME)
        judged = comparison.question_type == "true_false"
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
        signs: whether √, ×, O, X, T and F count.
        reasoned: whether a reason may follow ("错误，因为…").
    """
    plain = bare(text).lower()
    table = {**_WORDS, **_SIGNS} if signs else _WORDS
    if plain in table:
        return table[plain]
    squeezed = "".join(plain.split())
    if squeezed in table:
        return table[squeezed]
    head = _REASONED.match(plain) if reasoned else None
    return table.get(head[1]) if head else None
