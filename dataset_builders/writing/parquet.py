"""Tables as sharded Parquet, written in bounded memory from rows, or from questions packed where they were made.

Contract: `TABLE/SPLIT-00000-of-0000N.parquet`; a file gets its final name once complete. Row groups are bounded in rows
and bytes, shards and the sum of all buffers in bytes. The same rows in the same order give the same bytes. Pictures are
not compressed; those of files are read when written. With content-defined chunking the Hub stores only changes between
builds. One thread lays out a row group while another writes the previous one; their errors are raised by a later
`write`, or at the end. Batches are those of `RecordBatch.from_pylist`, without its copies of picture columns;
`pyarrow.array` would import pandas, a second of CPU time per build.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from operator import add, itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq

from livek12.core.errors import UserError, why
from livek12.core.features import PREFIX, SPLIT, FlatTask, Form, schema, to_row
from livek12.core.records import Question, Record
from livek12.dataset_builders.base import IMAGE_ONLY, PageKey, not_from_pages, page_keys
from livek12.dataset_builders.reading.images import Picture, PictureFile, picture_of
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.statistics import PartCounts

GROUP_BYTES = 32 << 20
GROUP_ROWS = 1_000
SHARD_BYTES = 500 << 20
BUFFER_BYTES = 128 << 20
WAITING = 1
"""Row groups that wait while another is written."""

Counts = dict[str, dict[str, int]]
Rows: TypeAlias = "list[Mapping[str, Any]] | list[PackedRun]"


class TableWriters:
    """Context manager for all tables of a dataset, below an existing folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], _ShardWriter] = {}
        self._buffered = 0
        self._layout, self._files = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._writing: deque[Future[None]] = deque()

    def write(self, table: str, split: str, record: Record) -> None:
        """Adds one row to a split of a table."""
        writer, row = self._of(table, split, type(record)), to_row(record)
        (size,) = _sizes_of(columns_of([row], row))
        writer.add(row, size)
        self._added(writer, size)

    def take(self, packs: Sequence[Packed]) -> None:
        """Adds the rows of questions packed together, in packing order."""
        writers = [[(self._of(table, pack.split, Question), table) for table in pack.tables] for pack in packs]
        for _, which, number in sorted((p, w, n) for w, pack in enumerate(packs) for n, p in enumerate(pack.places)):
            rows = packs[which].rows
            for writer, table in writers[which]:
                whole, figures = rows.sizes[number]
                size = whole - figures if table == IMAGE_ONLY else whole
                writer.add_packed(rows, number, size, figures=table != IMAGE_ONLY)
                self._added(writer, size)

    def _of(self, table: str, split: str, kind: type[Record]) -> _ShardWriter:
        key = (table, split)
        if key not in self._writers:
            folder = self._folder / table
            folder.mkdir(exist_ok=True)
            self._writers[key] = _ShardWriter(folder, split, schema(kind))
        return self._writers[key]

    def _added(self, writer: _ShardWriter, size: int) -> None:
        self._buffered += size
        if writer.full:
            self._flush(writer)
        elif self._buffered > BUFFER_BYTES:
            self._flush(max(self._writers.values(), key=lambda writer: writer.buffered))

    @property
    def counts(self) -> Counts:
        """Rows written so far, by table and split."""
        counts: Counts = {}
        for (table, split), writer in self._writers.items():
            counts.setdefault(table, {})[split] = writer.rows
        return counts

    def _flush(self, writer: _ShardWriter) -> None:
        self._wait(WAITING)
        rows, size = writer.take()
        self._buffered -= size
        if rows:
            batch = self._layout.submit(writer.laid_out, rows)
            self._writing.append(self._files.submit(writer.write, batch, size))

    def _wait(self, remaining: int = 0) -> None:
        while len(self._writing) > remaining:
            self._writing.popleft().result()

    def __enter__(self) -> TableWriters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for writer in self._writers.values():
                stack.callback(writer.abandon)
            stack.callback(self._files.shutdown)
            stack.callback(self._layout.shutdown)
            if kind is None:
                for writer in self._writers.values():
                    self._flush(writer)
                self._wait()
                for writer in self._writers.values():
                    writer.close()


class _ShardWriter:
    def __init__(self, folder: Path, split: str, columns: pa.Schema) -> None:
        self._folder, self._split, self._schema = folder, split, columns
        self._buffer: list[Any] = []
        self._buffered_rows = 0
        self._shards: list[Path] = []
        self._file: Any = None
        self._writer: Any = None
        self._shard_bytes = 0
        self.buffered = 0
        self.rows = 0

    def add(self, row: Mapping[str, Any], size: int) -> None:
        self._buffer.append(row)
        self._count(size)

    def add_packed(self, rows: PackedRows, number: int, size: int, *, figures: bool) -> None:
        last = self._buffer[-1] if self._buffer else None
        if last is not None and last.rows is rows and last.stop == number:
            last.stop += 1
        else:
            self._buffer.append(PackedRun(rows, number, number + 1, figures))
        self._count(size)

    def _count(self, size: int) -> None:
        self.buffered += size
        self._buffered_rows += 1
        self.rows += 1

    @property
    def full(self) -> bool:
        return self.buffered >= GROUP_BYTES or self._buffered_rows >= GROUP_ROWS

    def take(self) -> tuple[Rows, int]:
        taken = self._buffer, self.buffered
        self._buffer, self._buffered_rows, self.buffered = [], 0, 0
        return taken

    def laid_out(self, rows: Rows) -> pa.RecordBatch:
        """Rows as Arrow; UserError if the file of a picture changed."""
        runs = [run for run in rows if isinstance(run, PackedRun)]
        if runs:
            return _unpacked(runs, self._schema)
        plain = cast(Sequence[Mapping[str, Any]], rows)
        return batch_of(columns_of(plain, self._schema.names), self._schema)

    def write(self, laid_out: Future[pa.RecordBatch], size: int) -> None:
        batch = laid_out.result()
        if self._writer is None:
            self._open()
        self._writer.write_batch(batch, row_group_size=batch.num_rows)
        self._shard_bytes += size
        if self._shard_bytes >= SHARD_BYTES:
            self._finish_shard()

    def close(self) -> None:
        self._finish_shard()
        for number, shard in enumerate(self._shards):
            shard.rename(self._folder / f"{self._split}-{number:05d}-of-{len(self._shards):05d}.parquet")

    def abandon(self) -> None:
        """Releases an open file in any state; does nothing after `close`."""
        if self._writer is not None:
            with suppress(Exception):  # the error that led here is on its way already
                self._writer.close()
            self._file.close()
            self._writer = None

    def _open(self) -> None:
        path = self._folder / f"{self._split}-{len(self._shards):05d}.partial"
        self._shards.append(path)
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(self._file, self._schema, **writer_options(self._schema))

    def _finish_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._file.close()
            self._writer, self._shard_bytes = None, 0


def writer_options(columns: pa.Schema) -> dict[str, Any]:
    """Options of `pyarrow.parquet.ParquetWriter` for a table."""
    texts = [leaf for leaf in leaves(columns) if not leaf.endswith(".bytes")]
    return {
        # A paper's pages are one text in many flat rows, stored once per row group.
        **({"dictionary_pagesize_limit": 2 * GROUP_BYTES} if "image" in texts else {}),
        "compression": {leaf: "zstd" if leaf in texts else "none" for leaf in leaves(columns)},
        "use_dictionary": texts,
        "write_statistics": texts,
        "write_page_index": True,
        "use_content_defined_chunking": True,
    }


def with_column(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    """A table with other values in a column."""
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))


def rewrite(file: Path, target: Path, ids: Collection[str], change: Callable[[pa.Table], pa.Table]) -> bool:
    """Writes a table anew, each row group changed; False, and writes nothing, if it has no row with one of the ids."""
    if not ids or set(ids).isdisjoint(pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()):
        return False
    with pq.ParquetFile(file) as parquet:
        columns = parquet.schema_arrow
        with pq.ParquetWriter(target, columns, **writer_options(columns)) as writer:
            for group in range(parquet.num_row_groups):
                table = change(parquet.read_row_group(group))
                writer.write_table(table, row_group_size=max(1, table.num_rows))
    return True


def leaves(columns: pa.Schema) -> list[str]:
    """Parquet's names of the leaf columns of a schema."""

    def below(name: str, kind: pa.DataType) -> list[str]:
        if pa.types.is_list(kind):
            return below(f"{name}.list.element", kind.value_type)
        if pa.types.is_struct(kind):
            return [leaf for field in kind for leaf in below(f"{name}.{field.name}", field.type)]
        return [name]

    return [leaf for field in columns for leaf in below(field.name, field.type)]


FORMS: dict[Form, str] = {
    "choices": "the question and its choices",
    "letters": "whole prompt, letters in a box",
    "value": "whole prompt, answer in a box",
}


@dataclass(frozen=True)
class FlatConfig:
    """A flat config on disk; `form` as in `core.features`."""

    task: str
    description: str
    form: Form
    pictures: bool
    rows: int

    @property
    def name(self) -> str:
        """Of the config."""
        return PREFIX + self.task


def write_flat(folder: Path, tasks: Iterable[FlatTask]) -> list[FlatConfig]:
    """Writes the rows of each task as its own table."""
    written = []
    for task in tasks:
        with TableWriters(folder) as writers:
            for row in task.rows:
                writers.write(PREFIX + task.name, SPLIT, row)
            rows = writers.counts.get(PREFIX + task.name, {}).get(SPLIT, 0)
        written.append(FlatConfig(task.name, task.description, task.form, task.pictures, rows))
    return written


def flat_rows(folder: Path) -> dict[str, int]:
    """Flat configs in a folder, with their numbers of rows."""
    return {
        table.name: sum(map(_rows_in, table.glob(f"{SPLIT}-*.parquet")))
        for table in sorted(folder.glob(f"{PREFIX}*"))
        if table.is_dir() and any(table.glob(f"{SPLIT}-*.parquet"))
    }


def _rows_in(file: Path) -> int:
    try:
        return int(pq.read_metadata(file).num_rows)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise UserError(f"{file}: damaged or not Parquet ({why(error)}); fetch it again") from None


def columns_of(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Values of rows by column."""
    return {name: list(map(itemgetter(name), rows)) for name in names}


def batch_of(values: Mapping[str, list[Any]], columns: pa.Schema) -> pa.RecordBatch:
    """Columns as a record batch, with nested records as rows."""
    arrays = [_column_of(values[field.name], field.type) for field in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _column_of(values: list[Any], kind: pa.DataType) -> pa.Array:
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
        children = [_column_of(members[field.name], field.type) for field in kind]
    elif pa.types.is_list(kind):
        lists = [value or () for value in values] if validity else values
        buffers.append(_offsets(lists))
        items = list(chain.from_iterable(lists))
        children = [_column_of(items, kind.value_type) if items else pa.nulls(0, kind.value_type)]
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
    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _joined(pieces: Sequence[bytes | PictureFile]) -> pa.Buffer:
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
    digits = "".join("1" if value else "0" for value in reversed(values))
    return pa.py_buffer(int(digits or "0", 2).to_bytes(-(-len(values) // 8), "little"))


def _sizes_of(values: Mapping[str, list[Any]]) -> list[int]:
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
    """Rows of some questions; `batch` is their columns except ids and pictures.

    `sizes` are the bytes of each, and of its figures alone.
    """

    ids: list[str]
    batch: pa.RecordBatch
    pictures: dict[str, list[list[Named]]]
    sizes: list[tuple[int, int]]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "batch": self.batch.serialize().to_pybytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
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
        """Names of their pictures, except those of keys."""
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
        """Questions, by tables and split."""
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
    """Split, id and reason of the questions whose pages cannot ask them, in order."""
    entries = [
        (packed.places[number], packed.split, packed.ids[number], why)
        for packed in packs
        for number, why in packed.not_on_pages.items()
        if why
    ]
    return [(split, id, why) for _, split, id, why in sorted(entries)]


def _unpacked(runs: Sequence[PackedRun], columns: pa.Schema) -> pa.RecordBatch:
    """Rows of some runs as the batch that `batch_of` makes of them."""
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
        _column_of(values(field), field.type) if field.name in (ID, *PICTURES) else joined.column(field.name)
        for field in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _rows(questions: Sequence[Question]) -> PackedRows:
    values = columns_of(list(map(vars, questions)), Question.model_fields)
    sizes = _sizes_of(values)
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
    return pa.schema([field for field in schema(Question) if field.name not in (ID, *PICTURES)])
