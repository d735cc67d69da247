"""Records that cross a boundary, and rows that join them.

Contract: a record is an immutable pydantic model; unknown fields are refused; missing values are None, "" or an empty
list. `RECORD_VERSION` changes with any field, except one that is omitted where unset, so that older records and hashes
hold.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from livek12.core.languages import registered
from livek12.core.question_types import QuestionType


class Record(BaseModel):
    """Frozen and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    @classmethod
    def empty(cls, *names: str) -> dict[str, Any]:
        """Defaults of some fields."""
        return {name: cls.model_fields[name].get_default(call_default_factory=True) for name in names}


class SparseRecord(Record):
    """Omits the fields of `sparse` at that value."""

    sparse: ClassVar[Mapping[str, object]] = {}

    @model_serializer(mode="wrap")
    def _omit_unset(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        for name, unset in self.sparse.items():
            if fields.get(name) == unset:
                fields.pop(name, None)
        return fields


class Image(Record):
    """One encoded picture, in the layout of `datasets.Image(decode=False)`."""

    bytes: builtins.bytes | None = Field(default=None, repr=False)
    path: str | None = None

    @property
    def sha256(self) -> str:
        """Hash of its encoded bytes; ValueError without bytes."""
        if self.bytes is None:
            raise ValueError(f"image {self.path!r} has no bytes")
        return hashlib.sha256(self.bytes).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces, for stable hashes."""
    return _CANONICAL.encode(value)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Sampling(SparseRecord):
    """Sampling parameters; None leaves the model's own default (its generation config).

    `max_tokens` counts thinking and answer together; after `thinking_budget` tokens the engine closes the thinking or,
    with `thinking_optional`, where it cannot, says so and goes on.
    `system_prompt` None: the chat template's own.
    """

    sparse = {"system_prompt": None, "thinking_optional": False}

    temperature: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    top_k: Annotated[int | None, Field(ge=-1)] = None
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    thinking_budget: Annotated[int | None, Field(ge=0)] = None
    thinking_optional: bool = False
    seed: int = 0
    stop: list[str] = Field(default_factory=list)
    system_prompt: str | None = None


class Part(Record):
    """Piece of a message: a text, or the sha256 of an image of the request."""

    type: Literal["text", "image"]
    text: str | None = None
    image: str | None = None


class Message(Record):
    """Turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: list[Part]


class Key(Record):
    """Name of one answer of a run: task, question and trial."""

    task: str
    question_id: str
    trial: int = 0

    def __str__(self) -> str:
        return f"{self.task}/{self.question_id}/{self.trial}"


class Request(Record):
    """Request to a model. `images` maps the sha256 used in the messages to the picture.

    `answer_schema` is a JSON schema for constrained decoding; engines without it ignore it, so the prompt must state
    the form too. `together` groups requests with a common prefix for one engine.
    """

    key: Key
    messages: list[Message]
    images: dict[str, Image] = Field(default_factory=dict)
    sampling: Sampling = Sampling()
    answer_schema: dict[str, Any] | None = None
    together: str = ""

    @property
    def prompt_sha256(self) -> str:
        """Hash of all the model sees and of the sampling."""
        # Without a thinking budget the hash is that of older records.
        unset: Any = {"sampling": {"thinking_budget"}} if self.sampling.thinking_budget is None else None
        payload = self.model_dump_json(include={"messages", "sampling"}, exclude=unset)
        return hashlib.sha256(payload.encode()).hexdigest()


class EarlierReply(Record):
    """Reply to a request before the question's own, with its own counts."""

    text: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    prompt_sha256: str | None = None


class Response(SparseRecord):
    """Reply of a model. Token counts are None where the engine does not tell; none is estimated.

    `finish_reason`: "length" where the token limit cut it off; None if unknown. `earlier`: the reply to the request
    before, in tasks that make two; not in the counts here. `run`: identity of the run that asked (`RunSpec.identity`).
    """

    sparse = {"earlier": None, "run": None}

    key: Key
    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    engine: str
    model: str
    model_revision: str | None = None
    prompt_sha256: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    earlier: EarlierReply | None = None
    run: str | None = None

    @property
    def sha256(self) -> str:
        """Hash of text and finish reason."""
        return hashlib.sha256(canonical_json([self.text, self.finish_reason]).encode()).hexdigest()


class Failure(Record):
    """Request without a response; sent again on resume.

    `final`: a retry would fail again.
    """

    key: Key
    state: Literal["failed", "unsupported"]
    reason: str
    final: bool = False


class Call(Record):
    """Request to a judge model while one response was marked.

    `prompt` names the prompt file with version and hash; `raw` is the reply as received (None: there was none) and
    `problem` the reason why it does not count. `cost` is in the currency of the judge's stated prices, None without
    prices or counts. `remembered`: from the cache; tokens and cost are those of the first time. `final`: a retry would
    bring no reply either. Without judge and prompt it stands for requests that were impossible for want of a picture.
    """

    judge: str
    prompt: str
    raw: str | None = None
    problem: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    remembered: bool = False
    final: bool = False

    @property
    def waits(self) -> bool:
        """True without a reply that a retry may bring."""
        return self.raw is None and not self.final


class Vote(Record):
    """One judge's vote on one part; `raw` is its text as received."""

    judge: str
    decision: Literal["accept", "reject", "undecided"]
    score: float | None = None
    reason: str = ""
    raw: str | None = None


class PartVerdict(Record):
    """Blank, sub-question or variable; `score` is 0 to 1, None exactly when undecided."""

    name: str | None = None
    answer: str | None
    gold: str
    decision: Literal["accept", "reject", "undecided"]
    score: float | None
    decided_by: str
    reason: str = ""
    votes: list[Vote] = Field(default_factory=list)


ErrorType = Literal["CIE", "LAE", "DRE"]
"""Misread condition, unfounded assumption, step that does not follow (LiveK12Bench, section 2.3)."""
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


class ProcessError(Record):
    """Root-cause error found by a critic (LiveK12Bench, section 2.3)."""

    type: ErrorType
    step: str
    reason: str
    judge: str


class Process(Record):
    """Process audit: mean presence (0 to 1) of each error type over the critics."""

    cie: float
    lae: float
    dre: float
    errors: list[ProcessError] = Field(default_factory=list)
    critics: list[str] = Field(default_factory=list)


State = Literal["graded", "no_answer", "ungraded", "failed", "unsupported"]
UNSPLIT = "unsplit"
"""`finish_reason` of a response that holds a whole sheet, since the question's part of it is unclear."""
NO_KEY = "no key yet"
"""Stands for who decides a part, where the question has no key."""
UNMARKED = "none"
"""The judge of a response that nobody has marked yet."""


class Verdict(SparseRecord):
    """Marking of one response.

    `state` is graded, no_answer (worth 0) or ungraded (with the reason). `points` of `max_points` is None with
    undecided parts, whose bounds are [`low`, `high`]; `correct` likewise. `response_sha256` identifies the marked
    response. `marking` counts earlier markings of the run (`core.run.markings`), `repeat` earlier askings of the same
    judges, for their self-agreement: such a verdict makes no mark. `keys` is the version of the question's key
    (`core.key_versions`).
    """

    sparse = {"marking": 0, "repeat": 0, "keys": 0}

    key: Key
    response_sha256: str | None = None
    state: Literal["graded", "no_answer", "ungraded"]
    parts: list[PartVerdict] = Field(default_factory=list)
    points: float | None
    low: float
    high: float
    max_points: float
    correct: bool | None
    process: Process | None = None
    process_ungraded: str | None = None
    reason: str = ""
    calls: list[Call] = Field(default_factory=list)
    judge: str
    versions: dict[str, str] = Field(default_factory=dict)
    marking: int = 0
    repeat: int = 0
    keys: int = 0

    @property
    def by_models(self) -> bool:
        """True if judge models were asked."""
        return any(call.prompt for call in self.calls) or any(part.votes for part in self.parts)

    @property
    def is_open(self) -> bool:
        """True if a part or the audit of the reasoning is undecided."""
        return self.state == "ungraded" or bool(self.process_ungraded)

    @property
    def waits(self) -> bool:
        """True if it is open for a judge that could not be asked."""
        return self.is_open and any(call.waits for call in self.calls)


RECORD_VERSION = 6
MOST_POINTS = 99_999
"""Upper bound of plausible points; comparing also refuses nan and infinity."""
IMAGE_MARK = "<image>"
"""Stands in a text where the next image of the record belongs."""

BenchmarkName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""A name that `core.benchmarks` leads to; a record may be older, or from elsewhere, and name one that is not here."""
Language = Annotated[str, registered]
"""Code of a registered language."""


class Option(Record):
    """One choice; `text` may hold image marks."""

    label: str
    text: str


class Variable(Record):
    """Typed answer variable (CFE-Bench, section 3.3)."""

    name: str
    description: str = ""
    type: Literal["numeric", "formula", "other"] = "other"
    value: str


class FlowStep(Record):
    """Sub-question of a reasoning flow and its verifiable answer (CFE-Bench, section 5.1)."""

    step: str
    answer: str


CriterionKind = Literal["method", "accuracy", "independent", "answer", "style"]


class PointsFor(Record):
    """Points, and the reason for them (or for taking them off)."""

    points: float = Field(gt=0, le=MOST_POINTS)
    text: str


class SchemeCriterion(Record):
    """Criterion of a marking scheme.

    Attributes:
        id: unique within the question.
        part: the part of the question that its points belong to, from 1.
        needs: ids of the same alternative, without which it earns nothing.
        expression: the LaTeX of an equation or a value that earns it.
        partial: marks below the full ones; of a text with "each", several times.
        deduct: points off the full ones, each as often as it applies.
    """

    id: str = Field(min_length=1)
    points: float = Field(gt=0, le=MOST_POINTS)
    text: str
    part: int | None = None
    needs: list[str] = Field(default_factory=list)
    kind: CriterionKind | None = None
    expression: str | None = None
    partial: list[PointsFor] = Field(default_factory=list)
    deduct: list[PointsFor] = Field(default_factory=list)


Scheme = list[list[SchemeCriterion]]
"""Alternatives, of which any one may earn the points."""


def check_scheme(scheme: Scheme, points: float | None, part_points: list[float]) -> None:
    """Checks a scheme against the points of its question and parts; raises ValueError."""
    ids = [criterion.id for criteria in scheme for criterion in criteria]
    if repeated := [id for place, id in enumerate(ids) if id in ids[:place]]:
        raise ValueError(f"scheme: criterion {repeated[0]} is there twice")
    worth = points or sum(part_points) or sum(criterion.points for criterion in scheme[0])
    for number, criteria in enumerate(scheme, 1):
        _check_sum(f"alternative {number}", criteria, worth, "the question")
        for part, own in enumerate(part_points if all(criterion.part for criterion in criteria) else [], 1):
            chosen = [criterion for criterion in criteria if criterion.part == part]
            _check_sum(f"alternative {number}, part {part}", chosen, own, "the part")
        _check_needs(criteria, part_points)


def _check_sum(what: str, criteria: list[SchemeCriterion], worth: float, of: str) -> None:
    total = sum(criterion.points for criterion in criteria)
    if abs(total - worth) > 1e-6:
        raise ValueError(f"scheme: the criteria of {what} add up to {total:g} points and {of} has {worth:g}")


def _check_needs(criteria: list[SchemeCriterion], part_points: list[float]) -> None:
    needs = {criterion.id: set(criterion.needs) for criterion in criteria}
    for criterion in criteria:
        if unknown := set(criterion.needs) - needs.keys():
            raise ValueError(f"scheme: criterion {criterion.id} needs {min(unknown)}, which its alternative lacks")
        if criterion.part is not None and not 1 <= criterion.part <= (len(part_points) or criterion.part):
            raise ValueError(f"scheme: criterion {criterion.id} is of part {criterion.part}, which there is not")
        if any(partial.points >= criterion.points for partial in criterion.partial):
            raise ValueError(f"scheme: criterion {criterion.id} has a partial mark that is not below its points")
    while free := [id for id, wanted in needs.items() if not wanted & needs.keys()]:
        for id in free:
            del needs[id]
    if needs:
        raise ValueError(f"scheme: criteria {', '.join(needs)} need each other")


class Flags(SparseRecord):
    """Yes/no properties of a question; None if unknown.

    Attributes:
        is_korean_specific: needs knowledge of Korea (KMMMU-Bench, section 3).
        has_text_in_image: its pictures hold text to read (KMMMU-Bench, table 10).
    """

    sparse = {"has_text_in_image": None}

    is_korean_specific: bool | None = None
    has_text_in_image: bool | None = None


class Attributes(SparseRecord):
    """Reporting axes that only some benchmarks have.

    Attributes:
        visual_modality: super-category of its pictures (KMMMU-Bench, table 14).
        visual_subcategory: sub-category of its pictures (tables 14 and 25, `diagram_circuit`).
    """

    sparse = {"visual_subcategory": None}

    macro_subject: str | None = None
    task: str | None = None
    visual_modality: str | None = None
    topic: str | None = None
    visual_subcategory: str | None = None


class Review(Record):
    """Reviewer and time (ISO 8601) of acceptance; `upstream`: published by its source."""

    state: Literal["unreviewed", "accepted", "rejected", "upstream"] = "unreviewed"
    by: str | None = None
    at: str | None = None


class Source(Record):
    """Source of a question."""

    url: str | None = None
    licence: str | None = None
    upstream_id: str | None = None


class Variant(Record):
    """Relation of a question to the one it was made from.

    Attributes:
        kind: name of the diagnostic or evaluation (`unit_execution`, `dynamic`).
        unit: its unit of the reasoning flow, from 1.
        units: number of units of that flow.
        transforms: changes to pictures and text, in order.
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
    """Question's rectangle on a page (number from 1) of its paper, in fractions of width and height."""

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


class Question(SparseRecord):
    """Exam question with its key.

    `answer` has one entry a blank or sub-question; letters of a multiple choice are one entry ("ACD"). `part_units` is
    the unit printed after each blank, which an answer may leave out. Images are in the order of their marks: those of
    `question` first, then those of the options. `boxes` has one entry a column and page.
    """

    sparse = {"variant": None, "boxes": [], "scheme": []}

    id: Annotated[str, "unique in its config"]
    benchmark: Annotated[BenchmarkName, "livek12, kmmmu, cfe or mdk12"]
    release: Annotated[str | None, "when the question was released or asked"] = None
    language: Language
    subject: Annotated[str, "the school or university subject"]
    question_type: QuestionType
    question_type_raw: Annotated[str | None, "the type in the source's own words"] = None
    question: Annotated[str, "the text, without the options that could be taken out of it"]
    options: Annotated[list[Option], "the choices, in order"] = Field(default_factory=list)
    images: Annotated[list[Image], "the figures, in the order of their marks"] = Field(default_factory=list)
    paper_id: Annotated[str | None, "the paper the question stands on"] = None
    page_numbers: Annotated[list[int], "the pages of the paper it stands on, from 1"] = Field(default_factory=list)
    boxes: Annotated[
        list[PageBox], "where it stands on these pages, in fractions of width and height; empty where that is not known"
    ] = Field(default_factory=list)
    number: Annotated[str | None, "its number on the paper"] = None
    answer: Annotated[
        list[str], "the key: one entry a blank, sub-question or variable; the letters of a choice are one entry"
    ] = Field(default_factory=list)
    part_points: Annotated[list[float], "the points of each entry of the key"] = Field(default_factory=list)
    part_units: Annotated[list[str], "the unit printed after each blank, which an answer may leave out"] = Field(
        default_factory=list
    )
    answer_images: Annotated[list[Image], "pictures that belong to the key"] = Field(default_factory=list)
    solution: Annotated[str | None, "the reference solution"] = None
    solution_images: Annotated[list[Image], "pictures of the solution, in the order of their marks"] = Field(
        default_factory=list
    )
    variables: Annotated[list[Variable], "the typed answer variables"] = Field(default_factory=list)
    reasoning_flow: Annotated[list[FlowStep], "the sub-questions that lead to the answer, each with its own answer"] = (
        Field(default_factory=list)
    )
    scheme: Annotated[
        Scheme, "the marking scheme: alternatives, each a list of criteria with points; empty without one"
    ] = Field(default_factory=list)
    points: Annotated[float | None, "what a full answer is worth"] = None
    knowledge_points: Annotated[list[str], "what one must know"] = Field(default_factory=list)
    taxonomy: Annotated[list[str], "the path from discipline to topic"] = Field(default_factory=list)
    difficulty: Annotated[str | None, "easy, medium or hard"] = None
    year: Annotated[int | None, "the year of the exam"] = None
    subsets: Annotated[list[str], "the named subsets it belongs to"] = Field(default_factory=list)
    flags: Annotated[Flags, "yes-or-no properties; empty where the source does not say"] = Field(
        default_factory=lambda: _NO_FLAGS
    )
    attributes: Annotated[Attributes, "reporting axes that only some benchmarks have"] = Field(
        default_factory=lambda: _NO_ATTRIBUTES
    )
    exam: Annotated[str | None, "the exam's name"] = None
    translation_of: Annotated[str | None, "id of the question this one translates"] = None
    review: Annotated[Review, "who accepted the question, and when"] = Field(default_factory=lambda: _NO_REVIEW)
    removed_in: Annotated[str | None, "the release that withdrew it"] = None
    source: Annotated[Source, "address, licence and upstream id"] = Field(default_factory=lambda: _NO_SOURCE)
    variant: Annotated[
        Variant | None, "the question it was made from, and how; empty for a question as it was printed"
    ] = None

    @property
    def has_key(self) -> bool:
        """True with an answer, values, a solution or a scheme."""
        texts = [*self.answer, *(variable.value for variable in self.variables), self.solution or ""]
        return bool(self.scheme or self.answer_images or self.solution_images) or any(map(str.strip, texts))

    @model_validator(mode="after")
    def _scheme_fits(self) -> Question:
        if self.scheme:
            check_scheme(self.scheme, self.points, self.part_points)
        return self


class Page(Record):
    """Page of a paper; joined by `paper_id` and `page_number` (from 1)."""

    paper_id: Annotated[str, "the paper"]
    page_number: Annotated[int, "the page, from 1"]
    image: Annotated[Image, "the whole page"]
    language: Language | None = None
    release: Annotated[str | None, "the paper's release"] = None


@dataclass(frozen=True)
class Row:
    """Answer that a run asked for (`verdict` None: failed or unsupported, `why`).

    `judged` is the judges' verdict, where a person set another mark in its place (`core.run.markings`).
    """

    task: str
    question: Question
    trial: int
    state: State
    response: Response | None
    verdict: Verdict | None
    why: str = ""
    judged: Verdict | None = None


def row_of(
    task: str,
    question: Question,
    trial: int,
    response: Response | None,
    failure: Failure | None,
    verdict: Verdict | None,
) -> Row:
    """Joins the records of one answer; a verdict on another response of its key is ignored."""
    if response is None:
        if failure is None:
            return Row(task, question, trial, "failed", None, None, "not asked yet")
        return Row(task, question, trial, failure.state, None, None, failure.reason)
    if verdict is None or not fits(verdict, response):
        verdict = _unmarked(question, response)
    return Row(task, question, trial, verdict.state, response, verdict)


def fits(verdict: Verdict, response: Response) -> bool:
    """True if the verdict is on this response."""
    return verdict.response_sha256 in (None, response.sha256)


def lacks_key(verdict: Verdict) -> bool:
    """True if an answer waits for a key."""
    return any(part.decided_by == NO_KEY for part in verdict.parts)


def _unmarked(question: Question, response: Response) -> Verdict:
    worth = question.points or 1.0
    return Verdict(
        key=response.key,
        state="ungraded",
        points=None,
        low=0.0,
        high=worth,
        max_points=worth,
        correct=None,
        reason="not judged yet",
        judge=UNMARKED,
    )
