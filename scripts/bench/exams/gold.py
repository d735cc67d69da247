"""Gold and prediction of a paper in JSON (`docs/exam-segmentation.md`).

Boxes are fractions of the page, from its top left corner; pages count from 1. Formulas are LaTeX between dollar signs.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from pydantic import BaseModel, ConfigDict

from livek12.dataset_builders.ingest.pages.blocks import Box

_TELLING: Final = 8
"""Letters that a beginning has at most of which other questions may hold the same."""


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


class PrintedQuestion(_Strict):
    """A question of a real paper: its number, and how its text begins ("": not noted)."""

    number: str
    start: str = ""


class PrintedPaper(_Strict):
    """Questions of a real paper in order; the file is `NAME.printed.json` beside `NAME.pdf`."""

    producer: str
    questions: list[PrintedQuestion]


def matched(paper: PrintedPaper, prediction: Prediction) -> int:
    """Questions found: by number, with the words that it begins with and those of no question next to it."""
    rest, count = list(prediction.questions), 0
    starts = [_letters(question.start) for question in paper.questions]
    for place, question in enumerate(paper.questions):
        start = starts[place]
        others = [near for near in starts[max(0, place - 2) : place + 3] if len(near) > _TELLING and near != start]
        for read in rest:
            text = _letters(read.text)
            same = read.number.rpartition("-")[2] == question.number.rpartition("-")[2]
            if same and start in text and not any(near in text for near in others):
                rest.remove(read)
                count += 1
                break
    return count


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", re.sub(r"\\[a-z]+", "", unicodedata.normalize("NFKC", text))).lower()
