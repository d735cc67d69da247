"""Measures questions: the axes of the counts, the lengths, and their summaries.

Contract: exact and mergeable in any order. A missing value is "not stated".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from livek12.core.records import Image, Question
from livek12.core.text import folded
from livek12.dataset_builders.reading.images import look_of
from livek12.dataset_builders.reading.pictures import Look

NOT_STATED = "not stated"
QUANTILES = (5, 25, 50, 75, 95)
_SPACES, _RARE_SPACES = b" \t\n\v\f\r\x1c\x1d\x1e\x1f", "\x85\u1680\u2028\u2029"
"""All white space of a text in normal form NFKC, in which wide and narrow ones are plain spaces."""


@dataclass
class Distribution:
    """Exact, mergeable frequencies of a number's values."""

    counts: Counter[float] = field(default_factory=Counter)

    def summary(self) -> dict[str, Any]:
        """Number of values, mean, standard deviation (of the sample), extremes and quantiles (nearest rank)."""
        values = sorted(self.counts)
        total = sum(self.counts.values())
        mean = math.fsum(value * self.counts[value] for value in values) / total
        spread = math.fsum((value - mean) ** 2 * self.counts[value] for value in values)
        return {
            "n": total,
            "mean": round(mean, 4),
            "std": round(math.sqrt(spread / (total - 1)), 4) if total > 1 else None,
            "min": values[0],
            "max": values[-1],
            "quantiles": {str(share): self._at(math.ceil(total * share / 100)) for share in QUANTILES},
        }

    def _at(self, rank: int) -> float:
        seen = 0
        for value in sorted(self.counts):
            seen += self.counts[value]
            if seen >= rank:
                return value
        raise ValueError("an empty distribution has no quantiles")


class Block:
    """The figures of a set of questions."""

    def __init__(self) -> None:
        self.questions = 0
        self.by: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.numbers: defaultdict[str, Distribution] = defaultdict(Distribution)

    def add(self, questions: Sequence[Question], looks: Sequence[Sequence[Look]]) -> None:
        """Counts questions, with the measurements of their figures."""
        self.questions += len(questions)
        for axis, values in _axes(questions).items():
            self.by[axis].update(values)
        for name, numbers in _measures(questions, looks).items():
            self.numbers[name].counts.update(numbers)

    def merge(self, other: Block) -> None:
        """Adds another block."""
        self.questions += other.questions
        for axis, counts in other.by.items():
            self.by[axis].update(counts)
        for name, numbers in other.numbers.items():
            self.numbers[name].counts.update(numbers.counts)

    def summary(self) -> dict[str, Any]:
        """The block as JSON."""
        return {
            "questions": self.questions,
            "by": {axis: dict(sorted(counts.items())) for axis, counts in sorted(self.by.items())},
            "numbers": {name: numbers.summary() for name, numbers in sorted(self.numbers.items()) if numbers.counts},
        }


def _axes(questions: Sequence[Question]) -> dict[str, list[str]]:
    licences = [question.source.licence or NOT_STATED for question in questions]
    return {
        "benchmark": [question.benchmark for question in questions],
        "release": [question.release or NOT_STATED for question in questions],
        "language": [question.language for question in questions],
        "subject": [question.subject or NOT_STATED for question in questions],
        "question_type": [question.question_type for question in questions],
        "difficulty": [question.difficulty or NOT_STATED for question in questions],
        "modality": ["text_image" if question.images else "text_only" for question in questions],
        "subset": [subset for question in questions for subset in question.subsets or ("none",)],
        "year": [NOT_STATED if question.year is None else str(question.year) for question in questions],
        "licence": licences,
        "review": [question.review.state for question in questions],
        "withdrawn": [question.removed_in or "no" for question in questions],
        "attribution": [f"{_publisher(entry)}: {licence}" for entry, licence in zip(questions, licences, strict=True)],
        "site": [_host(question.source.url) if question.source.url else NOT_STATED for question in questions],
    }


def _publisher(question: Question) -> str:
    return (question.review.by if question.review.state == "upstream" else None) or NOT_STATED


def _measures(questions: Sequence[Question], looks: Sequence[Sequence[Look]]) -> dict[str, list[float]]:
    figures = [look for some in looks for look in some]
    sizes = [look.pixels for look in figures if look.pixels]
    return {
        "question_characters": [len(question.question) for question in questions],
        "solution_characters": [len(question.solution) for question in questions if question.solution],
        "answer_characters": [len(answer) for question in questions for answer in question.answer],
        "options": [len(question.options) for question in questions if question.options],
        "images": [len(question.images) for question in questions],
        "image_bytes": [look.size for look in figures],
        "image_width": [width for width, _ in sizes],
        "image_height": [height for _, height in sizes],
        "parts": [len(question.answer) for question in questions if question.answer],
        "points": [question.points for question in questions if question.points is not None],
        "reasoning_flow_steps": [len(question.reasoning_flow) for question in questions if question.reasoning_flow],
        "variables": [len(question.variables) for question in questions if question.variables],
        "knowledge_points": [len(question.knowledge_points) for question in questions if question.knowledge_points],
        "pages": [len(question.page_numbers) for question in questions if question.page_numbers],
    }


def image_size(image: Image) -> tuple[int, int] | None:
    """Width and height in pixels; None if unknown."""
    return look_of(image).pixels


def _host(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or NOT_STATED
    except ValueError:
        return NOT_STATED


def content_of(question: Question, looks: Sequence[Look]) -> int:
    """A hash of a question's texts without case, width and spaces, and of its figures' bytes."""
    texts = [question.language, question.question, *(option.text for option in question.options)]
    plain = folded("\0".join(texts))
    for space in _RARE_SPACES:
        plain = plain.replace(space, "")
    squeezed = plain.encode().translate(None, _SPACES)
    figures = "".join([f"\0{look.outline}" for look in looks])
    return int.from_bytes(blake2b(squeezed + figures.encode(), digest_size=8).digest())
