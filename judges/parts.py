"""Parts of a question and the expected number of answers.

A part is a variable, a blank or a sub-question; letters of a choice question are one part.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from livek12.core.patterns import late
from livek12.core.question_types import CHOICE_TYPES, READER_TYPES, type_of
from livek12.core.records import Question
from livek12.judges.base import VariableType
from livek12.judges.rules.labels import label_sequence
from livek12.judges.rules.notation import named_together, split_values

_BLANK = late(r"(?:\\_|_|＿){2,}|\\underline\s*\{|\\blank(?![a-zA-Z])|\(\s*▲\s*\)|▲")


@dataclass(frozen=True)
class GradedPart:
    """One thing to mark. `unit` is printed behind the blank; `listed` parts come from one key."""

    gold: str
    name: str | None = None
    type: VariableType | None = None
    unit: str | None = None
    listed: bool = False


_R = TypeVar("_R")
_REMEMBERED = 64


def per_question(function: Callable[[Question], _R]) -> Callable[[Question], _R]:
    """Caches a pure function for the last questions, by identity: comparisons would cost more than most answers.

    Results must not be changed.
    """
    results: dict[int, tuple[Question, _R]] = {}

    @wraps(function)
    def remembered(question: Question) -> _R:
        result = results.get(id(question))
        if result is None or result[0] is not question:
            if len(results) >= _REMEMBERED:
                results.clear()
            result = results[id(question)] = (question, function(question))
        return result[1]

    return remembered


@per_question
def parts_of(question: Question) -> list[GradedPart]:
    """Parts in order; empty without a key.

    Several entries (or lines of labels) of a single choice are sub-questions. An entry that lists values with
    semicolons or line by line is as many blanks, unless the question prints another number.
    """
    if question.variables:
        return [GradedPart(variable.value, variable.name, variable.type) for variable in question.variables]
    golds = [gold for gold in question.answer if gold.strip()]
    if not golds:
        return []
    if type_of(question.question_type).several or question.question_type in READER_TYPES:
        return [GradedPart((", " if question.question_type in CHOICE_TYPES else "\n").join(golds))]
    listed = listed_values(golds[0]) if len(question.answer) == 1 else []
    if len(listed) > 1:
        if type_of(question.question_type).blanks and blank_count(question) in {0, len(listed)}:
            return [GradedPart(gold, listed=True) for gold in listed]
        if question.question_type in CHOICE_TYPES and all(len(label_sequence(gold)) == 1 for gold in listed):
            return [GradedPart(gold) for gold in listed]
    units = question.part_units if len(question.part_units) == len(question.answer) else [""] * len(question.answer)
    return [GradedPart(gold, unit=unit or None) for gold, unit in zip(question.answer, units, strict=True)]


@per_question
def part_count(question: Question) -> int:
    """Number of answers with room in the record."""
    if type_of(question.question_type).several or question.question_type in READER_TYPES:
        return 1
    stated = 0 if question.variables or question.question_type in CHOICE_TYPES else len(question.part_points)
    return max(1, len(parts_of(question)), stated)


@per_question
def needs_prose(question: Question) -> bool:
    """Tests whether a blank's key is a sentence."""
    return any(len(_NO_PROSE.sub("", gold)) > PROSE_CHARS for gold in question.answer)


PROSE_CHARS = 24
_NO_PROSE = late(r"\$[^$]*\$|\\[a-zA-Z]+|[^A-Za-z\u4e00-\u9fff\uac00-\ud7a3]")
_LIST = late(r"(?P<open>[({\[（])|(?P<close>[)}\]）])|(?P<line>\n)|(?P<semicolon>[;；])|\\.")


_NUMBERED = late(r"(?:\\q?quad(?![a-z])|\s)*[(（](\d)[)）]\s*[.．、:：]?\s*(?=\S)")


def listed_values(text: str) -> list[str]:
    """Lines of a text, or values between semicolons outside brackets or behind numbers."""
    if not any(sign in text for sign in "\n;；(（$"):
        return [text.strip()] if text.strip() else []
    signs: dict[str, list[int]] = {"line": [], "semicolon": []}
    depth = 0
    for match in _LIST.finditer(text):
        depth += (match["open"] is not None) - (match["close"] is not None and depth > 0)
        if depth == 0 and match.lastgroup in signs:
            signs[match.lastgroup].append(match.start())
    cuts = signs["line"] or signs["semicolon"] or _before_numbers(text)
    ends = zip([0, *(cut + 1 for cut in cuts)], [*cuts, None], strict=True)
    pieces = [text[start:end].strip() for start, end in ends]
    pieces = [piece if piece.count("$") % 2 == 0 else piece.replace("$", "") for piece in pieces if piece]
    numbered = [_NUMBERED.match(piece) for piece in pieces]
    if [int(number[1]) for number in numbered if number] != list(range(1, len(pieces) + 1)):
        return pieces
    return [piece[number.end() :].strip() for number, piece in zip(numbered, pieces, strict=True) if number]


_INLINE = late(r"(?:\A|(?<=\s))[(（](\d)[)）](?=\s*[^\s(（])")


def _before_numbers(text: str) -> list[int]:
    numbers = list(_INLINE.finditer(text))
    run = [int(number[1]) for number in numbers] == list(range(1, len(numbers) + 1))
    begins = bool(numbers) and not text[: numbers[0].start()].strip()
    return [number.start() - 1 for number in numbers[1:]] if run and begins else []


_OR = late(r"或者?|还是|또는|혹은|(?<![A-Za-z\\])or(?![A-Za-z])")


def blank_values(text: str, count: int) -> list[str]:
    """Values of `count` blanks; alternatives ("3 or 5") are one value."""
    values = named_together(text, count) or split_values(text, count)
    return values if sum(map(alternatives, values)) == alternatives(text) else [text]


def alternatives(text: str) -> int:
    """Number of "or" in a text."""
    return len(_OR.findall(text))


@per_question
def blank_count(question: Question) -> int:
    """Number of blanks printed in the question."""
    return len(_BLANK.findall(question.question))


@per_question
def blank_names(question: Question) -> list[str]:
    """Names of the blanks ("x=____", "the mean is ____"), or ""."""
    text = question.question
    return [_name(text[max(0, match.start() - 60) : match.start()]) for match in _BLANK.finditer(text)]


def answer_name(answer: str) -> str:
    """Name before the first sign or word of equality, or ""."""
    sign = _EQUALS.search(answer)
    return _name(answer[: sign.end()]) if sign else ""


def _name(text: str) -> str:
    match = _NAMED.search(text)
    name = _LEADING.sub("", _NUMBER.sub("", match["name"]).strip()) if match else ""
    return name if _NAMELESS.fullmatch(name) is None else ""


_VERB = r"[=是为有:：]|\b(?:is|are|was|were|equals?)\b|(?<=[가-힣])[은는가]\s"
_EQUALS = late(_VERB)
_NUMBER = late(r"^\s*(?:[(（]\d{1,2}[)）]|[①-⑩]|\d{1,2}[.．、])")
"""The number before a blank's name: "(1) a=____"."""
_NAMED = late(rf"(?:(?P<name>[^=,，;；。：:、\n_＿]{{1,40}}?)(?:{_VERB}))\s*(?:等于|\\[()]|\$)*\s*$")
_LEADING = late(r"^(?:(?:and|so|then|thus|hence|the)\s+|[且则而共]\s*)+", re.IGNORECASE)
_NAMELESS = late(r"(?:\W|\d|\b(?:its|the|answers?|values?|results?|blanks?)\b|答案|结果|값|답)*", re.IGNORECASE)
