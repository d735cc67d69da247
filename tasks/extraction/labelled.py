"""Parts with labels ("(1) … (2) …", "① … ② …") and values with names ("v = 3 m/s")."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LABELS = (
    re.compile(r"[(（]\s*(\d{1,2})\s*[)）]"),
    re.compile(r"([①-⑳])"),
    re.compile(r"(?:【?小?题\s*|第\s*)(\d{1,2})\s*[】题空问小]*"),
    re.compile(r"^\s*\**\s*(\d{1,2})\s*[.、．:：)]", re.MULTILINE),
    re.compile(r"[(（]\s*([a-j])\s*[)）]"),
)
_NAMED_LINE = re.compile(
    r"^ ?(?:[-*•]|\d+[.)])? ?(?P<name>[^\n=:：]{1,120}?) ?[=:：] ?(?P<value>\S[^\n]{0,1000})$", re.MULTILINE
)
_NAME_MARKUP = re.compile(r"\\(?:text|mathrm|mathbf|left|right|[()\[\],;! ])|[\s${}*`\\]")


def labelled_parts(text: str, count: int) -> list[str]:
    """The pieces behind the last run of labels 1…count; empty when there is none."""
    for pattern in _LABELS:
        marks = [(_number(match[1]), match) for match in pattern.finditer(text)]
        run = _last_run(marks, count)
        if run:
            ends = [match.start() for match in run[1:]] + [len(text)]
            return [text[match.end() : end] for match, end in zip(run, ends, strict=True)]
    return []


def _number(label: str) -> int:
    if label.isascii():
        return int(label) if label.isdigit() else ord(label) - ord("a") + 1
    return ord(label) - ord("①") + 1


def _last_run(marks: Sequence[tuple[int, re.Match[str]]], count: int) -> list[re.Match[str]]:
    """The last marks numbered 1 to count in a row."""
    run: list[re.Match[str]] = []
    for number, match in reversed(marks):
        if number == count - len(run):
            run.insert(0, match)
        else:
            run = [match] if number == count else []
        if len(run) == count:
            return run
    return []


def named_values(text: str, names: Sequence[str]) -> list[str]:
    """The value of the last line "name = value" of each name, "" where there is none; empty when none has one."""
    wanted = {_plain(name): index for index, name in enumerate(names)}
    values = [""] * len(names)
    for match in _NAMED_LINE.finditer(text):
        index = wanted.get(_plain(match["name"]))
        if index is not None:
            values[index] = match["value"].strip().rstrip("$").strip()
    return values if any(values) else []


def _plain(name: str) -> str:
    return _NAME_MARKUP.sub("", name)
