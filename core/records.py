"""The records that cross a boundary: Question, Request, Response, Verdict and their parts.

Contract: a record is an immutable pydantic model; unknown fields are refused; what a source does not
give stays empty (None, "" or an empty list), never made up. `RECORD_VERSION` changes with any field, save one that is
not written where it is not set, so that every older record and hash of one still holds.
`core.features` derives the Arrow columns from these classes, so a field is written down once.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)


class Record(BaseModel):
    """Base of all records: frozen, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Image(Record):
    """One encoded picture, in the layout of `datasets.Image(decode=False)`."""

    bytes: builtins.bytes | None = Field(default=None, repr=False)
    path: str | None = None

    @property
    def sha256(self) -> str:
        """Stable id of the picture: the hash of its encoded bytes.

        Raises:
            ValueError: the image holds no bytes.
        """
        if self.bytes is None:
            raise ValueError(f"image {self.path!r} has no bytes")
        return hashlib.sha256(self.bytes).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text, so hashes of it are stable."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Sampling(Record):
    """How an answer is drawn; None leaves the model's own default (its generation config).

    `max_tokens` counts thinking and answer together; `thinking_budget` is the most tokens of thinking, after which
    the engine closes it and the model has to answer (None: no limit but `max_tokens`). `thinking_optional`: where the
    engine cannot hold the budget, it says so and goes on without. `system_prompt` comes before the question (None: what
    the model's chat template has there by itself).
    """

    temperature: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    top_k: Annotated[int | None, Field(ge=-1)] = None
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    thinking_budget: Annotated[int | None, Field(ge=0)] = None
    thinking_optional: bool = False
    seed: int = 0
    stop: list[str] = Field(default_factory=list)
    system_prompt: str | None = None

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        if self.system_prompt is None:
            fields.pop("system_prompt", None)
        if not self.thinking_optional:
            fields.pop("thinking_optional", None)
        return fields


class Part(Record):
    """One piece of a message: a text, or the sha256 of an image of the request."""

    type: Literal["text", "image"]
    text: str | None = None
    image: str | None = None


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: list[Part]


class Key(Record):
    """Names one answer of a run: which task, which question, which trial."""

    task: str
    question_id: str
    trial: int = 0

    def __str__(self) -> str:
        return f"{self.task}/{self.question_id}/{self.trial}"


class Request(Record):
    """What one model is asked once. `images` maps the sha256 used in the messages to the picture.

    `answer_schema` is a JSON schema that the answer has to follow: engines that can hold a model to it do (vllm, and
    endpoints with `response_format`); the others do not see it, so that the prompt has to say the form as well.
    `together` names requests whose texts begin alike, so that one engine had better do them; "" where none is known.
    """

    key: Key
    messages: list[Message]
    images: dict[str, Image] = Field(default_factory=dict)
    sampling: Sampling = Sampling()
    answer_schema: dict[str, Any] | None = None
    together: str = ""

    @property
    def prompt_sha256(self) -> str:
        """Hash of everything the model sees (texts, roles, image hashes) and of the sampling."""
        # Without a thinking budget the hash is that of records from before there were any.
        unset: Any = {"sampling": {"thinking_budget"}} if self.sampling.thinking_budget is None else None
        payload = self.model_dump_json(include={"messages", "sampling"}, exclude=unset)
        return hashlib.sha256(payload.encode()).hexdigest()


class EarlierReply(Record):
    """What the model said to a request that was made before the one on the question, with its own counts."""

    text: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    prompt_sha256: str | None = None


class Response(Record):
    """What the model said. Token counts are None where the engine does not tell; none is estimated.

    `finish_reason`: "length" where the token limit cut it off, "stop" or another word where it ended otherwise; None
    where that is not known, which reports count and do not take for either. `earlier`: the reply to the request before
    this one, in tasks that make two; the counts here are those of this one alone.
    """

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

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        if self.earlier is None:
            fields.pop("earlier", None)
        return fields

    @property
    def sha256(self) -> str:
        """Hash of what is marked: the text and how it ended."""
        return hashlib.sha256(canonical_json([self.text, self.finish_reason]).encode()).hexdigest()


class Failure(Record):
    """A request that ended without a response; sent again when the run goes on.

    `final`: it is the request itself that is refused (too long, a picture to a text model), so that sending it again
    would end the same way.
    """

    key: Key
    state: Literal["failed", "unsupported"]
    reason: str
    final: bool = False


class Call(Record):
    """One request put to a judge model while one response was marked, whatever came of it.

    `prompt` names the prompt file with version and hash; `raw` is the reply as received (None: there was none) and
    `problem` why it counts for nothing ("" when it counts). `cost` is in the currency of the judge's stated prices,
    None without prices or counts. `remembered`: the reply came from the cache, so that nothing was paid this time;
    tokens and cost are those of the first time. `final`: no reply came, and none would if it were asked again. Without
    judge and prompt it stands for all that could not be put, for want of a picture.
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
        """Whether no reply came and asking again may bring one."""
        return self.raw is None and not self.final


class Vote(Record):
    """What one judge said about one part; `raw` is its text as received. `Verdict.calls` has what it cost."""

    judge: str
    decision: Literal["accept", "reject", "undecided"]
    score: float | None = None
    reason: str = ""
    raw: str | None = None


class PartVerdict(Record):
    """One blank, sub-question or variable: the answer found, the key, and the decision.

    `score` is the share of the part's points, 0 to 1; None exactly when undecided.
    """

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
    """One root-cause error a critic found (LiveK12Bench, section 2.3)."""

    type: ErrorType
    step: str
    reason: str
    judge: str


class Process(Record):
    """The process audit of one response: mean presence (0 to 1) of each error type over the critics."""

    cie: float
    lae: float
    dre: float
    errors: list[ProcessError] = Field(default_factory=list)
    critics: list[str] = Field(default_factory=list)


State = Literal["graded", "no_answer", "ungraded", "failed", "unsupported"]
UNMARKED = "none"
"""The judge of a response that nobody has marked yet."""


class Verdict(Record):
    """The marking of one response.

    `state` is graded, no_answer (worth 0) or ungraded (with the reason). `points` is what was awarded out
    of `max_points`; with undecided parts it is None and [`low`, `high`] are the bounds, which are equal to
    `points` otherwise. `correct` is None while it depends on an undecided part. `response_sha256` names the very
    response that was marked. `calls` are all requests to judge models, of the marking and of the process audit.
    `marking` counts how often the run was marked anew before (`core.run.markings`), `repeat` how often the same judges
    were asked all of it before, for their agreement with themselves: such a verdict makes no mark.
    """

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

    @property
    def by_models(self) -> bool:
        """Whether judge models were asked about the answer."""
        return any(call.prompt for call in self.calls) or any(part.votes for part in self.parts)

    @property
    def is_open(self) -> bool:
        """Whether a part, or the audit of the reasoning, came to nothing."""
        return self.state == "ungraded" or bool(self.process_ungraded)

    @property
    def waits(self) -> bool:
        """Whether it is open because a judge could not be asked, so that asking again makes sense."""
        return self.is_open and any(call.waits for call in self.calls)

    @model_serializer(mode="wrap")
    def _set(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dumped(self)
        for name in ("marking", "repeat"):
            if not fields.get(name):
                fields.pop(name, None)
        return fields


RECORD_VERSION = 4
IMAGE_MARK = "<image>"
"""Stands in a text where the next image of the record belongs."""

BenchmarkName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""A name that `core.benchmarks` leads to; a record may be older, or from elsewhere, and name one that is not here."""
Language = Literal["zh", "en", "ko"]
QuestionType = Literal[
    "single_choice",
    "multiple_choice",
    "fill_in_blank",
    "true_false",
    "short_answer",
    "open_ended",
    "proof",
]
CHOICE_TYPES: frozenset[QuestionType] = frozenset({"single_choice", "multiple_choice"})


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
