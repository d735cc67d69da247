"""Reads the rows of JSON, JSONL and Parquet files.

Contract: every row comes with the place it stands at (file:line, or file:row for Parquet). A line that is not
JSON, not UTF-8 or not an object is logged and passed over; a file that breaks off gives what came before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders.base import BadRow, Log, UniqueIds, one_line

SUFFIXES = (".json", ".jsonl", ".parquet")
PARQUET_BATCH = 64
_PARSE_ERRORS = (ValueError, RecursionError)


@dataclass(frozen=True)
class Row:
    """One row as found, and where; `number` counts the rows of a file from 1."""

    data: dict[str, Any]
    file: Path
    number: int
    where: str

    @property
    def id(self) -> str:
        """The row's own id; where it has none, the file's name and the row's number in it.

        Raises:
            BadRow: it has one that is neither a text nor a number.
        """
        id = self.data.get("id")
        if id is None or id == "":
            return f"{self.file.stem}_{self.number:04d}"
        if isinstance(id, str | int):
            return str(id)
        raise BadRow(f"id is {type(id).__name__}, not a text")


def source_root(source: Path) -> Path:
    """The folder a source's files may lie in: the source itself, or the folder of the file.

    Raises:
        UserError: there is no such file or folder.
    """
    if not source.exists():
        raise UserError(f"{source}: no such file or folder; give --source the data's file or folder")
    return source if source.is_dir() else source.parent


def hub_snapshot(name: str) -> Path:
    """The folder of a data set fetched from the Hub (or of its copy in the cache).

    Raises:
        UserError: the Hub cannot be reached or has no such data set.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset"))
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        raise UserError(
            f"cannot fetch {name} from the Hub ({one_line(error, 160)}); give --source a local copy"
        ) from None


def read_rows(source: Path, log: Log) -> Iterator[Row]:
    """The rows of a file, or of all files of a folder in the order of their names.

    Raises:
        UserError: the source is not there or holds no file of a known kind.
    """
    root = source_root(source)
    files = [source] if source.is_file() else sorted(f for f in source.rglob("*") if _is_data(f, root))
    if not files or files[0].suffix.lower() not in SUFFIXES:
        raise UserError(f"{source}: no rows to read; a source is, or holds, {', '.join(SUFFIXES)} files")
    for file in files:
        name = str(file.relative_to(root))
        reader = {".json": _json, ".jsonl": _jsonl, ".parquet": _parquet}[file.suffix.lower()]
        try:
            for number, (data, where) in enumerate(reader(file, name, log), start=1):
                log.read += 1
                if isinstance(data, dict):
                    yield Row(data, file, number, where)
                else:
                    log.skip(where, None, f"a row is an object, this is {type(data).__name__}")
        except OSError as error:
            raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def to_questions(rows: Iterable[Row], make: Callable[[Row], Question], log: Log) -> Iterator[Question]:
    """The question of each row with a unique id; a row that gives none is logged."""
    ids = UniqueIds()
    for row in rows:
        try:
            question = make(row)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            log.skip(row.where, _shown_id(row.data), f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
            continue
        except BadRow as error:
            log.skip(row.where, _shown_id(row.data), error)
            continue
        unique = ids.claim(question.id)
        if unique != question.id:
            log.note(row.where, question.id, f"an earlier question has this id: named {unique}")
            question = question.model_copy(update={"id": unique})
        yield question


def _shown_id(data: Any) -> str | None:
    id = data.get("id") if isinstance(data, dict) else None
    return str(id) if isinstance(id, str | int) else None


def _is_data(file: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    return file.suffix.lower() in SUFFIXES and file.is_file() and not hidden


def _jsonl(file: Path, name: str, log: Log) -> Iterator[tuple[Any, str]]:
    with file.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            where = f"{name}:{number}"
            if not raw.strip():
                continue
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="surrogateescape")
                data = json.loads(text)
            except _PARSE_ERRORS as error:
                log.skip(where, None, f"not JSON: {error}")
                continue
            yield from _checked(data, text, where, log)


def _json(file: Path, name: str, log: Log) -> Iterator[tuple[Any, str]]:
    """Elements of a top-level list one after the other, so that a broken end does not cost the beginning."""
    decoder = json.JSONDecoder()
    text = file.read_bytes().decode("utf-8-sig", errors="surrogateescape")
    position, line = _skip(text, 0), 1
    if text[position : position + 1] != "[":
        log.skip(name, None, "not a list of rows")
        return
    counted, position = 0, _skip(text, position + 1)
    while text[position : position + 1] != "]":
        line, counted = line + text.count("\n", counted, position), position
        where = f"{name}:{line}"
        try:
            data, end = decoder.raw_decode(text, position)
            position = _skip(text, end)
            if text[position : position + 1] not in (",", "]"):
                raise ValueError("the list breaks off after this row")
        except _PARSE_ERRORS as error:
            log.skip(where, None, f"not JSON ({error}); the file cannot be read from here on")
            return
        yield from _checked(data, text[counted:end], where, log)
        if text[position] == ",":
            position = _skip(text, position + 1)


def _parquet(file: Path, name: str, log: Log) -> Iterator[tuple[Any, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=PARQUET_BATCH):
            for data in batch.to_pylist():
                number += 1
                yield data, f"{name}:{number}"
    except (pa.ArrowException, OSError) as error:
        log.skip(f"{name}:{number + 1}", None, f"damaged Parquet ({error}); cannot be read from here on")


def _checked(data: Any, text: str, where: str, log: Log) -> Iterator[tuple[Any, str]]:
    """Passes the row on unless a text in it has no UTF-8 form (bad bytes, or a lone surrogate escape)."""
    try:
        text.encode()
        if "\\ud" in text.lower():
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        log.read += 1
        log.skip(where, _shown_id(data), "not valid UTF-8")
    else:
        yield data, where


def _skip(text: str, position: int) -> int:
    match = json.decoder.WHITESPACE.match(text, position)  # type: ignore[attr-defined]
    return int(match.end())
