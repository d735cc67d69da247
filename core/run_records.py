"""The records of a run: what is asked of a model and of judges, and what they said (see `core.records`)."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from livek12.core.record import Image, Record, canonical_json


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
    `marking` counts how often the run was marked anew before (`core.markings`), `repeat` how often the same judges
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
