"""The chat-completions format: a Request as the JSON text of a body."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Image, Request
from livek12.engines.common import Json, content_of, seed_of
from livek12.engines.images import mime_of
from livek12.engines.openai_format import said_by_error

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequestForm:
    """How an endpoint wants to be asked.

    Attributes:
        model: its name there.
        fields: sent with every request, as they are.
        max_tokens: what the budget is called.
        thinking_budget: what a thinking budget is called; a dot leads into an object.
        omit: fields that are not sent.
        budgets: whether the endpoint is sent thinking budgets that are optional.
    """

    model: str
    fields: Json
    max_tokens: str
    thinking_budget: str
    omit: Collection[str]
    budgets: bool = True

    def limits(self, request: Request) -> bool:
        """Whether a request is sent with a thinking budget."""
        sampling = request.sampling
        return sampling.thinking_budget is not None and (self.budgets or not sampling.thinking_optional)

    def mended(self, request: Request, refusal: bytes, first: bool, address: str) -> RequestForm | None:
        """How to ask once more after a refusal that may be of an optional thinking budget; None: it is not.

        Args:
            request: that was refused.
            refusal: the endpoint's words; none where it did not refuse the request itself.
            first: whether the endpoint has never answered well, so that what it refuses may be the form.
            address: of the endpoint, for messages.

        Raises:
            UserError: its first word is that it takes no thinking budget that has to be, or not so many tokens.
        """
        said = said_by_error(refusal) if refusal else ""
        about = self.limits(request) and self.thinking_budget.partition(".")[0] in said
        if self.limits(request) and request.sampling.thinking_optional and said and (about or first):
            return replace(self, budgets=False)
        if first and about:
            raise UserError(
                f"{address} takes no thinking budget as {self.thinking_budget}: {said}; say what it calls it "
                "with thinking_budget_field=…, or leave --thinking-budget out"
            )
        if first and self.max_tokens in said:
            raise UserError(f"{address}: {said}; ask for less with --max-tokens")
        return None

    def tell_without_budgets(self, address: str) -> None:
        """Says that an endpoint is not sent thinking budgets any more."""
        _log.warning(
            "%s takes no thinking budget as %s; thinking and answer share the limit of tokens",
            address,
            self.thinking_budget,
        )

    def body(self, request: Request, tokens: int) -> bytes:
        """The text that asks for an answer of at most so many tokens."""
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
        return json.dumps(body).encode()


def messages_json(request: Request) -> list[Json]:
    """The conversation; images become data URLs of exactly their bytes."""

    def picture(sha256: str) -> Json:
        return {"type": "image_url", "image_url": {"url": data_url(request.images[sha256])}}

    return [{"role": message.role, "content": content_of(message, picture)} for message in request.messages]


def put(body: Json, path: str, value: Any) -> None:
    """Sets a field of a request body; a dot in its path leads into an object, whose other fields stay."""
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
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": request.answer_schema},
    }
