"""Prompt files, fences around data in prompts, and messages made of parts.

Contract: a prompt file's head, between lines `---`, names its `version` and the `source` of its rules. Its hash covers
the whole file; after a corrected citation a line `hashed` keeps the old source, so that runs and replies stay valid.
Values are filled in once and never parsed. Outside data is fenced by a marker hashed from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import count
from typing import Literal

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK, Image, Message, Part, Sampling


def text_part(text: str) -> Part:
    """Piece of text."""
    return Part(type="text", text=text)


def image_part(image: Image) -> Part:
    """Picture, named by its hash."""
    return Part(type="image", image=image.sha256)


def joined_parts(parts: Iterable[Part]) -> list[Part]:
    """Non-empty parts, with neighbouring texts joined."""
    joined: list[Part] = []
    for part in parts:
        if part.type == "text" and joined and joined[-1].type == "text":
            joined[-1] = text_part((joined[-1].text or "") + (part.text or ""))
        elif part.type == "image" or part.text:
            joined.append(part)
    return joined


def text_message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """Message of one text."""
    return Message(role=role, content=[text_part(text)])


def without_marks(text: str) -> str:
    """Text without its image marks and the space around them."""
    lines = ((line, re.sub(rf"[ \t]?{IMAGE_MARK}", "", line).strip(" \t")) for line in text.split("\n"))
    return "\n".join(rest if IMAGE_MARK in line else line for line, rest in lines if rest or IMAGE_MARK not in line)


def conversation(messages: Sequence[Message], sampling: Sampling) -> list[Message]:
    """Messages behind the system prompt of the sampling."""
    if sampling.system_prompt is None:
        return list(messages)
    return [Message(role="system", content=joined_parts([text_part(sampling.system_prompt)])), *messages]


FOLDER = "prompts"
_HEAD = re.compile(r"---\nversion: (\d+)\nsource: (.+)\n(?:hashed: (.+)\n)?---\n")
_PLACE = re.compile(r"\{(\w+)\}")
_CONTROL = re.compile(r"<(?=[|｜/]?[\w▁:|｜-]{1,60}[|｜]?>)|\[(?=/?[A-Z_]{2,24}\])|◁(?=/?\w+▷)")
"""What a chat template may take for its own: <|im_end|>, </s>, <start_of_turn>, [INST], ◁think▷."""


@dataclass(frozen=True)
class PromptFile:
    """One prompt file.

    Attributes:
        version: incremented with every change of a released file.
        sha256: of the whole file (see `hashed` above).
    """

    name: str
    version: int
    source: str
    text: str
    sha256: str

    def filled(self, values: Mapping[str, str]) -> str:
        """Text with a value at each place; KeyError for a missing one."""
        return _PLACE.sub(lambda match: values[match[1]], self.text)


def parse_prompt(name: str, text: str) -> PromptFile:
    """Prompt from the text of its file."""
    head = _HEAD.match(text)
    if head is None:
        raise UserError(f"prompt {name}: begins with no head (---, version: N, source: …, ---)")
    version, source, hashed = head.groups()
    whole = f"---\nversion: {version}\nsource: {hashed or source}\n---\n{text[head.end() :]}"
    return PromptFile(name, int(version), source, text[head.end() :], hashlib.sha256(whole.encode()).hexdigest())


@cache
def load_prompt(package: str, file: str) -> PromptFile:
    """Prompt `prompts/FILE` of a package."""
    text = resources.files(package).joinpath(FOLDER, file).read_text(encoding="utf-8")
    return parse_prompt(file, text)


def fenced(text: str) -> tuple[str, str]:
    """Text between two marker lines hashed from it."""
    fence = marker(lambda salt: text + "\0" * salt, [text], 16)
    line = f"=== {fence} ==="
    return line, f"{line}\n{text}\n{line}"


def marker(of: Callable[[int], str], texts: Iterable[str], digits: int) -> str:
    """First hash of `of(0)`, `of(1)`, … that occurs in none of the texts."""
    contents = list(texts)
    hashes = (hashlib.sha256(of(salt).encode("utf-8", "replace")).hexdigest()[:digits] for salt in count())
    return next(digest for digest in hashes if not any(digest in text for text in contents))


def harmless(text: str) -> str:
    """Text with a space inside possible control tokens of chat templates."""
    return _CONTROL.sub(lambda match: match[0] + " ", text)
