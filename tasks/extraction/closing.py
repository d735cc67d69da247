"""Closing sentences: numbers that the last sentence of a response gives as the answer.

Either the question asks for one or two numbers and the sentence, speaking of these, has as many new ones; or it has one
number, a subject, a verb and no qualifying word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livek12.core.languages import HAN, HANGUL
from livek12.core.patterns import late
from livek12.judges.rules.units import read_unit
from livek12.tasks.extraction.regions import tail, unbolded

_CHARS = 120
_ENDS = late(r"[。！!？?\n]|[.](?=\s)")
_ANY_NUMBER = late(
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
_CJK = late(f"[{HAN}{HANGUL}]")
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
    """The only number of the last sentence, with its unit or noun."""
    sentence = _last_sentence(text)
    if sentence is None or len(sentence) > _CHARS or "\\" in sentence.replace("\\%", "") or sentence.count("$") > 1:
        return None
    numbers = _whole_numbers(sentence)
    if len(numbers) != 1 or _is_joined(sentence, numbers[0]):
        return None
    before, behind = sentence[: numbers[0].start()], sentence[numbers[0].end() :]
    if _NAMED_BEHIND.search(behind):
        return None
    if _OTHER.search(before) or _OTHER.search(behind) or _CHANGES.match(behind):
        return None
    if _YEAR.fullmatch(numbers[0]["value"]) and _IN.search(before):
        return None
    if not (_says_cjk(before) if _CJK.search(sentence) else _says_en(sentence, before)):
        return None
    return numbers[0]["value"] + _noun_behind(behind)


def _whole_numbers(sentence: str) -> list[re.Match[str]]:
    """All numbers, or none if digits are left."""
    numbers = list(_ANY_NUMBER.finditer(sentence))
    read = sum(len(_RUN.findall(number["value"])) for number in numbers)
    return numbers if read == len(_RUN.findall(sentence)) else []


_RUN = late(r"\d+")


def _is_joined(sentence: str, number: re.Match[str]) -> bool:
    before, behind = sentence[: number.start()].rstrip(), sentence[number.end() :].lstrip()
    return before[-1:] in _JOINING or behind[:1] in _JOINING


def _last_sentence(text: str) -> str | None:
    """The last sentence, or what it concludes; None for a question or an announcement."""
    ending = unbolded(tail(text, 4 * _CHARS)).strip()
    if ending.endswith(("?", "？", ":", "：")):
        return None
    starts = [match.end() for match in _ENDS.finditer(ending[:-1])]
    sentence = ending[starts[-1] if starts else 0 :].strip().rstrip(".。!！")
    concluded = list(_CONCLUDED.finditer(sentence))
    return sentence[concluded[-1].end() :] if concluded else sentence


def _noun_behind(behind: str) -> str:
    noun = _UNIT_CJK.match(behind) or _UNIT.match(behind) or _NOUN.match(behind)
    return noun[0] if noun else ""


def _says_cjk(before: str) -> bool:
    lead = _SO_CJK.match(before)
    return lead is not None and not re.search(r"[,，;；:：]|[a-z]{2}", before[lead.end() :])


def _says_en(sentence: str, before: str) -> bool:
    clause = before.rpartition(",")[2].strip() if "," in before else before
    subject = sentence[len(before) - len(clause) :].strip() if clause else sentence
    lead = _LEAD.match(subject)
    subject = subject[lead.end() :] if lead else subject
    lowered = subject[:1].lower() + subject[1:]
    return (_SUBJECT.match(subject) or _SUBJECT.match(lowered)) is not None and _VERB.search(subject) is not None


# --- with the question at hand --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """The count of numbers asked for, and patterns of the answering sentence."""

    count: int
    any_of: re.Pattern[str]
    all_of: tuple[str, ...] = ()


_TIME = r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
_LENGTH = r"\b(?:c?m|km|(?:centi|kilo)?met(?:er|re)s?|inch(?:es)?|feet|ft|miles?|yards?|distance)\b"
_KINDS = {
    "long": f"{_TIME}|{_LENGTH}",
    "time": _TIME,
    "soon": _TIME,
    "quickly": _TIME,
    "fast": r"\b(?:mph|kph|km/h|m/s|per|speed|rate)\b|/(?:h|s)\b",
    "far": _LENGTH,
    "old": r"\b(?:years?|age|old)\b",
    "much": r"[$€£¥]|\b(?:dollars?|cents?|euros?|pounds?|money|cost|price|total)\b",
}
_HOW = late(
    r"\bhow\s(?P<kind>long|far|fast|soon|quickly|old|much\s(?!more)(?:time|\w+)|many\s(?:more\s|fewer\s)?\w+|much)\b[^.?!]*",
    re.IGNORECASE,
)
_WHICH = late(
    r"\b(?:what\s(?:is|are|was|were|will\sbe|would\sbe)|find|calculate|determine|compute|work\sout)\s"
    r"(?P<thing>[^.?!\n]{3,120}?)(?=\s(?:of|for|in|if|when|that|to|at|on|by|after|before|needed|required)\b|[.?!,\n]|\s?\Z)",
    re.IGNORECASE,
)
_TWO = late(
    r"\b(?:two|both)\s(?:\w+\s)?(?:numbers|integers|values|angles|ages|sides|lengths|amounts)|(?:find|what\s(?:are|were))\sthe\s(?:\w+\s)?(?:numbers|integers)\b"
    r"|\b(?:find|what\s(?:is|are|was|were))\b[^.?!]{3,60}\sand\s(?:the|its|their|his|her)\s|\bhow\sold\sare\sthey\b"
    r"|\bhow\s(?:many|much|old|long)\b[^.?!]{3,80}\b(?:each|and\show)\b|\bin\seach\s(?:direction|type)\b|\beach\s(?:type|rate|kind)\b",
    re.IGNORECASE,
)
_WORDS = late(r"[A-Za-z]{3,}")
_EMPTY_WORDS = frozenset("the thi tha tho his her its and val numb amou".split())
"""Stems of words that name nothing."""
_MODIFIERS = 3
_ASKED_CJK = late(r"(?P<before>[\u4e00-\u9fff]{0,3}?)(?:是|为|有|共|共有)?(?:多少|几|幾)(?P<unit>[\u4e00-\u9fff]{0,2})")
_ORDERED_CJK = late(
    r"(?:计算|求出?|算出)[^。，,；;\n]{0,24}?(?P<before>[\u4e00-\u9fff]{2,3})(?P<unit>)(?=[。，,；;？?\n]|\s*\Z)"
)
_ASKED_KO = late(
    r"(?P<before>[가-힣]{1,8}?)(?:[은는이가을를]|의\s값[을은])?\s?(?:(?:몇|얼마)\s?(?P<unit>[가-힣]{0,3})|구하(?:시오|여라|라))"
)
_DOUBTED = late(
    r"\b(?:at\s(?:least|most)|(?:more|less|fewer|greater)\sthan|between|or|not|never|cannot|if|unless|maybe|perhaps|probably|possibly"
    r"|might|could|may|wrong|incorrect|false|mistake|suppose|assume|instead|original(?:ly)?|initial(?:ly)?|however|but|range|correspond\w*|equivalent)\b|n['’]t\b"
    r"|[不没非未若或超]|至[少多]|如果|假设|可能|大于|小于|错|误|另外|其中|이상|이하|미만|초과|아니|않|없|또는|만약|라면|보다|틀",
    re.IGNORECASE,
)
_WORKED = late(
    r"[^\s，,；;:：是为은는]*\d[^=，,；;:：是为\n]{0,60}[-+−*/×÷][^=，,；;:：\n]{0,60}[=≈]\s?|\b[A-Za-z]\s?=\s?(?=[-−]?[$]?\d)"
)
"""A calculation ("3360元+230元=") or a letter ("x =") before its result."""
_MATH_SIGNS = late(
    r"\\[()\[\],;! ]|\\(?:text|mathrm|textbf|mathbf)\s?\{([^{}]*)\}|\${1,2}([-−]?\d[\d.,/]*[^$\d]{0,20})\${1,2}"
)


def closing_values(text: str, question: str) -> str | None:
    """The numbers of the last sentence that the question asks for, joined by ", "; one with its unit."""
    sentence = _last_sentence(text)
    asked = _asked(question) if question else None
    if sentence is None or asked is None:
        return None
    sentence = _without_work(sentence)
    small = sentence.lower()
    if not asked.any_of.search(sentence) or any(word not in small for word in asked.all_of):
        return None
    return _numbers(sentence, question, asked.count)


def announced_value(sentence: str, question: str) -> str | None:
    """The one number of an announced sentence."""
    if sentence.startswith("…") or not _PROSE.search(sentence):
        return None
    sentence = _without_work(sentence)
    return _numbers(sentence, question, 1) or _numbers(sentence, "", 1)


_PROSE = late(r"[A-Za-z]{2,}(?:\s[A-Za-z'-]+){3}|[\u4e00-\u9fff]{6}|[가-힣]{2,}\s[가-힣]{2,}\s[가-힣]{2}")


def _without_work(sentence: str) -> str:
    return _WORKED.sub("", _MATH_SIGNS.sub(lambda match: match[1] or match[2] or " ", sentence))


def _numbers(sentence: str, question: str, count: int) -> str | None:
    """The new numbers, if `count`."""
    if "\\" in sentence.replace("\\%", "") or _DOUBTED.search(sentence):
        return None
    given = set(map(_plain, _DIGITS.findall(question)))
    new = [
        number
        for number in _whole_numbers(sentence)
        if _plain(number["value"]) not in given and not sentence.endswith("第", 0, number.start())
    ]
    if len(new) != count or any(_is_joined(sentence, number) for number in new):
        return None
    if count > 1:
        return ", ".join(number["value"] for number in new)
    return new[0]["value"] + _unit_behind(sentence[new[0].end() :], question)


def _unit_behind(behind: str, question: str) -> str:
    unit = _UNIT_CJK.match(behind) or _UNIT.match(behind) or _NOUN.match(behind)
    return unit[0] if unit and unit[0].strip() not in question and read_unit(unit[0].strip()) is not None else ""


_DIGITS = late(r"\d[\d,]*(?:\.\d+)?(?:/\d+)?")


def _plain(number: str) -> str:
    return number.strip("-−$€£¥%\\").replace(",", "").rstrip(".")


def _asked(question: str) -> _Asked | None:
    if _CJK.search(question):
        places = [match for pattern in (_ORDERED_CJK, _ASKED_CJK, _ASKED_KO) for match in pattern.finditer(question)]
        words = [word for word in (places[-1]["before"], places[-1]["unit"] or "") if word] if places else []
        return _Asked(1, re.compile("|".join(map(re.escape, words)))) if words else None
    count = 2 if _TWO.search(question) else 1
    clauses = [*_HOW.finditer(question)] or [*_WHICH.finditer(question)]
    if not clauses:
        return None
    kind = (clauses[-1].groupdict().get("kind") or "").lower().split()
    if kind and kind[0] != "many":
        return _Asked(count, re.compile(_KINDS.get(kind[-1], _KINDS[kind[0]]), re.IGNORECASE))
    things = [_stem(word) for word in _WORDS.findall((kind[-1:] or [clauses[-1]["thing"]])[0])]
    things = [thing for thing in things if thing not in _EMPTY_WORDS]
    if not things:
        return None
    alternatives = re.compile("|".join(rf"\b{re.escape(thing)}" for thing in things), re.IGNORECASE)
    return _Asked(count, alternatives, () if count > 1 else tuple(things[:_MODIFIERS]))


def _stem(word: str) -> str:
    return word.lower()[: max(3, len(word) - 2)]
