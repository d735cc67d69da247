"""The one number of a closing sentence that says nothing else: "So 4 are left.", "It costs $1,080.", 所以每天赚9美元.

Contract: the weakest claim, read where nothing else is committed. A sentence that compares, hedges, denies, supposes,
plans, counts steps, asks, or holds another number (or a word for one) says none. Linear: the sentence is short.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.rules.notation import bare
from livek12.tasks.extraction.regions import tail, unbolded

_CHARS = 120
_ENDS = late(r"[。！!？?\n]|[.](?=\s)")
_NUMBER = late(
    r"(?<![A-Za-z0-9_.,/^=+*(\\-])(?P<value>[-\u2212]?[$€£¥]?[-\u2212]?\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,12})?(?:/\d{1,9})?\\?%?)"
    r"(?![\d^_=+*/(²³:]|[.,]\d|[A-Za-z]|-)"
)
_JOINING = frozenset("√∛±∓+−*/^=<>≤≥≠≈~·×÷:π")
"""Signs by which a number is a piece of a larger value, or a bound of one."""
_NAMED_BEHIND = late(r"\banswer\b|答案|정답", re.IGNORECASE)
"""The number stands before "is the answer", as a piece of what is named there."""
_LEAD = late(
    r"(?:so|thus|hence|therefore|in total|altogether|in conclusion|finally|and so|this means that|which means)[,:]?\s",
    re.IGNORECASE,
)
_CONCLUDED = late(r", (?=(?:and )?(?:so|thus|hence|therefore)\b)|[,，](?=所以|因此|于是|因而)")
_SUBJECT = late(
    r"(?:he|she|it|they|there|this|that|these|those|the|his|her|its|their|each|all|a|an|[A-Z][a-z]{2,15}(?:'s)?"
    r"|[-\u2212]?[$€£]?\d)(?=[\s\d,.]|$)"
)
_VERB = late(
    r"\b(?:is|are|was|were|equals?|will be|has|have|had|needs?|needed|gets?|got|makes?|made|earns?|earned|spends?|spent"
    r"|pays?|paid|costs?|gives?|takes?|took|becomes?|totals?|comes to|(?:drops|rises|falls|(?:in|de)creases) (?:to|by)"
    r"|ate|eats|sold|sells|bought|buys|saves?|saved|reads?|owes?|collected|remain|remains|must be)\b",
    re.IGNORECASE,
)
_OTHER = late(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|billion|dozen"
    r"|half|halves|thirds?|quarters?|fifths?|twice|double|triple|thrice|once|first|second|other|another|also|respectively"
    r"|more|fewer|less|than|least|most|over|under|above|below|between|about|around|approximately|roughly|nearly|almost"
    r"|times|older|younger|taller|longer|higher|lower|bigger|extra|and|or|but|not|no|never|if|when|unless|whether|where|while|because|since|as"
    r"|although|however|maybe|perhaps|probably|possibly|may|might|could|would|should|can(?:not)?|says?|said|thinks?"
    r"|claims?|guess|wrong|incorrect|false|errors?|mistakes?|trap|pitfall|distractor|let|assume|suppose|step|steps|cases?|formulas?|equations?|methods?|degree|multiple"
    r"|multiples|factors?|divisible|divisors?|prime|angles|digits?|options?|parts?|page|chapter|question|questions|figure"
    r"|given|known|originally|initially|before|ago|started|contradict\w*|possible|example|out)\b|n['’]t\b"
    r"|[一二两三四五六七八九十百千万亿半几多少比倍约近超至或且和与不没非未若如假设错可]|各|分别|个位|第|步|种情况|题|年$"
    r"|보다|약|이상|이하|미만|초과|아니|않|없|또는|그리고|만약|라면|배|절반|두|세|네|다섯|단계|경우|각각"
    r"|첫|것 같|아마|\bvs\b",
    re.IGNORECASE,
)
_SO_CJK = late(r"(?:所以|因此|故|于是|因而|综上|따라서|그러므로|그래서)[,，]?\s?")
_CJK = late(r"[\u4e00-\u9fff\uac00-\ud7a3]")
_UNIT_CJK = late(
    r"\s?(?:美元|元|欧元|千克|公斤|克|厘米|毫米|千米|米|小时|分钟|秒|天|달러|원|시간|분|초|일|킬로그램|그램|미터)"
)
_UNIT = late(r"\s?(?:[A-Za-zμ]{1,4}/[A-Za-z]{1,3}[²³23]?|[mgsNJWVKLCHFT])(?![\w/^])")
_CHANGES = late(r"\s?(?:[点分成折余来](?!钟)|[만억천백십]|퍼센트포인트)")
_NOUN = late(
    r"\s(?!(?:is|are|was|were|remains?|left"
    r"|in|of|at|on|for|per|to|after|from|with|by|each|a|an|every|total|altogether)\b)[A-Za-z]{2,20}"
)
_YEAR = late(r"(?:19|20)\d\d")
_IN = late(r"\b(?:in|since|by|until|of)\s\Z", re.IGNORECASE)


def sentence_value(text: str) -> str | None:
    """The number that the last sentence of a text says, with the unit or noun behind it; None where it says more."""
    ending = unbolded(tail(text, 2 * _CHARS)).strip()
    if ending.endswith(("?", "？", ":", "：")):
        return None
    starts = [match.end() for match in _ENDS.finditer(ending[:-1])]
    sentence = ending[starts[-1] if starts else 0 :].strip().rstrip(".。!！")
    if concluded := list(_CONCLUDED.finditer(sentence)):
        sentence = sentence[concluded[-1].end() :]
    if len(sentence) > _CHARS or "\\" in sentence.replace("\\%", "") or sentence.count("$") > 1:
        return None
    numbers = list(_NUMBER.finditer(sentence))
    if len(numbers) != 1 or len(re.findall(r"\d+", sentence)) != len(re.findall(r"\d+", numbers[0]["value"])):
        return None
    before, behind = sentence[: numbers[0].start()], sentence[numbers[0].end() :]
    if before.rstrip()[-1:] in _JOINING or behind.lstrip()[:1] in _JOINING or _NAMED_BEHIND.search(behind):
        return None
    if _OTHER.search(before) or _OTHER.search(behind) or _CHANGES.match(behind):
        return None
    if _YEAR.fullmatch(numbers[0]["value"]) and _IN.search(before):
        return None
    if not (_says_cjk(before) if _CJK.search(sentence) else _says_en(sentence, before)):
        return None
    noun = _UNIT_CJK.match(behind) or _UNIT.match(behind) or _NOUN.match(behind)
    return numbers[0]["value"] + (noun[0] if noun else "")


def _says_cjk(before: str) -> bool:
    lead = _SO_CJK.match(before)
    return lead is not None and not re.search(r"[,，;；:：]|[a-z]{2}", before[lead.end() :])


def _says_en(sentence: str, before: str) -> bool:
    """Whether a subject and a verb of being or having say the number: "the total is", "she has", "4 are left"."""
    clause = before.rpartition(",")[2].strip() if "," in before else before
    said = sentence[len(before) - len(clause) :].strip() if clause else sentence
    lead = _LEAD.match(said)
    said = said[lead.end() :] if lead else said
    lowered = said[:1].lower() + said[1:]
    return (_SUBJECT.match(said) or _SUBJECT.match(lowered)) is not None and _VERB.search(said) is not None


def ends_otherwise(behind: str, value: str) -> bool:
    """Whether the last line of what follows a value is another one, alone or behind "so"."""
    last = _LAST_VALUE.fullmatch(behind.rstrip().rpartition("\n")[2].strip()) if "\n" in behind.strip(" ") else None
    if last is None:
        return False
    other = bare(last["led"] or last["value"])
    return other not in value and bare(value) not in other


_LAST_VALUE = late(
    r"(?P<so>(?:therefore|thus|hence|so|final(?:ly)?|因此|所以|故|따라서)\b[,:：]?\s*(?:we\s(?:choose|get|have|take|obtain)\s)?)?"
    r"(?:(?P<value>\$[^$\n]{1,100}\$|\([^()\n]{1,40}\)|[-−]?\d[\d.,/]{0,30}\s?[^\W\d_]{0,4}(?:/[a-z]{1,3})?)"
    r"|(?(so)(?P<led>[^\s.]{1,40})|(?!)))[.。]?",
    re.IGNORECASE,
)
