"""Layouts of Korean papers."""

from __future__ import annotations

from typing import Final

from livek12.scripts.bench.exams.paper_layout import PaperLayout, PaperSection, choice

KOREAN: Final = (
    PaperLayout(
        "ko_csat_maths",
        "ko",
        "CSAT-like: two columns, five options in a row, points in brackets, key with points",
        (choice(10, 3), PaperSection("blank", 4, 4)),
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
        (choice(12, 2),),
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
        (choice(10, 4), PaperSection("free", 2)),
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
        (choice(14, 3),),
        labels="①",
        options=5,
        arranged="row",
        columns=2,
        titled=False,
        key="forms",
    ),
)
