"""Packs questions in the process that makes them: their Arrow columns and their counts.

Contract: a packed question is written and counted like the question itself. Pictures of files are passed by name and
read when written. Batches are those of `RecordBatch.from_pylist`, without its many copies of picture columns;
`pyarrow.array` is avoided too: its first call imports pandas, a second of CPU time per build.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any

from livek12.core.features import schema
from livek12.core.records import Question
from livek12.dataset_builders.base import IMAGE_ONLY, PageKey, not_from_pages, page_keys
from livek12.dataset_builders.reading.images import Picture, PictureFile, picture_of
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.statistics import PartCounts

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """The values of rows by column."""
    return {name: list(map(itemgetter(name), rows)) for name in names}


def batch_of(values: Mapping[str, list[Any]], columns: pa.Schema) -> pa.RecordBatch:
    """Columns as a record batch, with nested records as rows."""
    import pyarrow as pa

    arrays = [column_of(values[field.name], field.type) for field in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def column_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of one of the types of `core.features` as an Arrow array; None is null."""
    import pyarrow as pa

    if is_struct := pa.types.is_struct(kind):
        values = [value if value is None or type(value) is dict else vars(value) for value in values]
    validity = None
    if missing := values.count(None):
        if missing == len(values):
            return pa.nulls(len(values), kind)
        validity = _bits([value is not None for value in values])
    buffers, children = [validity], list[pa.Array]()
    if is_struct:
        if validity:
            nothing = dict.fromkeys(field.name for field in kind)
            values = [nothing if value is None else value for value in values]
        members = columns_of(values, [field.name for field in kind])
        children = [column_of(members[field.name], field.type) for field in kind]
    elif pa.types.is_list(kind):
        lists = [value or () for value in values] if validity else values
        buffers.append(_offsets(lists))
        items = list(chain.from_iterable(lists))
        children = [column_of(items, kind.value_type) if items else pa.nulls(0, kind.value_type)]
    elif pa.types.is_boolean(kind):
        buffers.append(_bits(values))
    elif pa.types.is_string(kind):
        texts = [value or "" for value in values] if validity else values
        coded = list(map(str.encode, texts))
        buffers += [_offsets(coded), pa.py_buffer(b"".join(coded))]
    elif pa.types.is_binary(kind):
        pieces = [value or b"" for value in values] if validity else values
        buffers += [_offsets(pieces), _joined(pieces)]
    else:
        numbers = [value or 0 for value in values] if validity else values
        buffers.append(pa.py_buffer(array("q" if pa.types.is_integer(kind) else "d", numbers)))
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)


def _offsets(values: Sequence[Any]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _joined(pieces: Sequence[bytes | PictureFile]) -> pa.Buffer:
    import pyarrow as pa

    joined = pa.allocate_buffer(sum(map(len, pieces)))
    places, offset = memoryview(joined).cast("B"), 0
    for piece in pieces:
        place = places[offset : offset + len(piece)]
        if isinstance(piece, PictureFile):
            piece.read_into(place)
        else:
            place[:] = piece
        offset += len(piece)
    return joined


def _bits(values: Sequence[Any]) -> pa.Buffer:
    import pyarrow as pa

    digits = "".join("1" if value else "0" for value in reversed(values))
    return pa.py_buffer(int(digits or "0", 2).to_bytes(-(-len(values) // 8), "little"))


def sizes_of(values: Mapping[str, list[Any]]) -> list[int]:
    """The approximate bytes of each row in its columns, without small structs."""
    sizes = [8 * len(values)] * len(next(iter(values.values())))
    for column in values.values():
        kind = next((type(value) for value in column if value), None)  # most are empty
        if kind is str:
            sizes = [size + len(text or "") for size, text in zip(sizes, column, strict=True)]
        elif kind is list:
            sizes = [size + sum(map(_item_size, items)) for size, items in zip(sizes, column, strict=True)]
        elif kind is dict:  # the picture of a page
            sizes = [size + len((item or {}).get("bytes") or b"") for size, item in zip(sizes, column, strict=True)]
    return sizes


def _item_size(item: Any) -> int:
    if type(item) is str:
        return len(item)
    parts = item if type(item) is dict else getattr(item, "__dict__", None)
    if parts is None:
        return 8
    size = 0
    for part in parts.values():  # in half the time of `sum`
        if type(part) is str or type(part) is bytes:
            size += len(part)
    return size


ID = "id"
FIGURES = "images"
PICTURES = (FIGURES, "answer_images", "solution_images")
"""The columns of questions that hold pictures."""
Named = tuple[str | None, Picture]
"""Name and content of a picture."""


@dataclass
class PackedRows:
    """The rows of some questions; `batch` is their columns except ids and pictures.

    `sizes` are the bytes of each, and of its figures alone.
    """

    ids: list[str]
    batch: pa.RecordBatch
    pictures: dict[str, list[list[Named]]]
    sizes: list[tuple[int, int]]

    def __getstate__(self) -> dict[str, Any]:
        """Serialises the batch, for another process only."""
        return {**vars(self), "batch": self.batch.serialize().to_pybytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Reads the batch."""
        import pyarrow as pa

        self.__dict__ = {**state, "batch": pa.ipc.read_record_batch(pa.py_buffer(state["batch"]), _schema())}


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
        layouts = {name: builder_of(name).layout for name in {question.benchmark for question in questions}}
        for place, question in enumerate(questions):
            key = (tuple(self.tables(question, self.pages)), layouts[question.benchmark].split(question))
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
    """The rows of some runs as the batch that `batch_of` makes of them."""
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
    values = columns_of(list(map(vars, questions)), Question.model_fields)
    sizes = sizes_of(values)
    pictures = {
        name: [[(image.path, picture_of(image)) for image in images] for images in values[name]] for name in PICTURES
    }
    for named in pictures.values():
        files = [sum(len(content) for _, content in some if isinstance(content, PictureFile)) for some in named]
        sizes = list(map(add, sizes, files))
    figures = [sum(len(content or b"") + len(name or "") for name, content in some) for some in pictures[FIGURES]]
    return PackedRows(values[ID], batch_of(values, _schema()), pictures, list(zip(sizes, figures, strict=True)))


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field for field in schema(Question) if field.name not in (ID, *PICTURES)])
