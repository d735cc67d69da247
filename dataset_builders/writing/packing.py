"""Packs questions where they are made: their columns as Arrow has them, and what is counted of them.

Contract: a packed question is written and counted as the question itself would be, without becoming Python objects
again. Pictures of files travel by name and are read when they are written.
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
"""The name and the content of a picture."""


@dataclass
class PackedRows:
    """The rows of some questions.

    Attributes:
        ids: of the questions; may be set anew.
        columns: all others but those of pictures, as a message of Arrow's.
        pictures: those of each question, by column.
        sizes: about how many bytes each question takes in its columns, and its figures alone.
    """

    ids: list[str]
    columns: bytes
    pictures: dict[str, list[list[Named]]]
    sizes: list[tuple[int, int]]

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The columns but for ids and pictures."""
        import pyarrow as pa

        return pa.ipc.read_record_batch(pa.py_buffer(self.columns), _schema())


@dataclass
class Packed:
    """Questions that go into the same tables.

    Attributes:
        tables: the tables.
        split: of each of them.
        places: where each question stood among those that were packed with it.
        rows: as they are written.
        counted: what is counted of them.
        not_on_pages: why those that could be asked from page images are not ("" where they name no page), by their
            number here.
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
        """The names of their pictures, but for those of keys."""
        lists = chain(self.rows.pictures[FIGURES], self.rows.pictures["solution_images"])
        return (name or "" for pictures in lists for name, _ in pictures)

    def rename(self, number: int, id: str) -> None:
        """Gives a question another id."""
        self.counted.rename(number, id)
        self.rows.ids[number] = id


@dataclass
class PackedRun:
    """Packed rows that follow each other, from `start` on and before `stop`, with their figures or without."""

    rows: PackedRows
    start: int
    stop: int
    figures: bool


@dataclass
class Packer:
    """Packs questions.

    Attributes:
        tables: the tables that a question goes into; a function of a module where processes pack.
        pages: the pages that the data set holds.
        compares: whether near-duplicates are still looked for among the questions.
    """

    tables: Callable[[Question, Collection[PageKey]], Iterable[str]]
    pages: set[PageKey]
    compares: bool = True

    def __call__(self, questions: Sequence[Question]) -> list[Packed]:
        """The questions, by the tables and the split that they go into."""
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
        left = {
            number: not_from_pages(question, self.pages) if page_keys(question) else ""
            for number, question in enumerate(questions if may_be else ())
            if IMAGE_ONLY in builder_of(question.benchmark).layout.configs
        }
        return Packed(tables, split, places, _rows(questions), counted, left)


def not_on_pages(packs: Iterable[Packed]) -> list[tuple[str, str, str]]:
    """Split, id and reason of the questions that name pages and cannot be asked from them, in their order."""
    found = [
        (one.places[number], one.split, one.ids[number], why)
        for one in packs
        for number, why in one.not_on_pages.items()
        if why
    ]
    return [(split, id, why) for _, split, id, why in sorted(found)]


def unpacked(runs: Sequence[PackedRun], columns: pa.Schema) -> pa.RecordBatch:
    """The rows of some runs as the batch that `to_batch` makes of them.

    Raises:
        UserError: the file of a picture is not what it was.
    """
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
            + sum(len(held) for name in PICTURES for _, held in pictures[name][n] if isinstance(held, PictureFile)),
            sum(len(held or b"") + len(called or "") for called, held in pictures[FIGURES][n]),
        )
        for n, row in enumerate(rows)
    ]
    batch = to_batch(rows, _schema())
    return PackedRows([question.id for question in questions], batch.serialize().to_pybytes(), pictures, sizes)


@cache
def _schema() -> pa.Schema:
    """The columns of questions but for ids and pictures."""
    import pyarrow as pa

    return pa.schema([field for field in schema(Question) if field.name not in (ID, *PICTURES)])
