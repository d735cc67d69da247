"""The records that cross a boundary: Question, Request, Response, Verdict and their parts.

Contract: a record is an immutable pydantic model; unknown fields are refused; what a source does not
give stays empty (None, "" or an empty list), never made up. `RECORD_VERSION` changes with any field, save one that is
not written where it is not set, so that every older record and hash of one still holds.
`core.features` derives the Arrow columns from these classes, so a field is written down once: of questions here, of
runs in `core.run_records`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, StringConstraints, model_serializer, model_validator

from livek12.core.question_types import CHOICE_TYPES, QuestionType
from livek12.core.record import Image, Record, canonical_json
from livek12.core.run_records import (
    ERROR_TYPES,
    UNMARKED,
    Call,
    EarlierReply,
    ErrorType,
    Failure,
    Key,
    Message,
    Part,
    PartVerdict,
    Process,
    ProcessError,
    Request,
    Response,
    Sampling,
    State,
    Verdict,
    Vote,
)

__all__ = [
    "CHOICE_TYPES",
    "ERROR_TYPES",
    "IMAGE_MARK",
    "RECORD_VERSION",
    "UNMARKED",
    "Attributes",
    "BenchmarkName",
    "Call",
    "EarlierReply",
    "ErrorType",
    "Failure",
    "Flags",
    "FlowStep",
    "Image",
    "Key",
    "Language",
    "Message",
    "Option",
    "Page",
    "PageBox",
    "Part",
    "PartVerdict",
    "Process",
    "ProcessError",
    "Question",
    "QuestionType",
    "Record",
    "Request",
    "Response",
    "Review",
    "Sampling",
    "Source",
    "State",
    "Variable",
    "Variant",
    "Verdict",
    "Vote",
    "canonical_json",
]

RECORD_VERSION = 4
IMAGE_MARK = "<image>"
"""Stands in a text where the next image of the record belongs."""

BenchmarkName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""A name that `core.benchmarks` leads to; a record may be older, or from elsewhere, and name one that is not here."""
Language = Literal["zh", "en", "ko"]


class Option(Record):
    """One choice; `text` may hold image marks."""

    label: str
    text: str


class Variable(Record):
    """A typed answer variable (CFE-Bench, section 3.3)."""

    name: str
    description: str = ""
    type: Literal["numeric", "formula", "other"] = "other"
    value: str


class FlowStep(Record):
    """One unit of a reasoning flow: a sub-question and its verifiable answer (CFE-Bench, section 5.1)."""

    step: str
    answer: str


class Flags(Record):
    """Yes/no properties of a question; None where the source does not say.

    Attributes:
        is_korean_specific: whether it takes knowledge of Korea (KMMMU-Bench, section 3).
        has_text_in_image: whether its pictures hold text that has to be read (KMMMU-Bench, table 10).
    """

    is_korean_specific: bool | None = None
    has_text_in_image: bool | None = None

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        if self.has_text_in_image is None:
            fields.pop("has_text_in_image", None)
        return fields


class Attributes(Record):
    """Reporting axes that only some benchmarks have.

    Attributes:
        macro_subject: the group of subjects that the subject belongs to.
        task: what the question asks one to do.
        visual_modality: the kind of its pictures (KMMMU-Bench, table 14: super-category).
        topic: the topic within the subject.
        visual_subcategory: the kind of its pictures in detail (tables 14 and 25: sub-category, `diagram_circuit`).
    """

    macro_subject: str | None = None
    task: str | None = None
    visual_modality: str | None = None
    topic: str | None = None
    visual_subcategory: str | None = None

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        if self.visual_subcategory is None:
            fields.pop("visual_subcategory", None)
        return fields


class Review(Record):
    """Who accepted the question, and when (ISO 8601); `upstream`: published by its source, hence reviewed there."""

    state: Literal["unreviewed", "accepted", "rejected", "upstream"] = "unreviewed"
    by: str | None = None
    at: str | None = None


class Source(Record):
    """Where the question comes from."""

    url: str | None = None
    licence: str | None = None
    upstream_id: str | None = None


class Variant(Record):
    """What a question that was made from another one is.

    Attributes:
        of: id of the question that it was made from.
        kind: in which way, by the name of the diagnostic or evaluation (`unit_execution`, `dynamic`).
        unit: the unit of the reasoning flow that it is about, from 1.
        units: how many units that flow has.
        transforms: what was done to pictures and text, in order.
    """

    of: str
    kind: str
    unit: int | None = None
    units: int | None = None
    transforms: list[str] = Field(default_factory=list)


_NO_FLAGS, _NO_ATTRIBUTES, _NO_REVIEW, _NO_SOURCE = Flags(), Attributes(), Review(), Source()
"""What a question has of these where nothing is stated: frozen, and shared. (pydantic copies a default deeply each
time, which a factory spares it.)"""


class PageBox(Record):
    """Where on a page of its paper a question stands.

    Attributes:
        page: the page's number, from 1.
        left, top, right, bottom: fractions of the page's width and height, 0 to 1.
    """

    page: int
    left: float
    top: float
    right: float
    bottom: float

    @model_validator(mode="after")
    def _on_the_page(self) -> PageBox:
        if not (self.page >= 1 and 0 <= self.left < self.right <= 1 and 0 <= self.top < self.bottom <= 1):
            raise ValueError("a box lies on a page: its sides are fractions from 0 to 1, left before right")
        return self


class Question(Record):
    """One exam question with its key.

    `answer` has one entry a blank or sub-question; letters of a multiple choice are one entry ("ACD").
    `part_units` is the unit printed after each blank, which an answer may leave out ("" where none is).
    Images are used in the order of their marks: those of `question` first, then those of the options. `boxes` say where
    it stands on its pages, one a column and page that it runs through.
    """

    id: str
    benchmark: BenchmarkName
    release: str | None = None
    language: Language
    subject: str
    question_type: QuestionType
    question_type_raw: str | None = None
    question: str
    options: list[Option] = Field(default_factory=list)
    images: list[Image] = Field(default_factory=list)
    paper_id: str | None = None
    page_numbers: list[int] = Field(default_factory=list)
    boxes: list[PageBox] = Field(default_factory=list)
    number: str | None = None
    answer: list[str] = Field(default_factory=list)
    part_points: list[float] = Field(default_factory=list)
    part_units: list[str] = Field(default_factory=list)
    answer_images: list[Image] = Field(default_factory=list)
    solution: str | None = None
    solution_images: list[Image] = Field(default_factory=list)
    variables: list[Variable] = Field(default_factory=list)
    reasoning_flow: list[FlowStep] = Field(default_factory=list)
    points: float | None = None
    knowledge_points: list[str] = Field(default_factory=list)
    taxonomy: list[str] = Field(default_factory=list)
    difficulty: str | None = None
    year: int | None = None
    subsets: list[str] = Field(default_factory=list)
    flags: Flags = Field(default_factory=lambda: _NO_FLAGS)
    attributes: Attributes = Field(default_factory=lambda: _NO_ATTRIBUTES)
    exam: str | None = None
    translation_of: str | None = None
    review: Review = Field(default_factory=lambda: _NO_REVIEW)
    removed_in: str | None = None
    source: Source = Field(default_factory=lambda: _NO_SOURCE)
    variant: Variant | None = None

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        if self.variant is None:
            fields.pop("variant", None)
        if not self.boxes:
            fields.pop("boxes", None)
        return fields


class Page(Record):
    """One page of a paper; stored once and joined by `paper_id` and `page_number` (from 1)."""

    paper_id: str
    page_number: int
    image: Image
    language: Language | None = None
    release: str | None = None
