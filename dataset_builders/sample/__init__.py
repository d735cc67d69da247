"""Sample exam in the package: five groups of questions, their papers and pages.

Contract: everything is read from the package; unknown names and missing files raise UserError. The sources are the
jsonl, figures.typ and paper.typ, which `tests/dataset_builders/make_sample.py` renders.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Image, Language, Page, Question
from livek12.dataset_builders.base import Log, Records

PAPERS: dict[str, str] = {
    "livek12_zh": "sample_zh",
    "livek12_en": "sample_en",
    "kmmmu": "kmmmu",
    "cfe": "cfe",
    "mdk12": "mdk12",
}
"""Papers by group of questions."""

BENCHMARKS = ("livek12", "kmmmu", "cfe", "mdk12")
"""Benchmarks of the questions."""

LANGUAGES: dict[str, Language] = {"sample_zh": "zh", "sample_en": "en", "kmmmu": "ko", "cfe": "en"}
"""Language of a paper; mdk12 mixes two."""

RELEASE = "sample"
_IMAGE_FIELDS = ("images", "answer_images", "solution_images")


def load(name: str) -> list[Question]:
    """Questions of a group in the paper's order, with image bytes."""
    if name not in PAPERS:
        raise UserError(f"sample has no group {name!r}; take one of {', '.join(PAPERS)}")
    return [_question(json.loads(line)) for line in _read(f"{name}.jsonl").decode().splitlines()]


def pages() -> list[Page]:
    """Returns all pages as PNG, by paper and page number (from 1)."""
    result = []
    for paper_id in PAPERS.values():
        names = (file.name for file in (resources.files(__package__) / "pages").iterdir())
        numbers = sorted(int(name[len(paper_id) + 1 : -4]) for name in names if name.startswith(f"{paper_id}_"))
        result += [
            Page(
                paper_id=paper_id,
                page_number=number,
                image=_image(f"pages/{paper_id}_{number}.png"),
                language=LANGUAGES.get(paper_id),
                release=RELEASE,
            )
            for number in numbers
        ]
    return result


def read(log: Log) -> Records:
    """Yields all pages, then all questions, as a build reads a source."""
    yield from pages()
    for group in PAPERS:
        for question in load(group):
            log.read += 1
            yield question


def pdf(paper_id: str) -> Path:
    """Path of the typeset paper."""
    if paper_id not in PAPERS.values():
        raise UserError(f"sample has no paper {paper_id!r}; take one of {', '.join(PAPERS.values())}")
    return Path(str(resources.files(__package__) / "papers" / f"{paper_id}.pdf"))


def _question(row: dict[str, Any]) -> Question:
    pictures = {field: [_image(path) for path in row[field]] for field in _IMAGE_FIELDS if field in row}
    return Question.model_validate({**row, **pictures})


def _image(path: str) -> Image:
    return Image(bytes=_read(path), path=PurePosixPath(path).name)


def _read(path: str) -> bytes:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise UserError(f"sample: the path {path!r} leads out of the package; give one inside it")
    try:
        return resources.files(__package__).joinpath(*pure.parts).read_bytes()
    except OSError as error:
        raise UserError(f"sample: no file {path!r} in the package; install it again") from error
