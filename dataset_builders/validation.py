"""Checks a built data set against everything a reader relies on.

Contract: one line a problem, with the file and the question's id; a damaged file costs one line and the rest is
still checked. Every picture is decoded. Nothing is changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.features import columns, from_row, schema
from livek12.core.questions import CARD, data_files, read_card, read_rows
from livek12.core.records import IMAGE_MARK, Image, Page, Question, Record
from livek12.dataset_builders.base import BadRow, PageKey, one_line
from livek12.dataset_builders.images import check_image
from livek12.dataset_builders.layouts import IMAGE_ONLY, PAGES, not_from_pages

R = TypeVar("R", bound=Record)
_SPLIT = re.compile(r"\w+(\.\w+)*")


def validate(folder: Path) -> list[str]:
    """See `livek12.dataset_builders.validate`."""
    validator = _Validator(folder)
    validator.check()
    return validator.problems


class _Validator:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._configs = read_card(folder)
        self._good: set[str] = set()
        self._pages: Counter[PageKey] = Counter()
        self.problems: list[str] = []

    def check(self) -> None:
        files = self._files()
        for file in files.pop(PAGES, []):
            self._check_pages(file)
        for (paper, number), count in self._pages.items():
            if count > 1:
                self._say(f"config {PAGES}", f"page {number} of {paper} is there {count} times")
        ids: dict[Path, list[str]] = {}
        for config, members in files.items():
            for file in members:
                if file not in ids:
                    ids[file] = list(self._check_questions(file))
            counts = Counter(id for file in members for id in ids[file])
            for id, count in counts.items():
                if count > 1:
                    self._say(f"config {config}", f"id {id} is there {count} times")

    def _say(self, where: str, problem: object) -> None:
        self.problems.append(one_line(f"{where}: {problem}"))

    def _files(self) -> dict[str, list[Path]]:
        """The files of each config, once it is said where card and folder differ."""
        files: dict[str, list[Path]] = {}
        for config, splits in self._configs.items():
            files[config] = []
            for split, patterns in splits.items():
                if not _SPLIT.fullmatch(split):
                    self._say(CARD, f"config {config}: {split!r} is no name for a split")
                for pattern in patterns:
                    found = data_files(self._folder, [pattern])
                    files[config] += found
                    if not found:
                        self._say(CARD, f"config {config}, split {split}: no file matches {pattern}")
        named = {file for members in files.values() for file in members}
        for file in sorted(self._folder.rglob("*.parquet")):
            if file not in named:
                self._say(self._name(file), f"in no config of {CARD}")
        return files

    def _check_pages(self, file: Path) -> None:
        for where, page in self._records(Page, file):
            self._pages[page.paper_id, page.page_number] += 1
            self._check_pictures(where, [page.image])

    def _check_questions(self, file: Path) -> Iterator[str]:
        """The ids of a file, as its questions are checked."""
        for where, question in self._records(Question, file):
            if file.parent.name == IMAGE_ONLY:
                if problem := not_from_pages(question, self._pages):
                    self._say(where, f"{problem}: it cannot be asked from config {PAGES}")
            else:
                texts = [question.question, *(option.text for option in question.options)]
                marks = sum(text.count(IMAGE_MARK) for text in texts)
                if marks != len(question.images):
                    self._say(where, f"{marks} image marks for {len(question.images)} images")
            self._check_pictures(where, [*question.images, *question.answer_images, *question.solution_images])
            yield question.id

    def _check_pictures(self, where: str, images: Collection[Image]) -> None:
        for image in images:
            if image.bytes is None:
                self._say(where, f"image {image.path} has no bytes")
            elif image.sha256 not in self._good:
                try:
                    check_image(image.bytes, image.path or "without a name", decode=True)
                    self._good.add(image.sha256)
                except BadRow as error:
                    self._say(where, error)

    def _records(self, record: type[R], file: Path) -> Iterator[tuple[str, R]]:
        """Each sound row with its place, once it is said what is wrong with the file and the other rows."""
        name = self._name(file)
        for problem in _schema_problems(record, file):
            self._say(name, problem)
        try:
            for number, row in enumerate(read_rows(record, file), start=1):
                id = row.get("id") or f"{row.get('paper_id')} {row.get('page_number')}"
                where = f"{name} row {number} ({id})"
                try:
                    yield where, from_row(record, row)
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    self._say(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except UserError as error:
            self._say(name, error)

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self._folder))


def _schema_problems(record: type[Record], file: Path) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_schema(file)
    except (pa.ArrowException, OSError):
        return  # reading the rows says so
    expected = schema(record)
    for name in columns(record):
        if name not in found.names:
            yield f"has no column {name}"
        elif not found.field(name).type.equals(expected.field(name).type):
            yield f"column {name} is {found.field(name).type}, not {expected.field(name).type}"
    if b"huggingface" not in (found.metadata or {}):
        yield "says nothing of its features: `datasets` would not know images for images"
