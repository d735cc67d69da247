"""Reads the rows of JSON, JSONL, Parquet, CSV and TSV files, one at a time.

Contract: every row comes with the place it stands at (file:line, or file:row for Parquet). What is no row there
(broken, not UTF-8, not an object, too long) is logged and passed over; a file that breaks off gives what came before.
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
"""With buffering ahead (`pre_buffer`) a whole row group would be held instead."""
JSONL_BUFFER = 1 << 18
_FETCHED = (*SUFFIXES, ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".md", ".txt")
_ABOUT = re.compile(
    r"readme|licen[cs]e|copying|notice|citation|changelog|authors|data_licen[cs]e|.*\.md$", re.IGNORECASE
)
_DECODER = json.JSONDecoder(object_pairs_hook=members)
Found = tuple[Any, str, Mapping[str, Any], bool]


@dataclass
class SourceRow:
    """One row as found, and where. Nobody changes one; that it is not frozen spares each of them two microseconds.

    Attributes:
        data: what it holds.
        file: the file it stands in.
        number: its place among the rows of the file, from 1.
        where: file:line, for the log.
        context: what the file says of all its rows.
        alone: whether it is the whole file.
        found: what it held in its source, where `data` is not that any more.
        origin: who published its file, where that is proved.
        language: of the rows of its file.
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
        """The row with other data. A copy by `dataclasses.replace` takes four times as long."""
        place = (self.file, self.number, self.where, self.context, self.alone)
        return SourceRow(data, *place, self.as_found, self.origin, self.language)

    @property
    def folder(self) -> Path:
        """Where its file lies."""
        return _folder_of(self.file)

    @property
    def as_found(self) -> Mapping[str, Any]:
        """What the row held in its source, by the source's own keys."""
        return self.data if self.found is None else self.found

    @property
    def id(self) -> str:
        """The row's own id; where it has none, the file's name with its index or the row's number in the file.

        Raises:
            BadRow: it has one that is neither a text nor a number.
        """
        id, index = self.data.get("id"), self.data.get("index")
        if id is None or (isinstance(id, str) and not id.strip()):
            number = f"{self.number:04d}" if index in (None, "") or not isinstance(index, str | int) else index
            return f"{self.file.stem}_{number}"
        if isinstance(id, str | int):
            return str(id).strip()
        raise BadRow(f"id is {type(id).__name__}, not a text")


@lru_cache(maxsize=64)
def _folder_of(file: Path) -> Path:
    """The same object for all rows of a file: a path finds out its hash once."""
    return file.parent


def source_root(source: Path) -> Path:
    """The folder a source's files may lie in: the source itself, or the folder of the file.

    Raises:
        UserError: there is no such file or folder.
    """
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    return source if source.is_dir() else source.parent


def roots(root: Path) -> tuple[Path, ...]:
    """The resolved folders that the files of a source may lie in.

    A snapshot in the Hub's cache is a folder of links into `blobs` beside it, so those are the source's too.
    """
    root = root.resolve()
    return (root, root.parent.parent / "blobs") if root.parent.name == "snapshots" else (root,)


def hub_snapshot(name: str) -> Path:
    """The folder of a data set fetched from the Hub (or of its copy in the cache): its rows, images and texts.

    Raises:
        UserError: the Hub cannot be reached or has no such data set.
    """
    from livek12.core.hub import NotFetched, fetch

    try:
        return fetch(name, patterns=[f"*{end}" for end in _FETCHED])
    except NotFetched as error:
        raise UserError(f"cannot fetch {name} from the Hub ({error}); give --source a local copy") from None


def read_rows(source: Path, log: Log, *, other_files: Collection[str] = ()) -> Iterator[SourceRow]:
    """The rows of a file, or of all files of a folder in the order of their names.

    Args:
        source: the file or folder.
        log: takes what is no row.
        other_files: names of files of a folder that hold no rows of questions.

    Raises:
        UserError: the source is not there or holds no file of a known kind.
    """
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
            found = _READERS[file.suffix.lower()](file, name, log)
            for number, (data, where, context, alone) in enumerate(found, start=1):
                log.read += 1
                if isinstance(data, dict):
                    yield SourceRow(data, file, number, where, context, alone and source.is_dir())
                else:
                    log.skip(where, None, f"a row is an object, this is {type(data).__name__}")
        except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
            log.skip(name, None, f"the file cannot be read ({getattr(error, 'strerror', None) or error})")


def unread_files(source: Path, other_files: Collection[str]) -> list[str]:
    """The files of a folder that hold no rows as they are read here, and are no pictures, pages or words about it."""
    if not source.is_dir():
        return []
    files = (file for file in sorted(source.rglob("*")) if file.is_file() and file.name not in other_files)
    told = (file for file in files if file.suffix.lower() not in SUFFIXES and not is_picture(file))
    names = (file.relative_to(source) for file in told if not _ABOUT.match(file.name))
    return [str(name) for name in names if not any(part.startswith(".") for part in name.parts)]


def _shown_id(data: Any) -> str | None:
    id = data.get("id") if isinstance(data, dict) else None
    return str(id) if isinstance(id, str | int) else None


def _is_data(file: Path, root: Path, other_files: Collection[str]) -> bool:
    """Whether a file is to be read; a link to nothing is, so that it is not passed over in silence."""
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    known = file.suffix.lower() in SUFFIXES and file.name not in other_files
    return known and not hidden and (file.is_file() or file.is_symlink())


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
    """As `json.loads`, without a new decoder for every line."""
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
            if twice := next((one for one in names if names.count(one) > 1), None):
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
    """The rows of a batch, or what is wrong with one."""
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
    """Whether all texts of a row have a UTF-8 form: no bad bytes, and no lone surrogate escape; else logs it."""
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
