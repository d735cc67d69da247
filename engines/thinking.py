"""Separates thinking from the answer by tags, channels, roles and phrases.

An end tag without a start closes thinking that the prompt's template opened; a start tag without an end is truncated
thinking. gpt-oss thinks in channels, whose bare names remain if a server dropped their marks. Other models use a
message role, or a phrase that begins the response.

The only split of engines, imports, harnesses and extraction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

TAGS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<mm:think>", "</mm:think>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    *((f"<{name}>", f"</{name}>") for name in ("scratchpad", "analysis", "reflection", "inner_thoughts")),
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
_BARE = re.compile(r"\A(?:(analysis|commentary)(?=[^\s'’:,.;!?()-])|(final)(?=[^\sa-z'’:,.;!?()-]))")
_BARE_NAMES = ("analysis", "commentary", "final")
_BARE_NEXT = re.compile(r"assistant(?:(analysis|commentary)|(final))")
"""Channel names without their marks, which some servers drop."""
_ROLE = re.compile(
    r"(?P<thinks>(?:<\|begin\|>assistant\s?)?<\|think\|>|(?:<\|im_start\|>)?(?<![^\s>])assistant/think\n|\A/think\n)"
    r"|(?P<answers>(?:<\|end\|>\s?)?<\|begin\|>assistant\s?<\|content\|>|<\|im_end\|>\s?<\|im_start\|>assistant(?=\n|\Z))"
    r"|(?P<bare>(?<![^\s.!?。])assistant\n)"
)
"""The messages of Solar Open and HyperCLOVA X: thought, answer, and an answer without marks."""
_ROLE_WORDS = ("assistant", "<|think|>", "/think\n")
"""Every role contains one of them: searching for these first takes a hundredth of the time."""
_PHRASED = re.compile(
    r"\A\s{0,8}Here(?:['’]s| is) my thought process:(?P<process>.*?)(?:Here(?:['’]s| is) my response:|\Z)"
    r"|\A(?:\s{0,8}Here(?:['’]s| are) my reasoning steps:(?P<steps>.*?)(?:\[BEGIN FINAL RESPONSE\]|\Z)"
    r"|(?P<rest>.*?)\[BEGIN FINAL RESPONSE\])",
    re.DOTALL,
)
"""The thought behind the phrases of Granite and Apriel."""
_FINAL_END = "[END FINAL RESPONSE]"
_OPENERS = ("<|think|>", "assistant/think", "Here are my reasoning steps:")
"""Ends of prompts, besides tags, whose template opened thinking."""
SWITCHES = ("enable_thinking", "thinking")
"""The thinking switches of chat templates: most families', and DeepSeek's."""
TAIL = 16
"""Tokens at the end of a prompt that may hold a tag opened by its template."""


class Split(NamedTuple):
    """Thinking (or None) and answer."""

    reasoning: str | None
    text: str


@dataclass(frozen=True)
class Thinking:
    """Splits by a given pair of tags, or all usual ones."""

    start: str | None = None
    end: str | None = None

    @property
    def _usual(self) -> bool:
        return self.start is None and self.end is None

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Pairs of start and end tag, half a pair completed."""
        if self._usual:
            return TAGS
        by_start, by_end = dict(TAGS), {end: start for start, end in TAGS}
        start = self.start or by_end.get(self.end or "", "<think>")
        return ((start, self.end or by_start.get(start, "</think>")),)

    def opened_by(self, prompt: str | None) -> bool:
        """Tests for a prompt that ends inside thinking."""
        tail = (prompt or "").rstrip()
        openers = _OPENERS if self._usual else ()
        return tail.endswith((*(start for start, _ in self.tags), *openers))

    def split(self, text: str, opened: bool = False) -> Split:
        """Splits `text`; `opened` by the prompt."""
        if self._usual and not opened and _is_plain(text):
            return Split(None, text)
        channels = _split_untagged(text, opened) if self._usual else Split(None, text)
        tagged = _split_tags(channels.text, self.tags, opened and channels.text == text)
        return Split(_join([channels.reasoning or "", tagged.reasoning or ""]) or None, tagged.text)

    def kept(self, tokenizer: Any) -> list[str]:
        """Special tokens that decoding has to keep for `without`.

        All if a tag consists of some (decoding drops all or none).
        """
        special = [str(token) for token in tokenizer.all_special_tokens]  # those with a role; not gpt-oss's channels
        with suppress(AttributeError, NotImplementedError):  # Mistral's own tokenizers name all of theirs above
            special += [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
        marks = " ".join([*(mark for pair in self.tags for mark in pair), "<|channel|>", "<|think|>"])
        return list(dict.fromkeys(special)) if any(token in marks for token in special) else []


def templated(variables: Mapping[str, Any] | None, thinking: bool | None) -> dict[str, Any]:
    """Chat-template variables with the thinking switches."""
    return dict(variables or {}) | ({} if thinking is None else dict.fromkeys(SWITCHES, thinking))


def without(text: str, tokens: Iterable[str]) -> str:
    """Text without these tokens."""
    for token in tokens:
        text = text.replace(token, "")
    return text


_IN_TEMPLATE = -1
"""The pair of a thought that the prompt opened."""


def _split_tags(text: str, tags: tuple[tuple[str, str], ...], opened: bool) -> Split:
    """Splits by tags; a quoted pair does not end a thought."""
    pattern, pairs = _compiled(tags)
    marks = list(pattern.finditer(text))
    if not marks:
        return Split(text.strip() or None, "") if opened else Split(None, text)
    thoughts: list[str] = []
    answer: list[str] = []
    inside = [_IN_TEMPLATE] if opened else []
    position = 0
    for mark in marks:
        (thoughts if inside else answer).append(text[position : mark.start()])
        position = mark.end()
        pair, closes = pairs[_plain(mark[0])]
        if not closes:
            inside = [*(open_pair for open_pair in inside if open_pair not in {pair, _IN_TEMPLATE}), pair]
        elif pair in inside:
            inside = inside[: inside.index(pair)]
        else:
            if not inside:
                thoughts += answer
                answer = []
            inside = []
    (thoughts if inside else answer).append(text[position:])
    return Split(_join(thoughts) or None, _join(answer))


@cache
def _compiled(tags: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], dict[str, tuple[int, bool]]]:
    pairs = {_plain(end): (number, True) for number, (_, end) in enumerate(tags)}
    pairs |= {_plain(start): (number, False) for number, (start, _) in enumerate(tags)}
    bodies: dict[str, list[str]] = {}
    for tag in (tag for pair in tags for tag in pair):
        body = re.escape(tag[1:])
        bodies.setdefault(tag[0], []).append(body[:-1] + r"\s{0,8}>" if body.endswith(">") else body)
    by_first_sign = (rf"{re.escape(sign)}(?i:{'|'.join(bodies[sign])})" for sign in bodies)
    return re.compile("|".join(by_first_sign)), pairs


def _plain(tag: str) -> str:
    return "".join(tag.split()).lower()


def _is_plain(text: str) -> bool:
    """A cheap test: no sign of thinking at all."""
    signs = "<" in text or "[" in text or "◁" in text or "assistant" in text or "/think" in text
    return not (signs or "Here" in text[:12] or text.startswith(_BARE_NAMES))


def _split_untagged(text: str, opened: bool) -> Split:
    if "<|channel|>" in text:
        return _split_channels(text)
    if roles := _split_roles(text, opened):
        return roles
    if ("Here" in text[:12] or "[BEGIN FINAL RESPONSE]" in text) and (phrased := _PHRASED.match(text)):
        thought = next(group for group in phrased.groups() if group is not None)
        return Split(thought.strip() or None, text[phrased.end() :].replace(_FINAL_END, "").strip())
    return _split_bare(text)


def _split_roles(text: str, opened: bool) -> Split | None:
    """Splits by roles; text before an answer is a thought."""
    if not any(word in text for word in _ROLE_WORDS):
        return None
    marks = list(_ROLE.finditer(text))
    begun = opened or any(mark["thinks"] for mark in marks)
    marks = [mark for mark in marks if not mark["bare"] or begun]
    last = max((number for number, mark in enumerate(marks) if not mark["thinks"]), default=-1)
    if not marks or (not begun and "<|im_start|>user" in text):
        return None
    thoughts = [text[: marks[0].start()]] if begun or last >= 0 else []
    answer: list[str] = []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=True):
        (thoughts if mark["thinks"] else answer).append(_CONTROL.sub("", text[mark.end() : end]))
    return Split(_join(thoughts) or None, _join(answer))


def _split_channels(text: str) -> Split:
    """Splits by channels; text outside is a thought if a final one follows."""
    messages = list(_CHANNEL.finditer(text))
    last_final = max((message.start() for message in messages if message[1] == "final"), default=-1)
    thoughts: list[str] = []
    answer: list[str] = []
    position = 0
    for message in messages:
        before = thoughts if message.start() <= last_final else answer
        before.append(_CONTROL.sub("", text[position : message.start()]))
        (answer if message[1] == "final" else thoughts).append(message[2])
        position = message.end()
    answer.append(_CONTROL.sub("", _BEGUN.sub("", text[position:])))
    return Split(_join(thoughts) or None, _join(answer))


def _split_bare(text: str) -> Split:
    first = _BARE.match(text)
    marks = [*([first] if first else []), *_BARE_NEXT.finditer(text)]
    if not marks:
        return Split(None, text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    head, final = text[: marks[0].start()], any(mark[2] for mark in marks)
    thoughts, answer = ([head], []) if final else ([], [head])
    for mark, end in zip(marks, ends, strict=True):
        (answer if mark[2] else thoughts).append(text[mark.end() : end])
    return Split(_join(thoughts) or None, _join(answer))


def _join(pieces: list[str]) -> str:
    return "\n".join(stripped for piece in pieces if (stripped := piece.strip()))
