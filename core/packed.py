"""Journals as Parquet: `STEM.parquet` in a run folder has each line of its `STEM-N.jsonl`, byte for byte.

    file, start  journal of the line (`responses-0.jsonl`) and its offset there
    line         its bytes, with the newline (zstd)
    light        a response or verdict without its texts, as JSON: equal in all that scores and comparisons read
    task, question_id, trial, model, numbers: null where the line is no record

Files of livek12 0.2.0 lack `light` and `model`.

Contract: lines with a key are sorted by the order of the run, stably. Readers ignore a journal that the file names, and
no writer takes its name again. Columns are compared with their lines before they make a mark, once on each machine.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from livek12.core.errors import UserError, explain_errors, why
from livek12.core.files import pointer_note_of
from livek12.core.lazy import pa, pq
from livek12.core.progress import watched
from livek12.core.records import Failure, Key, Record, Response, Verdict
from livek12.core.store import Store
from livek12.core.text import wide_in
from livek12.core.version import __version__

STEMS = ("responses", "earlier", "failures", "verdicts", "repeats", "sessions")
"""The journals of a run folder."""
PACKED = ".parquet"
MOST_BYTES = 2 << 30
"""Limit of unpacked columns of a row group; ours end at 16 MiB, or with the line that crosses that."""
MOST_ROWS = 1 << 20
KEYS = ("task", "question_id", "trial")
META = b"livek12"
"""Key of the file's metadata: size and SHA-256 of each journal, as JSON."""


def packed_path(folder: Path, stem: str) -> Path:
    """Path of the packed lines of a stem."""
    return folder / f"{stem}{PACKED}"


def packed_files(folder: Path, stem: str) -> dict[str, tuple[int, str]]:
    """Size in bytes and SHA-256 of each packed journal, by name."""
    path = packed_path(folder, stem)
    try:
        state = path.stat()
    except OSError:
        return {}
    return _account(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _account(path: Path, changed: int, size: int) -> dict[str, tuple[int, str]]:
    damage = pa.ArrowException, KeyError, ValueError, TypeError, AttributeError
    with explain_errors(f"{path}: cannot be read", "; take it from a copy of the run folder", *damage):
        journals = json.loads((pq.read_metadata(path).metadata or {})[META])["journals"]
        if strange := [name for name in journals if not re.fullmatch(rf"{re.escape(path.stem)}-[\w.-]+\.jsonl", name)]:
            raise ValueError(f"{strange[0]!r:.80} is no journal of it")
        return {str(name): (int(length), str(digest)) for name, (length, digest) in journals.items()}


def covers(places: list[tuple[int, int]], size: int) -> bool:
    """True if pieces (start, length) cover this size without gap or overlap."""
    end = 0
    for start, length in sorted(places):
        if start != end:
            return False
        end += length
    return end == size


class PackedLines:
    """Lines of a packed stem, in order or by row number.

    `light` leaves out the texts of records, if the file has light ones; `source` is an open file to read instead of
    `path`.
    """

    def __init__(self, path: Path, light: bool = False, source: Any = None) -> None:
        self._path, self._local, self._trusted = path, source is None, False
        try:
            self._file = pq.ParquetFile(source or path, page_checksum_verification=True)
            metadata = self._file.metadata
            counts = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
            self._types = {field.name: field.type for field in self._file.schema_arrow}
        except (OSError, pa.ArrowException, UnicodeError) as error:
            reason = "" if source else pointer_note_of(path)
            raise UserError(f"{path}: is {reason}" if reason else f"{path}: cannot be read ({why(error)})") from error
        self._begins: list[int] = [sum(counts[:n]) for n in range(len(counts) + 1)]
        if "versions" in self._types:  # its light lines lack them: it is read as those of 0.2.0
            self._types.pop(LIGHT, None)
        self._light = light and LIGHT in self._types
        self._group_read: tuple[int, list[bytes]] = (-1, [])

    @property
    def columns(self) -> frozenset[str]:
        """Column names."""
        return frozenset(self._types)

    @property
    def parts(self) -> int:
        """Number of row groups."""
        return len(self._begins) - 1

    def _trust(self) -> None:
        """A copy without lines (`write_light`) cannot be compared; fetching it warns."""
        if not self._local or "line" not in self._types:
            return
        if not self._is_known():
            self.compare()
            note_checked(self._path)
        self._trusted = True

    def compare(self) -> None:
        """Compares the columns with their lines; UserError where they differ."""
        if "line" in self._types:
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

    def __iter__(self) -> Iterator[bytes]:
        for number in range(self.parts):
            yield from self._group(number)

    def named(self) -> Iterator[tuple[str, int, bytes]]:
        """Journal, offset there, and bytes of each line."""
        journals = packed_files(self._path.parent, self._path.stem)
        for number in range(self.parts):
            group = self._read(number, ["file", "start", "line"])
            for file, start, line in zip(*map(values_of, group.columns), strict=True):
                if file not in journals or not 0 <= start <= journals[file][0] - len(line):
                    raise UserError(f"{self._path}: names a place that is in no journal of it; take it from a copy")
                yield file, start, line

    def keys(self, questions: Collection[tuple[str, str]] | None = None) -> Iterator[StoredKey | bytes | None]:
        """Key of each line by the columns; the line itself where null, None for other questions."""
        if not {LIGHT, *KEYS} <= self._types.keys():
            yield from self
            return
        self._trust()
        columns = [*KEYS, *(name for name in ("model", "run") if name in self._types)]
        for number in range(self.parts):
            table = self._read(number, columns, nulls=True)
            rows = zip(*map(values_of, table.columns), strict=True)
            for row, (task, question_id, trial, *origin) in enumerate(rows):
                if questions is not None and (task, question_id) not in questions and task is not None:
                    yield None
                elif task is None or question_id is None or trial is None or origin[:1] == [None]:
                    yield self._group(number)[row]
                else:
                    yield StoredKey(Key(task=task, question_id=question_id, trial=trial), *origin)

    def write_light(self, target: Path) -> bool:
        """Writes the file without its lines; false if some line has no light one."""
        if not {LIGHT, *KEYS} <= self.columns:
            return False
        names = [name for name in self._types if name != "line"]
        schema = self._file.schema_arrow
        schema = schema.remove(schema.get_field_index("line")) if "line" in self._types else schema
        with pq.ParquetWriter(target, schema, **writing_options(schema)) as writer:
            for number in range(self.parts):
                table = self._read(number, names, nulls=True)
                if table[LIGHT].null_count:
                    return False
                writer.write_table(table.cast(schema), row_group_size=MOST_ROWS)
        return True

    def at(self, row: int) -> bytes:
        """Line of a row."""
        number = bisect_right(self._begins, row) - 1
        return self._group(number)[row - self._begins[number]]

    def _group(self, number: int) -> list[bytes]:
        """The last group is kept."""
        if self._group_read[0] != number:
            self._group_read = -1, []  # before the next one is read
            self._group_read = number, self._lines(number)
        return self._group_read[1]

    def _lines(self, number: int) -> list[bytes]:
        if not self._light:
            return values_of(self._read(number, ["line"])["line"])
        self._trust()
        light = self._read(number, [LIGHT], nulls=True)[LIGHT]
        if light.null_count:  # not a record
            light = pa.compute.coalesce(light, self._read(number, ["line"])["line"])
        return values_of(light)

    def _read(self, number: int, columns: Sequence[str], nulls: bool = False) -> pa.Table:
        damage = pa.ArrowException, KeyError, ValueError, MemoryError
        with explain_errors(f"{self._path}: group {number} cannot be read", "", *damage):
            rows = self._file.metadata.row_group(number).num_rows
            if rows > MOST_ROWS:
                raise ValueError(f"{rows:,} rows, and {MOST_ROWS:,} are the most")
            kinds = {"line": pa.large_binary(), LIGHT: pa.large_binary(), "start": pa.int64(), "trial": pa.int64()}
            types = {name: self._types[name] for name in columns}
            kinds = {**types, **kinds, "question_id": pa.string()}
            if any(pa.types.is_nested(kind) or kind != kinds[name] for name, kind in types.items()):
                raise ValueError("a column is of another type")
            if not self._is_known():
                self._weigh(number, types)
            table = self._file.read_row_group(number, columns=list(columns)).select(list(columns))
            if not self._is_known():
                table.validate(full=True)
            if table.num_rows != rows:
                raise ValueError("a column is of another length")
            if not nulls and any(column.null_count for column in table.columns):
                raise ValueError("a line of it is empty")
            return table

    def _is_known(self) -> bool:
        self._trusted = self._trusted or (self._local and is_checked(self._path))
        return self._trusted

    def _weigh(self, number: int, types: Mapping[str, Any]) -> None:
        """Unpacks values one by one, since a footer may lie: a value has at most 2 GiB.

        `RowGroupMetaData.column` is never called: a wrong footer ends the process there.
        """
        for name in (name for name, kind in types.items() if not pa.types.is_primitive(kind)):
            size = 0
            for batch in self._file.iter_batches(1, row_groups=[number], columns=[name]):
                column = batch.column(0)
                size += (column.dictionary_decode() if is_words(column.type) else column).nbytes
                if size > MOST_BYTES:
                    raise ValueError(f"{name} unpacks to more than {MOST_BYTES / 1e9:,.1f} GB")


def writing_options(schema: Any) -> dict[str, Any]:
    """Options of `ParquetWriter`, with page checksums."""
    words = [field.name for field in schema if is_words(field.type)]
    return {"compression": "zstd", "use_dictionary": words, "write_page_checksum": True}


def is_checked(path: Path) -> bool:
    """True if this version has compared columns with lines on this machine."""
    with closing(Store("packed")) as store:
        return store.get(_print(path)) is not None


def note_checked(path: Path) -> None:
    """Remembers that they are equal."""
    with closing(Store("packed")) as store:
        store.put(_print(path), "same")


def _print(path: Path) -> str:
    """Identity of an unchanged file: only the system sets `ctime`."""
    state = path.stat()
    times = state.st_mtime_ns, state.st_ctime_ns
    return json.dumps([__version__, str(path.resolve()), state.st_dev, state.st_ino, state.st_size, *times])


def values_of(column: Any) -> list[Any]:
    """Values of a column; each dictionary value becomes one object."""
    if not is_words(column.type):
        plain: list[Any] = column.to_pylist()
        return plain
    values = []
    for chunk in column.chunks:
        words = [*chunk.dictionary.to_pylist(), None]
        values += [words[-1 if index is None else index] for index in chunk.indices.to_pylist()]
    return values


def is_words(kind: Any) -> bool:
    """True for a dictionary-encoded column."""
    return bool(pa.types.is_dictionary(kind))


R = TypeVar("R", bound=Record)
LIGHT = "light"
PackedRow = tuple[str, int, bytes]
"""Journal, offset there, and bytes of a line."""
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_KINDS: Mapping[str, Mapping[str, type]] = {
    "responses": {"model": str, "run": str, "finish_reason": str, **dict.fromkeys(_TOKENS, int), "seconds": float},
    "verdicts": {
        "state": str,
        **dict.fromkeys(("points", "low", "high", "max_points"), float),
        "correct": bool,
        "judge": str,
    },
    "failures": {"state": str},
}
"""Further columns of a stem, with their types."""
WITHOUT_TEXTS = ("responses", "verdicts")
"""Stems with light records."""
MODELS: dict[str, type[Response | Failure | Verdict]] = {
    "responses": Response,
    "earlier": Response,
    "failures": Failure,
    "verdicts": Verdict,
    "repeats": Verdict,
}
"""Records of the journals with keys."""


class StoredKey(NamedTuple):
    """Key of a record; model and run of a response."""

    key: Key
    model: str = ""
    run: str | None = None


class LightResponse(Response):
    """Response without text and thinking; `hash` is its `sha256`, `wide` and `narrow` see `size_of`."""

    hash: str | None = None
    wide: int = 0
    narrow: int = 0

    @property
    def sha256(self) -> str:
        """Hash of the text."""
        return self.hash or super().sha256


def size_of(response: Response) -> tuple[int, int]:
    """Characters of a stripped text that are about a token each (CJK), and the others."""
    if isinstance(response, LightResponse) and response.hash is not None:
        return response.wide, response.narrow
    text = response.text.strip()
    wide = wide_in(text)
    return wide, len(text) - wide


def schema_of(stem: str) -> pa.Schema:
    """Parquet schema of a stem."""
    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    words = pa.dictionary(pa.int32(), pa.string())
    fields = [("file", words), ("start", pa.int64()), ("line", pa.large_binary())]
    fields += [("task", words), ("question_id", pa.string()), ("trial", pa.int64())]
    fields += [
        (name, words if name in ("model", "run") else kinds[kind]) for name, kind in _KINDS.get(stem, {}).items()
    ]
    fields += [(LIGHT, pa.large_binary())] * (stem in WITHOUT_TEXTS)
    return pa.schema(fields)


def columns_of(stem: str, rows: Iterable[PackedRow]) -> list[list[Any]]:
    """Columns of rows in schema order; null where a line is no record.

    Contract: they depend on line and record version alone, so that files from elsewhere can be checked.
    """
    columns: list[list[Any]] = [[] for _ in schema_of(stem)]
    for row in rows:
        record = _record(stem, row[2])  # with its texts: one at a time
        key = record.key if record else None
        trial = key.trial if key and abs(key.trial) < 1 << 62 else None
        values = [*row, *((key.task, key.question_id, trial) if key else (None, None, None))]
        values += [_fitting(getattr(record, name)) if record else None for name in _KINDS.get(stem, {})]
        if stem in WITHOUT_TEXTS:
            values.append(light_line(record) if record else None)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


def _record(stem: str, line: bytes) -> Any:
    try:
        return MODELS[stem].model_validate_json(line)
    except (KeyError, ValueError):
        return None


def _fitting(value: Any) -> Any:
    """None for a number beyond 64 bits."""
    return None if isinstance(value, int) and abs(value) >= 1 << 62 else value


def contradiction(stem: str, rows: Sequence[PackedRow], stored: Mapping[str, Sequence[Any]]) -> tuple[int, str] | None:
    """Row and column of the first value unlike its line, if any."""
    for field, made in zip(schema_of(stem), columns_of(stem, rows), strict=True):
        for row, (here, line) in enumerate(zip(stored.get(field.name, made), made, strict=True)):
            if here != line:
                return row, str(field.name)
    return None


def light_line(record: Record) -> bytes | None:
    """Record without its texts, as JSON; None for records with short lines."""
    if isinstance(record, Response):
        return to_json(_of_response(record))
    return to_json(_of_verdict(record)) if isinstance(record, Verdict) else None


def light_model(model: type[R]) -> type[R]:
    """Model of light lines."""
    return cast("type[R]", LightResponse) if model is Response else model


_TEXTS_OF_RESPONSE: Any = {"text", "reasoning", "prompt_sha256"}
_TEXTS_OF_VERDICT: Any = {
    "reason": True,
    "process_ungraded": True,
    "parts": {"__all__": {"answer": True, "gold": True, "reason": True, "votes": {"__all__": {"reason", "raw"}}}},
    "process": {"errors": {"__all__": {"step", "reason"}}},
    "calls": {"__all__": {"raw", "problem"}},
}
# Default values are written out: copying defaults costs pydantic more than parsing them.


def _of_response(response: Response) -> dict[str, Any]:
    wide, narrow = size_of(response)
    light = response.model_dump(exclude=_TEXTS_OF_RESPONSE)
    if response.earlier:
        light["earlier"]["text"] = ""
    return {**light, "text": "", "hash": response.sha256, "wide": wide, "narrow": narrow}


def _of_verdict(verdict: Verdict) -> dict[str, Any]:
    light = verdict.model_dump(exclude=_TEXTS_OF_VERDICT)
    for part in light["parts"]:
        part |= {"answer": None, "gold": "", "reason": ""}
    for source, call in zip(verdict.calls, light["calls"], strict=True):
        call["raw"] = None if source.raw is None else ""
    if verdict.process is not None:  # scores count distinct steps
        steps = {error.step: None for error in verdict.process.errors}
        numbers = {step: str(number) for number, step in enumerate(steps)}
        for listed, error in zip(verdict.process.errors, light["process"]["errors"], strict=True):
            error |= {"step": numbers[listed.step], "reason": ""}
    return {**light, "process_ungraded": "open" if verdict.process_ungraded else None, "reason": ""}
