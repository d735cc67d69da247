"""What a selection of questions looks at, read from the columns that hold it and nothing else.

Contract: `facts_of(parquet, group)` gives one `Facts` a row, in order, without reading texts or the bytes of pictures;
a column that an older data set lacks counts as empty, as it does for records. A `Facts` has the names that a
`Question` has, so that one predicate serves for both.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class Facts(NamedTuple):
    """One question as a selection sees it; `images` and `knowledge_points` hold their number in place of each."""

    benchmark: str | None
    language: str | None
    release: str | None
    subject: str | None
    question_type: str | None
    difficulty: str | None
    removed_in: str | None
    subsets: tuple[str, ...]
    images: Sized
    knowledge_points: Sized


_WORDS = ("benchmark", "language", "release", "subject", "question_type", "difficulty", "removed_in")


def facts_of(parquet: pq.ParquetFile, group: int) -> list[Facts]:
    """The facts of the questions of one row group, in order."""
    table = parquet.read_row_group(group, columns=_leaves(parquet))
    rows = table.num_rows
    words = [_values(table, name, rows) for name in _WORDS]
    subsets = [tuple(value or ()) for value in _values(table, "subsets", rows)]
    images, points = (
        [range(len(value or ())) for value in _values(table, name, rows)] for name in ("images", "knowledge_points")
    )
    return [Facts(*row) for row in zip(*words, subsets, images, points, strict=True)]


def _values(table: pa.Table, name: str, rows: int) -> list[Any]:
    return table.column(name).to_pylist() if name in table.column_names else [None] * rows


def _leaves(parquet: pq.ParquetFile) -> list[str]:
    """The stored columns to read: of pictures their names, not their bytes, where they have names."""
    paths = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
    wanted = {*_WORDS, "subsets", "knowledge_points"}
    found = [path for path in paths if path.split(".")[0] in wanted]
    pictures = [path for path in paths if path.split(".")[0] == "images"]
    return found + ([path for path in pictures if path.endswith(".path")] or pictures)
