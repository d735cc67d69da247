"""Journals as Parquet: `STEM.parquet` in a run folder holds every line of its `STEM-N.jsonl`, byte for byte.

    file     the journal it stood in (`responses-0.jsonl`)
    start    where it began there
    line     its bytes, with the newline, compressed (zstd); texts are here alone
    versions of a response or verdict the versions that it names, as JSON
    light    of a response or verdict what scores look at, as JSON without the texts (`core.light`)
    task, question_id, trial, model, and a few numbers: what tables are made of, without the texts; null where the line
             is no record

Files of livek12 0.2.0 have neither `light` nor `model`, and some after them no `versions`; there the lines are read.

Contract: lines with a key stand by task, question and trial in the order of the run, so that those who join journals
read each group of rows once; lines of one key, and lines without any, keep their order. A journal that is named in the
file is dead: whoever lists journals passes over it, whether it is still there or not, and no writer takes its name
again. So a kill between writing the one and removing the other loses nothing and doubles nothing. The file may come
from elsewhere: a name in it is one of a journal of its stem, beside it, or it is refused. Its pages have checksums, and
before its columns make a mark they are compared with its lines, once on each machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError, why
from livek12.core.files import pointer_note_of
from livek12.core.light import StoredKey
from livek12.core.packed_rows import LIGHT, PackedRow, contradiction
from livek12.core.progress import watched
from livek12.core.records import Key
from livek12.core.store import Store
from livek12.core.version import __version__

if TYPE_CHECKING:
    from pyarrow import Table

STEMS = ("responses", "earlier", "failures", "verdicts", "repeats", "sessions")
"""The journals of a run folder."""
PACKED = ".parquet"
MOST_BYTES = 2 << 30
"""The most that a column of a group of rows may be unpacked; ours end at 16 MiB, or with the line that crosses that."""
MOST_ROWS = 1 << 20
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""Those in which a value takes the room that it has; in others a few bytes may stand for gigabytes."""
KEYS = ("task", "question_id", "trial")
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


def covers(places: list[tuple[int, int]], size: int) -> bool:
    """Tells whether pieces, given by their starts and lengths, make up a whole of this size without gap or overlap."""
    end = 0
    for start, length in sorted(places):
        if start != end:
            return False
        end += length
    return end == size


class PackedLines:
    """The lines of a packed stem, one after the other or by their place (the number of the row).

    Args:
        path: of the Parquet file.
        light: whether a record comes without its texts, where the file has it so.
        source: an open file, where it is read from elsewhere.

    Raises:
        UserError: it cannot be read, or would be too big unpacked.
    """

    def __init__(self, path: Path, light: bool = False, source: Any = None) -> None:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        self._path, self._local, self._trusted = path, source is None, False
        try:
            self._file = ParquetFile(source or path, page_checksum_verification=True)
            found = self._file.metadata
            counts = [found.row_group(n).num_rows for n in range(found.num_row_groups)]
            self._types = {field.name: field.type for field in self._file.schema_arrow}
        except (OSError, ArrowException) as error:
            reason = "" if source else pointer_note_of(path)
            raise UserError(f"{path}: is {reason}" if reason else f"{path}: cannot be read ({why(error)})") from error
        self._begins = [sum(counts[:n]) for n in range(len(counts) + 1)]
        self._light = light and LIGHT in self._types
        self._held: tuple[int, Any] = (-1, None)

    @property
    def columns(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(self._types)

    @property
    def parts(self) -> int:
        """How many groups of rows there are."""
        return len(self._begins) - 1

    def _trust(self) -> None:
        """Compares all columns with the lines they were made of, if this machine has not done so for this very file.

        A copy without lines (`write_light`) cannot be compared; who fetched it is told.

        Raises:
            UserError: a column says other than its line, or the file cannot be read.
        """
        if self._trusted or not self._local or "line" not in self._types:
            return
        if not is_checked(self._path):
            places: dict[str, list[tuple[int, int]]] = {}
            names = ["file", "start", "line", *(name for name in self._types if name not in ("file", "start", "line"))]
            for number in watched(range(self.parts), f"comparing {self._path.name} with its lines", self.parts):
                columns = {name: values_of(self._read(number, [name], nulls=True)[name]) for name in names}
                rows: list[PackedRow] = list(zip(columns["file"], columns["start"], columns["line"], strict=True))
                for file, start, line in rows:
                    places.setdefault(file, []).append((start, len(line)))
                if wrong := contradiction(self._path.stem, rows, columns):
                    row, name = self._begins[number] + wrong[0] + 1, wrong[1]
                    raise UserError(
                        f"{self._path}: column {name} of row {row:,} does not say what its line says; "
                        f"`livek12 compact --undo {self._path.parent}` goes back to the lines"
                    )
            for file, (size, _) in packed_files(self._path.parent, self._path.stem).items():
                if not covers(places.get(file, []), size):
                    raise UserError(f"{self._path}: does not hold each line of {file} once; take it from a copy")
            note_checked(self._path)
        self._trusted = True

    def __iter__(self) -> Iterator[bytes]:
        for number in range(self.parts):
            yield from (line.as_py() for line in self._group(number))

    def named(self) -> Iterator[tuple[str, int, bytes]]:
        """Journal, first byte in it, and bytes of each line.

        Raises:
            UserError: it is no place of a journal that the file is made of.
        """
        known = packed_files(self._path.parent, self._path.stem)
        for number in range(self.parts):
            group = self._read(number, ["file", "start", "line"])
            for file, start, line in zip(*map(values_of, group.columns), strict=True):
                if file not in known or not 0 <= start <= known[file][0] - len(line):
                    raise UserError(f"{self._path}: names a place that is in no journal of it; take it from a copy")
                yield file, start, line

    def keys(self) -> Iterator[StoredKey | bytes]:
        """Of each line the key, by its columns alone; where they do not say it, the line."""
        if not {LIGHT, *KEYS} <= self._types.keys():
            yield from self
            return
        self._trust()
        columns = [*KEYS, *({"model"} & self._types.keys())]
        for number in range(self.parts):
            table = self._read(number, columns, nulls=True)
            rows = zip(*map(values_of, table.columns), strict=True)
            for row, (task, question_id, trial, *model) in enumerate(rows):
                if task is None or question_id is None or trial is None or None in model:
                    yield self._group(number)[row].as_py()
                else:
                    yield StoredKey(Key(task=task, question_id=question_id, trial=trial), *(model or [""]))

    def groups(self, columns: Sequence[str]) -> Iterator[tuple[int, Table]]:
        """Some columns of each group of rows, with the number of its first row.

        Raises:
            UserError: it cannot be read, or lacks one, or does not say what its lines say.
        """
        self._trust()
        for number, begin in enumerate(self._begins[:-1]):
            yield begin, self._read(number, columns, nulls=True)

    def write_light(self, target: Path) -> bool:
        """Writes the file without its lines, for whoever reads no text; whether it can be: each line has a light one.

        Raises:
            UserError: it cannot be read.
        """
        from pyarrow.parquet import ParquetWriter

        if not {LIGHT, *KEYS} <= self.columns:
            return False
        names = [name for name in self._types if name != "line"]
        schema = self._file.schema_arrow
        schema = schema.remove(schema.get_field_index("line")) if "line" in self._types else schema
        with ParquetWriter(target, schema, **writing_options(schema)) as writer:
            for number in range(self.parts):
                table = self._read(number, names, nulls=True)
                if table[LIGHT].null_count:
                    return False
                writer.write_table(table.cast(schema), row_group_size=MOST_ROWS)
        return True

    def at(self, row: int) -> bytes:
        """The line of a row."""
        from bisect import bisect_right

        number = bisect_right(self._begins, row) - 1
        line: bytes = self._group(number)[row - self._begins[number]].as_py()
        return line

    def _group(self, number: int) -> Any:
        """The lines of a group of rows; the last one that was read is held."""
        if self._held[0] != number:
            self._held = number, self._lines(number)
        return self._held[1]

    def _lines(self, number: int) -> Any:
        from pyarrow.compute import coalesce

        if not self._light:
            return self._read(number, ["line"])["line"].combine_chunks()
        self._trust()
        light = self._read(number, [LIGHT], nulls=True)[LIGHT]
        if light.null_count:  # what is no record has no light one
            light = coalesce(light, self._read(number, ["line"])["line"])
        return light.combine_chunks()

    def _read(self, number: int, columns: Sequence[str], nulls: bool = False) -> Table:
        from pyarrow import ArrowException, int64, large_binary, string

        try:
            self._check(number, columns)
            table = self._file.read_row_group(number, columns=list(columns)).select(list(columns))
            kinds = {"line": large_binary(), LIGHT: large_binary(), "start": int64(), "trial": int64()}
            kinds["question_id"] = string()
            if any(field.type != kinds.get(field.name, field.type) for field in table.schema):
                raise ValueError("a column is of another type")
            if not nulls and any(column.null_count for column in table.columns):
                raise ValueError("a line of it is empty")
            return table
        except (OSError, ArrowException, KeyError, ValueError, MemoryError) as error:
            raise UserError(f"{self._path}: group {number} cannot be read ({why(error)})") from error

    def _check(self, number: int, columns: Sequence[str]) -> None:
        """Refuses what unpacks to more than a group may have, before anything is unpacked.

        Raises:
            ValueError: it does.
        """
        group = self._file.metadata.row_group(number)
        if group.num_rows > MOST_ROWS:
            raise ValueError(f"{group.num_rows:,} rows, and {MOST_ROWS:,} are the most")
        chunks = [group.column(n) for n in range(group.num_columns)]
        for chunk in chunks:
            if chunk.path_in_schema not in columns:
                continue
            if chunk.total_uncompressed_size > MOST_BYTES:
                size = f"{chunk.total_uncompressed_size / 1e9:,.1f} GB"
                raise ValueError(
                    f"{chunk.path_in_schema} unpacks to {size}, and {MOST_BYTES / 1e9:,.1f} GB are the most"
                )
            repeats = {*chunk.encodings} - _ENCODINGS
            if repeats and not is_words(self._types[chunk.path_in_schema]):
                raise ValueError(f"{chunk.path_in_schema} is encoded as {min(repeats)}, as no run folder is")


def writing_options(schema: Any) -> dict[str, Any]:
    """How a packed file is written, as options of `ParquetWriter`; the checksums of pages tell of flipped bits."""
    words = [field.name for field in schema if is_words(field.type)]
    return {"compression": "zstd", "use_dictionary": words, "write_page_checksum": True}


def is_checked(path: Path) -> bool:
    """Whether this version, on this machine, has found that the columns of the very file say what its lines say."""
    with closing(Store("packed")) as store:
        return store.get(_print(path)) is not None


def note_checked(path: Path) -> None:
    """Remembers that they do."""
    with closing(Store("packed")) as store:
        store.put(_print(path), "same")


def _print(path: Path) -> str:
    """What a file that was changed or replaced has another of: nobody but the system sets `ctime`."""
    state = path.stat()
    times = state.st_mtime_ns, state.st_ctime_ns
    return json.dumps([__version__, str(path.resolve()), state.st_dev, state.st_ino, state.st_size, *times])


def values_of(column: Any) -> list[Any]:
    """The values of a column; those of a dictionary are made once, however often they stand in it."""
    if not is_words(column.type):
        found: list[Any] = column.to_pylist()
        return found
    values = []
    for chunk in column.chunks:
        words = [*chunk.dictionary.to_pylist(), None]
        values += [words[-1 if index is None else index] for index in chunk.indices.to_pylist()]
    return values


def is_words(kind: Any) -> bool:
    """Whether a column has each of its values once, in a dictionary."""
    from pyarrow.types import is_dictionary

    return bool(is_dictionary(kind))
