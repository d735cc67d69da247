"""Packs questions in the process that makes them: their Arrow columns and their counts.

Contract: a packed question is written and counted like the question itself. Pictures of files are passed by name and
read when written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from livek12.core.features import schema
from livek12.core.records import Question
from livek12.dataset_builders.base import IMAGE_ONLY, PageKey, not_from_pages, page_keys
from livek12.dataset_builders.reading.images import Picture, PictureFile, picture_of
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.arrow import column_of, size_of, to_batch
from livek12.dataset_builders.writing.counting import PartCounts
from livek12.dataset_builders.writing.layouts import split_of

if TYPE_CHECKING:
    import pyarrow as pa

ID = "id"
FIGURES = "images"
PICTURES = (FIGURES, "answer_images", "solution_images")
"""The columns of questions that hold pictures."""
Named = tuple[str | None, Picture]
"""Name and content of a picture."""


@dataclass
class PackedRows:
    """The rows of some questions; `sizes` are the bytes of each, and of its figures alone."""

    ids: list[str]
    columns: bytes
    pictures: dict[str, list[list[Named]]]
    sizes: list[tuple[int, int]]

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The columns except ids and pictures."""
        import pyarrow as pa

        return pa.ipc.read_record_batch(pa.py_buffer(self.columns), _schema())


@dataclass
class Packed:
    """Questions of the same tables.

    Attributes:
        places: the questions' positions among those packed in one call.
        not_on_pages: by position here, the reasons why questions cannot be asked from page images ("" if they name no
            page).
    """

    tables: tuple[str, ...]
    split: str
    places: list[int]
    rows: PackedRows
    counted: PartCounts
    not_on_pages: dict[int, str]

    @property
    def ids(self) -> list[str]:
        """Of each question."""
        return self.rows.ids

    def pictures(self) -> Iterator[str]:
        """The names of their pictures, except those of keys."""
        lists = chain(self.rows.pictures[FIGURES], self.rows.pictures["solution_images"])
        return (name or "" for pictures in lists for name, _ in pictures)

    def rename(self, number: int, id: str) -> None:
        """Changes the id of a question."""
        self.counted.rename(number, id)
        self.rows.ids[number] = id


@dataclass
class PackedRun:
    """Consecutive packed rows from `start` to before `stop`, with or without figures."""

    rows: PackedRows
    start: int
    stop: int
    figures: bool


@dataclass
class Packer:
    """Packs questions; `tables` must be a module-level function if workers pack."""

    tables: Callable[[Question, Collection[PageKey]], Iterable[str]]
    pages: set[PageKey]
    compares: bool = True

    def __call__(self, questions: Sequence[Question]) -> list[Packed]:
        """The questions, grouped by tables and split."""
        groups: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for place, question in enumerate(questions):
            key = (tuple(self.tables(question, self.pages)), split_of(question))
            groups.setdefault(key, []).append(place)
        return [
            self._packed(tables, split, places, [questions[place] for place in places])
            for (tables, split), places in groups.items()
        ]

    def _packed(self, tables: tuple[str, ...], split: str, places: list[int], questions: list[Question]) -> Packed:
        counted = PartCounts.of(questions, tables, compares=self.compares)
        may_be = self.pages and IMAGE_ONLY not in tables
        reasons = {
            number: not_from_pages(question, self.pages) if page_keys(question) else ""
            for number, question in enumerate(questions if may_be else ())
            if IMAGE_ONLY in builder_of(question.benchmark).layout.configs
        }
        return Packed(tables, split, places, _rows(questions), counted, reasons)


def not_on_pages(packs: Iterable[Packed]) -> list[tuple[str, str, str]]:
    """Split, id and reason of the questions that name pages and cannot be asked from them, in order."""
    entries = [
        (packed.places[number], packed.split, packed.ids[number], why)
        for packed in packs
        for number, why in packed.not_on_pages.items()
        if why
    ]
    return [(split, id, why) for _, split, id, why in sorted(entries)]


def unpacked(runs: Sequence[PackedRun], columns: pa.Schema) -> pa.RecordBatch:
    """The rows of some runs as the batch that `to_batch` makes of them."""
    import pyarrow as pa

    joined = pa.concat_batches([run.rows.batch.slice(run.start, run.stop - run.start) for run in runs])

    def values(field: pa.Field) -> list[Any]:
        if field.name == ID:
            return [id for run in runs for id in run.rows.ids[run.start : run.stop]]
        if field.name == FIGURES and not runs[0].figures:
            return [[] for _ in range(joined.num_rows)]
        return [
            [{"bytes": picture, "path": name} for name, picture in pictures]
            for run in runs
            for pictures in run.rows.pictures[field.name][run.start : run.stop]
        ]

    arrays = [
        column_of(values(field), field.type) if field.name in (ID, *PICTURES) else joined.column(field.name)
        for field in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _rows(questions: Sequence[Question]) -> PackedRows:
    rows = list(map(vars, questions))
    pictures = {
        name: [[(image.path, picture_of(image)) for image in getattr(question, name)] for question in questions]
        for name in PICTURES
    }
    sizes = [
        (
            size_of(row)
            + sum(
                len(content)
                for name in PICTURES
                for _, content in pictures[name][n]
                if isinstance(content, PictureFile)
            ),
            sum(len(content or b"") + len(called or "") for called, content in pictures[FIGURES][n]),
        )
        for n, row in enumerate(rows)
    ]
    batch = to_batch(rows, _schema())
    return PackedRows([question.id for question in questions], batch.serialize().to_pybytes(), pictures, sizes)


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field for field in schema(Question) if field.name not in (ID, *PICTURES)])
