"""Kinds of exam papers: numbering, arrangement, points and keys (`layouts.yaml`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter

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
        kind: "reading": a passage with choices, "data": a table with choices; cloze, match, forms: `gapped.py`.
        points: of each; 0 where parts carry them, or none are printed.
    """

    kind: Literal["choice", "blank", "free", "reading", "data", "cloze", "match", "forms"]
    count: int
    points: int = 0


@dataclass(frozen=True)
class PaperLayout:
    """One kind of paper.

    Attributes:
        number: "margin" left of the text, "bracket" behind a bracket for the answer, "zero" with a leading zero,
            "parens" as (3), "q" as Q.3.
        marks: place of a question's points: "end" of its last line, "start" behind its number, "each" so with every
            question, "korean" [3점], "total" (Total for Question 3 is 5 marks) and parts' points on lines of their own,
            "maximum" [Maximum mark: 5] before it, "margin" a bare number at the right edge; "" only in the section's
            title.
        key: "marked" below each question, "blocks" 【第1题】【答案】, "forms" of two, "spans" 1-5 above ABCDA, "items"
            a row a question, "below" Ans. (B), "scored" a table of choices, then the others with points (5分); "" none.
        alternatives: a free question may have another one behind OR.
        asked_in: language of the questions, where it is not the paper's.
        split: widths of two columns within each section; the wider has more of the questions.
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


def _read() -> dict[str, PaperLayout]:
    import yaml

    layouts = {}
    adapter = TypeAdapter(PaperLayout)
    for name, row in yaml.safe_load(Path(__file__).with_name("layouts.yaml").read_text("utf-8")).items():
        sections = [dict(zip(("kind", "count", "points"), section.split(), strict=True)) for section in row["sections"]]
        own = {"name": name, "language": name[:2], "about": row["about"], "sections": sections}
        layouts[name] = adapter.validate_python(own | row["printed"])
    return layouts


LAYOUTS: Final = _read()
"""By name, which begins with the language."""
DEVELOPMENT: Final = range(0, 5)
"""Seeds that rules are written with."""
CLOSED: Final = range(1000, 1005)
"""Seeds that nobody looks at: the card says how they were read, and no more."""
