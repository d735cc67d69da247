"""Pieces of a message, put together in one way wherever a model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from livek12.core.records import IMAGE_MARK, Image, Message, Part, Sampling


def text_part(text: str) -> Part:
    """A piece of text."""
    return Part(type="text", text=text)


def image_part(image: Image) -> Part:
    """A picture, named by its hash."""
    return Part(type="image", image=image.sha256)


def joined_parts(parts: Iterable[Part]) -> list[Part]:
    """The parts with neighbouring texts as one, and without empty ones."""
    joined: list[Part] = []
    for part in parts:
        if part.type == "text" and joined and joined[-1].type == "text":
            joined[-1] = text_part((joined[-1].text or "") + (part.text or ""))
        elif part.type == "image" or part.text:
            joined.append(part)
    return joined


def text_message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """A message of one text."""
    return Message(role=role, content=[text_part(text)])


def without_marks(text: str) -> str:
    """A text without its image marks; lines and spaces that stood there for a mark alone go with it."""
    lines = ((line, re.sub(rf"[ \t]?{IMAGE_MARK}", "", line).strip(" \t")) for line in text.split("\n"))
    return "\n".join(rest if IMAGE_MARK in line else line for line, rest in lines if rest or IMAGE_MARK not in line)


def conversation(messages: Sequence[Message], sampling: Sampling) -> list[Message]:
    """The messages behind the system prompt that the sampling names."""
    if sampling.system_prompt is None:
        return list(messages)
    return [Message(role="system", content=joined_parts([text_part(sampling.system_prompt)])), *messages]
