"""Extraction of answers from a response: pure functions of text, linear in its length, independent of the key.

Contract: `extract` returns one answer a part, in order, or none. Only commitments count (a box, an answer tag, "answer"
in JSON, "the answer is", "故选B", "정답은 ④", a bare answer), the last one wins; contradictory ones are returned as
text. Open questions and proofs return the whole response. Thinking text is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.parts import needs_prose, part_count
from livek12.tasks.extraction import regions
from livek12.tasks.extraction.choices import find_choice, find_choices, is_choice
from livek12.tasks.extraction.closings import closing_answer, is_of_another
from livek12.tasks.extraction.markers import plainly
from livek12.tasks.extraction.remarks import quoted
from livek12.tasks.extraction.values import boxed_values, find_truth, find_values, is_expression

__all__ = ["Extraction", "extract"]


_RULED = late(r"([:：])\s*(?:[-=_~*]{3,}|[\"']{1,3})[^\S\n]*\n")
"""A rule or opening quotes on the line of a label, or on the next; the answer stands below."""


@dataclass(frozen=True)
class Extraction:
    """The answers of a response.

    Attributes:
        answers: one a part, in order; empty without an answer. An empty entry is a part left out.
        method: boxed, answer_tag, phrase, conclusion, labelled, named, line, sentence, whole or none.
        truncated: at the token limit.
    """

    answers: list[str] = field(default_factory=list)
    method: str = "none"
    truncated: bool = False


def extract(response_text: str, question: Question, finish_reason: str | None) -> Extraction:
    """Extracts the answers of one response.

    Args:
        response_text: with or without thinking tags.
        question: its key is not used.
        finish_reason: "length" restricts to explicit commitments, as does an open box or clause at the end.
    """
    truncated = finish_reason == "length"
    text = regions.final_text(response_text, question)
    shape = type_of(question.question_type).answer
    if shape == "text":
        answers, method = ([text.strip()], "whole") if text.strip() else ([], "none")
        return Extraction(answers, method, truncated)
    count = part_count(question)
    if count == 1:
        text = regions.own_turn(text, question.question)
    if (box := regions.closing_box(text)) is not None:
        if shape == "values":
            answers = _asked_for(boxed_values(box, count), text, question)
        else:
            answers = [box] if shape == "labels" and count == 1 and is_choice(box, text, question) else []
        if answers:
            return Extraction(answers, "boxed", truncated)
    text = _RULED.sub(r"\1\n", text)
    if not truncated and (closing := closing_answer(text, question)):
        text = f"{text}\nAnswer: {closing}"
    if count == 1:
        text = plainly(text, question, is_expression)
    if not truncated:
        text = regions.closed(text)
    cut = truncated or regions.cut_off(text)
    if shape == "labels":
        if count > 1:
            answers, method = find_choices(text, question, cut, count)
        else:
            answers, method = find_choice(text, question, cut)
    elif shape == "truth":
        answers, method = find_truth(text, cut)
    else:
        answers, method = find_values(text, question, cut)
        answers = _asked_for(answers, text, question) if count == 1 else answers
        prose = count > 1 or needs_prose(question)
        if (
            not answers
            and prose
            and cut
            and not (truncated or regions.box_cut_off(text) or regions.says_nothing(text, question))
        ):
            answers, method = [text.strip()], "whole"
    return Extraction(answers, method if answers else "none", truncated)


def _asked_for(answers: list[str], text: str, question: Question) -> list[str]:
    """The answers; the value of another quantity as words."""
    if len(answers) != 1 or not question.question or not is_of_another(question.question, text, answers[0]):
        return answers
    return [quoted(answers[0])]
