"""Pieces of a message, put together in one way wherever a model is asked."""

from __future__ import annotations

from collections.abc import Iterable

from livek12.core.records import Image, Part


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
