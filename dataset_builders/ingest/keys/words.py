"""The words of a paper, by which a key that repeats some of them is told from its answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from livek12.core.records import IMAGE_MARK
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.formulas import BLANK

TOKEN: Final = re.compile(rf"{IMAGE_MARK}|__+|\\[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)?|[^\s$]")
LETTER: Final = re.compile("[\U000f0000-\U000fffff]")
"""A picture of a key: a letter of the last plane but one, which is private (`keys.pictures`)."""
_PRINT: Final = re.compile(r"[^\W\d_]|\d\s?[.．、:：)）]\s*\Z")
_LABEL: Final = re.compile(r"\A\s*([^\W\d_]+\s?\d+)\s")
_BRACKETS: Final = str.maketrans("（【〔[）】〕]", "(((())))")
RUN: Final = 4
"""Tokens in a row that are no chance."""
COPIED: Final = 0.7
"""Share of a question's tokens that its copy has."""


def plain(token: str) -> str:
    """A token, pictures, blanks of any length and brackets of any form alike."""
    return BLANK if token.startswith("__") else IMAGE_MARK if LETTER.match(token) else token.translate(_BRACKETS)


def tokens(text: str) -> list[str]:
    """Words, numbers, commands and signs of a text."""
    return [plain(token) for token in TOKEN.findall(text)]


def runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Each `RUN` tokens in a row."""
    return list(zip(*(words[start:] for start in range(RUN)), strict=False))


class PaperWords:
    """Words of a paper's questions, and of its lines between them."""

    def __init__(self, questions: Iterable[str] = (), between: Iterable[str] = ()) -> None:
        own, others = ([line for line in lines if _PRINT.search(line)] for lines in (questions, between))
        self._own, self._others = ({run for line in lines for run in runs(tokens(line))} for lines in (own, others))
        self._runs = self._own | self._others
        self._titles = {squeezed(title) for line in others for title in (line, *_LABEL.findall(line))}
        self._lines = self._titles | {*map(squeezed, own)}

    def has(self, text: str) -> bool:
        """Checks for a line, or most of its words in a row."""
        return squeezed(text) in self._lines or _are_most(text, self._runs)

    def end(self, lines: Sequence[str], own: str = "") -> int:
        """The number of lines before those between questions, and not in their `own`, that end them, as titles."""
        bare, others = squeezed(own), self._others - self._own
        foreign = [squeezed(line) in self._titles or _are_most(line, others) for line in lines]
        behind = [is_foreign and squeezed(line) not in bare for line, is_foreign in zip(lines, foreign, strict=True)]
        heads = [is_head and not {*"$="} & {*line} for line, is_head in zip(lines, behind, strict=True)]
        ends = (at for at, is_head in enumerate(heads) if is_head and 2 * sum(behind[at:]) > len(behind) - at)
        return next(ends, len(lines))


def _are_most(text: str, these: Set[tuple[str, ...]]) -> bool:
    own = runs(tokens(text))
    return 2 * sum(run in these for run in own) > len(own)


class QuestionWords:
    """The words that only one of several questions has, by its id."""

    def __init__(self, questions: Mapping[str, str]) -> None:
        words = {id: {*_WORD.findall(text.lower())} for id, text in questions.items()}
        many = Counter(word for own in words.values() for word in own)
        self._own = {id: {word for word in own if many[word] == 1} for id, own in words.items()}

    def likeliest(self, texts: Mapping[str, str], id: str) -> str:
        """The id of another question, of which a key's text has far more words, or whose key has those of this one."""
        shares = self._shares(texts[id])
        best = max(shares, key=lambda other: shares[other], default=id)
        if shares.get(best, 0) >= _FAR_MORE * (1 + shares.get(id, 0)):
            return best
        own = shares.get(id, 0)
        for other in (other for other, many in shares.items() if many > own + 1 and other in texts):
            back = self._shares(texts[other])
            if back.get(id, 0) > back.get(other, 0) + 1:
                return other
        return ""

    def are_of_others(self, texts: Mapping[str, str]) -> bool:
        """Checks for keys that have no more words of their questions than of the others."""
        shares = {id: self._shares(text) for id, text in texts.items()}
        own = sum(many[id] for id, many in shares.items())
        others = sum(map(sum, map(dict.values, shares.values()))) - own
        return own * (len(self._own) - 1) <= others >= _FAR_MORE * len(self._own)

    def _shares(self, text: str) -> dict[str, int]:
        words = {*_WORD.findall(text.lower())}
        return {id: len(words & own) for id, own in self._own.items()}


_WORD: Final = re.compile(r"[a-z]{4,}|[一-鿿]{3}|[가-힣]{3,}")
_FAR_MORE: Final = 4


def without_question(lines: Sequence[str], question: str) -> list[str]:
    """The lines behind those that repeat the beginning of a question, or most of it; all if there are no others."""
    repeated, bare = PaperWords([question]), squeezed(question)
    begun = next((at for at in range(len(lines)) if not bare.startswith(squeezed("".join(lines[: at + 1])))), 0)
    first = next((at for at, line in enumerate(lines) if not repeated.has(line)), 0)
    many = sum(len(tokens(line)) for line in lines[:first])
    return [*lines[first if many >= COPIED * len(tokens(question)) else begun :]]
