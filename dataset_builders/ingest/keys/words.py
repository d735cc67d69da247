"""The words of a paper, by which a key that repeats some of them is told from its answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.formulas import BLANK

TOKEN: Final = re.compile(r"__+|\\[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)?|[^\s$]")
RUN: Final = 4
"""Tokens in a row that are no chance."""
COPIED: Final = 0.7
"""Share of a question's tokens that its copy has."""


def plain(token: str) -> str:
    """A token, blanks of any length alike."""
    return BLANK if token.startswith("__") else token


def tokens(text: str) -> list[str]:
    """Words, numbers, commands and signs of a text."""
    return [plain(token) for token in TOKEN.findall(text)]


def runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Each `RUN` tokens in a row."""
    return list(zip(*(words[start:] for start in range(RUN)), strict=False))


class PaperWords:
    """The lines of a paper."""

    def __init__(self, lines: Iterable[str]) -> None:
        lines = list(lines)
        self._runs = {run for line in lines for run in runs(tokens(line))}
        self._lines = {squeezed(line) for line in lines}

    def has(self, text: str) -> bool:
        """Checks for a line, or most of its words in a row."""
        return self._has(text, set())

    def end(self, lines: Sequence[str], question: str) -> int:
        """The number of lines before those that the paper prints behind a question, as titles and passages."""
        own = {run for line in question.split("\n") for run in runs(tokens(line))}
        bare = squeezed(question)
        behind = [self._has(line, own) and squeezed(line) not in bare for line in lines]
        heads = [is_head and not {*"$="} & {*line} for line, is_head in zip(lines, behind, strict=True)]
        ends = (at for at, is_head in enumerate(heads) if is_head and 2 * sum(behind[at:]) > len(behind) - at)
        return next(ends, len(lines))

    def _has(self, text: str, but: set[tuple[str, ...]]) -> bool:
        own = runs(tokens(text))
        many = sum(run in self._runs and run not in but for run in own)
        return squeezed(text) in self._lines or (bool(own) and 2 * many > len(own))


def without_question(lines: Sequence[str], question: str) -> list[str]:
    """The lines behind those that repeat a question, if these are most of it."""
    words = tokens(question)
    own = [(len(tokens(line)), runs(tokens(line))) for line in lines]
    paper = set(runs(words))
    first = next(
        (at for at, (_, line) in enumerate(own) if 2 * sum(run in paper for run in line) <= len(line)), len(own)
    )
    return [*lines[first if sum(many for many, _ in own[:first]) >= COPIED * len(words) else 0 :]]
