"""Kinds of exam papers: how questions are numbered, arranged, counted and answered.

Contract: a layout says how a paper looks and how many questions of which kind it has; what they say comes from the
templates, and what varies within a layout (font, size, margins, number of questions) from the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from livek12.scripts.bench.exams.content import Language

Numbers = Literal[
    "dot", "fullwidth", "comma", "paren", "bare", "question", "boxed", "inverse", "math", "cell", "margin", "bracket",
    "zero", "parens", "q",
]  # fmt: skip
Labels = Literal["A.", "A．", "A)", "(A)", "a.", "A", "①", "(1)"]
Arranged = Literal["list", "two", "row", "auto", "cells"]
Key = Literal["", "table", "points", "list", "ranges", "marked", "blocks", "forms", "spans", "items", "below", "scored"]
Subject = Literal["mathematics", "sciences", "both"]


@dataclass(frozen=True)
class PaperSection:
    """Questions of one kind.

    Attributes:
        kind: choice, blank, free, reading (a passage with choices), data (a table with choices), or a passage with
            numbered gaps (`gapped.py`): cloze, match, forms.
        count: how many questions.
        points: of each; 0 where parts carry them, or nothing is said.
    """

    kind: Literal["choice", "blank", "free", "reading", "data", "cloze", "match", "forms"]
    count: int
    points: int = 0


@dataclass(frozen=True)
class PaperLayout:
    """One kind of paper.

    Attributes:
        about: in words, for the card.
        number: how a question's number is printed: "margin" left of the text, "bracket" behind a bracket for the
            answer, "zero" with a leading zero, "parens" as (3), "q" as Q.3.
        labels: how options are labelled.
        arranged: options below each other, two in a line, in a row, as their length allows, or in a ruled table.
        options: how many options a choice has.
        paper, flipped, columns: the sheet.
        marks: where the points stand with each question ("end": at the right of its last line, "start": behind its
            number, "each": so with every question, "korean": [3점], "total": those of parts on lines of their own,
            and (Total for Question 3 is 5 marks), "maximum": [Maximum mark: 5] before it, "margin": a bare number
            at the right edge); "" where only the section says them.
        titled: sections have titles.
        counts: titles say how many questions and points there are.
        restart: numbers begin anew with each section.
        key: its form; "" without one. "marked": below each question; "blocks": 【第1题】【答案】; "forms": of two;
            "spans": 1-5 above ABCDA; "items": number, type, key, points and what is tested, a row a question; "below":
            Ans. (B) below each question; "scored": a table of choices, then answers of the others with points (5分).
        apart: the key is a PDF of its own.
        instructions, head, sheet, lines, hidden: a numbered list of instructions, running heads and feet, an answer
            sheet, dotted lines to write on, text that is not visible.
        parts: how parts are labelled.
        framed: passages stand in a box.
        bilingual: titles say their kind in English too.
        page_of: the foot says the number of the page and of all pages.
        answer_grid: an empty table for the answers below the title of choices.
        sealed: a line of turned text at the left edge.
        divider: a line between the columns.
        alternatives: a free question may have another one behind OR.
        asked_in: language of the questions, where it is not that of the paper.
        split: widths of two columns within each section, whose title stands across both; the left one has more of the
            questions, the wider it is.
    """

    name: str
    language: Language
    about: str
    sections: tuple[PaperSection, ...]
    subject: Subject = "both"
    number: Numbers = "dot"
    labels: Labels = "A."
    arranged: Arranged = "auto"
    options: int = 4
    paper: str = "a4"
    flipped: bool = False
    columns: int = 1
    marks: Literal["", "end", "start", "each", "korean", "total", "maximum", "margin"] = ""
    titled: bool = True
    counts: bool = True
    restart: bool = False
    key: Key = ""
    apart: bool = False
    instructions: bool = False
    head: bool = True
    sheet: bool = False
    lines: bool = False
    hidden: bool = False
    parts: Literal["(a)", "(a)(i)", "（1）", "(1)", "（Ⅰ）"] = "(a)"
    framed: bool = False
    bilingual: bool = False
    page_of: bool = False
    answer_grid: bool = False
    sealed: bool = False
    divider: bool = False
    alternatives: bool = False
    asked_in: Language | None = None
    split: tuple[int, int] | None = None


def choice(count: int, points: int = 0) -> PaperSection:
    """Choice questions, with their points each."""
    return PaperSection("choice", count, points)
