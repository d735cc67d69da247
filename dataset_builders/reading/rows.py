"""Streams the rows of JSON, JSONL, Parquet, CSV and TSV files.

Contract: every row has its place (file:line, or file:row for Parquet). Invalid rows are logged and skipped; a truncated
file gives the rows before the break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import pointer_note_of
from livek12.core.tables import MAX_LINE, BadLine, read_lines, read_table
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.reading.json_rows import members, read_json
from livek12.dataset_builders.reading.languages import NOT_TOLD, FileLanguage
from livek12.dataset_builders.reading.pictures import is_picture
from livek12.dataset_builders.reading.publishers import UNKNOWN, Origin

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".csv", ".tsv")
PARQUET_BATCH = 64
PARQUET_BUFFER = 1 << 20
"""With buffering ahead (`pre_buffer`) a whole row group would be in memory instead."""
JSONL_BUFFER = 1 << 18
_FETCHED = (*SUFFIXES, ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".md", ".txt")
_ABOUT = re.compile(
    r"readme|licen[cs]e|copying|notice|citation|changelog|authors|data_licen[cs]e|.*\.md$", re.IGNORECASE
)
_DECODER = json.JSONDecoder(object_pairs_hook=members)
Found = tuple[Any, str, Mapping[str, Any], bool]


@dataclass
class SourceRow:
    """One row and its place. Treat as immutable; freezing it would cost two microseconds per row.

    Attributes:
        number: its position among the rows of the file, from 1.
        where: file:line, for the log.
        context: the file's statements about all its rows.
        found: its original content, if `data` was changed.
        origin: the proved publisher of its file.
    """

    data: dict[str, Any]
    file: Path
    number: int
    where: str
    context: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    found: Mapping[str, Any] | None = None
    origin: Origin = UNKNOWN
    language: FileLanguage = NOT_TOLD

    def holding(self, data: dict[str, Any]) -> SourceRow:
        """The row with other data; four times as fast as `dataclasses.replace`."""
        place = (self.file, self.number, self.where, self.context, self.alone)
        return SourceRow(data, *place, self.as_found, self.origin, self.language)

    @property
    def folder(self) -> Path:
        """The folder of its file."""
        return _folder_of(self.file)

    @property
    def as_found(self) -> Mapping[str, Any]:
        """The original content of the row, by the source's keys."""
        return self.data if self.found is None else self.found

    @property
    def id(self) -> str:
        """The row's own id, else the file's name with the row's index or number."""
        id, index = self.data.get("id"), self.data.get("index")
        if id is None or (isinstance(id, str) and not id.strip()):
            number = f"{self.number:04d}" if index in (None, "") or not isinstance(index, str | int) else index
            return f"{self.file.stem}_{number}"
        if isinstance(id, str | int):
            return str(id).strip()
        raise BadRow(f"id is {type(id).__name__}, not a text")


@lru_cache(maxsize=64)
def _folder_of(file: Path) -> Path:
    """The same object for all rows of a file, since a path caches its hash."""
    return file.parent


def source_root(source: Path) -> Path:
    """The folder of a source's files: the source itself, or the folder of the file."""
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    return source if source.is_dir() else source.parent


def roots(root: Path) -> tuple[Path, ...]:
    """The resolved folders that may hold files of a source.

    A snapshot in the Hub's cache consists of links into `blobs`, so that folder is included.
    """
    root = root.resolve()
    return (root, root.parent.parent / "blobs") if root.parent.name == "snapshots" else (root,)


def hub_snapshot(name: str) -> Path:
    """The folder of a dataset fetched from the Hub or its cache: rows, images and texts."""
    from livek12.core.hub import NotFetched, fetch

    try:
        return fetch(name, patterns=[f"*{end}" for end in _FETCHED])
    except NotFetched as error:
        raise UserError(f"cannot fetch {name} from the Hub ({error}); give --source a local copy") from None


def read_rows(source: Path, log: Log, *, other_files: Collection[str] = ()) -> Iterator[SourceRow]:
    """Yields the rows of a file, or of all files of a folder in the order of their names."""
    root = source_root(source)
    files = [source] if source.is_file() else sorted(f for f in source.rglob("*") if _is_data(f, root, other_files))
    if not files or files[0].suffix.lower() not in SUFFIXES:
        raise UserError(f"{source}: no rows to read; a source is, or holds, {', '.join(SUFFIXES)} files")
    for file in files:
        name = str(file.relative_to(root))
        try:
            if source.is_dir() and not any(file.resolve().is_relative_to(allowed) for allowed in roots(root)):
                log.skip(name, None, "the link leads out of the source's folder")
                continue
            if note := pointer_note_of(file):
                log.skip(name, None, f"is {note}")
                continue
            rows = _READERS[file.suffix.lower()](file, name, log)
            for number, (data, where, context, alone) in enumerate(rows, start=1):
                log.read += 1
                if isinstance(data, dict):
                    yield SourceRow(data, file, number, where, context, alone and source.is_dir())
                else:
                    log.skip(where, None, f"a row is an object, this is {type(data).__name__}")
        except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
            log.skip(name, None, f"the file cannot be read ({getattr(error, 'strerror', None) or error})")


def unread_files(source: Path, other_files: Collection[str]) -> list[str]:
    """The files of a folder without readable rows, except pictures, pages and documentation."""
    if not source.is_dir():
        return []
    files = (file for file in sorted(source.rglob("*")) if file.is_file() and file.name not in other_files)
    others = (file for file in files if file.suffix.lower() not in SUFFIXES and not is_picture(file))
    names = (file.relative_to(source) for file in others if not _ABOUT.match(file.name))
    return [str(name) for name in names if not any(part.startswith(".") for part in name.parts)]


def _shown_id(data: Any) -> str | None:
    id = data.get("id") if isinstance(data, dict) else None
    return str(id) if isinstance(id, str | int) else None


def _is_data(file: Path, root: Path, other_files: Collection[str]) -> bool:
    """True if a file is to be read, including broken links, which must not be skipped silently."""
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    readable = file.suffix.lower() in SUFFIXES and file.name not in other_files
    return readable and not hidden and (file.is_file() or file.is_symlink())


def _jsonl(file: Path, name: str, log: Log) -> Iterator[Found]:
    with file.open("rb", buffering=JSONL_BUFFER) as stream:
        for number, raw in read_lines(stream):
            where = f"{name}:{number}"
            if not raw.strip():
                continue
            if len(raw) > MAX_LINE:
                log.read += 1
                log.skip(where, None, f"the line has more than {MAX_LINE >> 20} MiB")
                continue
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="surrogateescape")
            try:
                data = _loads(text)
            except (ValueError, RecursionError) as error:
                log.read += 1
                log.skip(where, None, f"not JSON: {error}")
                continue
            if _has_utf8(text, data, where, log):
                yield data, where, {}, False


def _loads(text: str) -> Any:
    return json.loads(text) if text.startswith("\ufeff") else _DECODER.decode(text)


def _json(file: Path, name: str, log: Log) -> Iterator[Found]:
    for item in read_json(file):
        if isinstance(item, BadLine):
            log.skip(f"{name}:{item.line}" if item.line else name, None, item)
            continue
        where = f"{name}:{item.line}"
        if _has_utf8(item.text, item.data, where, log):
            yield item.data, where, item.context, item.alone


def _table(file: Path, name: str, log: Log) -> Iterator[Found]:
    for line, row in read_table(file):
        if isinstance(row, BadLine):
            log.read += 1
            log.skip(f"{name}:{line}", row.id, row)
        else:
            yield row, f"{name}:{line}", {}, False


def _parquet(file: Path, name: str, log: Log) -> Iterator[Found]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(file, buffer_size=PARQUET_BUFFER, pre_buffer=False) as parquet:
            names = parquet.schema_arrow.names
            if twice := next((column for column in names if names.count(column) > 1), None):
                log.skip(name, None, f"column {twice!r} is there more than once")
                return
            groups = range(parquet.num_row_groups)  # asked for all at once, pyarrow keeps each until the last is read
            batches = (batch for group in groups for batch in parquet.iter_batches(PARQUET_BATCH, row_groups=[group]))
            for batch in batches:
                for data in _dicts(batch):
                    number += 1
                    where = f"{name}:{number}"
                    if isinstance(data, str):
                        log.read += 1
                        log.skip(where, None, data)
                    else:
                        yield data, where, {}, False
    except (pa.ArrowException, OSError) as error:
        log.skip(f"{name}:{number + 1}", None, f"damaged Parquet ({error}); cannot be read from here on")


def _dicts(batch: Any) -> Iterator[dict[str, Any] | str]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for row in range(batch.num_rows):
            try:
                yield batch.slice(row, 1).to_pylist()[0]
            except UnicodeDecodeError:
                yield "not valid UTF-8"


_READERS = {".json": _json, ".jsonl": _jsonl, ".ndjson": _jsonl, ".parquet": _parquet, ".csv": _table, ".tsv": _table}


def _has_utf8(text: str, data: Any, where: str, log: Log) -> bool:
    try:
        if not text.isascii():
            text.encode()
        if "\\ud" in text or "\\uD" in text:
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        log.read += 1
        log.skip(where, _shown_id(data), "not valid UTF-8")
        return False
    return True
