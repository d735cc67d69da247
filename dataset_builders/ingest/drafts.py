"""A question as far as machines can tell, with what they doubt: what the review page shows and a person confirms.

Contract: a draft is what `Question` will be, and where it stands on its pages. Pictures are in the folder, named here.
An ingested folder (`--out DIR`) holds:

    questions.jsonl   a row a question, as `livek12 build livek12 --source DIR` reads it
    images/, pages/   figures by name, and PAPER_N.png a page
    report.html       per paper: found, matched, uncertain, missing numbers
    .ingest/          PAPER.json (an `IngestedPaper`) a paper and what reviewers did: not read by `build`
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from livek12.core.records import FlowStep, Language, Option, QuestionType, Record, Variable
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
    "parse",  # the template's parse differs from that of the rules
    "duplicate",
    "translation",
    "tags",
]


class Doubt(Record):
    """One thing a reviewer should look at: what, in words, and how sure the machine is of what it wrote (0 to 1)."""

    kind: DoubtKind
    text: str
    confidence: float = 0.5


class Figure(Record):
    """A picture of a question: its file in `images/`, where it stands, and its caption."""

    name: str
    box: Box | None = None
    caption: str = ""


class Draft(Record):
    """One question of a paper. The fields shared with `Question` mean what they mean there.

    Attributes:
        id: PAPER-qNUMBER, PAPER-ELECTIVE-qNUMBER (with a suffix where a number is there twice).
        section: title of the part of the paper it stands in, as printed.
        elective: name of the elective part (or form) of the paper it is of, where numbers may come again; "" outside.
        boxes: where it stands, one a column and page it runs through.
        figures: its pictures in the order of their marks.
        doubts: what a reviewer should look at.
        answer_from: where the key comes from: the paper, the name of the key's file, or nowhere ("").
        markdown: the text as extracted, before it was parsed.
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
    points: float | None = None
    part_points: list[float] = []
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
        """Of the least certain thing about it, 0 to 1: the review queue's order."""
        return min((doubt.confidence for doubt in self.doubts), default=1.0)


class PageAccount(Record):
    """What became of the lines, tables and pictures of one page.

    Attributes:
        page: its number, from 1.
        questions, sections, key: how many went to questions, to titles and instructions of sections, to the key.
        left: what is left over, each in words.
    """

    page: int
    questions: int = 0
    sections: int = 0
    key: int = 0
    left: list[str] = []


class IngestedPaper(Record):
    """One paper of a folder.

    Attributes:
        paper_id: names its pages and its questions; made of the file's name, safe as a file name.
        title: as printed.
        source: the PDF's file name and SHA-256.
        pages: how many.
        template: the layout it was read with.
        parsed_by: "rules", or the model that filled the template.
        errors: what the paper must have and was not found: numbers, questions' texts, printed counts and sums.
        unmatched: keys without a question, and numbers that are missing.
        notes: what a person should know about the paper as a whole.
        account: what became of everything on each page.
        made_by: hash of the PDF, options and code it was made by: while it is the same, the paper is not done again.
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
    errors: list[str] = []
    unmatched: list[str] = []
    notes: list[str] = []
    account: list[PageAccount] = []
    made_by: str = ""
