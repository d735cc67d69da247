"""Markers: words that announce an answer, rewritten to one plain form that every reader reads.

`plainly(text, question)` turns "the answer (Yes or No) is", "정답 (Answer):", "[正确答案]", "Result:", "Ans.", a label
that the question dictates ("[金额]") and a last line of only a conclusion ("Hence, x+1.") into "Answer: " or its
Chinese or Korean word. A wording is known here, once, and no reader lists it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from livek12.core.patterns import late
from livek12.core.records import Question
from livek12.judges.rules.labels import read_labels
from livek12.judges.rules.true_false import read_truth

_EN = r"(?<![A-Za-z])(?:(?:final|correct|right|best)\s)?(?:answers?|ans(?:\.(?=\s))?)(?![A-Za-z])"
_ZH = r"(?:(?:正确|最终|最后)的?)?(?:答案|选项)"
_KO = r"(?<!오)(?:최종\s?)?(?:정답|답안|답변|답)"
_NOUN = rf"(?:{_EN}|{_ZH}|{_KO})"
_WEAK = r"results?|outcome|verdict|conclusion|solution|antwort|respuesta|réponse|结果|结论|答え?|결과|결론"
_QUALIFIER = r"(?:(?:the|our|my|final)\s){0,2}(?:最终|最后|최종\s?)?"
_IS = r"(?:\s?[:：=]|\s(?:is|are)(?![a-z])\s?[:：]?|\s?(?:应该?)?[是为](?!正确|错误|对|错)\s?[:：]?|[은는]\s)"
_SO = r"(?:so|thus|hence|therefore|in\sconclusion|finally|综上(?:所述)?|因此|所以|故|于是|总之|따라서|그러므로|결국|즉)"
_GLOSSED = late(
    rf"(?P<noun>{_NOUN})(?P<bold>\*{{0,2}})\s?[(（\[](?P<gloss>[^()（）\[\]\n]{{1,40}})[)）\]](?=\*{{0,2}}(?:{_IS}|\s*\n))",
    re.IGNORECASE,
)
_IS_GLOSS = late(r"[^\W\d_]{2}|[A-J]\s?(?:[-–~/]|to|or)\s?[A-J]", re.IGNORECASE)
_NO_FRAME = r"(?!\s?(?:[和与至或、]|之间|处|[里中]|and\b|or\b))"
"""Behind brackets that only name a frame ("write it between [答案] and …")."""
_BRACKETED = late(
    rf"(?<![\\\w\]])[\[「『〈《〔]\s?(?P<noun>{_NOUN})\s?[\]」』〉》〕]{_NO_FRAME}\*{{0,2}}\s?[:：]?\s?(?=\S)",
    re.IGNORECASE,
)
_LABEL = late(rf"[\[【]([^\W\d_][^\[\]【】\n]{{0,11}})[\]】][^\S\n]?[:：]?{_NO_FRAME}")
_ASKED = late(r"(?:\A|\n)(?:Q|Question|问|问题|题目|질문|문제)\s?[:：][^\n]{1,400}\n+(?:A|答|답)\s?[:：]\s?(?=\S)")
_LAST = late(
    rf"[\s*#>•-]*(?:{_SO}[,，]?\s*)?(?:{_QUALIFIER}(?:{_WEAK}){_IS}|ans\.|####|(?:i|we)\s(?:choose|select|pick)\s|我选择?)"
    rf"[\s*]*(?P<named>\S.{{0,59}}?)\**[.。]?|[\s*]*{_SO}[,，]?\s?(?P<led>\S.{{0,59}}?)(?:이?다|입니다)?[.。]?",
    re.IGNORECASE,
)
_MORE = late(r"[.!?](?=\s)|[。！？?；;:：]|\b(?:because|since|or|not|if|but)\b|因为|由于|或|不|没|아니|않")
_CJK = late(r"[\u3400-\u9fff]")
_HANGUL = late(r"[\uac00-\ud7a3]")


def plainly(text: str, question: Question, is_value: Callable[[str], bool]) -> str:
    """The text with each marker in its plain form.

    Args:
        text: of a response, without thinking.
        question: may dictate a label of its own.
        is_value: whether a text is an expression and nothing else.
    """
    if "(" in text or "（" in text or "[" in text:
        text = _GLOSSED.sub(_without_gloss, text)
    if "[" in text or "【" in text or "「" in text or "〈" in text:
        text = _BRACKETED.sub(lambda match: f"\n{_answer(match['noun'])}", text)
        text = _dictated(text, question)
    text = _ASKED.sub(lambda match: f"{match[0]}\n{_answer(match[0])}", text)
    return _last_line(text, is_value)


def _answer(wording: str) -> str:
    return "정답: " if _HANGUL.search(wording) else "答案：" if _CJK.search(wording) else "Answer: "


def _without_gloss(match: re.Match[str]) -> str:
    gloss = match["gloss"]
    plain = _IS_GLOSS.search(gloss) and not read_labels(gloss) and read_truth(gloss, signs=True) is None
    return match["noun"] + match["bold"] if plain else match[0]


def _dictated(text: str, question: Question) -> str:
    """A label in brackets whose words the question has, where it is the only such one."""
    labels = [match for match in _LABEL.finditer(text) if match[1] in question.question and not read_labels(match[1])]
    if len({match[1] for match in labels}) != 1:
        return text
    return f"{text[: labels[-1].start()]}\n答案：{text[labels[-1].end() :]}"


def _last_line(text: str, is_value: Callable[[str], bool]) -> str:
    stripped = text.rstrip()
    start = stripped.rfind("\n") + 1
    match = _LAST.fullmatch(stripped, start)
    if match is None:
        return text
    rest = (match["named"] or match["led"]).strip("*")
    plain = bool(read_labels(rest)) or read_truth(rest, signs=True) is not None or is_value(rest.strip("$"))
    if not plain and (match["led"] or _MORE.search(rest)):
        return text
    return f"{stripped[:start]}{_answer(match[0])}{rest}"
