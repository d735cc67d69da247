"""The parts of a question: what is marked one by one, and how many answers a response should give.

A part is a variable, a blank or a sub-question; the letters of a choice question are one part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livek12.core.records import CHOICE_TYPES, Question
from livek12.judges.base import VariableType

READER_TYPES = frozenset({"open_ended", "proof"})
"""Marked by reading the whole response."""
_BLANK = re.compile(r"(?:\\_|_|＿){2,}|\\underline\s*\{|\\blank(?![a-zA-Z])|\(\s*▲\s*\)|▲")


@dataclass(frozen=True)
class GradedPart:
    """One thing to mark."""

    gold: str
    name: str | None = None
    type: VariableType | None = None


def parts_of(question: Question) -> list[GradedPart]:
    """The parts in order; empty when the question has no key."""
    if question.variables:
        return [GradedPart(variable.value, variable.name, variable.type) for variable in question.variables]
    golds = [gold for gold in question.answer if gold.strip()]
    if golds and (question.question_type in CHOICE_TYPES or question.question_type in READER_TYPES):
        separator = ", " if question.question_type in CHOICE_TYPES else "\n"
        return [GradedPart(separator.join(golds))]
    return [GradedPart(gold) for gold in question.answer] if golds else []


def part_count(question: Question) -> int:
    """How many answers the record has a place for; says nothing about what they are."""
    if question.variables:
        return len(question.variables)
    if question.question_type in CHOICE_TYPES or question.question_type in READER_TYPES:
        return 1
    return max(1, len(question.answer), len(question.part_points))


def blank_count(question: Question) -> int:
    """How many blanks are printed in the question; 0 when none is marked."""
    return len(_BLANK.findall(question.question))


def blank_names(question: Question) -> list[str]:
    """What the question prints before the equals sign of each blank ("x=____"); "" where it prints no name."""
    text = question.question
    names = (_BEFORE_BLANK.search(text[max(0, match.start() - 60) : match.start()]) for match in _BLANK.finditer(text))
    return [_symbols(name[1]) if name else "" for name in names]


def answer_name(answer: str) -> str:
    """What stands before the first equals sign of an answer; "" where there is none."""
    name, sign, _ = answer.partition("=")
    return _symbols(name) if sign else ""


_BEFORE_BLANK = re.compile(r"([^=,，;；。：:、\u4e00-\u9fff\uac00-\ud7a3]{1,40})=\s*(?:\\[()]|\$)*\s*$")
_NO_SYMBOL = re.compile(r"\\(?:left|right|q?quad)(?![a-zA-Z])|\\[()\[\],;:! ]|[\s$]")


def _symbols(name: str) -> str:
    return _NO_SYMBOL.sub("", name).replace("\\dfrac", "\\frac").strip("{}")
