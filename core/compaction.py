"""Compaction: packs the journals of a finished run into Parquet (`core.packed`) and restores them byte for byte.

Contract: no other command works in the folder meanwhile. After a kill the folder reads the same (files are written
under another name, read back and renamed; journals are removed last), and the same command finishes the work. Sorting
needs 48 bytes a line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from pydantic import BaseModel, ConfigDict

from livek12.core.errors import UserError
from livek12.core.files import create, remove_files, sync_place
from livek12.core.lazy import np, pa, pq
from livek12.core.packed import (
    LIGHT,
    META,
    STEMS,
    WITHOUT_TEXTS,
    PackedLines,
    columns_of,
    note_checked,
    packed_files,
    packed_path,
    schema_of,
    writing_options,
)
from livek12.core.progress import Progress
from livek12.core.records import Key
from livek12.core.run.access import Fence, alone
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import journal_files
from livek12.core.run.locks import close_own, is_held, lock_own
from livek12.core.run.spec import PACKED_VERSION, RunSpec, current_version
from livek12.core.run.sums import damage, note_whole, sums_path
from livek12.core.run_answers import answers_stamp, restamp_answers

GROUP_BYTES, GROUP_LINES = 16 << 20, 20_000
"""A row group ends at whichever comes first."""
_COPY = 1 << 20


class _Keyed(BaseModel):
    model_config = ConfigDict(strict=True)

    key: Key | None = None


_KEY = re.compile(rb'\{"key":(\{"task":"(?:[^"\\]|\\.)*+","question_id":"(?:[^"\\]|\\.)*+","trial":-?\d+\})[,}]')


@dataclass(frozen=True)
class Sizes:
    """Bytes before and after."""

    before: int
    after: int


def compact(folder: Path) -> Sizes:
    """Packs the journals of a run."""
    run = RunFolder.open(folder)
    with alone(folder) as fence, ExitStack() as locks:
        stems = [stem for stem in STEMS if _sources(folder, stem) or _is_older(folder, stem)]
        if "responses" not in stems and not packed_files(folder, "responses"):
            raise UserError(f"{folder}: holds no response yet; compact it when it is done")
        for stem in stems:
            for file in journal_files(folder, stem):
                locks.callback(close_own, _lock(file))
                _check_sums(file)
        order, stamp = _order(run), answers_stamp(run)
        for stem in stems:
            _pack(folder, stem, order, fence)
        run.amend(record_version=PACKED_VERSION)  # before the journals go: earlier versions must not ask all again
        gone = [name for stem in STEMS for name in packed_files(folder, stem)]
        fence()
        remove_files(folder, [*gone, *(sums_path(Path(name)).name for name in gone)])
        sync_place(folder)
        restamp_answers(run, stamp, fence)
        packed = [stem for stem in STEMS if packed_files(folder, stem)]
        whole = sum(size for stem in packed for size, _ in packed_files(folder, stem).values())
        return Sizes(whole, sum(packed_path(folder, stem).stat().st_size for stem in packed))


def restore(folder: Path) -> Sizes:
    """Restores the packed journals."""
    run = RunFolder.open(folder)
    with alone(folder) as fence:
        stems = [stem for stem in STEMS if packed_files(folder, stem)]
        if not stems and current_version(run.spec()) != PACKED_VERSION:
            raise UserError(f"{folder}: is not compacted")
        before, stamp = sum(packed_path(folder, stem).stat().st_size for stem in stems), answers_stamp(run)
        after = sum(_unpack(folder, stem, fence) for stem in stems)
        run.amend(record_version=RunSpec.model_fields["record_version"].default)
        restamp_answers(run, stamp, fence)
        return Sizes(before, after)


def _check_sums(file: Path) -> None:
    with suppress(ValueError):
        if damage(file):
            raise UserError(f"{file}: is not what was written to it; `livek12 check {file.parent}` says more")


def _lock(file: Path) -> int:
    fd = None if is_held(file) else lock_own(file)
    if fd is None:
        raise UserError(f"{file}: another command writes it; wait until it is done")
    return fd


def _order(run: RunFolder) -> dict[tuple[str, str], int]:
    order: dict[tuple[str, str], int] = {}
    for task, question in run.each_question():
        order.setdefault((task, question.id), len(order))
    return order


def _sources(folder: Path, stem: str) -> list[Path]:
    return [file for file in journal_files(folder, stem) if file.stat().st_size]


def _is_older(folder: Path, stem: str) -> bool:
    path = packed_path(folder, stem)
    return stem in WITHOUT_TEXTS and path.exists() and LIGHT not in PackedLines(path).columns


class _Lines:
    def __init__(self, folder: Path, stem: str, order: Mapping[tuple[str, str], int]) -> None:
        old = packed_path(folder, stem)
        self._packed = PackedLines(old) if old.exists() else None
        self.files: dict[str, tuple[int, str]] = dict(packed_files(folder, stem))
        self._names: list[str] = list(self.files)
        self._open: list[Any] = [None] * len(self._names)
        file, start, length, place, trial = (array("q") for _ in range(5))

        def note(number: int, begin: int, size: int, line: bytes) -> None:
            key = _key(line)
            file.append(number)
            start.append(begin)
            length.append(size)
            place.append(order.get((key.task, key.question_id), len(order)) if key else len(order))
            trial.append(min(key.trial, 1 << 40) if key and key.trial >= 0 else 0)

        if self._packed is not None:
            for row, (name, begin, line) in enumerate(self._packed.named()):
                note(self._names.index(name), begin, -1 - row, line)
        for path in _sources(folder, stem):
            number, digest, begin = len(self._names), hashlib.sha256(), 0
            self._names.append(path.name)
            self._open.append(path.open("rb"))
            for line in self._open[-1]:
                note(number, begin, len(line), line)
                digest.update(line)
                begin += len(line)
            self.files[path.name] = (begin, digest.hexdigest())
        columns = [np.frombuffer(column, dtype=np.int64) for column in (file, start, length, place, trial)]
        self._file, self._start, self._length = columns[:3]
        self._sorted = np.lexsort((self._start, self._file, columns[4], columns[3]))

    def __len__(self) -> int:
        return len(self._sorted)

    def __iter__(self) -> Iterator[tuple[str, int, bytes]]:
        for index in self._sorted.tolist():
            number, start, length = (int(column[index]) for column in (self._file, self._start, self._length))
            if length < 0:
                assert self._packed is not None
                yield self._names[number], start, self._packed.at(-1 - length)
            else:
                yield self._names[number], start, os.pread(self._open[number].fileno(), length, start)

    def close(self) -> None:
        for file in filter(None, self._open):
            file.close()


def _key(line: bytes) -> Key | None:
    begins = _KEY.match(line)
    try:
        return Key.model_validate_json(begins[1]) if begins else _Keyed.model_validate_json(line).key
    except ValueError:
        return None


def _pack(folder: Path, stem: str, order: Mapping[tuple[str, str], int], fence: Fence) -> None:
    lines = _Lines(folder, stem, order)
    temporary = folder / f".{stem}.parquet.new"
    try:
        _check(temporary, _write(temporary, stem, lines))
        fence()
        note_whole(packed_path(folder, stem), source=temporary)
        fence()
        temporary.replace(packed_path(folder, stem))
        note_whole(packed_path(folder, stem))
        note_checked(packed_path(folder, stem))
        sync_place(folder)
    except OSError as error:
        raise UserError(f"{temporary}: cannot be written ({error.strerror}); make room: nothing is lost") from error
    finally:
        lines.close()
        fence()  # another's has the same name
        temporary.unlink(missing_ok=True)


def _write(path: Path, stem: str, lines: _Lines) -> str:
    account = json.dumps({"journals": lines.files})
    schema = schema_of(stem).with_metadata({META: account})
    digest = hashlib.sha256()
    with create(path) as file, Progress(f"packing {stem}", len(lines), patient=True) as progress:
        with pq.ParquetWriter(file, schema, **writing_options(schema)) as writer:
            for rows in _groups(lines, progress.step):
                columns = [
                    pa.array(column, field.type) for column, field in zip(columns_of(stem, rows), schema, strict=True)
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=len(rows))
                for _, _, line in rows:
                    digest.update(line)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _groups(
    lines: Iterable[tuple[str, int, bytes]], step: Callable[[], None]
) -> Iterator[list[tuple[str, int, bytes]]]:
    rows: list[tuple[str, int, bytes]] = []
    size = 0
    for row in lines:
        rows.append(row)
        size += len(row[2])
        step()
        if size >= GROUP_BYTES or len(rows) >= GROUP_LINES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _check(packed: Path, digest: str) -> None:
    stored = hashlib.sha256()
    for line in PackedLines(packed):
        stored.update(line)
    if stored.hexdigest() != digest:
        raise UserError(f"{packed}: does not hold what was written to it; is the disk sound? Nothing was removed")


def _unpack(folder: Path, stem: str, fence: Fence) -> int:
    packed, files = packed_path(folder, stem), packed_files(folder, stem)
    temporary = {name: folder / f".{name}.unpacked" for name in files}
    try:
        with ExitStack() as stack:
            fds: dict[str, int] = {}
            for name, path in temporary.items():
                fds[name] = stack.enter_context(create(path)).fileno()
            _write_journals(packed, files, fds)
        for name, path in temporary.items():
            fence()
            path.replace(folder / name)
            note_whole(folder / name)
        sync_place(folder)  # their names are on the disk before the packed ones go
        fence()
        sums_path(packed).unlink(missing_ok=True)  # else they would vouch for a file that is gone
        packed.unlink()  # until now readers ignore the journals
        sync_place(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); make room: nothing is lost") from error
    finally:
        fence()  # as above
        for path in temporary.values():
            path.unlink(missing_ok=True)
    return sum(size for size, _ in files.values())


def check_packed(folder: Path, stem: str) -> None:
    """Compares a packed stem with the hashes of its journals, and its columns with its lines."""
    packed, files = packed_path(folder, stem), packed_files(folder, stem)
    with ExitStack() as stack:
        fds = {name: stack.enter_context(TemporaryFile()).fileno() for name in files}
        _write_journals(packed, files, fds)
    PackedLines(packed).compare()


def _write_journals(packed: Path, files: Mapping[str, tuple[int, str]], fds: Mapping[str, int]) -> None:
    for name, start, line in PackedLines(packed).named():
        written = 0
        while written < len(line):
            written += os.pwrite(fds[name], line[written:], start + written)
    for name, fd in fds.items():
        os.fsync(fd)
        if _account(fd) != files[name]:
            raise UserError(f"{packed}: what it holds of {name} is not what was packed; take it from a copy")


def _account(fd: int) -> tuple[int, str]:
    digest, place = hashlib.sha256(), 0
    while block := os.pread(fd, _COPY, place):
        digest.update(block)
        place += len(block)
    return place, digest.hexdigest()
