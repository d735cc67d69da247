"""Drafts: questions as machines read them, with doubts.

An ingested folder (`--out DIR`) holds:

    questions.jsonl   a row a question, as `livek12 build livek12 --source DIR` reads it
    images/, pages/   figures by name, and PAPER_N.png a page
    report.html       per paper: found, matched, doubtful, missing numbers
    .ingest/          PAPER.json (an `IngestedPaper`) a paper, pages of keys, reviewers' actions: not read by `build`
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from livek12.core.question_types import QuestionType
from livek12.core.records import FlowStep, Language, Option, Record, Scheme, Variable
from livek12.dataset_builders.ingest.pages.blocks import Box

MOST_PAGES = 10_000
"""Of one paper; `ingest` itself stops far below."""
DoubtKind = Literal[
    "number",  # the question's number is missing, doubled or out of order
    "type",
    "points",
    "options",  # an incomplete run of labels, or two options alike
    "figure",  # a figure that may belong to another question
    "answer",  # no key, two keys, or one that does not fit the type
    "text",  # read with little confidence, or with pieces that stand in the picture only
    "paper",  # many other questions of its paper have doubts
    "parse",  # the template's parse differs from that of the rules
    "duplicate",
    "translation",
    "tags",
]


class Doubt(Record):
    """Something to review, in words; those of least confidence (0 to 1, a rank) are shown first.

    Attributes:
        readings: what the rules and a model read, where they differ.
    """

    kind: DoubtKind
    text: str
    confidence: float = 0.5
    readings: tuple[str, str] | None = None


class Figure(Record):
    """A picture of a question: its file in `images/`."""

    name: str
    box: Box | None = None
    caption: str = ""


class Draft(Record):
    """A question of a paper. The fields shared with `Question` mean the same.

    Attributes:
        id: PAPER-qNUMBER or PAPER-ELECTIVE-qNUMBER, with a suffix for a repeated number.
        elective: name of the elective part or form, in which numbers may come again; "" outside.
        boxes: one a column and page.
        figures: in the order of their marks.
        solution_figures: in the order of the marks in the solution.
        answer_from: "the paper", the name of the key's file, or "".
    """

    id: str
    number: str
    language: Language
    subject: str = ""
    question_type: QuestionType
    question_type_raw: str | None = None
    question: str
    options: list[Option] = []
    figures: list[Figure] = []
    boxes: list[Box] = []
    page_numbers: list[int] = []
    section: str = ""
    elective: str = ""
    answer: list[str] = []
    answer_from: str = ""
    solution: str | None = None
    solution_figures: list[Figure] = []
    points: float | None = None
    part_points: list[float] = []
    scheme: Scheme = []
    variables: list[Variable] = []
    reasoning_flow: list[FlowStep] = []
    knowledge_points: list[str] = []
    difficulty: str | None = None
    subsets: list[str] = []
    translation_of: str | None = None
    markdown: str = ""
    doubts: list[Doubt] = []

    @property
    def confidence(self) -> float:
        """The least confidence of a doubt: the review queue's order."""
        return min((doubt.confidence for doubt in self.doubts), default=1.0)

    @property
    def all_figures(self) -> list[Figure]:
        """Those of the question and of its solution."""
        return [*self.figures, *self.solution_figures]

    @property
    def is_doubtful(self) -> bool:
        """True if a doubt says more than that the key is missing."""
        return any(doubt.kind != "answer" or self.answer or self.solution for doubt in self.doubts)


class KeyFile(Record):
    """A file of answers; the pages of a PDF are kept as pictures."""

    name: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    pages: Annotated[int, Field(ge=0, le=MOST_PAGES)]

    def page_name(self, number: int) -> str:
        """File name of a page's picture, in `.ingest`."""
        return f"key-{self.sha256[:16]}_{number}.png"


class PageAccount(Record):
    """Counts of the lines, tables and pictures of one page by use; `left` lists the unused ones in words."""

    page: int
    questions: int = 0
    sections: int = 0
    key: int = 0
    left: list[str] = []


class IngestedPaper(Record):
    """One paper of a folder.

    Attributes:
        parsed_by: "rules", or the model that filled the template.
        errors: numbers, texts, printed counts and sums that are missing.
        unmatched: keys without a question, and missing numbers.
        made_by: hash of PDF, options and code; while it is the same, the paper is not done again.
        options: `paper.Options` without the keys; None in records of earlier versions.
    """

    paper_id: str
    title: str = ""
    source: str
    sha256: str
    pages: Annotated[int, Field(ge=0, le=MOST_PAGES)]
    language: Language
    subject: str = ""
    template: str
    parsed_by: str = "rules"
    release: str | None = None
    year: int | None = None
    exam: str | None = None
    licence: str | None = None
    drafts: list[Draft] = []
    keys: list[KeyFile] = []
    errors: list[str] = []
    unmatched: list[str] = []
    notes: list[str] = []
    account: list[PageAccount] = []
    made_by: str = ""
    options: dict[str, str | bool | list[str] | None] | None = None

    @property
    def heads(self) -> list[str]:
        """The examples of first lines that it was ingested with."""
        heads = (self.options or {}).get("heads")
        return heads if isinstance(heads, list) else []
