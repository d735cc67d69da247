"""Whether a response says anything of its own, beside a loop it is stuck in and the question copied with empty blanks.

Contract: `says_nothing` is true only of a text without one sentence that could be an answer. It is asked last, of a
text in which nothing is committed. Linear in the length of the text.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.records import CHOICE_TYPES, Question
from livek12.judges.parts import part_count, per_question
from livek12.tasks.extraction.regions import final_text

_READ = 30_000
_LOOPS = 8
_LOOP_LINES = 12
_SENTENCE = late(r"[^。．！？；;\n]+")
_OPEN_BLANK = late(r"(?:\\?_|＿){2,}|\\underline\s*\{(?:q?quad|hspace\{[^{}]{0,20}\}|[\s\\~])*\}|[(（]\s*▲?\s*[)）]|▲")
_PICTURE = late(
    r"<\s*/?\s*(?:image|img|图)[^<>]{0,300}>|!\[[^\]\n]{0,300}\]\([^)\n]{0,300}\)|图\s?\d{0,3}\s?\.(?:png|jpe?g)",
    re.IGNORECASE,
)
_HEADING = late(
    r"[#*\s【\[`]*(?:图\s?\d{0,3}|解析?|解答|分析|详解|答案?|答题|回答下列问题|assistant|answers?|solution|풀이|해설|정답|답|python)?[】\]\s*`]*[:：]?\s*",
    re.IGNORECASE,
)
_ASIDE = late(r"[(（][^()（）]{0,40}[)）]")
_SIGNS = late(r"[^0-9A-Za-z\u00c0-\uffff]|[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”‘’]")
_SIGN = late(r"[<>=+-]{1,2}")
_COPIED_CHARS = 8


def spoken(response: str, question: Question) -> str:
    """What a response says after its thinking; "" where that is nothing of its own."""
    text = final_text(response).strip()
    return "" if says_nothing(text, question) else text


def says_nothing(text: str, question: Question) -> bool:
    """Whether all sentences of a text are copies, or leave their blanks open.

    Where the text prints as many open blanks as there are parts and nothing new comes after them, the few sentences
    without a blank before and between them are the question's too.
    """
    if _SIGN.fullmatch(text):
        return False
    if question.question_type in CHOICE_TYPES and _LABEL.search(text):
        text = "\n".join(line for line in text.splitlines() if not lists_options(line))
    own = _own_sentences(_without_loop(text)[:_READ], _asked(question))
    blanks = [len(_OPEN_BLANK.findall(sentence)) for sentence in own]
    if not any(count == 0 for count in blanks):
        return True
    opened = [index for index, count in enumerate(blanks) if count]
    if sum(blanks) < max(2, part_count(question)) or opened[-1] < len(blanks) - 1:
        return False
    between = blanks[opened[0] :].count(0)
    return 3 * between <= len(opened)


_LABEL = late(r"(?:^|\s)([A-J])\s?[.．、](?=\s?\S)")
_JUDGED = late(
    r"答案|故选|应选|因为|所以|正确的?是|answer|because|정답은"
    r"|(?:正确|错误?|不对|对|符合|right|wrong|correct|true|false|옳다|틀리다)\s?[)）]?\s?[。.,，;；]?\s*(?=[A-J]\s?[.．、]|$)",
    re.IGNORECASE,
)
"""A word on the options, or on one at the end of its text."""


def lists_options(line: str) -> bool:
    """Whether a line is the options again, each with its label and without a word on any."""
    labels = quoted_options(line)
    return len(labels) > 2 and "".join(labels) == "ABCDEFGHIJ"[: len(labels)]


def quoted_options(line: str) -> list[str]:
    """The labels of a line that is options with their texts and no word on any, in rising order; else none."""
    labels = [match[1] for match in _LABEL.finditer(line)]
    rising = len(labels) > 1 and labels == sorted(set(labels)) and line.lstrip().startswith(labels[0])
    return labels if rising and not _JUDGED.search(line) else []


def _own_sentences(text: str, asked: str) -> list[str]:
    """The sentences that are no picture, no heading, no copy of the question or of an earlier one."""
    own: list[str] = []
    before, seen = "", set[str]()
    sentences = _SENTENCE.findall(_PICTURE.sub("", text))
    for number, sentence in enumerate(sentences, 1):
        plain = _signs(sentence)
        copied = len(plain) >= _COPIED_CHARS and (plain in asked or plain in before)
        cut_copy = number == len(sentences) and any(one != plain and one.startswith(plain) for one in seen)
        empty = not _signs(_ASIDE.sub("", sentence)) or _HEADING.fullmatch(sentence)
        if not (plain in seen or copied or cut_copy or empty):
            own.append(sentence)
        seen.add(plain)
        before += plain
    return own


@per_question
def _asked(question: Question) -> str:
    """The signs of a question with its options."""
    return _signs(" ".join([question.question, *(f"{option.label} {option.text}" for option in question.options)]))


def _signs(text: str) -> str:
    """Letters and digits alone: what a copy keeps whatever its spacing and mark-up."""
    return _SIGNS.sub("", text)


def _without_loop(text: str) -> str:
    """The text before the lines that repeat to its end, where there are that many (the last may be cut off)."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" `\t")]
    for unit in range(1, min(_LOOP_LINES, len(lines) // _LOOPS) + 1):
        end = len(lines) - (lines[-1 - unit].startswith(lines[-1]) and lines[-1 - unit] != lines[-1])
        start = end
        while start > unit and lines[start - 1] == lines[start - 1 - unit]:
            start -= 1
        if end - start >= (_LOOPS - 1) * unit:
            return "\n".join(lines[: max(0, start - unit)])
    return text
