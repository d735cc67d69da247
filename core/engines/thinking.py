"""Thinking text apart from the answer, by the tags models put around it.

What stands between a start and an end tag is reasoning, and the rest is the text. An end tag that no start
tag opened closes thinking that the prompt's template opened: everything before it is reasoning. A start tag
that is never closed is truncated thinking: everything after it is reasoning, so an answer that never came
is not looked for in the thoughts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

TAGS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
)
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(\w++)[^<]*+(?:<\|constrain\|>[^<]*+)?<\|message\|>(.*?)"
    r"(?:<\|end\|>|<\|return\|>|<\|call\|>|\Z)",
    re.DOTALL,
)
_CONTROL = re.compile(r"<\|\w++\|>")


class Split(NamedTuple):
    """The two halves of what a model wrote; `reasoning` is None where it did not think aloud."""

    reasoning: str | None
    text: str


@dataclass(frozen=True)
class Thinking:
    """Knows one pair of tags (given), or all the usual ones."""

    start: str | None = None
    end: str | None = None

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Pairs of start and end tag; a pair given half takes its other half from the usual ones."""
        if self.start is None and self.end is None:
            return TAGS
        by_start, by_end = dict(TAGS), {end: start for start, end in TAGS}
        start = self.start or by_end.get(self.end or "", "<think>")
        return ((start, self.end or by_start.get(start, "</think>")),)

    def opened_by(self, prompt: str | None) -> bool:
        """Whether a rendered prompt ends inside thinking, as some chat templates make it."""
        tail = (prompt or "").rstrip()
        return any(tail.endswith(start) for start, _ in self.tags)

    def split(self, text: str, opened: bool = False) -> Split:
        """Takes the thinking out of `text`; `opened` says that the prompt ended inside it."""
        if self.start is None and self.end is None and "<|channel|>" in text:
            return _split_channels(text)
        for start, end in self.tags:
            if start in text or end in text:
                return _split_tags(text, start, end, opened)
        return Split(text.strip() or None, "") if opened else Split(None, text)

    def without(self, text: str, special_tokens: list[str]) -> str:
        """The text without special tokens, where they had to be kept in it for the tags among them."""
        if self.special(special_tokens):
            for token in special_tokens:
                text = text.replace(token, "")
        return text

    def special(self, tokens: list[str]) -> bool:
        """Whether a tag is among a tokenizer's special tokens, which decoding would drop."""
        marks = {mark for pair in self.tags for mark in pair} | {"<|channel|>"}
        return any(token in marks for token in tokens)


def _split_tags(text: str, start: str, end: str, opened: bool) -> Split:
    thoughts: list[str] = []
    spoken: list[str] = []
    inside = opened
    pieces = re.split(f"({re.escape(start)}|{re.escape(end)})", text)
    for piece in pieces:
        if piece == start:
            inside = True
        elif piece == end:
            if not inside:
                thoughts, spoken = thoughts + spoken, []
            inside = False
        else:
            (thoughts if inside else spoken).append(piece)
    return Split(_join(thoughts) or None, _join(spoken))


def _split_channels(text: str) -> Split:
    found = _CHANNEL.findall(text)
    outside = _CONTROL.sub("", _CHANNEL.sub("", text))
    final = [body for name, body in found if name == "final"]
    others = [body for name, body in found if name != "final"]
    return Split(_join(others) or None, _join([outside, *final]))


def _join(pieces: list[str]) -> str:
    return "\n".join(stripped for piece in pieces if (stripped := piece.strip()))
