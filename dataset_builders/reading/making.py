"""Makes the questions of a source, in this process or, for many rows, in worker processes.

Contract: both ways give the same questions, ids and log lines in the order of the rows: this process resolves in order
the parts that depend on earlier rows (ids, files that replace addresses). Exceptions of a worker are raised here; a
worker that dies is a UserError.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.process import Ended, Link, ProcessPool, cores, requests
from livek12.core.records import Image, Question
from livek12.dataset_builders.base import BadRow, Log, UniqueIds
from livek12.dataset_builders.reading.images import FileBytes, ImageLoader
from livek12.dataset_builders.reading.rows import SourceRow, bytes_of_rows, read_rows
from livek12.dataset_builders.reading.soundness import absences, sound

FEWEST_ROWS, FEWEST_BYTES, FEWEST_CORES = 16_000, 32 << 20, 2
"""So many rows, or an eighth of the bytes of their pictures, are processed here before processes start, unless the
files of rows are larger: two processes start in a second and a half, and pickling rows takes a tenth of making them."""
FEW_ROWS = 2_000
"""The same for questions that are not packed: whoever wants a few does not wait for other processes."""
MOST_WORKERS = 4
CHUNK_ROWS, CHUNK_BYTES = 256, 4 << 20
"""Size of a worker's task, and of a piece of its result."""
UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Maker(Protocol):
    """Makes the question of a row; picklable. Raises BadRow or pydantic's ValidationError where there is none."""

    @property
    def loader(self) -> ImageLoader:
        """Loader of its pictures."""

    def __call__(self, row: SourceRow, log: Log) -> Question | None:
        """The question, or None for a head; remarks go into the log."""


class Pack(Protocol):
    """Questions of the same tables."""

    @property
    def places(self) -> list[int]:
        """Positions of the questions among those packed in one call."""

    @property
    def ids(self) -> list[str]:
        """Of each question."""

    def rename(self, number: int, id: str) -> None:
        """Gives one of them another id."""

    def pictures(self) -> Iterable[str]:
        """Names of their pictures, except those of keys."""


P = TypeVar("P", bound=Pack)


class Packing(Protocol[P]):
    """Packs questions; picklable. `compares`: near-duplicates are still searched among them."""

    compares: bool

    def __call__(self, questions: Sequence[Question]) -> list[P]:
        """The questions, packed."""


class Head(NamedTuple):
    """Result of a row, without its question; `id` is None if the row is left out."""

    where: str
    id: str | None
    shown: str | None
    log: Log | None
    taken: dict[str, str]


class PickledRows(NamedTuple):
    """Concatenated pickles of `rows` rows for another process; `compares` as in `Packing`."""

    pickled: bytes
    rows: int
    compares: bool = True

    def unpickled(self) -> Iterator[SourceRow]:
        """Yields the rows."""
        unpickler = pickle.Unpickler(io.BytesIO(self.pickled))
        return (SourceRow(*unpickler.load()) for _ in range(self.rows))


Chunk = tuple[list[Head], Any]
"""The result of some rows: their heads, and their questions or packs."""
Before = tuple[Log | None, bool]
"""The log before a row, and whether a row follows."""


def to_questions(
    source: Path,
    make: Maker,
    log: Log,
    *,
    other_files: Collection[str] = (),
    forms: Callable[[Iterator[SourceRow]], Iterable[SourceRow]] = lambda rows: rows,
) -> Iterator[Question]:
    """Question of each row of a source with a unique id; other rows are logged."""
    ids = UniqueIds()
    for befores, _, (heads, questions) in _chunks(make, None, _read(source, other_files, forms)):
        waiting = iter(questions)
        for head in _told(befores, heads, log):
            question = next(waiting) if head.id is not None else None
            if _is_said(head, _refused(head, make), log) and question is not None:
                unique = _claimed(head, ids, log)
                yield question if unique == question.id else question.model_copy(update={"id": unique})
    make.loader.report(log, source.name)


def to_packs(
    source: Path,
    make: Maker,
    log: Log,
    pack: Packing[P],
    *,
    other_files: Collection[str] = (),
    forms: Callable[[Iterator[SourceRow]], Iterable[SourceRow]] = lambda rows: rows,
) -> Iterator[list[P]]:
    """As `to_questions`, but with the questions packed where made."""
    ids = UniqueIds()
    make.loader.by_name = True
    size = bytes_of_rows(source, other_files)
    for befores, rows, (heads, packs) in _chunks(make, pack, _read(source, other_files, forms), size):
        refused = [_refused(head, make) if head.taken else None for head in heads]
        made = list(packs)
        if any(refused):
            _, pieces = make_chunk((make, pack), rows, [place for place, reason in enumerate(refused) if reason])
            made = [packed for piece in pieces for packed in pickle.loads(piece)]
        place = 0
        for head, reason in zip(_told(befores, heads, log), refused, strict=True):
            if _is_said(head, reason, log) and head.id is not None:
                unique = _claimed(head, ids, log)
                if unique != head.id:
                    packed = next(packed for packed in made if place in packed.places)
                    packed.rename(packed.places.index(place), unique)
                place += 1
        yield made
    make.loader.report(log, source.name)


def _read(
    source: Path, other_files: Collection[str], forms: Callable[[Iterator[SourceRow]], Iterable[SourceRow]]
) -> Iterator[tuple[Log | None, SourceRow | None]]:
    log = Log()
    for row in forms(read_rows(source, log, other_files=other_files)):
        yield log.take() if log.says_anything else None, row
    yield log, None


def _told(befores: Iterable[Before], heads: Iterable[Head], log: Log) -> Iterator[Head]:
    waiting = iter(heads)
    for before, has_row in befores:
        if before is not None:
            log.add(before)
        if has_row:
            yield next(waiting)


def _refused(head: Head, make: Maker) -> BadRow | None:
    try:
        for file, url in head.taken.items():
            make.loader.take(file, url)
    except BadRow as error:
        return error
    return None


def _is_said(head: Head, reason: BadRow | None, log: Log) -> bool:
    if head.log is not None:
        log.add(head.log if reason is None else Log(unread=head.log.unread, lost=head.log.lost))
    if reason is not None:
        log.skip(head.where, head.shown, reason)
    return reason is None


def _claimed(head: Head, ids: UniqueIds, log: Log) -> str:
    own = head.id or ""
    if (unique := ids.claim(own)) != own:
        log.note(head.where, own, f"an earlier question has this id: named {unique}")
    return unique


def _chunks(
    make: Maker, pack: Packing[Any] | None, rows: Iterator[tuple[Log | None, SourceRow | None]], size: int = 0
) -> Iterator[tuple[list[Before], PickledRows, Chunk]]:
    most = FEWEST_ROWS * (size <= FEWEST_BYTES) if pack else min(FEWEST_ROWS, FEW_ROWS)
    yield from _made_here(make, pack, rows, most if cores() >= FEWEST_CORES else None)
    with Workers(make_chunk, (make, pack), min(cores(), MOST_WORKERS)) as workers:
        for (befores, pickled), (heads, pieces) in workers.answers((some, some[1]) for some in _pickled(rows, pack)):
            yield befores, pickled, (heads, chain.from_iterable(map(pickle.loads, pieces)))


def _made_here(
    make: Maker, pack: Packing[Any] | None, rows: Iterator[tuple[Log | None, SourceRow | None]], most: int | None
) -> Iterator[tuple[list[Before], PickledRows, Chunk]]:
    befores, heads, questions, size, pictures = list[Before](), list[Head](), list[Question](), 0, 0
    log = Log()
    for before, row in islice(rows, most):
        befores.append((before, row is not None))
        if row is not None:
            head, question = _made(make, row, log)
            log = log if head.log is None else Log()
            heads.append(head)
            if question is not None:
                questions.append(question)
                size += sum(map(_size, question.images))
        if pack is None or len(befores) == CHUNK_ROWS or size > CHUNK_BYTES:
            yield befores, PickledRows(b"", 0), (heads, pack(questions) if pack else questions)
            pictures += size
            befores, heads, questions, size = [], [], [], 0
            if most is not None and pictures > 8 * FEWEST_BYTES:
                break
    if befores:
        yield befores, PickledRows(b"", 0), (heads, pack(questions) if pack else questions)


def _pickled(
    rows: Iterable[tuple[Log | None, SourceRow | None]], pack: Packing[Any] | None
) -> Iterator[tuple[list[Before], PickledRows]]:
    befores, chunk, count = list[Before](), io.BytesIO(), 0
    pickler = pickle.Pickler(chunk, pickle.HIGHEST_PROTOCOL)  # what rows have in common is told once
    for before, row in rows:
        befores.append((before, row is not None))
        if row is not None:
            pickler.dump(tuple(vars(row).values()))  # half the time of the row itself
            count += 1
        if len(befores) == CHUNK_ROWS or chunk.tell() > CHUNK_BYTES:
            yield befores, PickledRows(chunk.getvalue(), count, pack is None or pack.compares)
            befores, chunk, count = [], io.BytesIO(), 0
            pickler = pickle.Pickler(chunk, pickle.HIGHEST_PROTOCOL)
    if befores:
        yield befores, PickledRows(chunk.getvalue(), count, pack is None or pack.compares)


def make_chunk(
    given: tuple[Maker, Packing[Any] | None], rows: PickledRows, left_out: Collection[int] = ()
) -> tuple[list[Head], list[bytes]]:
    """Processes pickled rows in a worker; returns questions in bounded pieces.

    `left_out` holds the positions of rows to skip.
    """
    make, pack = given
    loader = make.loader
    loader.by_name = True
    if pack is not None:
        pack.compares = rows.compares
    before = loader.taken
    heads, pieces, made, size = list[Head](), list[bytes](), list[Question](), 0
    log = Log()
    for place, row in enumerate(rows.unpickled()):
        if place in left_out:
            continue
        loader.taken = {}
        head, question = _made(make, row, log, loader.taken)
        log = log if head.log is None else Log()
        heads.append(head)
        if question is not None:
            made.append(question)
            size += sum(map(_size, question.images))
        if pack is None and size > CHUNK_BYTES:
            pieces.append(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
            made, size = [], 0
    pieces.append(pickle.dumps(pack(made) if pack else made, pickle.HIGHEST_PROTOCOL))
    loader.taken = before
    return heads, pieces


def _size(image: Image) -> int:
    return image.bytes.size if isinstance(image.bytes, FileBytes) else len(image.bytes or b"")


def _made(make: Maker, row: SourceRow, log: Log, taken: dict[str, str] | None = None) -> tuple[Head, Question | None]:
    """Makes a question independently of other rows; `log` must be empty."""
    question = None
    try:
        if (made := make(row, log)) is not None:
            question = sound(made, row.where, log)
            for absence in absences(question):
                log.note(row.where, question.id, absence)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        log.skip(row.where, _row_id(row), f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    except BadRow as error:
        log.skip(row.where, _row_id(row), error)
    except UNFORESEEN as error:  # a hostile row must not end the build
        log.skip(row.where, _row_id(row), f"it cannot be read ({type(error).__name__}: {error})")
    messages = log if log.says_anything else None
    shown = _row_id(row) if taken else None
    return Head(row.where, question.id if question else None, shown, messages, taken or {}), question


def _row_id(row: SourceRow) -> str | None:
    """Without id or index only the place of the row."""
    own = row.data.get("id") or row.data.get("index")
    try:
        return row.id if isinstance(own, str | int) else None
    except BadRow:
        return None


COLLECTED: Final = 100_000
"""Allocations between two garbage collections, where rows by the thousand come and go and hold no cycles: with Python's
own 700, a fifth of the time goes into scanning those waiting to be written."""
AHEAD: Final = 2
"""Pieces in flight for each process."""
T = TypeVar("T")


class Workers:
    """Context manager of processes that call `call(given, piece)`.

    `call` is a module-level function; `given` is pickled once.
    """

    def __init__(self, call: Callable[[Any, Any], Any], given: object, count: int) -> None:
        self._pool = ProcessPool(_serve, call, given, size=count, quiet=False)
        self._threads = ThreadPoolExecutor(count)

    def answers(self, pieces: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
        """Result for the second part of each piece, with its first part."""
        waiting: deque[tuple[T, Future[Any]]] = deque()
        for name, piece in pieces:
            waiting.append((name, self._threads.submit(self._ask, piece)))
            if len(waiting) > AHEAD * self._pool.size:
                first, answer = waiting.popleft()
                yield first, answer.result()
        for name, answer in waiting:
            yield name, answer.result()

    def _ask(self, piece: Any) -> Any:
        try:
            error, answer = pickle.loads(self._pool.ask(pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)))
        except Ended as end:
            raise UserError(f"a process that reads rows broke off: {end}; nothing was changed, start again") from None
        if error is not None:
            raise error
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.close()
        self._threads.shutdown()
        self._pool.close()  # what a thread has started meanwhile


def _serve(link: Link, call: Callable[[Any, Any], Any], given: object) -> None:
    gc.set_threshold(COLLECTED)
    for piece in requests(link):
        link.send_bytes(pickle.dumps(_answer(call, given, pickle.loads(piece)), pickle.HIGHEST_PROTOCOL))


def _answer(call: Callable[[Any, Any], Any], given: object, piece: object) -> tuple[Exception | None, Any]:
    try:
        return None, call(given, piece)
    except Exception as error:  # raised again in the main process
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # an error that cannot travel
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return error, None
