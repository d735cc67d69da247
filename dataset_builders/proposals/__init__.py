"""Machine proposals for human review: tags, subsets, translations, variants.

Shared by them: the questions of a built dataset, their text, and their figures in requests and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from livek12.core.prompts import image_part, text_part
from livek12.core.questions import PAGES_CONFIG, data_files, read_card, read_records
from livek12.core.records import IMAGE_MARK, BenchmarkName, Image, Option, Part, Question

_SUFFIXES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"RIFF": "webp", b"GIF8": "gif", b"BM": "bmp"}


def every_question(folder: Path, benchmark: BenchmarkName | None = None) -> Iterator[Question]:
    """Yields each question of a built dataset once, in the order of its card."""
    seen: set[str] = set()
    for config, splits in read_card(folder).items():
        for patterns in () if config == PAGES_CONFIG else splits.values():
            for file in data_files(folder, patterns):
                for question in read_records(Question, file):
                    if question.id not in seen and benchmark in (None, question.benchmark):
                        seen.add(question.id)
                        yield question


def whole_text(question: str, options: Iterable[Option]) -> str:
    """Question and options as one text."""
    return "\n".join([question, *(f"{option.label}. {option.text}" for option in options)])


def number_figures(text: str, form: str) -> str:
    """Replaces image marks by `form` with their number, from 1."""
    first, *pieces = text.split(IMAGE_MARK)
    return first + "".join(form.format(number) + piece for number, piece in enumerate(pieces, 1))


def figure_parts(images: Iterable[Image], form: str) -> Iterator[Part]:
    """Parts of a request: each picture below `form` with its number, from 1."""
    for number, image in enumerate(images, 1):
        yield from (text_part(f"\n{form.format(number)}\n"), image_part(image))


def suffix_of(image: Image, other: str) -> str:
    """File suffix of a picture by its content; `other` for unknown formats."""
    data = image.bytes or b""
    return next((suffix for magic, suffix in _SUFFIXES.items() if data.startswith(magic)), other)
