"""Gold and prediction of a paper in JSON (`docs/exam-segmentation.md`); gold of public papers from the shared data.

Boxes are fractions of the page, from its top left corner; pages count from 1. Formulas are LaTeX between dollar signs.
Of the public papers (gaokao of 2026; Korean mathematics of November 2022, boxes alone) figures may be published.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from livek12.dataset_builders.ingest.pages.blocks import Box


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LabelledOption(_Strict):
    """An option; its label has no punctuation."""

    label: str
    text: str


class GoldQuestion(_Strict):
    """A printed question; `text` is "" where the gold has boxes alone."""

    number: str
    section: str = ""
    kind: str
    text: str
    passage: str = ""
    options: list[LabelledOption] = []
    answer: list[str] = []
    points: float | None = None
    part_points: list[float] = []
    boxes: list[Box] = []
    figures: list[Box] = []


class GoldPaper(_Strict):
    """A paper; its files' names start with `paper`."""

    paper: str
    layout: str
    seed: int
    language: str
    pages: int
    scanned: bool = False
    count_printed: int | None = None
    hidden: list[str] = []
    questions: list[GoldQuestion]


class PredictedQuestion(_Strict):
    """A question as a tool read it."""

    number: str
    section: str = ""
    text: str = ""
    options: list[LabelledOption] = []
    answer: list[str] = []
    points: float | None = None
    boxes: list[Box] = []
    figures: list[Box] = []
    doubts: list[str] = []


class Prediction(_Strict):
    """A paper as a tool read it; `missing` are numbers reported lost."""

    questions: list[PredictedQuestion] = []
    missing: list[str] = []
    error: str = ""


_DRAWN: Final = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
"""A figure that the transcription draws anew."""
_OPTION: Final = re.compile(r"(?:^|\n|　)\s*([A-D])[.．]\s*")
_WIDTH, _HEIGHT = 1684, 2382
"""Of the pictures that the Korean boxes were drawn in."""


def public_papers(data: Path) -> Iterator[tuple[Path, GoldPaper]]:
    """PDFs and gold of the papers in the shared data."""
    reviewed = data / "gaokao2026_math/reviewed/2026-national-i-math.jsonl"
    pdf = data / "gaokao2026_math/pdf/national-i.pdf"
    if reviewed.is_file() and pdf.is_file():
        rows = [json.loads(line) for line in reviewed.read_text("utf-8").splitlines()]
        yield pdf, _public_paper("gaokao_2026_national_i", "zh", 5, [_reviewed(row) for row in rows])
    folder = data / "csat_math_boxes"
    if (folder / "konet_gold/bboxes.json").is_file():
        boxes = json.loads((folder / "konet_gold/bboxes.json").read_text("utf-8"))
        pdf = folder / "202311-h3-math-pro.pdf"
        yield pdf, _public_paper("csat_2022_11_mathematics", "ko", 12, list(_boxed(boxes)))


def _public_paper(name: str, language: str, pages: int, questions: list[GoldQuestion]) -> GoldPaper:
    return GoldPaper(paper=name, layout=name, seed=0, language=language, pages=pages, questions=questions)


def _reviewed(row: dict[str, Any]) -> GoldQuestion:
    content = re.sub(r"\\[()\[\]]", "$", _DRAWN.sub("", row["question"]["content"]))
    content = re.sub(rf"^{row['question_number']}\.\s*", "", content)
    places = list(_OPTION.finditer(content)) if "choice" in row["question_type"] else []
    ends = [*(place.start() for place in places[1:]), len(content)]
    return GoldQuestion(
        number=row["question_number"],
        kind="choice" if places else "free",
        text=(content[: places[0].start()] if places else content).strip(),
        options=[
            LabelledOption(label=place[1], text=content[place.end() : end].strip())
            for place, end in zip(places, ends, strict=False)
        ],
    )


def _boxed(rows: list[dict[str, Any]]) -> Iterator[GoldQuestion]:
    for row in rows:
        place = re.fullmatch(r"kocsat_1st_Mathematics_(\d+)\.png", row["img_path"][0])
        if place and int(place[1]) < 12:
            left, top, right, bottom = row["bbox"][0]
            page, across, down = int(place[1]) + 1, (left / _WIDTH, right / _WIDTH), (top / _HEIGHT, bottom / _HEIGHT)
            box = Box(page=page, left=across[0], top=down[0], right=across[1], bottom=down[1])
            number = str(int(row["idx"].rpartition("_")[2]))
            yield GoldQuestion(number=number, kind="boxed", text="", boxes=[box])
