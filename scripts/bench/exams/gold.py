"""Gold and prediction of a paper in JSON (`docs/exam-segmentation.md`).

Boxes are fractions of the page, from its top left corner; pages count from 1. Formulas are LaTeX between dollar signs.
"""

from __future__ import annotations

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
