"""Chat-completions format: requests as JSON bodies, answers as checked Completions."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Image, Key, Request, Response
from livek12.core.text import clean, one_line
from livek12.engines.base import Engine
from livek12.engines.common import NO_COUNT, Json, content_of, seed_of
from livek12.engines.images import mime_of
from livek12.engines.thinking import Split

_ERROR_BYTES = 1 << 16
_LONGEST_MESSAGE = 2000
_CONTEXT = re.compile(
    r"(?:max_model_len *= *|context (?:length|window|size) (?:is|of|is only) |tokens` must be <= )`?(\d{1,9})\b"
)
_QUESTION = re.compile(
    r"\b(\d{1,9}) (?:tokens )?(?:input tokens|in the messages|from the input|`inputs` tokens|in your prompt)"
)
_LIMIT = re.compile(r"(?:at most |less than or equal to `?|range of \S+ is \[\d+, ?|: \d{1,9} > )(\d{1,9})\b")
"""Wordings of context limits (vLLM, SGLang, OpenAI and the like, TGI), and of answer limits alone."""
_WITHOUT_TEXT = ("length", "tool_calls", "function_call", "content_filter")
"""Why a response may end before it says anything."""
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class BadCompletion(Exception):
    """An answer that is no chat completion."""


@dataclass(frozen=True)
class Completion:
    """A checked answer; missing counts are None."""

    text: str
    reasoning: str | None
    finish_reason: str | None
    model: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None


def read_completion(data: bytes) -> Completion:
    """Parses the first choice of a chat completion.

    Raises:
        BadCompletion: an error object, no choice, no text, or an invalid field.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise BadCompletion(f"the endpoint did not answer in JSON: {_glimpse(data)}") from None
    if not isinstance(body, dict):
        raise BadCompletion(f"the endpoint answered no object: {_glimpse(data)}")
    return completion_of(body)


def completion_of(body: Json) -> Completion:
    """First choice of a parsed chat completion; raises as `read_completion`."""
    if body.get("error"):
        raise BadCompletion(f"the endpoint answered with an error: {one_line(body['error'], 200)}")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        glimpse = _glimpse(json.dumps(body).encode())
        raise BadCompletion(f"the answer has no choice with a message: {glimpse}")
    finish = choice.get("finish_reason")
    text, reasoning = (clean(part) if part else part for part in _text_of(message, finish))
    usage = body.get("usage")
    return Completion(
        text=text or "",
        reasoning=reasoning,
        finish_reason=_name(finish),
        model=_name(body.get("model")),
        **_counts(usage if isinstance(usage, dict) else {}),
    )


def said_by_error(data: bytes) -> str:
    """Message and code of an error body."""
    message, code = _told(data)
    return one_line(f"{message} ({clean(code)})" if code else message, 160)


def fitting(data: bytes, tokens: int) -> tuple[int, int] | None:
    """The endpoint's maximum of tokens, and what fits this time, by its refusal."""
    message = re.sub(r"(?<=\d),(?=\d\d\d)", "", _told(data)[0][:_LONGEST_MESSAGE])
    context, question, limit = (_number(pattern, message) for pattern in (_CONTEXT, _QUESTION, _LIMIT))
    most = context or limit
    if most is None:
        return None
    room = most - (question or 0) if context else most
    return (most, room) if 0 < room < tokens else None


def _told(data: bytes) -> tuple[str, str]:
    text = data[:_ERROR_BYTES].decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text, ""
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    return clean(message) if isinstance(message, str) else text, code if isinstance(code, str) else ""


def _number(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message)
    return int(next(filter(None, match.groups()))) if match else None


def _text_of(message: Json, finish: Any) -> tuple[str, str | None]:
    reasoning = next((v for f in _REASONING_FIELDS if isinstance(v := message.get(f), str) and v), None)
    content = message.get("content")
    if isinstance(content, list):
        thoughts = _typed_texts(content, "thinking")
        return _typed_texts(content, "text"), reasoning or thoughts or None
    if isinstance(content, str):
        return content, reasoning
    if content is not None:
        raise BadCompletion(f"the answer's content is neither text nor parts but {type(content).__name__}")
    if isinstance(message.get("refusal"), str):
        return message["refusal"], reasoning
    # Thinking, an unoffered tool call, a cut or a filter: no answer.
    if reasoning or message.get("tool_calls") or message.get("function_call") or finish in _WITHOUT_TEXT:
        return "", reasoning
    raise BadCompletion(f"the answer has no content (finish_reason {one_line(finish, 60)})")


def _typed_texts(parts: list[Any], kind: str) -> str:
    """Some providers nest text parts in thinking parts."""
    texts = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == kind:
            value = part.get(kind)
            texts.append(_typed_texts(value, "text") if isinstance(value, list) else value)
    return "".join(text for text in texts if isinstance(text, str))


def _counts(usage: Json) -> dict[str, int | None]:
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    cached = _count(prompt.get("cached_tokens")) if isinstance(prompt, dict) else None
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    thought = _count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None
    # Some endpoints exclude thinking from the completion count, as their total shows.
    if read is not None and written is not None and thought and usage.get("total_tokens") == read + written + thought:
        written += thought
    return {
        "prompt_tokens": read,
        "cached_tokens": _count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        "completion_tokens": written,
        "reasoning_tokens": thought,
    }


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < NO_COUNT else None


def _name(value: Any) -> str | None:
    return one_line(value, 200) if isinstance(value, str) and value else None


def _glimpse(data: bytes) -> str:
    return repr(one_line(data[:400].decode("utf-8", "replace"), 80))


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequestForm:
    """An endpoint's dialect.

    Attributes:
        max_tokens: the field of the budget.
        thinking_budget: its field; a dot leads into an object.
        budgets: sends optional thinking budgets.
    """

    model: str
    fields: Json
    max_tokens: str
    thinking_budget: str
    omit: Collection[str]
    budgets: bool = True

    def limits(self, request: Request) -> bool:
        """Tests for a thinking budget."""
        sampling = request.sampling
        return sampling.thinking_budget is not None and (self.budgets or not sampling.thinking_optional)

    def mended(self, request: Request, refusal: bytes, first: bool, address: str) -> RequestForm | None:
        """Form without an optional thinking budget, if it may cause the refusal.

        Raises UserError if the first answer refuses a required one, or so many tokens.
        """
        message = said_by_error(refusal) if refusal else ""
        about = self.limits(request) and self.thinking_budget.partition(".")[0] in message
        if self.limits(request) and request.sampling.thinking_optional and message and (about or first):
            return replace(self, budgets=False)
        if first and about:
            raise UserError(
                f"{address} takes no thinking budget as {self.thinking_budget}: {message}; say what it calls it "
                "with thinking_budget_field=…, or leave --thinking-budget out"
            )
        if first and self.max_tokens in message:
            raise UserError(f"{address}: {message}; ask for less with --max-tokens")
        return None

    def tell_without_budgets(self, address: str) -> None:
        """Warns about omitted thinking budgets."""
        _log.warning(
            "%s takes no thinking budget as %s; thinking and answer share the limit of tokens",
            address,
            self.thinking_budget,
        )

    def body(self, request: Request, tokens: int) -> bytes:
        """Body for at most `tokens`."""
        return json.dumps(self.as_json(request, tokens)).encode()

    def as_json(self, request: Request, tokens: int) -> Json:
        """Body as an object."""
        sampling = request.sampling
        fields: Json = {
            "model": self.model,
            "messages": messages_json(request),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            self.max_tokens: tokens,
            "seed": seed_of(request),
            "stop": sampling.stop or None,
            "response_format": _response_format(request),
        }
        body = {name: value for name, value in fields.items() if value is not None and name not in self.omit}
        body |= self.fields
        if self.limits(request):
            put(body, self.thinking_budget, sampling.thinking_budget)
        return body


def response_of(
    completion: Completion, split: Split, key: Key, prompt_sha256: str, engine: Engine, seconds: float | None = None
) -> Response:
    """Response of an engine; `split` is its text."""
    return Response(
        key=key,
        text=split.text,
        reasoning="\n".join(filter(None, (completion.reasoning, split.reasoning))) or None,
        finish_reason=completion.finish_reason,
        prompt_tokens=completion.prompt_tokens,
        cached_tokens=completion.cached_tokens,
        completion_tokens=completion.completion_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        seconds=seconds,
        engine=engine.name,
        model=engine.model,
        model_revision=completion.model if completion.model != engine.model else None,
        prompt_sha256=prompt_sha256,
        versions=engine.versions(),
    )


def messages_json(request: Request) -> list[Json]:
    """Messages with images as data URLs of their exact bytes."""

    def picture(sha256: str) -> Json:
        return {"type": "image_url", "image_url": {"url": data_url(request.images[sha256])}}

    return [{"role": message.role, "content": content_of(message, picture)} for message in request.messages]


def put(body: Json, path: str, value: Any) -> None:
    """Sets a field of a body; a dot leads into an object."""
    *outer, last = path.split(".")
    for name in outer:
        inner = body.get(name)
        body[name] = body = dict(inner) if isinstance(inner, dict) else {}
    body[last] = value


def data_url(image: Image) -> str:
    """`data:` URL of a checked picture."""
    return f"data:{mime_of(image)};base64,{base64.b64encode(image.bytes or b'').decode()}"


def _response_format(request: Request) -> Json | None:
    if request.answer_schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": request.answer_schema}}
