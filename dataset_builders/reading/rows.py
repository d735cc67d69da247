"""Streams the rows of JSON, JSONL, Parquet, CSV and TSV files in bounded memory.

Contract: every row has its place (file:line, or file:row for Parquet). Invalid rows are logged and skipped; a truncated
file gives the rows before the break. In JSON, rows are the elements of the top-level list, or of a list named in
`LISTS` in a top-level object, whose other members are the context of the rows after them; a context member after the
rows is a problem. An object without such a list is one row if it asks something, else the lists in it hold the rows. A
row may have `MAX_ROW` characters.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import pointer_note_of
from livek12.core.lazy import pa, pq
from livek12.core.tables import MAX_LINE, BadLine, read_lines, read_table
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.reading.fields import NAMES, OURS, spelled
from livek12.dataset_builders.reading.images import is_picture, roots
from livek12.dataset_builders.reading.languages import NOT_TOLD, FileLanguage
from livek12.dataset_builders.reading.publishers import UNKNOWN, Origin

LISTS = frozenset({"example", "examples", "data", "rows", "questions", "items", "train", "test", "validation"})
"""Names of the list of rows as a member of an object."""
MAX_ROW = 64 << 20
CHUNK = 1 << 20
_NEAR = 16
"""Parsing an incomplete value fails this near its end, or in an open string."""
_ENDS = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Element:
    """A row: text, parsed value, first line and context; `alone` if it is the whole file."""

    line: int
    text: str
    data: Any
    context: dict[str, Any]
    alone: bool = False


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` that raises `Twice` for a duplicate member, which would be lost."""
    members_by_name = dict(pairs)
    if len(members_by_name) < len(pairs):
        names = [name for name, _ in pairs]
        raise Twice(next(name for name in names if names.count(name) > 1))
    return members_by_name


class Twice(ValueError):
    """An object has a duplicate member."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is there more than once")


def _rows(text: _Text) -> Iterator[Element | BadLine]:
    first = True
    while first or text.peek():
        start, line, any_value, text.empty_list = text.peek(), text.line, False, False
        if start and start not in _ENDS and not first:
            raise ValueError(f"{start!r} stands where a row belongs")
        for item in _list(text, {}) if start == "[" else _object(text, first) if start == "{" else ():
            any_value = True
            yield item
        if not any_value and not text.empty_list:
            yield BadLine(0 if first else line, "not a list of rows")
        if start not in _ENDS:
            return
        first = False


def _list(text: _Text, context: dict[str, Any]) -> Iterator[Element | BadLine]:
    for line, row in text.elements():
        yield row if isinstance(row, BadLine) else Element(line, text.last, row, context)


def _object(text: _Text, first: bool) -> Iterator[Element | BadLine]:
    begin, listed, pieces = text.line, False, list[str]()
    rest: dict[str, Any] = {}
    context: dict[str, Any] = {}
    for line, name in text.elements(keys=True):
        if name in LISTS and text.peek() == "[":
            listed = True
            yield from _list(text, context)
            continue
        value = text.value()
        if isinstance(value, BadLine) or name in rest:
            yield value if isinstance(value, BadLine) else BadLine(line, str(Twice(name)))
        elif listed and _known(name) and not isinstance(value, list | dict):
            yield BadLine(line, f"{name!r} holds for the rows, and stands behind them: put it before them")
        else:
            rest[name] = value
            pieces += [name, text.last]
            if not listed and not _holds_rows(value):
                context[name] = value
    if not listed and _asks(rest):
        yield Element(begin, " ".join(pieces), rest, {}, alone=first and not text.peek())
        return
    if rest and not listed and all(map(_asks, rest.values())):
        yield from (Element(begin, "", {"id": name, **row}, {}) for name, row in rest.items())
        return
    for value in filter(_holds_rows, rest.values()):
        yield from (Element(begin, json.dumps(row), row, context) for row in value)


def _asks(value: object) -> bool:
    return isinstance(value, dict) and any(OURS.get(name, name) == "question" for name in map(spelled, value))


def _holds_rows(value: object) -> bool:
    return isinstance(value, list) and any(map(_asks, value))


def _known(name: str) -> bool:
    return spelled(name) in OURS or spelled(name) in NAMES


class _Text:
    """A file's text; only the part being read is in memory."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self._held, self._at, self._counted = "", 0, 0
        self._line = 1
        self._decoder, self._plain = json.JSONDecoder(object_pairs_hook=_members), json.JSONDecoder()
        self.last = ""
        self.empty_list = False

    @property
    def line(self) -> int:
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """Next non-space character; empty at the end of the file."""
        while True:
            self._at = json.decoder.WHITESPACE.match(self._held, self._at).end()  # type: ignore[attr-defined]
            if self._at < len(self._held) or not self._more(CHUNK):
                return self._held[self._at : self._at + 1]

    def elements(self, *, keys: bool = False) -> Iterator[tuple[int, Any]]:
        """Elements of the list, or keys of the object, that begins here, each with its line.

        The caller must read the value of a key before the next key.
        """
        end = _ENDS[self._take()]
        if self.peek() == end:
            self._take()
            self.empty_list = True
            return
        while True:
            self.peek()
            line, value = self.line, self.value()
            if keys:
                self._expect(":")
                yield line, str(value)
            elif self.peek() not in (",", end):
                raise ValueError("the list breaks off after this row")
            else:
                yield line, value
            if self._expect("," + end) == end:
                return

    def value(self) -> Any:
        """Value that begins here; a `BadLine` if it has a duplicate member."""
        self.peek()
        while True:
            try:
                value, end = self._decode()
            except json.JSONDecodeError as error:
                buffered = len(self._held) - self._at
                breaks_off = error.msg.startswith("Unterminated") or error.pos >= len(self._held) - _NEAR
                if not breaks_off or buffered > MAX_ROW or not self._more(max(CHUNK, buffered)):
                    raise ValueError(error.msg) from None
                continue
            if end == len(self._held) and self._more(CHUNK):
                continue  # a number may go on
            self.last, self._at = self._held[self._at : end], end
            return value

    def _decode(self) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self._held, self._at)
        except Twice as error:
            _, end = self._plain.raw_decode(self._held, self._at)
            return BadLine(self.line, str(error)), end

    def _expect(self, characters: str) -> str:
        if (character := self.peek()) and character in characters:
            return self._take()
        raise ValueError(
            f"{character!r} stands where {' or '.join(characters)} belongs" if character else "the file ends"
        )

    def _take(self) -> str:
        self._at += 1
        return self._held[self._at - 1]

    def _more(self, size: int) -> bool:
        _ = self.line
        new = self._stream.read(size)
        self._held, self._at, self._counted = self._held[self._at :] + new, 0, 0
        return bool(new)


SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".csv", ".tsv")
PARQUET_BATCH = 64
PARQUET_BUFFER = 1 << 20
"""With buffering ahead (`pre_buffer`) a whole row group would be in memory instead."""
JSONL_BUFFER = 1 << 18
_FETCHED = (*SUFFIXES, ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".md", ".txt")
_ABOUT = re.compile(
    r"readme|licen[cs]e|copying|notice|citation|changelog|authors|data_licen[cs]e|.*\.md$", re.IGNORECASE
)
_DECODER = json.JSONDecoder(object_pairs_hook=_members)
Found = tuple[Any, str, Mapping[str, Any], bool]


@dataclass
class SourceRow:
    """One row and its place. Treat as immutable; freezing it would cost two microseconds per row.

    Attributes:
        where: file:line, for the log.
        context: the file's statements about all its rows.
        found: its original content, if `data` was changed.
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
        """Row with other data; four times as fast as `dataclasses.replace`."""
        place = (self.file, self.number, self.where, self.context, self.alone)
        return SourceRow(data, *place, self.as_found, self.origin, self.language)

    @property
    def folder(self) -> Path:
        """Folder of its file."""
        return _folder_of(self.file)

    @property
    def as_found(self) -> Mapping[str, Any]:
        """Original content of the row, by the source's keys."""
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
    """Folder of a source's files: itself, or that of the file."""
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    return source if source.is_dir() else source.parent


def hub_snapshot(name: str) -> Path:
    """Folder of a dataset fetched from the Hub or its cache: rows, images and texts."""
    from livek12.core.hub import NotFetched, fetch

    try:
        return fetch(name, patterns=[f"*{end}" for end in _FETCHED])
    except NotFetched as error:
        raise UserError(f"cannot fetch {name} from the Hub ({error}); give --source a local copy") from None


def read_rows(source: Path, log: Log, *, other_files: Collection[str] = ()) -> Iterator[SourceRow]:
    """Yields the rows of a file, or of all files of a folder by name."""
    root, files = source_root(source), _data_files(source, other_files)
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


def bytes_of_rows(source: Path, other_files: Collection[str]) -> int:
    """Bytes of the files that hold the rows of a source."""
    return sum(file.stat().st_size for file in _data_files(source, other_files) if file.exists())


def unread_files(source: Path, other_files: Collection[str]) -> list[str]:
    """Files of a folder without readable rows, except pictures, pages and documentation."""
    if not source.is_dir():
        return []
    others = (file for file in source.rglob("*") if file.suffix.lower() not in SUFFIXES and not is_picture(file))
    files = (file for file in others if file.name not in other_files and file.is_file())
    names = (file.relative_to(source) for file in sorted(files) if not _ABOUT.match(file.name))
    return [str(name) for name in names if not any(part.startswith(".") for part in name.parts)]


def _data_files(source: Path, other_files: Collection[str]) -> list[Path]:
    return [source] if source.is_file() else sorted(f for f in source.rglob("*") if _is_data(f, source, other_files))


def _is_data(file: Path, root: Path, other_files: Collection[str]) -> bool:
    """Includes broken links, which must not be skipped silently."""
    if file.suffix.lower() not in SUFFIXES or file.name in other_files:
        return False
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    return not hidden and (file.is_file() or file.is_symlink())


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
                data = json.loads(text) if text.startswith("\ufeff") else _DECODER.decode(text)
            except (ValueError, RecursionError) as error:
                log.read += 1
                log.skip(where, None, f"not JSON: {error}")
                continue
            if _has_utf8(text, data, where, log):
                yield data, where, {}, False


def _json(file: Path, name: str, log: Log) -> Iterator[Found]:
    """Bytes that are not UTF-8 become surrogate escapes, to be refused."""
    with file.open("rb") as stream:
        text = _Text(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=""))
        try:
            for item in _rows(text):
                where = f"{name}:{item.line}" if item.line else name
                if isinstance(item, BadLine):
                    log.skip(where, None, item)
                elif _has_utf8(item.text, item.data, where, log):
                    yield item.data, where, item.context, item.alone
        except (ValueError, RecursionError) as error:
            log.skip(f"{name}:{text.line}", None, f"not JSON ({error}); the file cannot be read from here on")


def _table(file: Path, name: str, log: Log) -> Iterator[Found]:
    for line, row in read_table(file):
        if isinstance(row, BadLine):
            log.read += 1
            log.skip(f"{name}:{line}", row.id, row)
        else:
            yield row, f"{name}:{line}", {}, False


def _parquet(file: Path, name: str, log: Log) -> Iterator[Found]:
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
    except (pa.ArrowException, OSError, UnicodeError) as error:
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
        id = data.get("id") if isinstance(data, dict) else None
        log.skip(where, str(id) if isinstance(id, str | int) else None, "not valid UTF-8")
        return False
    return True
