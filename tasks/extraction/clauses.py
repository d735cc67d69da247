"""Clauses of a response, and one lexicon of denial and doubt for all readers."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from livek12.core.patterns import late

SO_EN = r"(?:so|thus|hence|therefore|consequently|in\sconclusion|finally)"
SO_ZH = r"(?:综上(?:所述|可知)?|总之|因此|所以|因而|于是|从而|可见|可知|故)"
SO_KO = r"(?:따라서|그러므로|그래서|결국|즉)"
SO = rf"(?:{SO_EN}|{SO_ZH}|{SO_KO})"
"""Words that conclude."""
ANSWER_EN = r"(?<![A-Za-z])(?:(?:final|correct|right|best)\s)?(?:answers?|ans(?:\.(?=\s))?)(?![A-Za-z])"
ANSWER_ZH = r"(?:(?:正确|最终|最后|标准|参考)的?)?答案"
ANSWER_KO = r"(?<!오)(?:최종\s?)?(?:정답|답안|답변|답)"
ANSWER = rf"(?:{ANSWER_EN}|{ANSWER_ZH}|{ANSWER_KO})"
"""Words for an answer."""
FALSE_ZH = r"(?:错误?|有误|不对(?![称应])|不正确|不成立|有(?:些|点|明显)?问题)"
UNFIT_ZH = (
    r"(?:不合(?!理数)|不符合?|不满足|不可能|不行|作废|应?该?舍[去弃]|(?:应该?|被|要|可以?)?被?排除|被?淘汰|干扰项"
    r"|站不住|不可靠|不严谨|并非如此|漏洞|增根|不是(?:正确|最终|本题)?的?(?:答案|解|结果|选项)|自相矛盾|(?:发现|得到|得出|出现|[与是相有明显和])[^。，,\n]{0,12}(?:矛盾|相悖|不符))"
)
VERY_ZH = r"(?>是|也|却|并|显然|其实|可能|应该|肯定|都|中|里|存在|出现|了|有|[^\S\n]){0,5}"
WRONG_ZH = f"(?:{VERY_ZH}(?:{FALSE_ZH}|{UNFIT_ZH}|不是))"
MANNER = r"(?:\w{2,12}\s)?"
FALSE_EN = (
    r"(?:(?:wrong|incorrect|false|untrue|mistaken|inaccurate)\b"
    rf"|(?:not|n['’]t)\s{MANNER}(?:true|valid|accurate|correct|right)\b)"
)
FAILS_EN = (
    rf"(?:(?:(?:does|do|did)(?:n['’]t|\snot))\s{MANNER}(?:fit|satisfy|work|match|hold|meet|apply|answer|agree|follow|pass|check|make)\b"
    r"|(?:can(?:not|['’]t|\snot)|could(?:n['’]t|\snot)|must\snot)\sbe(?:\s(?:right|correct|true|it|so|the|valid|possible)\b|(?=\s?[.,!;\n]))"
    r"|fails\b|contradicts\b|violates\b|is\s(?:an?\s)?extraneous\b)"
)
UNFIT_EN = (
    r"(?:(?:impossible|invalid|inconsistent|eliminated|(?:ruled|thrown|left|crossed)\sout|excluded|rejected|discarded|extraneous)\b"
    rf"|not\s(?:(?:the|an?|our|my)\s)?{MANNER}(?:answer|option|choice|solution)\b"
    r"|not\s(?:possible(?!\sto)|attainable|feasible|acceptable|admissible|consistent|plausible|viable|allowed)\b"
    r"|(?:an?|the)\s(?:\w{2,12}\s)?(?:mistake|error|typo|trap|distractor|decoy|contradiction)\b)"
)
IS_EN = (
    r"\s?(?:\b(?:is|was|are|were|seems?|looks?|must\sbe|would\sbe|would|has\sto\sbe|turns\sout\sto\sbe)\s|['’]s\s"
    r"|\b(?:is|was|are|were|does)(?=n['’]t))"
)
WRONG_EN = (
    rf"(?:{IS_EN}{MANNER}(?:{FALSE_EN}|{UNFIT_EN}"
    rf"|(?:not|n['’]t)\s{MANNER}(?:the|possible(?!\sto)|it|an?|what)\b)|\s{FAILS_EN})"
)
WRONG_KO = r"(?:틀(?!린\s?\S{1,4}\s?없)|잘못|오답|옳지|맞지|아니|아닙|적절하지|성립하지|만족하지|조건에\s(?:맞지|어긋))"
NOT = (
    r"\b(?:not|never|cannot|unable|none|neither|nor|whether|except|exclud\w*|doubt\w*|unlikely|myth|lie|misconception|den(?:y|ies|ied)|disagree|refute"
    r"|told|no\s(?:way|longer))\b|n['’]t\b|无法|难以|是否|并非|(?<!错)误(?!差)|没有|避免|排除|[勿别]|否认|怀疑|假的|거짓|부정"
)
"""Words that deny what follows in their clause."""
NEGATION = (
    rf"{NOT}|不(?!等(?!于)|同(?!于)|定|变|仅|妨|难|断|规则|可逆|带电|计|考虑|超过|少于|大于|小于)|无(?!穷|限|理|论|色|关)|未(?!知)"
    r"|没|非|错|舍|淘汰|\b(?:impossible|wrong|incorrect|false|untrue|mistake|rejected|fails?|sorry|avoid|out)\b"
    r"|않|없(?!이)|못|아니|아닌|틀[리린렸]|탈락|오답|잘못|모순|제외"
)
"""Words of denial and doubt anywhere in a clause."""
HEDGED = (
    r"[至最][少多]|如果|假设|可能|也许|或许|大概|[大小多少高低]于|超过|이상|이하|미만|초과|아마|또는|만약|라면|보다"
    r"|\b(?:at\s(?:least|most)|(?:more|less|fewer|greater)\sthan|between|or|if|unless|maybe|perhaps|probably|possibly|might|may|could|suppose|assume"
    r"|but|however)\b"
)
"""Words by which a value is a bound, supposed or one of several."""
TURN = late(
    r"(?i)但(?!是?否)|然而|可是|不过|其实|实际上|而(?=应|是|正确)|하지만|그러나|지만"
    r"|\bbut\b|\bhowever\b|\bwhich is\b|[\d,;—–]\s?it(?:'s| is)\b"
)
_ENDS = r"(?<=[。！？?\n；;])|(?<=!)(?!=)|(?<=\.)(?<!\.[eg]\.)(?=\s)|(?<=．)(?!\d)"
_SENTENCE_END = late(rf"[。！!？?\n；;.．](?:{_ENDS})")
_CLAUSE_END = late(rf"[。！!？?\n；;.．，,：:](?:{_ENDS}|(?<=[，,：:]))")
CHARS = 300


Span = tuple[int, int]


def sentence_before(text: str, end: int) -> str:
    """The sentence of a place, up to it."""
    return _before(text, end, _SENTENCE_END)


def clause_before(text: str, end: int) -> str:
    """The clause of a place, up to it, behind the last "but"."""
    return TURN.split(_before(text, end, _CLAUSE_END))[-1]


@lru_cache(maxsize=64)
def _before(text: str, end: int, border: re.Pattern[str]) -> str:
    start = max(0, end - CHARS)
    return text[
        max((mark.end() for mark in border.finditer(text, start, end + 1) if mark.end() <= end), default=start) : end
    ]


def sentences_behind(text: str, end: int) -> list[Span]:
    """Spans of the rest of a sentence and of all behind it."""
    places = [end, *(mark.end() for mark in _SENTENCE_END.finditer(text, end)), len(text)]
    spans = ((start, min(until, start + CHARS)) for start, until in pairwise(places))
    return [span for index, span in enumerate(spans) if not index or text[slice(*span)].strip()]


def clauses_of(text: str, start: int, end: int, whole: re.Pattern[str] | None = None) -> list[str]:
    """The clauses of a span; a comma in a match of `whole` ends none."""
    spans = [match.span() for match in whole.finditer(text, start, end)] if whole else []
    ends = [mark.end() for mark in _CLAUSE_END.finditer(text, start, end) if mark.end() < end]
    places = [start, *(place for place in ends if not any(begin < place < until for begin, until in spans)), end]
    return [text[begin:until] for begin, until in pairwise(places)]
