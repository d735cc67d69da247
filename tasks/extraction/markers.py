"""Markers: words that announce an answer, rewritten to one plain form for all readers ("Answer: ").

"The answer (in words) is", "정답 (Answer):", "[正确答案]", "Result:", a label that the question dictates ("[金额]"),
"Hence, x+1.", options quoted first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.rules.labels import read_labels
from livek12.judges.rules.text import normal_form
from livek12.judges.rules.true_false import read_truth
from livek12.tasks.extraction.remarks import ANSWER, SO

_NOUN = rf"(?:{ANSWER}|(?:正确)?选项)"
_WEAK = r"results?|outcome|verdict|conclusion|solution|antwort|respuesta|réponse|结果|结论|答え?|결과|결론"
_QUALIFIER = r"(?:(?:the|our|my|final)\s){0,2}(?:最终|最后|최종\s?)?"
_IS = (
    r"(?:\s?(?:[:：=→⇒]|[=-]>|[—–](?=\s))|\s(?:is|are)(?![a-z])\s?[:：]?"
    r"|\s?(?:应该?)?[是为](?!正确|错误|对|错)\s?[:：]?|[은는]\s)"
)
_GLOSSED = late(
    rf"(?i)(?P<noun>{_NOUN})(?P<bold>\*{{0,2}})(?:\s?[(（\[](?P<gloss>[^()（）\[\]\n]{{1,40}})[)）\]](?=\*{{0,2}}(?:{_IS}|\s*\n))"
    r"|\s(?:to|of)\s(?:the|this|your)\s(?:\w{2,12}\s){0,2}(?:question|problem|exercise|riddle)(?=\s(?:is|would\sbe)\s))"
)
_GLOSS_SIGN = late(r"[srSR.答案답변안项]\*{0,2}\s?[(（\[]|swers?\s(?:to|of)\s|SWERS?\s(?:TO|OF)\s")
_IS_GLOSS = late(r"(?i)[^\W\d_]{2}|[A-J]\s?(?:[-–~/]|to|or)\s?[A-J]")
_NO_FRAME = r"(?!\s?(?:[和与至或、]|之间|处|[里中]|and\b|or\b))"
"""Behind brackets that only name a frame ("write it between [答案] and …")."""
_BRACKETED = late(
    rf"(?i)(?<![\\\w\]])[\[「『〈《〔]\s?(?P<noun>{_NOUN})\s?[\]」』〉》〕]{_NO_FRAME}\*{{0,2}}\s?[:：]?\s?(?=\S)"
)
_LABEL = late(rf"(?<![A-Za-z0-9_)}}\]\\])[\[【]([^\W\d_]{{2}}[^\[\]【】\n]{{0,10}})[\]】][^\S\n]?[:：]?{_NO_FRAME}")
_ASKED = late(r"(?:\A|\n)(?:Q|Question|问|问题|题目|질문|문제)\s?[:：][^\n]{1,400}\n+(?:A|答|답)\s?[:：]\s?(?=\S)")
_ASKED_HEADS = ("Q", "问", "题", "문")
_LAST = late(
    rf"(?i)[\s*#>•-]*(?:{SO}[,，]?\s*)?(?:{_QUALIFIER}(?:(?:{_WEAK}){_IS}|{_NOUN}\s?(?:[→⇒]|[=-]>|[—–]\s))|ans\.|####|(?:i|we)\s(?:choose|select|pick)\s|我选择?)"
    rf"[\s*]*(?P<named>[^\s$].{{0,59}}?)\**[.。]?|[\s*]*{SO}[,，]?\s?(?P<led>(?![选答填])[^\s$][^$\n]{{0,59}}?)(?:이?다|입니다)?[.。]?"
)
_MORE_THAN_WORDS = late(r"[\d$\\.!?]|[。！？?；;:：]|\b(?:because|since|or|not|if|but)\b|因为|由于|或|不|没|아니|않")
_PLAIN = "Answer: "
"""The form of a marker that all readers know."""
_STRAY = late(r"\A\s*[\]】)）]\s?(?=[A-J①-⑩])")
"""The close of a bracket that the prompt opened."""
_QUOTED = late(
    r"\s{0,4}[(（]?(?P<label>[A-J]|[1-9](?=\s?번|\s?[:：]))(?:\s?번)?[)）]?\s?(?:[.．:：、]|[-–]\s)\s?"
    r"(?P<text>(?=[^\n]*[^\W\d_])(?![A-J①-⑩](?![A-Za-z]))(?:(?!\s[(（]?[A-J①-⑩][)）]?[.．、:：)）]\s)[^\n]){2,400})(?:\n|\Z)"
)
_EXPLAINED = late(
    r"(?i)\s*(?:\n|[【\[#*]*(?:解析|解释|解答|分析|理由|说明|根据|问题|explanation|reason|question|해설|풀이|설명))"
)
_COMMENTED = late(
    r"(?i)\b(?:is|are)\s(?:false|true|right)\b|答案|故选|错误|正确|因为|因此|所以|answer|correct|wrong|because|therefore|정답|따라서|때문"
)
_ALONE = late(
    r"(?i)\s{0,4}(?P<labels>[(（]?[A-J][^\n]{0,30}?)[.。]?\n"
    r"(?=\s{0,8}[【\[#*]{0,3}(?:解析|解释|解答|分析|理由|说明|explanation|해설|풀이))"
)
_MOST = 4
_LETTERED = late(
    r"(?i)[(（]?(?<![A-Za-z])[A-J](?:[)）.．:：]{1,2}|\s(?=[(（]))\s?[(（]?(yes|no|true|false)\b[)）]?|(?<![A-Za-z])[A-J]\s?[(（](对|错|正确|错误)[)）]"
)
"""A truth value that is an option, with its letter."""


def plainly(text: str, question: Question, is_value: Callable[[str], bool]) -> str:
    """The text with each marker in its plain form; `is_value` checks for an expression and nothing else."""
    if _GLOSS_SIGN.search(text):
        text = _GLOSSED.sub(_without_gloss, text)
    if "[" in text or "【" in text or "「" in text or "〈" in text:
        text = _BRACKETED.sub(f"\n{_PLAIN}", text)
        labels = [
            label for label in _LABEL.finditer(text) if label[1] in question.question and not read_labels(label[1])
        ]
        if len({label[1] for label in labels}) == 1:  # the only one whose words the question has
            text = f"{text[: labels[-1].start()]}\n{_PLAIN}{text[labels[-1].end() :]}"
    if any(head in text for head in _ASKED_HEADS):
        text = _ASKED.sub(lambda match: f"{match[0]}\n{_PLAIN}", text)
    shape = type_of(question.question_type).answer
    if shape == "labels":
        text = _first_lines(text, question)
    elif shape == "truth":
        text = _LETTERED.sub(lambda match: match[1] or match[2], text)
    is_plain = {"labels": read_labels, "truth": lambda rest: read_truth(rest, signs=True) is not None}.get(
        shape, is_value
    )
    return _last_line(text, is_plain, shape == "values")


def _without_gloss(match: re.Match[str]) -> str:
    gloss = match["gloss"]
    if gloss is None:
        return match["noun"]
    plain = _IS_GLOSS.search(gloss) and not read_labels(gloss) and read_truth(gloss, signs=True) is None
    return match["noun"] + match["bold"] if plain else match[0]


def _first_lines(text: str, question: Question) -> str:
    """Labels or quoted options, alone at the beginning."""
    text = _STRAY.sub("", text)
    texts = {option.label: _letters(option.text) for option in question.options}
    labels: list[str] = []
    end = 0
    while (line := _QUOTED.match(text, end)) and (not labels or line["label"] > labels[-1]):
        if texts and not texts.get(line["label"], "").startswith(_letters(line["text"])):
            return text
        labels.append(line["label"])
        end = line.end()
    if labels:
        alone = end == len(text) or (labels[0].isalpha() and _EXPLAINED.match(text, end) is not None)
        all_of_them = len(labels) >= (len(texts) or _MOST) or question.question_type != "multiple_choice"
        if alone and not (labels[1:] and all_of_them) and not _COMMENTED.search(text[:end]):
            return f"{_PLAIN}{', '.join(labels)}\n\n{text[end:]}"
    if (first := _ALONE.match(text)) and read_labels(first["labels"]):
        return f"{_PLAIN}{first['labels']}\n\n{text[first.end() :]}"
    return text


def _letters(text: str) -> str:
    return "".join(char for char in normal_form(text) if char.isalnum())


def _last_line(text: str, is_plain: Callable[[str], object], words: bool) -> str:
    stripped = text.rstrip()
    start = stripped.rfind("\n") + 1
    match = _LAST.fullmatch(stripped, start)
    if match is None:
        return text
    rest = (match["named"] or match["led"]).strip("*")
    if not is_plain(rest) and (match["led"] or not words or _MORE_THAN_WORDS.search(rest)):
        return text
    return f"{stripped[:start]}{_PLAIN}{rest}"
