"""Where answers stand in a text: after the thinking, in boxes, in answer tags. One pass each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARS = 4_000_000
"""Of a longer response only its end is read."""
MAX_ANSWER = 2_000
MAX_OPEN = 400
"""Behind an answer tag that is never closed, more than this is no answer alone."""

_THOUGHT = re.compile(
    r"</(?:think|thinking|thought|thoughts|reasoning|seed:think)\s*>|<\|end_of_thought\|>|◁/think▷|\[/THINK\]"
    r"|<\|channel\|>final<\|message\|>"
)
_TURN_END = re.compile(r"</s>|<\|(?:im_end|im_start|endoftext|eot_id|end|user|return)\|>")
_THINKING = re.compile(r"<(?:think|thinking|thought|thoughts|reasoning|seed:think)\s*>|◁think▷|\[THINK\]")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"(?: ?\n){2,} ?")
_BOX = re.compile(
    r"\\{1,2}(?:boxed|fbox)\s*(?:\{|(?P<bare>-?\d+(?:\.\d+)?(?:/\d+)?|[A-Z]{1,8}(?![A-Za-z])|[A-Za-z]))|\\.|[{}]",
    re.DOTALL,
)
_TAG = re.compile(r"<\s*(/?)\s*(?:final_)?answer\s*>", re.IGNORECASE)


@dataclass(frozen=True)
class Region:
    """A committed piece of text, and where it begins and ends with its marks."""

    start: int
    end: int
    content: str


def final_text(response: str) -> str:
    """What follows the last closing thinking tag, up to the end of the turn.

    Where thinking was opened and never closed, what stands before it.
    """
    text = response[-MAX_CHARS:]
    thoughts = list(_THOUGHT.finditer(text))
    if thoughts:
        text = text[thoughts[-1].end() :]
    elif opening := _THINKING.search(text):
        text = text[: opening.start()]
    ends = [piece for piece in _TURN_END.split(text) if piece.strip()]
    return ends[0] if ends else ""


def tail(text: str, limit: int = 30_000) -> str:
    """The end of a text, where answers in words are looked for, with long runs of white space shortened."""
    return _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", text[-limit:]))


def boxes(text: str) -> list[Region]:
    r"""The contents of all \boxed{} and \fbox{}, outermost ones only, in order; unclosed ones are none."""
    if "boxed" not in text and "fbox" not in text:
        return []
    found: list[Region] = []
    stack: list[tuple[int, int] | None] = []
    for match in _BOX.finditer(text):
        token = match[0]
        if match["bare"]:
            found.append(Region(match.start(), match.end(), match["bare"]))
        elif len(token) > 2:
            stack.append((match.start(), match.end()))
        elif token == "{":
            stack.append(None)
        elif token == "}" and stack:
            opened = stack.pop()
            if opened is not None:
                while found and found[-1].start > opened[0]:
                    found.pop()
                found.append(Region(opened[0], match.end(), text[opened[1] : match.start()].strip()))
    return [region for region in found if region.content and len(region.content) <= MAX_ANSWER]


def closed(text: str) -> str:
    """The text with its last answer tag closed at the end, where a short answer follows and nothing closes it."""
    tags = list(_TAG.finditer(text))
    if not tags or tags[-1][1] or not 0 < len(text[tags[-1].end() :].strip()) <= MAX_OPEN:
        return text
    return f"{text}</answer>"


def answer_tags(text: str) -> list[Region]:
    """The contents of all <answer>…</answer>, in order."""
    found: list[Region] = []
    opened: re.Match[str] | None = None
    for match in _TAG.finditer(text):
        if not match[1]:
            opened = match
        elif opened is not None:
            found.append(Region(opened.start(), match.end(), text[opened.end() : match.start()].strip()))
            opened = None
    return [region for region in found if region.content]


def outside_of(holders: Sequence[Region], found: Sequence[Region]) -> list[Region]:
    """The regions that begin in none of the holders; both in the order of the text."""
    kept: list[Region] = []
    index = 0
    for region in found:
        while index < len(holders) and holders[index].end <= region.start:
            index += 1
        if index == len(holders) or region.start < holders[index].start:
            kept.append(region)
    return kept
