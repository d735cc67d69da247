"""Requests and pictures for the tests of engines."""

from __future__ import annotations

import io
from typing import Any, Literal

from livek12.core.engines import Outcome
from livek12.core.records import Failure, Image, Key, Message, Part, Request, Response, Sampling

VERDICT = {
    "type": "object",
    "properties": {"verdict": {"enum": ["same", "other"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
"""A JSON schema with one short answer."""


def picture(colour: str, width: int = 112, height: int = 112, form: str = "PNG") -> Image:
    """A one-coloured picture."""
    from PIL import Image as PIL

    stream = io.BytesIO()
    PIL.new("RGB", (width, height), colour).save(stream, form)
    return Image(bytes=stream.getvalue())


def ask(
    question: str,
    text: str = "What is it?",
    images: tuple[Image, ...] = (),
    *,
    trial: int = 0,
    system: str | None = None,
    schema: dict[str, Any] | None = None,
    **sampling: Any,
) -> Request:
    """A request with its pictures before its text; greedy and short unless told otherwise."""
    parts = [Part(type="image", image=image.sha256) for image in images] + [Part(type="text", text=text)]
    messages = [message("system", system)] if system else []
    return Request(
        key=Key(task="t", question_id=question, trial=trial),
        messages=[*messages, Message(role="user", content=parts)],
        images={image.sha256: image for image in images},
        sampling=Sampling(**{"max_tokens": 8, "temperature": 0.0} | sampling),
        answer_schema=schema,
    )


def message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """A turn of plain text."""
    return Message(role=role, content=[Part(type="text", text=text)])


def by_question(outcomes: list[Outcome]) -> dict[str, Outcome]:
    """Outcomes by question id; fails when a question has two."""
    found = {outcome.key.question_id: outcome for outcome in outcomes}
    assert len(found) == len(outcomes)
    return found


def response(outcome: Outcome) -> Response:
    """The outcome, which must be a response."""
    assert isinstance(outcome, Response), outcome
    return outcome


def failure(outcome: Outcome) -> Failure:
    """The outcome, which must be a failure; its reason is one line."""
    assert isinstance(outcome, Failure), outcome
    assert "\n" not in outcome.reason
    return outcome
