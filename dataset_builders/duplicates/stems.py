"""Normalised stems for comparison: text, options, numbers, key and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from livek12.core.records import IMAGE_MARK, BenchmarkName, Image, Language, Option, Question
from livek12.core.text import compatible
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.duplicates.figures import Figure, figure_of
from livek12.dataset_builders.duplicates.shingling import BREAK

SHORT = 40
"""Normalised texts of fewer characters may say only "see the figure": the figures decide."""
_LEAD = re.compile(
    r"\s*(?:第?\s*\d{1,3}\s*[.．、:：)）题번](?!\d)|[(（【\[][^)）】\]]{0,40}(?:分|年|卷|점|points?|marks?)[^)）】\]]{0,40}[)）】\]])\s*"
)
_TYPESETTING = re.compile(
    r"\\(?:left|right|mathrm|mathbf|text(?:bf|it|rm)?|rm|displaystyle|quad|qquad|underline|dfrac|tfrac|hspace|vspace)\b"
    r"|\\[,;!: ]|\\n|&nbsp;"
    r"|</?(?:a|b|br|center|div|em|font|hr|i|img|li|ol|p|s|span|strong|sub|sup|table|tbody|td|th|tr|u|ul)"
    r"(?:\s+[\w-]+\s*=[^<>]{0,200})?\s*/?>",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_MINUS = str.maketrans({"−": "-", "–": "-", "—": "-"})


@dataclass(frozen=True)
class Stem:
    """Compared parts of a question.

    Attributes:
        text: stem and options, normalised, with a break between.
        numbers: sorted.
        key: the right options, normalised; empty if unknown or no choice.
        shown: a line for people.
        figures: perceptual hashes; by default only of short texts.
    """

    id: str
    benchmark: BenchmarkName
    language: Language
    release: str | None
    text: str
    numbers: tuple[str, ...]
    key: frozenset[str]
    shown: str
    figures: tuple[Figure, ...] = ()

    @property
    def short(self) -> bool:
        """True if the figures decide."""
        return len(self.text) < SHORT

    @property
    def has_options(self) -> bool:
        """True for a choice."""
        return BREAK in self.text

    @property
    def masked(self) -> str:
        """The text with every number replaced by 0."""
        return _DIGITS.sub("0", self.text)


def stem(question: Question, *, pictures: bool = False) -> Stem:
    """Returns the compared parts of a question; figures of long texts only with `pictures`."""
    return stem_of(
        question.id,
        question.benchmark,
        question.language,
        question.release,
        question.question,
        question.options,
        question.answer,
        question.images,
        pictures=pictures,
    )


def stem_of(
    id: str,
    benchmark: BenchmarkName,
    language: Language,
    release: str | None,
    text: str,
    options: Sequence[Option],
    answer: Sequence[str],
    images: Iterable[Image],
    *,
    pictures: bool = False,
) -> Stem:
    """The stem of a question given in parts."""
    plain = [_plain(part) for part in (text, *sorted(option.text for option in options))]
    compared = BREAK.join("".join(filter(str.isalnum, part)) for part in plain)
    shown = " ".join([text, *(f"{option.label}. {option.text}" for option in options)])
    wanted = images if pictures or len(compared) < SHORT else ()
    return Stem(
        id=id,
        benchmark=benchmark,
        language=language,
        release=release,
        text=compared,
        numbers=tuple(sorted(number for part in plain for number in _NUMBER.findall(part))),
        key=_key(options, answer),
        shown=one_line(shown[:300], 100),
        figures=tuple(figure for image in wanted if (figure := figure_of(image)) is not None),
    )


def _key(options: Sequence[Option], answer: Sequence[str]) -> frozenset[str]:
    letters = answer[0].strip() if len(answer) == 1 else ""
    right = {option.text for option in options if option.label and option.label in letters}
    return frozenset(_plain(text) for text in right)


def _plain(text: str) -> str:
    text = text.replace(IMAGE_MARK, " ")
    while (lead := _LEAD.match(text)) and lead.end():
        text = text[lead.end() :]
    text = _TYPESETTING.sub(" ", compatible(text).translate(_MINUS))
    return "".join(text.casefold().split()).replace("$", "")
