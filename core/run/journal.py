"""Append-only files of records, safe against `kill -9` at any moment, and compact sets of their keys.

Contract: a record is one line, written by one `write`; a finished line is never touched again. Each writer has a file
of its own (`STEM-0.jsonl`, …), held by a lock that dies with its process; the next one heals a torn end. Readers need
no lock: they skip an unfinished last line. Data reaches the disk (fsync) at most once a second and on close. Packed
lines (`core.packed`) are read first.
"""

from __future__ import annotations

import os
import time
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

from livek12.core.errors import UserError, explain_errors, why
from livek12.core.files import heal, refuse_pointer
from livek12.core.packed import PACKED, PackedLines, StoredKey, light_model, packed_files, packed_path
from livek12.core.records import Failure, Key, Record, Response, Verdict
from livek12.core.run.locks import Lease, close_own, lapses_of, lease_own, lock_own, owns, shared
from livek12.core.run.sums import RunningSum

_SYNC_SECONDS = 1.0


class LineFile:
    """File of whole lines, held by this process alone; a context manager, not thread-safe.

    A missing file is made, and a torn last line healed. `summed`: its sums are noted (`core.run.sums`).
    """

    def __init__(self, path: Path, summed: bool = False) -> None:
        fd = lock_own(path)
        if fd is None:
            raise UserError(f"{path}: another process writes it; wait for it or choose another file")
        heal(fd)
        self._use(path, fd, summed)

    def _use(self, path: Path, fd: int, summed: bool) -> None:
        self.path, self._fd = path, fd
        self._synced = time.monotonic()
        self._sum = RunningSum(path, fd) if summed else None

    def write_line(self, text: str) -> None:
        """Writes one line."""
        self.write_lines([text])

    def write_lines(self, texts: Sequence[str]) -> None:
        """Writes each text as one line."""
        line = "".join(text + "\n" for text in texts).encode("utf-8", "replace")
        end = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            if time.monotonic() - self._synced >= _SYNC_SECONDS:
                self.sync()
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise UserError(
                f"{self.path}: cannot store a record ({error.strerror}); everything before it is stored: "
                "make room and run the same command again"
            ) from error
        if self._sum is not None and self._sum.add(line):
            with suppress(OSError):
                self.sync()
                self._sum.note()

    def sync(self) -> None:
        """Flushes to the disk."""
        os.fsync(self._fd)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Flushes and closes; idempotent."""
        if owns(self._fd):
            try:
                os.fsync(self._fd)
                if self._sum is not None:
                    self._sum.note()
            finally:
                close_own(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ResponseHead(Record, extra="ignore", title="Response"):
    """Key, model and run of a response, from a whole line without building its texts."""

    key: Key
    text: str
    engine: str
    model: str
    run: str | None = None


R = TypeVar("R", bound=Record)
K = TypeVar("K", Response, ResponseHead, Failure, Verdict)
N = TypeVar("N")
_LONGEST = 160
_NOWHERE = -1
_BUFFER = 1 << 20
"""Lines are longer than what Python reads at once by itself."""


class Place(NamedTuple):
    """Place of a line: file, first byte, and the byte after its last; if packed, rows instead."""

    path: Path
    start: int
    end: int


class JournalWriter(LineFile):
    """Appends records to the first file of the stem that no living writer holds."""

    def __init__(self, folder: Path, stem: str, summed: bool = False) -> None:
        self._use(*_take_file(folder, stem), summed)
        self._lapses = lapses_of(self._fd)

    def write_lines(self, texts: Sequence[str]) -> None:
        """Writes each text as one line; UserError if the file was packed while this process was stopped."""
        if self._lapses != (lapses := lapses_of(self._fd)):
            stem = self.path.name.partition("-")[0]
            if self.path.name in packed_files(self.path.parent, stem) or not _stands(self.path, self._fd):
                raise UserError(f"{self.path}: was compacted while this command was stopped; run it again")
            self._lapses = lapses
        super().write_lines(texts)

    def append(self, record: Record) -> None:
        """Writes the record as one line."""
        self.write_line(record.model_dump_json())


def read_journal(
    folder: Path, stem: str, model: type[R], on_problem: Callable[[str], None] | None = None
) -> Iterator[R]:
    """Records of all files of a stem, file by file, in the order they were written.

    Lines without a valid record are skipped; `on_problem` gets one line for each file with such lines.
    """
    return (record for _, record in placed_records(folder, stem, model, on_problem))


def placed_records(
    folder: Path, stem: str, model: type[R], on_problem: Callable[[str], None] | None = None
) -> Iterator[tuple[Place, R]]:
    """Records with their places; otherwise as `read_journal`."""
    return _placed(folder, stem, model, PackedLines, on_problem)


def placed_keys(
    folder: Path,
    stem: str,
    model: type[K],
    on_problem: Callable[[str], None] | None = None,
    questions: Collection[tuple[str, str]] | None = None,
) -> Iterator[tuple[Place, K | StoredKey]]:
    """Keys with their places; of packed lines nothing else is read."""
    return _placed(folder, stem, model, lambda path: PackedLines(path).keys(questions), on_problem)


def _placed(
    folder: Path,
    stem: str,
    model: type[R],
    packed: Callable[[Path], Iterable[bytes | N | None]],
    on_problem: Callable[[str], None] | None,
) -> Iterator[tuple[Place, R | N]]:
    read = False
    damaged: list[tuple[str, int]] = []  # of each file what is wrong with the first such line, and how many there are
    for path in [*_packed(folder, stem), *journal_files(folder, stem)]:
        start, count, first = 0, 0, ""
        is_packed = path.suffix == PACKED
        for number, line in enumerate(packed(path) if is_packed else _lines(path), 1):
            end = start + (1 if is_packed or not isinstance(line, bytes) else len(line))
            if line is None:
                read = True
            elif not isinstance(line, bytes):
                read = True
                yield Place(path, start, end), line
            elif line.strip():
                try:
                    record = model.model_validate_json(line)
                except ValueError as error:
                    if line.endswith(b"\n"):
                        count += 1
                        kind = model.model_config.get("title") or model.__name__
                        first = first or f"{path}:{number}: not a {kind} record ({why(error)[:_LONGEST]})"
                else:
                    read = True
                    yield Place(path, start, end), record
            start = end
        if count:
            damaged.append((first, count))
    if damaged and not read:
        raise UserError(
            f"{damaged[0][0]}, and no other line of {stem}-*.jsonl is one: was it another version of livek12 that wrote"
            " them? Put the files back, or take another folder"
        )
    for first, count in damaged:
        if on_problem is not None:
            on_problem(f"{first}; passed over" + (f", with {count - 1} more of this file" if count > 1 else ""))


def journal_lines(folder: Path, stem: str) -> Iterator[bytes]:
    """Raw lines of all files of a stem, in order."""
    for path in [*_packed(folder, stem), *journal_files(folder, stem)]:
        yield from PackedLines(path) if path.suffix == PACKED else _lines(path)


def _lines(path: Path) -> Iterator[bytes]:
    refuse_pointer(path)
    with explain_errors(f"{path}: cannot be read"), path.open("rb", buffering=_BUFFER) as lines:
        yield from lines


def _packed(folder: Path, stem: str) -> list[Path]:
    path = packed_path(folder, stem)
    return [path] if path.exists() else []


def journal_files(folder: Path, stem: str) -> list[Path]:
    """Files of a stem by number, without those whose lines are packed."""
    dead = packed_files(folder, stem)
    files = [path for path in folder.glob(f"{stem}-*.jsonl") if path.name not in dead]
    return sorted(files, key=lambda path: (len(path.name), path.name))


def has_lines(folder: Path, stem: str) -> bool:
    """True if a stem has any line."""
    return packed_path(folder, stem).exists() or any(path.stat().st_size for path in journal_files(folder, stem))


def _take_file(folder: Path, stem: str) -> tuple[Path, int]:
    """Heals every file whose writer is gone and keeps the first of them, or starts a new one."""
    if shared(folder):
        lease = Lease(folder)
        path = folder / f"{stem}-{lease.token}.jsonl"
        return path, lease_own(path, lease)
    taken: tuple[Path, int] | None = None
    for path in journal_files(folder, stem):
        fd = lock_own(path)
        if fd is None:
            continue
        heal(fd)
        if taken is None:
            taken = (path, fd)
        else:
            close_own(fd)
    number, dead = 0, packed_files(folder, stem)
    while taken is None:
        path = folder / f"{stem}-{number}.jsonl"
        if path.name not in dead and not path.exists() and (fd := lock_own(path)) is not None:
            taken = (path, fd)
        number += 1
    if not _stands(*taken):  # it was packed and removed between our opening and locking it
        close_own(taken[1])
        return _take_file(folder, stem)
    return taken


def _stands(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


class Tail(Generic[R]):
    """Incremental reader of a stem: whole lines, each once."""

    def __init__(self, folder: Path, stem: str, model: type[R], read: Mapping[Path, int] | None = None) -> None:
        self._folder, self._stem, self._model = folder, stem, model
        self._places: dict[Path, int] = dict(read or {})

    def fresh(self) -> Iterator[R]:
        """Records since the last call; invalid lines are skipped."""
        for path in _packed(self._folder, self._stem):
            for number, line in enumerate(PackedLines(path) if path not in self._places else ()):
                self._places[path] = number
                with suppress(ValueError):  # as below
                    yield self._model.model_validate_json(line)
        for path in journal_files(self._folder, self._stem):
            with explain_errors(f"{path}: cannot be read"), path.open("rb") as lines:
                lines.seek(self._places.get(path, 0))
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # it is being written, or a kill cut it short
                    self._places[path] = self._places.get(path, 0) + len(line)
                    try:
                        record = self._model.model_validate_json(line)
                    except ValueError:
                        continue  # whoever reads the whole journal says so
                    yield record


class Index(Generic[K]):
    """Records of a stem by their key: 8 bytes an answer, as one pass notes places and `find` reads a record again.

    Args:
        trials: trials below this number are kept.
        named: filter by key and model.
        wanted: filter by record.
        wins: true if the later of two records of a key counts; default: it does.
        on_problem: receives damaged lines, one line each.
        texts: false: packed records come without their texts (`core.packed`).
        questions: of packed records only those of these questions (task and id).
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        model: type[K],
        trials: int,
        named: Callable[[K | StoredKey], bool] = lambda _: True,
        wanted: Callable[[K], bool] | None = None,
        wins: Callable[[K, K], bool] | None = None,
        on_problem: Callable[[str], None] | None = None,
        texts: bool = True,
        questions: Collection[tuple[str, str]] | None = None,
    ) -> None:
        self._model: type[K] = model if texts else light_model(model)
        self._texts = texts
        self._trials = trials
        self._wins: Callable[[K, K], bool] | None = wins
        self._places: dict[tuple[str, str], array[int]] = {}
        self._files: list[int | PackedLines] = []
        self._begins: list[int] = []  # of each file, had all of them been one
        end = 0
        opened: dict[Path, int] = {}
        keys = placed_keys(folder, stem, model, on_problem, questions)
        for place, record in keys if wanted is None else placed_records(folder, stem, model, on_problem):
            if place.path not in opened:
                opened[place.path] = self._open(place.path, end)
            if named(record) and (wanted is None or isinstance(record, StoredKey) or wanted(record)):
                self._put(record, opened[place.path] + place.start)
            end = opened[place.path] + place.end

    def __len__(self) -> int:
        return len(self._places)

    def find(self, key: Key) -> K | None:
        """Record of a key."""
        places = self._places.get((key.task, key.question_id))
        if places is None or not 0 <= key.trial < len(places) or places[key.trial] == _NOWHERE:
            return None
        return self._at(places[key.trial])

    def _at(self, place: int) -> K:
        number = bisect_right(self._begins, place) - 1
        file, place = self._files[number], place - self._begins[number]
        line = file.at(place) if isinstance(file, PackedLines) else line_at(file, place)
        record: K = self._model.model_validate_json(line)
        return record

    def _open(self, path: Path, begin: int) -> int:
        self._begins.append(begin)
        if path.suffix == PACKED:
            self._files.append(PackedLines(path, light=not self._texts))
            return begin
        with explain_errors(f"{path}: cannot be read"):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, fd)
        self._files.append(fd)
        return begin

    def _put(self, record: K | StoredKey, place: int) -> None:
        key = record.key
        if not 0 <= key.trial < self._trials:
            return
        name = (key.task, key.question_id)
        places = self._places.setdefault(name, array("q"))
        if key.trial >= len(places):  # so much as was stored: what a run states may be more
            room = min(max(key.trial + 1, 2 * len(places)), self._trials)
            places.extend(array("q", [_NOWHERE]) * (room - len(places)))
        before = places[key.trial]
        if before != _NOWHERE and self._wins is not None:
            new = self._at(place) if isinstance(record, StoredKey) else record
            if not self._wins(new, self._at(before)):
                return
        places[key.trial] = place


def line_at(fd: int, start: int) -> bytes:
    """Line that begins there."""
    line = b""
    while b"\n" not in line and (more := os.pread(fd, max(4096, len(line)), start + len(line))):
        line += more
    return line.partition(b"\n")[0]


class KeySet(AbstractSet[str]):
    """Growing set of keys as text (`str(Key)`): one number a question, one bit of it a trial."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._trials: dict[str, int] = {}
        self._count = 0
        for key in keys:
            name, _, trial = key.rpartition("/")
            self._mark(name, int(trial))

    def add(self, key: Key) -> bool:
        """Adds a key (trial from 0); returns true if it is new."""
        return self._mark(f"{key.task}/{key.question_id}", key.trial)

    def _mark(self, name: str, trial: int) -> bool:
        before = self._trials.get(name, 0)
        after = before | 1 << trial
        if after == before:
            return False
        self._trials[name] = after
        self._count += 1
        return True

    def __contains__(self, key: object) -> bool:
        name, _, trial = str(key).rpartition("/")
        trials = self._trials.get(name)
        return trials is not None and trial.isdecimal() and bool(trials >> int(trial) & 1)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for name, trials in self._trials.items():
            for trial in range(trials.bit_length()):
                if trials >> trial & 1:
                    yield f"{name}/{trial}"

    def __or__(self, other: Iterable[str]) -> KeySet:  # type: ignore[override]  # narrower than any set's
        both = KeySet(other)
        for name, trials in self._trials.items():
            both._trials[name] = both._trials.get(name, 0) | trials
        both._count = sum(trials.bit_count() for trials in both._trials.values())
        return both


class Expected:
    """Filter for responses of a run's model to its questions; counts the others."""

    def __init__(
        self,
        path: Path,
        model: str,
        run: str,
        asked: Container[tuple[str, str]],
        trials: int,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._model, self._run, self._trials, self._on_problem = path, model, run, trials, on_problem
        self._asked = asked
        self._others: dict[str, tuple[str, int]] = {}  # of each kind what is said of the first, and how many there are

    def __call__(self, response: Response | ResponseHead | StoredKey) -> bool:
        """Tests a response."""
        key = response.key
        if (key.task, key.question_id) not in self._asked or not 0 <= key.trial < self._trials:
            return self._refused("unasked", f"is to {key}, which this run does not ask")
        if response.model != self._model:
            return self._refused("model", f"is by {response.model!r:.80}, and this run asks {self._model!r}")
        if response.run not in (None, self._run):
            return self._refused("run", f"is of run {response.run!r:.20}, asked otherwise, and this is {self._run}")
        return True

    def tell(self) -> None:
        """Reports skipped responses, one line for each kind."""
        for first, count in self._others.values():
            if self._on_problem:
                self._on_problem(f"{self._path}: {count} of its responses passed over: the first {first}")

    def _refused(self, kind: str, phrase: str) -> bool:
        first, count = self._others.get(kind, (phrase, 0))
        self._others[kind] = (first, count + 1)
        return False


class AnsweredKeys:
    """Answered keys of a run, read incrementally."""

    def __init__(self, folder: Path, expected: Expected, on_problem: Callable[[str], None] | None = None) -> None:
        self._folder, self._expected, self._on_problem = folder, expected, on_problem
        self._keys = KeySet()
        self._tail: Tail[ResponseHead] | None = None

    def __call__(self) -> KeySet:
        """Same set each time."""
        if self._tail is None:
            ends: dict[Path, int] = {}
            for place, response in placed_keys(self._folder, "responses", ResponseHead, self._on_problem):
                ends[place.path] = place.end
                self._put(response)
            self._tail = Tail(self._folder, "responses", ResponseHead, ends)
            self._expected.tell()
        for response in self._tail.fresh():
            self._put(response)
        return self._keys

    def _put(self, response: ResponseHead | StoredKey) -> None:
        if self._expected(response):
            self._keys.add(response.key)
