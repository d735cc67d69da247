"""The gold of a paper and a prediction of it, as they stand in JSON.

Contract: `docs/exam-segmentation.md` describes both files. Boxes are fractions of the page, from its top left corner;
pages count from 1. Formulas are LaTeX between dollar signs.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from livek12.dataset_builders.ingest.pages.blocks import Box


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LabelledOption(_Strict):
    """One option, its label without punctuation."""

    label: str
    text: str


class GoldQuestion(_Strict):
    """One question as it was printed; `text` is "" where the gold has boxes alone."""

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
    """One paper: its files' names start with `paper`."""

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
    """One question as a tool read it; `doubts` names the fields it is not sure of."""

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
    """One paper as a tool read it; `missing` are numbers it says it did not find, `error` why there is nothing."""

    questions: list[PredictedQuestion] = []
    missing: list[str] = []
    error: str = ""
