"""The kinds of exam papers: how questions are numbered, arranged, counted and answered.

Contract: a layout says how a paper looks and how many questions of which kind it has; what they say comes from the
templates, and what varies within a layout (font, size, margins, number of questions) from the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from livek12.scripts.bench.exams.content import Language

Numbers = Literal["dot", "fullwidth", "comma", "paren", "bare", "question", "boxed", "inverse", "math", "cell"]
Labels = Literal["A.", "A．", "A)", "(A)", "a.", "A", "①"]
Arranged = Literal["list", "two", "row", "auto"]
Key = Literal["", "table", "points", "list", "ranges", "marked", "blocks", "forms"]
Subject = Literal["mathematics", "sciences", "both"]


@dataclass(frozen=True)
class PaperSection:
    """Questions of one kind.

    Attributes:
        kind: choice, blank, free, or reading (a passage with choices).
        count: how many questions.
        points: of each; 0 where parts carry them, or nothing is said.
    """

    kind: Literal["choice", "blank", "free", "reading"]
    count: int
    points: int = 0


@dataclass(frozen=True)
class PaperLayout:
    """One kind of paper.

    Attributes:
        about: in words, for the card.
        number: how a question's number is printed.
        labels: how options are labelled.
        arranged: options below each other, two in a line, in a row, or as their length allows.
        options: how many options a choice has.
        paper, flipped, columns: the sheet.
        marks: where the points stand with each question ("end": at the right of its last line, "start": behind its
            number, "korean": [3점]); "" where only the section says them.
        titled: sections have titles.
        counts: titles say how many questions and points there are.
        restart: numbers begin anew with each section.
        key: its form; "" without one. "marked": below each question; "blocks": 【第1题】【答案】; "forms": of two.
        apart: the key is a PDF of its own.
        instructions, head, sheet, lines, hidden: a numbered list of instructions, running heads and feet, an answer
            sheet, dotted lines to write on, text that is not visible.
        parts: how parts are labelled.
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
    marks: Literal["", "end", "start", "korean"] = ""
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
    parts: Literal["(a)", "(a)(i)", "（1）", "(1)"] = "(a)"


def _choice(count: int, points: int = 0) -> PaperSection:
    return PaperSection("choice", count, points)


_ENGLISH: Final = (
    PaperLayout(
        "en_ap_columns",
        "en",
        "AP-like: two columns, (A) below each other, printed count, table of keys",
        (_choice(16, 1),),
        labels="(A)",
        arranged="list",
        columns=2,
        paper="us-letter",
        key="table",
    ),
    PaperLayout(
        "en_ap_two_sections",
        "en",
        "AP-like: Section II begins at 1 again, parts with marks, key with points",
        (_choice(8, 2), PaperSection("free", 3)),
        labels="(A)",
        arranged="list",
        paper="us-letter",
        restart=True,
        marks="end",
        key="points",
        instructions=True,
    ),
    PaperLayout(
        "en_sat_modules",
        "en",
        "SAT-like: white-on-black numbers, two columns, two modules that both begin at 1",
        (_choice(8), _choice(6)),
        number="inverse",
        labels="A)",
        arranged="list",
        columns=2,
        paper="us-letter",
        restart=True,
        key="table",
        apart=True,
    ),
    PaperLayout(
        "en_sat_grid",
        "en",
        "SAT-like: boxed numbers, options in a grid, blanks at the end",
        (_choice(10), PaperSection("blank", 4)),
        number="boxed",
        labels="A)",
        arranged="two",
        paper="us-letter",
        key="table",
    ),
    PaperLayout(
        "en_alevel_structured",
        "en",
        "A-level-like: parts (a)(i) with marks in brackets, totals, lines to write on",
        (PaperSection("free", 5),),
        number="bare",
        marks="end",
        titled=False,
        lines=True,
        instructions=True,
        parts="(a)(i)",
    ),
    PaperLayout(
        "en_alevel_choice",
        "en",
        "A-level-like: bare numbers, options in a row, one mark each, list of keys",
        (_choice(14, 1),),
        number="bare",
        labels="A",
        arranged="row",
        key="list",
        titled=False,
        instructions=True,
    ),
    PaperLayout(
        "en_cells",
        "en",
        "numbers, questions and marks in table cells",
        (_choice(6, 2), PaperSection("free", 3)),
        number="cell",
        marks="end",
        arranged="two",
        key="table",
    ),
    PaperLayout(
        "en_state_items",
        "en",
        "US-state-test-like: 'Question 7' above each, tables and figures, key with points",
        (_choice(10, 1), PaperSection("free", 2)),
        number="question",
        arranged="list",
        paper="us-letter",
        marks="end",
        key="points",
    ),
    PaperLayout(
        "en_state_sheet",
        "en",
        "US-state-test-like: white-on-black numbers, answer sheet at the end",
        (_choice(12, 2),),
        number="inverse",
        arranged="list",
        paper="us-letter",
        sheet=True,
        key="list",
        apart=True,
    ),
    PaperLayout(
        "en_reading",
        "en",
        "passages in two columns that several questions share",
        (PaperSection("reading", 4), _choice(4), PaperSection("reading", 3)),
        subject="sciences",
        labels="A.",
        arranged="list",
        columns=2,
        paper="us-letter",
        key="table",
    ),
    PaperLayout(
        "en_lower_case",
        "en",
        "worksheet: lower-case options, short lines in two columns, no titles",
        (_choice(16),),
        subject="mathematics",
        number="paren",
        labels="a.",
        arranged="list",
        columns=2,
        titled=False,
        head=False,
        key="list",
    ),
    PaperLayout(
        "en_forms",
        "en",
        "two forms with one key page",
        (_choice(15, 1),),
        labels="A.",
        arranged="auto",
        key="forms",
        paper="us-letter",
        instructions=True,
    ),
    PaperLayout(
        "en_maths_font",
        "en",
        "numbers set in the maths font, formulas throughout",
        (_choice(9), PaperSection("blank", 4), PaperSection("free", 2)),
        subject="mathematics",
        number="math",
        marks="end",
        key="points",
    ),
    PaperLayout(
        "en_hidden",
        "en",
        "text that is not visible between the questions, running heads",
        (_choice(10, 1), PaperSection("blank", 3, 2)),
        hidden=True,
        arranged="two",
        key="table",
    ),
    PaperLayout(
        "en_short_columns",
        "en",
        "two columns, options two in a short line, bare numbers",
        (_choice(18, 1),),
        subject="mathematics",
        number="bare",
        labels="A",
        arranged="two",
        columns=2,
        titled=False,
        key="table",
    ),
)
_CHINESE: Final = (
    PaperLayout(
        "zh_gaokao",
        "zh",
        "gaokao-like: three kinds of sections with counts, ranges of keys",
        (_choice(8, 5), PaperSection("blank", 4, 5), PaperSection("free", 3)),
        subject="mathematics",
        number="fullwidth",
        labels="A．",
        marks="start",
        key="ranges",
        instructions=True,
        parts="（1）",
    ),
    PaperLayout(
        "zh_gaokao_a3",
        "zh",
        "gaokao-like: A3 across in two columns",
        (_choice(8, 5), PaperSection("blank", 3, 5), PaperSection("free", 4)),
        number="fullwidth",
        labels="A．",
        paper="a3",
        flipped=True,
        columns=2,
        marks="start",
        key="table",
        parts="（1）",
    ),
    PaperLayout(
        "zh_sciences",
        "zh",
        "sciences with figures and tables, key as a PDF of its own",
        (_choice(12, 4), PaperSection("blank", 2, 4), PaperSection("free", 2)),
        subject="sciences",
        number="fullwidth",
        labels="A．",
        marks="start",
        key="list",
        apart=True,
        instructions=True,
        parts="（1）",
    ),
    PaperLayout(
        "zh_comma",
        "zh",
        "numbers before a comma, options in a row",
        (_choice(10, 3), PaperSection("blank", 4, 3)),
        number="comma",
        labels="A.",
        arranged="row",
        key="table",
    ),
    PaperLayout(
        "zh_blocks",
        "zh",
        "key in blocks 【第1题】【答案】",
        (_choice(8, 5), PaperSection("blank", 3, 5)),
        subject="mathematics",
        number="dot",
        labels="A.",
        key="blocks",
    ),
    PaperLayout(
        "zh_marked",
        "zh",
        "【答案】 below each question",
        (_choice(8, 5), PaperSection("blank", 3, 5)),
        number="fullwidth",
        labels="A．",
        key="marked",
    ),
    PaperLayout(
        "zh_boxed",
        "zh",
        "boxed numbers, two columns",
        (_choice(10, 3), PaperSection("blank", 4, 4)),
        number="boxed",
        labels="A．",
        columns=2,
        key="table",
    ),
    PaperLayout(
        "zh_restart",
        "zh",
        "numbers begin anew with each section, key by sections",
        (_choice(8, 3), PaperSection("blank", 4, 4), PaperSection("free", 2)),
        number="dot",
        labels="A.",
        restart=True,
        marks="start",
        key="table",
        parts="（1）",
    ),
    PaperLayout(
        "zh_cells",
        "zh",
        "numbers in table cells",
        (_choice(8, 3), PaperSection("blank", 3, 4)),
        number="cell",
        labels="A．",
        key="table",
    ),
    PaperLayout(
        "zh_maths_font",
        "zh",
        "numbers set in the maths font, key in ranges",
        (_choice(8, 5), PaperSection("blank", 4, 5), PaperSection("free", 2)),
        subject="mathematics",
        number="math",
        labels="A．",
        marks="start",
        key="ranges",
        parts="（1）",
    ),
)
_KOREAN: Final = (
    PaperLayout(
        "ko_csat_maths",
        "ko",
        "CSAT-like: two columns, five options in a row, points in brackets, key with points",
        (_choice(10, 3), PaperSection("blank", 4, 4)),
        subject="mathematics",
        labels="①",
        options=5,
        columns=2,
        arranged="row",
        marks="korean",
        titled=False,
        key="points",
        apart=True,
    ),
    PaperLayout(
        "ko_csat_science",
        "ko",
        "CSAT-like: figures and tables in two columns, heads that are not visible",
        (_choice(12, 2),),
        subject="sciences",
        labels="①",
        options=5,
        columns=2,
        marks="korean",
        titled=False,
        hidden=True,
        key="table",
    ),
    PaperLayout(
        "ko_school",
        "ko",
        "school test: printed count, options below each other, list of keys",
        (_choice(10, 4), PaperSection("free", 2)),
        labels="①",
        options=5,
        arranged="list",
        marks="korean",
        instructions=True,
        key="list",
        parts="(1)",
    ),
    PaperLayout(
        "ko_forms",
        "ko",
        "two forms with one key page, options in a row",
        (_choice(14, 3),),
        labels="①",
        options=5,
        arranged="row",
        columns=2,
        titled=False,
        key="forms",
    ),
)
LAYOUTS: Final = {layout.name: layout for layout in (*_ENGLISH, *_CHINESE, *_KOREAN)}
DEVELOPMENT: Final = range(0, 5)
"""Seeds that rules are written with."""
CLOSED: Final = range(1000, 1005)
"""Seeds that nobody looks at: the card says how they were read, and no more."""
