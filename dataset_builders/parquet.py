"""Writes tables as sharded Parquet, row by row, in bounded memory.

Contract: `TABLE/SPLIT-00000-of-0000N.parquet`, readable by `datasets` with images as images. Row groups are
bounded in rows and bytes, all buffers together in bytes; shards are bounded in bytes. The same rows in the same
order give the same bytes. A file bears its final name only once it is whole.

Texts are compressed with zstd; encoded pictures are stored as they are, since they do not shrink. Content-defined
chunking makes the Hub store again only what changed between two builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
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


class TableWriters:
    """All tables of a data set, written side by side. Use as a context manager.

    Args:
        folder: where the tables go; must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[tuple[str, str], _ShardWriter] = {}

    def write(self, table: str, split: str, record: Record) -> None:
        """Adds one row to a split of a table."""
        key = (table, split)
        if key not in self._writers:
            folder = self._folder / table
            folder.mkdir(exist_ok=True)
            self._writers[key] = _ShardWriter(folder, split, schema(type(record)))
        self._writers[key].write(to_row(record))
        if sum(writer.buffered for writer in self._writers.values()) > BUFFER_BYTES:
            max(self._writers.values(), key=lambda writer: writer.buffered).flush()

    @property
    def counts(self) -> Counts:
        """Rows written so far, by table and split."""
        counts: Counts = {}
        for (table, split), writer in self._writers.items():
            counts.setdefault(table, {})[split] = writer.rows
        return counts

    def __enter__(self) -> TableWriters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for writer in self._writers.values():
                stack.callback(writer.abandon)
            if kind is None:
                for writer in self._writers.values():
                    writer.close()


class _ShardWriter:
    """The shards of one split of one table."""

    def __init__(self, folder: Path, split: str, columns: pa.Schema) -> None:
        self._folder, self._split, self._schema = folder, split, columns
        self._buffer: list[Mapping[str, Any]] = []
        self._shards: list[Path] = []
        self._file: Any = None
        self._writer: Any = None
        self._shard_bytes = 0
        self.buffered = 0
        self.rows = 0

    def write(self, row: Mapping[str, Any]) -> None:
        self._buffer.append(row)
        self.buffered += _size(row)
        self.rows += 1
        if self.buffered >= GROUP_BYTES or len(self._buffer) >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        if not self._buffer:
            return
        if self._writer is None:
            self._open()
        batch = pa.RecordBatch.from_pylist(self._buffer, schema=self._schema)
        self._writer.write_batch(batch, row_group_size=len(self._buffer))
        self._shard_bytes += self.buffered
        self._buffer, self.buffered = [], 0
        if self._shard_bytes >= SHARD_BYTES:
            self._finish_shard()

    def close(self) -> None:
        """Writes what is buffered and gives the shards their names."""
        self.flush()
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
        texts = [leaf for leaf in leaves(self._schema) if not leaf.endswith(".bytes")]
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression={leaf: "zstd" if leaf in texts else "none" for leaf in leaves(self._schema)},
            use_dictionary=texts,
            write_statistics=texts,
            write_page_index=True,
            use_content_defined_chunking=True,
        )

    def _finish_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._file.close()
            self._writer, self._shard_bytes = None, 0


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


def _size(value: Any) -> int:
    """About how many bytes a value takes in a column."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if isinstance(value, list):
        return sum(map(_size, value))
    return 8
