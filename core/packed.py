"""Journals as Parquet: `STEM.parquet` in a run folder holds every line of its `STEM-N.jsonl`, byte for byte.

    file     the journal it stood in (`responses-0.jsonl`)
    start    where it began there
    line     its bytes, with the newline, compressed (zstd); texts are here alone
    task, question_id, trial, and a few numbers of responses and verdicts: what tables are made of, without the texts

Contract: lines with a key stand by task, question and trial in the order of the run, so that those who join journals
read each group of rows once; lines of one key, and lines without any, keep their order. A journal that is named in the
file is dead: whoever lists journals passes over it, whether it is still there or not, and no writer takes its name
again. So a kill between writing the one and removing the other loses nothing and doubles nothing. The file may come
from elsewhere: a name in it is one of a journal of its stem, beside it, or it is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError, why

if TYPE_CHECKING:
    from pyarrow import Table

STEMS = ("responses", "earlier", "failures", "verdicts", "repeats", "sessions")
"""The journals of a run folder."""
PACKED = ".parquet"
META = b"livek12"
"""The file's own account in its metadata, as JSON: of each journal its size and SHA-256."""


def packed_path(folder: Path, stem: str) -> Path:
    """Where the lines of a stem stand once they are packed."""
    return folder / f"{stem}{PACKED}"


def packed_files(folder: Path, stem: str) -> dict[str, tuple[int, str]]:
    """The journals whose lines are packed: size in bytes and SHA-256 of each, by name.

    Raises:
        UserError: the file is there and cannot be read.
    """
    path = packed_path(folder, stem)
    try:
        state = path.stat()
    except OSError:
        return {}
    return _account(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _account(path: Path, changed: int, size: int) -> dict[str, tuple[int, str]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        found = json.loads((read_metadata(path).metadata or {})[META])["journals"]
        if strange := [name for name in found if not re.fullmatch(rf"{re.escape(path.stem)}-[\w.-]+\.jsonl", name)]:
            raise ValueError(f"{strange[0]!r:.80} is no journal of it")
        return {str(name): (int(length), str(digest)) for name, (length, digest) in found.items()}
    except (OSError, ArrowException, KeyError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: cannot be read ({why(error)}); take it from a copy of the run folder") from error


class PackedLines:
    """The lines of a packed stem, one after the other or by their place (the number of the row).

    Args:
        path: of the Parquet file.

    Raises:
        UserError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        self._path = path
        try:
            self._file = ParquetFile(path)
            counts = [self._file.metadata.row_group(n).num_rows for n in range(self._file.num_row_groups)]
        except (OSError, ArrowException) as error:
            raise UserError(f"{path}: cannot be read ({why(error)})") from error
        self._begins = [sum(counts[:n]) for n in range(len(counts) + 1)]
        self._held: tuple[int, Any] = (-1, None)

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self._begins) - 1):
            yield from (line.as_py() for line in self._group(number))

    def named(self) -> Iterator[tuple[str, int, bytes]]:
        """Journal, first byte in it, and bytes of each line.

        Raises:
            UserError: it is no place of a journal that the file is made of.
        """
        known = packed_files(self._path.parent, self._path.stem)
        for number in range(len(self._begins) - 1):
            group = self._read(number, ["file", "start", "line"])
            for file, start, line in zip(*(column.to_pylist() for column in group.columns), strict=True):
                if file not in known or not 0 <= start <= known[file][0] - len(line):
                    raise UserError(f"{self._path}: names a place that is in no journal of it; take it from a copy")
                yield file, start, line

    def at(self, row: int) -> bytes:
        """The line of a row."""
        from bisect import bisect_right

        number = bisect_right(self._begins, row) - 1
        line: bytes = self._group(number)[row - self._begins[number]].as_py()
        return line

    def _group(self, number: int) -> Any:
        """The lines of a group of rows; the last one that was read is held."""
        if self._held[0] != number:
            self._held = number, self._read(number, ["line"])["line"].combine_chunks()
        return self._held[1]

    def _read(self, number: int, columns: Sequence[str]) -> Table:
        from pyarrow import ArrowException, int64, large_binary

        try:
            table = self._file.read_row_group(number, columns=list(columns)).select(list(columns))
            kinds = {"line": large_binary(), "start": int64()}
            if any(field.type != kinds.get(field.name, field.type) for field in table.schema):
                raise ValueError("a column is of another type")
            if any(column.null_count for column in table.columns):
                raise ValueError("a line of it is empty")
            return table
        except (OSError, ArrowException, KeyError, ValueError) as error:
            raise UserError(f"{self._path}: group {number} cannot be read ({why(error)})") from error
