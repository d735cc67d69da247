"""Non-answers: "I don't know", "no option was chosen", an empty box. Rejects only.

"Cannot be determined" and 不存在 are wrong for nonzero numbers; ignorance also for a formula or letter. Keys in words
are undecided.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, reject, undecided
from livek12.judges.rules.labels import read_labels
from livek12.judges.rules.notation import bare

NAME = "refusal"
MAX_CHARS = 160
_EMPTY = late(r"[\s$\\()\[\]*.。]{0,20}\\(?:boxed|fbox)\s?\{[\s~]{0,20}\}[\s$\\()\[\]*.。]{0,20}")
_NO_VALUE = late(
    r"[\s$]{0,20}[^=≈?]{1,40}(?:=|≈|\\approx(?![a-z]))(?:\s|\\[,; ])*(?:\.{2,}|…+|\\[lc]?dots)?[\s$.]{0,20}"
)
"""A name with an ellipsis or nothing for its value."""
_ABOUT = "|".join(
    "tell say answer solve determine find help assist provide compute figure you out with on a an"
    " the this that these it question problem solution"
    " exercise one correct final of how to what which is option right choice do".split()
)
_GIVEN_UP = late(
    r"(?:(?:i['’]m|i am|we['’]re|we are)?\s?(?:so |very |really )?sorry[,.]?\s)?(?:but\s)?"
    r"(?:(?:i|we)\s(?:really\s|honestly\s|just\s|simply\s|still\s|truly\s){0,2}"
    r"(?:do(?:n['’]t| not)(?: really)? know|have no idea|ca(?:n['’]t|nnot|n not)"
    r"|could(?:n['’]t| not)|am (?:un|not )able to"
    rf"|am not sure|was (?:un|not )able to)(?: (?:{_ABOUT})\b){{0,14}}"
    r"|no (?:answer|response)(?: (?:is|was))?(?: (?:here|given|available|provided|found|possible))?"
    r"|no (?:option|choice|letter) (?:is |was )?(?:chosen|selected|picked|given)"
    r"|(?:see|as) (?:the )?(?:above|below|explanation|solution|steps)(?: above| below)?|idk|n/a"
    r"|(?:很?抱歉|对不起|不好意思)?[,，]?\s?(?:但)?(?:这道?题)?我?(?:真的|也|并|实在)?"
    r"(?:不知道|不会做?|不清楚|没有答案|(?:无法|不能)(?:回答|作答|解答|给出答案))(?:这个|这道|该|此|本)?"
    r"(?:问题|题目?)?(?:的?答案)?(?:是什么)?"
    r"|(?:죄송합니다[,.]?\s?(?:만|하지만)?\s?)?(?:저는\s?)?(?:잘\s)?(?:(?:답을?|정답을?)\s)?"
    r"(?:모르겠습니다|모르겠어요|모르겠다|모릅니다|알 수 없습니다|알 수 없어요))",
    re.IGNORECASE,
)
"""First-person refusals, and placeholders of an answer."""
_NOTHING = late(
    r"(?:(?:it|this|that|the (?:answer|value|result|solution))\s)?(?:is\s)?"
    r"(?:can(?:not| not|['’]t) be (?:determined|found|solved|computed|calculated)|undetermined|indeterminate|unknown"
    r"|does(?: not|n['’]t) exist|impossible(?: to (?:determine|tell|say))?)"
    r"(?: (?:from|with) the (?:given )?information(?: given)?)?"
    r"|(?:there is )?(?:not enough|insufficient|too little) (?:information|data)(?: (?:given|provided|available))?"
    r"(?: to \w{3,12}(?: the \w{3,12})?)?"
    r"|none(?: of (?:the|these|them)(?: (?:above|options|choices|given|answers)){0,2})?"
    r"|(?:无法|不能|难以)(?:确定|判断|计算|求出|得出)|条件不足|不存在|以上(?:选项)?(?:都|均)?不(?:对|正确|是)|没有正确(?:选项|答案)"
    r"|(?:알|구할|정할|결정할) 수 없(?:다|음|습니다)|존재하지 않(?:는다|음|습니다)",
    re.IGNORECASE,
)
"""Phrases that may themselves be answers."""
_NUMBER = late(r"[-−+]?\s?(?=[\d.,]*[1-9])\d[\d.,]*(?:\s?/\s?\d{1,9})?(?:\s?\\?[%°])?(?:\s[A-Za-z]{1,3})?")
_WORDS = late(r"(?<![\\A-Za-z])[A-Za-z]{3,}|[^\x00-\u03ff\u2000-\u2bff]")
_MAYBE_NOTHING = late(
    r"none|no\b|not\b|cannot|can['’]t|unknown|(?:im)?possible|determin|enough|insufficient|neither"
    r"|都|均|不|无|没|없|않|모두|아니|알 수",
    re.IGNORECASE,
)


class RefusalStage:
    """Rejects non-answers to keys that are no words."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Reject or undecided."""
        answer = comparison.answer.strip()
        given_up = is_given_up(answer) and ("\n" not in answer or bare(comparison.gold) not in answer)
        said = _plain(comparison.answer)
        if not given_up and not (said and _NOTHING.fullmatch(said)):
            return undecided(NAME)
        if comparison.is_choice:
            texts = [option.text for option in comparison.options]
            offered = any(_MAYBE_NOTHING.search(text) for text in texts)
            complete = bool(texts) and all(texts)
            wrong = read_labels(comparison.gold) is not None and not offered and (given_up or complete)
        else:
            gold = bare(comparison.gold)
            wrong = _NUMBER.fullmatch(gold) is not None or (given_up and not _WORDS.search(gold))
        return reject(NAME, "no answer is named") if wrong else undecided(NAME)


def is_given_up(answer: str) -> bool:
    """Checks whether a text or its last line only gives up."""
    if not answer.strip():
        return False
    if _EMPTY.fullmatch(answer) or _NO_VALUE.fullmatch(answer):
        return True
    last = _plain(answer.strip().rpartition("\n")[2])
    if last is None:
        return False
    return _GIVEN_UP.fullmatch(last) is not None or (set(last) <= set("?？…-_ ") and "\n" not in answer.strip())


def _plain(text: str) -> str | None:
    if len(text) > 4 * MAX_CHARS:
        return None
    text = bare(text).strip(" \t()（）[]【】.。!！*_\"'“”")
    return text if len(text) <= MAX_CHARS else None
