"""Thinking text apart from the answer, by the tags models put around it.

What stands between a start and an end tag is reasoning, and the rest is the text. An end tag that no start
tag opened closes thinking that the prompt's template opened: everything before it is reasoning. A start tag
that is never closed is truncated thinking: everything after it is reasoning, so an answer that never came
is not looked for in the thoughts. gpt-oss thinks in channels instead of tags; where a server dropped their marks
(they are special tokens), what is left of them still tells thoughts from answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    ("<mm:think>", "</mm:think>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
)
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(\w++)[^<]*+(?:<\|constrain\|>[^<]*+)?<\|message\|>(.*?)"
    r"(?:<\|end\|>|<\|return\|>|<\|call\|>|\Z)",
    re.DOTALL,
)
_CONTROL = re.compile(r"<\|\w++\|>")
_HEADER = r"<\|channel\|>[^<]*+(?:<\|constrain\|>[^<]*+)?"
_BEGUN = re.compile(rf"(?:<\|start\|>assistant(?:{_HEADER})?|{_HEADER})\Z")
"""A channel that was cut before its message began."""
_BARE = re.compile(r"(analysis|final)(?=[^\sa-z'’:,.;!?()-])|(analysis)(?=.*assistantfinal)", re.DOTALL)
_BARE_FINAL = "assistantfinal"
"""How channels begin where a server dropped the marks themselves."""
SWITCHES = ("enable_thinking", "thinking")
"""Variables by which chat templates switch thinking on and off: most families', and DeepSeek's."""
TAIL = 16
"""Tokens at the end of a prompt in which a tag that its template opened stands."""


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
        if self.start is None and self.end is None:
            if "<|channel|>" in text:
                return _split_channels(text)
            if bare := _BARE.match(text):
                return _split_bare(text[bare.end() :], bare[0])
        for start, end in self.tags:
            if start in text or end in text:
                return _split_tags(text, start, end, opened)
        return Split(text.strip() or None, "") if opened else Split(None, text)

    def kept(self, tokenizer: Any) -> list[str]:
        """The special tokens that decoding has to keep, to be taken out of the answer afterwards (`without`).

        Those are all where a tag is made of some, for decoding drops all or none; none elsewhere.
        """
        special = [str(token) for token in tokenizer.all_special_tokens]  # those with a role; not gpt-oss's channels
        with suppress(AttributeError, NotImplementedError):  # Mistral's own tokenizers name all of theirs above
            special += [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
        marks = " ".join([*(mark for pair in self.tags for mark in pair), "<|channel|>"])
        return list(dict.fromkeys(special)) if any(token in marks for token in special) else []


def templated(variables: Mapping[str, Any] | None, thinking: bool | None) -> dict[str, Any]:
    """The variables of a chat template, with those that switch thinking on or off; None leaves that to the model."""
    return dict(variables or {}) | ({} if thinking is None else dict.fromkeys(SWITCHES, thinking))


def without(text: str, tokens: Iterable[str]) -> str:
    """The text without these tokens."""
    for token in tokens:
        text = text.replace(token, "")
    return text


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
    outside = _CONTROL.sub("", _BEGUN.sub("", _CHANNEL.sub("", text)))
    final = [body for name, body in found if name == "final"]
    others = [body for name, body in found if name != "final"]
    return Split(_join(others) or None, _join([outside, *final]))


def _split_bare(text: str, channel: str) -> Split:
    if channel == "final":
        return Split(None, text.strip())
    thought, _, said = text.partition(_BARE_FINAL)
    return Split(thought.strip() or None, said.strip())


def _join(pieces: list[str]) -> str:
    return "\n".join(stripped for piece in pieces if (stripped := piece.strip()))
