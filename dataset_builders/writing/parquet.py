"""Writes tables as sharded Parquet, row by row, in bounded memory.

Contract: `TABLE/SPLIT-00000-of-0000N.parquet`, readable by `datasets` with images as images. Row groups are
bounded in rows and bytes, all buffers together in bytes; shards are bounded in bytes. The same rows in the same
order give the same bytes. A file bears its final name only once it is whole.

Texts are compressed with zstd; encoded pictures are stored as they are, since they do not shrink. Content-defined
chunking makes the Hub store again only what changed between two builds. Files are written by a thread of their own
while the next rows are read; an error there is raised by a later `write`, or at the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from livek12.core.features import schema, to_row
from livek12.core.records import Record

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES = 32 << 20
GROUP_ROWS = 1_000
SHARD_BYTES = 500 << 20
BUFFER_BYTES = 128 << 20

Counts = dict[str, dict[str, int]]
Rows = list[Mapping[str, Any]]


class TableWriters:
    """All tables of a data set, written side by side. Use as a context manager.

    Args:
        folder: where the tables go; must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], _ShardWriter] = {}
        self._buffered = 0
        self._thread = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def write(self, table: str, split: str, record: Record) -> None:
        """Adds one row to a split of a table."""
        key = (table, split)
        if key not in self._writers:
            folder = self._folder / table
            folder.mkdir(exist_ok=True)
            self._writers[key] = _ShardWriter(folder, split, schema(type(record)))
        writer = self._writers[key]
        self._buffered += writer.add(to_row(record))
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
        """Hands what a writer has buffered to the thread, once the thread is done with what it had."""
        self._wait()
        rows, size = writer.take()
        self._buffered -= size
        self._writing = self._thread.submit(writer.write, rows, size)

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()

    def __enter__(self) -> TableWriters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for writer in self._writers.values():
                stack.callback(writer.abandon)
            stack.callback(self._thread.shutdown)
            if kind is None:
                for writer in self._writers.values():
                    self._flush(writer)
                self._wait()
                for writer in self._writers.values():
                    writer.close()


class _ShardWriter:
    """The shards of one split of one table: rows are added and taken by the reader, written by the thread."""

    def __init__(self, folder: Path, split: str, columns: pa.Schema) -> None:
        self._folder, self._split, self._schema = folder, split, columns
        self._buffer: Rows = []
        self._shards: list[Path] = []
        self._file: Any = None
        self._writer: Any = None
        self._shard_bytes = 0
        self.buffered = 0
        self.rows = 0

    def add(self, row: Mapping[str, Any]) -> int:
        """Keeps a row for the next row group; the bytes it takes."""
        size = _size(row)
        self._buffer.append(row)
        self.buffered += size
        self.rows += 1
        return size

    @property
    def full(self) -> bool:
        """Whether what is buffered makes a row group."""
        return self.buffered >= GROUP_BYTES or len(self._buffer) >= GROUP_ROWS

    def take(self) -> tuple[Rows, int]:
        """The rows that were buffered, and their bytes."""
        taken = self._buffer, self.buffered
        self._buffer, self.buffered = [], 0
        return taken

    def write(self, rows: Rows, size: int) -> None:
        """Writes rows as one row group."""
        if not rows:
            return
        if self._writer is None:
            self._open()
        self._writer.write_batch(to_batch(rows, self._schema), row_group_size=len(rows))
        self._shard_bytes += size
        if self._shard_bytes >= SHARD_BYTES:
            self._finish_shard()

    def close(self) -> None:
        """Finishes the last shard and gives all of them their names."""
        self._finish_shard()
        for number, shard in enumerate(self._shards):
            shard.rename(self._folder / f"{self._split}-{number:05d}-of-{len(self._shards):05d}.parquet")

    def abandon(self) -> None:
        """Lets go of an open file, whatever state it is in; nothing to do after `close`."""
        if self._writer is not None:
            with suppress(Exception):  # the error that led here is on its way already
                self._writer.close()
            self._file.close()
            self._writer = None

    def _open(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

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
    """How a table is written, as options of `pyarrow.parquet.ParquetWriter`."""
    texts = [leaf for leaf in leaves(columns) if not leaf.endswith(".bytes")]
    return {
        # The pages of a paper are one text in many flat rows, which a row group then holds once.
        **({"dictionary_pagesize_limit": 2 * GROUP_BYTES} if "image" in texts else {}),
        "compression": {leaf: "zstd" if leaf in texts else "none" for leaf in leaves(columns)},
        "use_dictionary": texts,
        "write_statistics": texts,
        "write_page_index": True,
        "use_content_defined_chunking": True,
    }


def to_batch(rows: Sequence[Mapping[str, Any]], columns: pa.Schema) -> pa.RecordBatch:
    """What `RecordBatch.from_pylist` gives, without its many copies of growing picture columns.

    Nor with `pyarrow.array`, the first call of which imports pandas: a second of a processor for every build.
    """
    import pyarrow as pa

    arrays = [_column(list(map(itemgetter(field.name), rows)), field.type) for field in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of one of the types that `core.features` knows, laid out as Arrow has them; None is null."""
    import pyarrow as pa

    known = None
    if None in values:
        if not any(value is not None for value in values):
            return pa.nulls(len(values), kind)
        known = _bits([value is not None for value in values])
    buffers, children = [known], list[pa.Array]()
    if pa.types.is_struct(kind):
        if known:
            nothing = dict.fromkeys(field.name for field in kind)
            values = [nothing if value is None else value for value in values]
        children = [_column(list(map(itemgetter(field.name), values)), field.type) for field in kind]
    elif pa.types.is_list(kind):
        lists = [value or () for value in values] if known else values
        buffers.append(_offsets(lists))
        children = [_column(list(chain.from_iterable(lists)), kind.value_type)]
    elif pa.types.is_boolean(kind):
        buffers.append(_bits(values))
    elif pa.types.is_string(kind):
        texts = [value or "" for value in values] if known else values
        joined = "".join(texts)
        coded = texts if joined.isascii() else list(map(str.encode, texts))
        buffers += [_offsets(coded), pa.py_buffer(joined.encode())]
    elif pa.types.is_binary(kind):
        pieces = [value or b"" for value in values] if known else values
        buffers += [_offsets(pieces), pa.py_buffer(b"".join(pieces))]
    else:
        numbers = [value or 0 for value in values] if known else values
        buffers.append(pa.py_buffer(array("q" if pa.types.is_integer(kind) else "d", numbers)))
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)


def _offsets(values: Sequence[Any]) -> pa.Buffer:
    """Where each value begins when all stand one after the other, and where the last ends."""
    import pyarrow as pa

    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _bits(values: Sequence[Any]) -> pa.Buffer:
    """One bit a value, from the lowest of the first byte on: whether it is true."""
    import pyarrow as pa

    digits = "".join("1" if value else "0" for value in reversed(values))
    return pa.py_buffer(int(digits or "0", 2).to_bytes(-(-len(values) // 8), "little"))


def leaves(columns: pa.Schema) -> list[str]:
    """Parquet's names of the leaf columns of a schema."""
    import pyarrow as pa

    def below(name: str, kind: pa.DataType) -> list[str]:
        if pa.types.is_list(kind):
            return below(f"{name}.list.element", kind.value_type)
        if pa.types.is_struct(kind):
            return [leaf for field in kind for leaf in below(f"{name}.{field.name}", field.type)]
        return [name]

    return [leaf for field in columns for leaf in below(field.name, field.type)]


def _size(row: Mapping[str, Any]) -> int:
    """About how many bytes a row takes in its columns; its small structs count as nothing."""
    total = 8 * len(row)
    for value in row.values():
        kind = type(value)
        if kind is str:
            total += len(value)
        elif kind is list and value:
            total += sum(map(_item_size, value))
        elif kind is dict:
            total += len(value.get("bytes") or b"")  # the picture of a page
    return total


def _item_size(item: Any) -> int:
    if type(item) is dict:
        return sum(len(part) for part in item.values() if type(part) is str or type(part) is bytes)
    return len(item) if type(item) is str else 8
