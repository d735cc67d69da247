"""Splits a text with several choice questions into a passage and its questions.

Contract: there are as many parts as key entries, consecutively numbered, each with options that contain its entry; or
as many numbered gaps before one list of options. With three or more parts, one may have unreadable options and keeps
them in its text. Uncertain texts are not split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from livek12.core.records import Option
from livek12.dataset_builders.reading.text import mask_formulas, plain_width, split_options

_NUMBERS = (
    re.compile(r"(?<![\d.．])(\d{1,3})\s?[.．、](?!\d)"),
    re.compile(r"[(（]\s?(\d{1,2})\s?[)）]"),
    re.compile(r"(?:(?<![\d.．])(?=\d{1,3}\s?[.．、](?!\d))|(?:^|(?<=\n))[ \t]*(?=\d{1,3}\s))(\d{1,3})\s?[.．、]?"),
)
_GAP = re.compile(
    r"(?:(?:_+|\s{2,}|[(（])\s*(?=\d{1,3}\s*(?:_|\s{2,}|[)）]))|(?<!\d)(?=\d{1,3}\s?[.．]?\s?_{2,})"
    r"|(?:^|(?<=\n))\s*(?=\d{1,3}\s*(?:\n|$)))(\d{1,3})"
)
_LOOSE = re.compile(r"(?:^|(?<=\s))([A-H])\s?[.．、]?\s")
_MOST_MARKS, _MOST_RUNS = 400, 20
_FEWEST = 2


@dataclass(frozen=True)
class GroupMember:
    """One question of a group: its printed number, its text with the shared passage, and its options."""

    number: str
    text: str
    options: list[Option]


def split_group(text: str, key: Sequence[str]) -> list[GroupMember]:
    """The questions of a text, given the correct letters of each in order; none if uncertain."""
    masked = mask_formulas(text)
    runs = []
    for pattern in _NUMBERS:
        marks = [(int(plain_width(m[1])), m.start(), m.end()) for m in pattern.finditer(masked)]
        runs += list(islice(_runs(marks, len(key)), _MOST_RUNS))
    groups = (parts for run in runs if (parts := _parts(text, run, key, bare=0)))
    mended = (parts for run in runs if len(key) > _FEWEST and (parts := _parts(text, run, key, bare=1)))
    return next(groups, None) or _gaps(text, key) or next(mended, [])


def _runs(marks: Sequence[tuple[int, int, int]], length: int) -> Iterator[list[tuple[int, int, int]]]:
    for last in range(len(marks) - 1, -1, -1) if len(marks) <= _MOST_MARKS else ():
        run = [marks[last]]
        for mark in reversed(marks[:last]):
            if len(run) < length and mark[0] == run[0][0] - 1:
                run.insert(0, mark)
        if len(run) == length:
            yield run


def _parts(text: str, run: Sequence[tuple[int, int, int]], key: Sequence[str], *, bare: int) -> list[GroupMember]:
    passage = text[: run[0][1]].rstrip()
    ends = [*(start for _, start, _ in run[1:]), len(text)]
    parts: list[GroupMember] = []
    for (number, start, behind), end, letters in zip(run, ends, key, strict=True):
        stem, options = _options(text[behind:end].strip(), letters)
        bare -= not options
        if bare < 0:
            return []
        gap = "" if text[behind : behind + 1].strip() else " "
        prompt = f"{text[start:behind].strip()}{gap}{stem}".strip()
        parts.append(GroupMember(str(number), "\n\n".join(filter(None, (passage, prompt))), options))
    return parts


def _options(text: str, letters: str) -> tuple[str, list[Option]]:
    stem, options = split_options(text, set(letters))
    marks = list(_LOOSE.finditer(text))
    if options or not marks or marks[0].start() or [m[1] for m in marks] != list("ABCDEFGH"[: max(len(marks), 3)]):
        return stem, options
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return "", [Option(label=m[1], text=text[m.end() : end].strip()) for m, end in zip(marks, ends, strict=True)]


def _gaps(text: str, key: Sequence[str]) -> list[GroupMember]:
    stem, options = split_options(text, set("".join(key)))
    if len(options) <= len(key):
        return []
    marks = [(int(m[1]), m.start(), m.end()) for m in _GAP.finditer(stem)]
    for run in _runs(marks, len(key)):
        return [GroupMember(str(number), f"{stem}\n\n{number}.", options) for number, _, _ in run]
    return []
