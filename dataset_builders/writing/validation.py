"""Validates a built dataset.

Contract: one line per problem; a damaged file or row costs one line and checking continues. Only ids and hashes remain
in memory. Nothing is changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.features import columns, from_row, is_flat, schema
from livek12.core.questions import CARD, data_files, fingerprint, iter_batches, read_card
from livek12.core.records import Image, Page, Question, Record
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, BadRow, PageKey, not_from_pages, one_line
from livek12.dataset_builders.reading.images import check_image
from livek12.dataset_builders.reading.soundness import absences, problems
from livek12.dataset_builders.registry import split_of
from livek12.dataset_builders.writing.card import metadata_problems

R = TypeVar("R", Question, Page)
_SPLIT = re.compile(r"\w+(\.\w+)*")


def validate(folder: Path, step: Callable[[], None] = lambda: None) -> list[str]:
    """Problems of a built dataset, one line each; `step` is called once per row."""
    validator = _Validator(folder, step)
    validator.check()
    return validator.problems or validator.differing or metadata_problems(folder)


class _Validator:
    def __init__(self, folder: Path, step: Callable[[], None]) -> None:
        self._folder, self._step = folder, step
        self._configs = read_card(folder)
        self._good: set[str] = set()
        self._pages: Counter[PageKey] = Counter()
        self._rows: dict[tuple[str, str], tuple[str, str]] = {}
        self.problems: list[str] = []
        self.differing: list[str] = []

    def check(self) -> None:
        files = self._files()
        for file, split in files.pop(PAGES, {}).items():
            self._check_pages(file, split)
        for (paper, number), count in self._pages.items():
            if count > 1:
                self._say(f"config {PAGES}", f"page {number} of {paper} is there {count} times")
        ids: dict[Path, list[str]] = {}
        for config, members in files.items():
            for file, split in members.items():
                if file not in ids:
                    ids[file] = list(self._check_questions(file, split))
            counts = Counter(id for file in members for id in ids[file])
            for id, count in counts.items():
                if count > 1:
                    self._say(f"config {config}", f"id {id} is there {count} times")

    def _say(self, where: str, problem: object) -> None:
        self.problems.append(one_line(f"{where}: {problem}"))

    def _files(self) -> dict[str, dict[Path, str]]:
        files: dict[str, dict[Path, str]] = {}
        for config, splits in self._configs.items():
            files[config] = {}
            for split, patterns in splits.items():
                if not _SPLIT.fullmatch(split):
                    self._say(CARD, f"config {config}: {split!r} is no name for a split")
                for pattern in patterns:
                    matches = data_files(self._folder, [pattern], missing_ok=True)
                    files[config] |= dict.fromkeys(matches, split)
                    if not matches:
                        self._say(CARD, f"config {config}, split {split}: no file matches {pattern}")
        named = {file for members in files.values() for file in members}
        for file in sorted(self._folder.rglob("*.parquet")):
            if file not in named and not is_flat(file.parent.name):
                self._say(self._name(file), f"in no config of {CARD}")
        return files

    def _check_pages(self, file: Path, split: str) -> None:
        for where, page in self._records(Page, file, split):
            self._pages[page.paper_id, page.page_number] += 1
            self._check_pictures(where, [page.image])

    def _check_questions(self, file: Path, split: str) -> Iterator[str]:
        image_only = file.parent.name == IMAGE_ONLY
        for where, question in self._records(Question, file, split):
            problem = not_from_pages(question, self._pages) if image_only else ""
            if problem:
                self._say(where, f"{problem}: it cannot be asked from config {PAGES}")
            for problem in problems(question, image_only):
                self._say(where, problem)
            for absence in () if image_only else absences(question):
                self._say(where, absence)
            self._check_pictures(where, [*question.images, *question.answer_images, *question.solution_images])
            self._check_same(where, question.model_copy(update={"images": []}))
            yield question.id

    def _check_same(self, where: str, question: Question) -> None:
        content = fingerprint([question])
        first, place = self._rows.setdefault((question.benchmark, question.id), (content, where))
        other = place.partition("/")[0]
        if first != content and other != where.partition("/")[0]:
            self.differing.append(one_line(f"{where}: it says something else in {other}"))

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

    def _records(self, record: type[R], file: Path, split: str) -> Iterator[tuple[str, R]]:
        name, astray = self._name(file), list[str]()
        try:
            with pq.ParquetFile(file) as parquet:
                for problem in _schema_problems(record, parquet.schema_arrow):
                    self._say(name, problem)
                present = [column for column in columns(record) if column in parquet.schema_arrow.names]
                rows = (row for batch in iter_batches(parquet, present) for row in _rows(batch))
                for number, (row, unreadable) in enumerate(rows, start=1):
                    where = f"{name} row {number} ({_id(row)})"
                    self._step()
                    if unreadable:
                        self._say(where, f"{', '.join(unreadable)}: not valid UTF-8")
                        continue
                    try:
                        parsed = from_row(record, row)
                    except ValidationError as error:
                        first = error.errors(include_url=False)[0]
                        self._say(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
                        continue
                    try:
                        if (own := split_of(parsed)) != split:
                            astray.append(f"row {number} ({_id(row)}) belongs in {own}")
                    except UserError as error:  # of a benchmark that is not known here
                        self._say(where, error)
                    yield where, parsed
        except (pa.ArrowException, OSError, UnicodeError) as error:
            self._say(name, f"damaged or not Parquet ({error}); build or fetch it again")
        if astray and _SPLIT.fullmatch(split):
            self._say(name, f"{len(astray)} rows are not of split {split}; the first: {astray[0]}")

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self._folder))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[dict[str, Any], list[str]]]:
    try:
        yield from ((row, []) for row in batch.to_pylist())
    except UnicodeDecodeError:
        yield from (_readable(batch, number) for number in range(batch.num_rows))


def _readable(batch: pa.RecordBatch, number: int) -> tuple[dict[str, Any], list[str]]:
    row: dict[str, Any] = {}
    for name in batch.schema.names:
        with suppress(UnicodeDecodeError):
            row[name] = batch.column(name)[number].as_py()
    return row, [name for name in batch.schema.names if name not in row]


def _id(row: dict[str, Any]) -> str:
    page = f"page {row.get('page_number')} of {row.get('paper_id')}" if "page_number" in row else "no id"
    return str(row.get("id") or page)


def _schema_problems(record: type[Record], actual: pa.Schema) -> Iterator[str]:
    expected = schema(record)
    for name in columns(record):
        if name not in actual.names:
            yield f"has no column {name}"
        elif not actual.field(name).type.equals(expected.field(name).type):
            yield f"column {name} is {actual.field(name).type}, not {expected.field(name).type}"
    if b"huggingface" not in (actual.metadata or {}):
        yield "says nothing of its features: `datasets` would not know images for images"
