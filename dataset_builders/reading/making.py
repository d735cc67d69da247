"""Makes the questions of a source: row by row here, or in processes beside this one where there are many rows.

Contract: both ways give the same questions in the order of the rows, the same ids and the same lines of the log: what
one row leads to is found out for itself, and what depends on the rows before it (ids, files that were taken for
addresses) is settled here, in their order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from livek12.core.process import cores
from livek12.core.records import Image, Question
from livek12.dataset_builders.base import BadRow, Log, UniqueIds
from livek12.dataset_builders.reading.absences import absences
from livek12.dataset_builders.reading.images import FileBytes, ImageLoader
from livek12.dataset_builders.reading.rows import SourceRow, read_rows
from livek12.dataset_builders.reading.soundness import problems
from livek12.dataset_builders.reading.workers import Workers

FEWEST_ROWS = 3_000
"""So many rows are made before processes are started for the others: it takes half a second to start them."""
FEWEST_CORES = 2
"""With one there is nobody to work beside this process. With two, a process beside makes rows while this one counts and
writes them: a third less of its time, for a seventh more in all."""
MOST_WORKERS = 4
CHUNK_ROWS, CHUNK_BYTES = 64, 4 << 20
"""What a process is given at once, and the size of a piece of what it gives back."""
_LARGEST = 99_999
_LONGEST_ID, _LONGEST_TEXT = 200, 1_000_000
UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Maker(Protocol):
    """Makes the question of a row; can be pickled. Raises BadRow, or pydantic's ValidationError, where it is none."""

    @property
    def loader(self) -> ImageLoader:
        """Loads its pictures."""

    def __call__(self, row: SourceRow, log: Log) -> Question | None:
        """The question, None for a row that is to hold none; what is worth knowing about it goes into the log."""


@dataclass(frozen=True)
class Made:
    """What came of a row.

    Attributes:
        question: none where the row is left out.
        where: file:line of the row.
        id: as the log shows it.
        log: what was said of the row.
        taken: the files beside the rows that were taken for addresses.
    """

    question: Question | None
    where: str
    id: str | None
    log: Log
    taken: dict[str, str] = field(default_factory=dict)


def to_questions(
    source: Path,
    make: Maker,
    log: Log,
    *,
    other_files: Collection[str] = (),
    forms: Callable[[Iterator[SourceRow]], Iterable[SourceRow]] = lambda rows: rows,
) -> Iterator[Question]:
    """The question of each row of a source with a unique id; a row that gives none is logged.

    Args:
        source: the file or folder, see `read_rows`.
        make: makes the questions.
        log: takes what is said of the rows.
        other_files: names of files that hold no rows of questions.
        forms: gives the rows one a question, where the source's are not.

    Raises:
        UserError: the source is not there or holds no file of a known kind, or a process ended.
    """
    ids = UniqueIds()
    for before, made in _in_order(make, _read(source, other_files, forms)):
        log.add(before)
        if made is None:
            continue
        try:
            for file, url in made.taken.items():
                make.loader.take(file, url)
        except BadRow as error:
            log.skip(made.where, made.id, error)
            continue
        log.add(made.log)
        if made.question is None:
            continue
        question, unique = made.question, ids.claim(made.question.id)
        if unique != question.id:
            log.note(made.where, question.id, f"an earlier question has this id: named {unique}")
            question = question.model_copy(update={"id": unique})
        yield question
    make.loader.report(log, source.name)


def _read(
    source: Path, other_files: Collection[str], forms: Callable[[Iterator[SourceRow]], Iterable[SourceRow]]
) -> Iterator[tuple[Log, SourceRow | None]]:
    """The rows, each with what was logged on the way to it; at last what was logged behind them."""
    log = Log()
    for row in forms(read_rows(source, log, other_files=other_files)):
        yield log.take(), row
    yield log, None


def _in_order(make: Maker, rows: Iterator[tuple[Log, SourceRow | None]]) -> Iterator[tuple[Log, Made | None]]:
    for before, row in islice(rows, FEWEST_ROWS) if cores() >= FEWEST_CORES else rows:
        yield before, _made(make, row) if row else None
    first = next(rows, None)
    if first is None:
        return
    with Workers(make_chunk, make, min(cores() - 1, MOST_WORKERS)) as workers:
        for befores, answer in workers.answers(_chunks(first, rows)):
            made = (one for piece in answer for one in pickle.loads(piece))
            yield from ((before, next(made) if has_row else None) for before, has_row in befores)


def _chunks(
    first: tuple[Log, SourceRow | None], rows: Iterator[tuple[Log, SourceRow | None]]
) -> Iterator[tuple[list[tuple[Log, bool]], list[bytes]]]:
    """Some rows at a time, pickled; with what was logged before each, and whether there is one."""
    befores: list[tuple[Log, bool]] = []
    chunk: list[bytes] = []
    size = 0
    item: tuple[Log, SourceRow | None] | None = first
    while item is not None:
        before, row = item
        befores.append((before, row is not None))
        if row is not None:
            chunk.append(pickle.dumps(row, pickle.HIGHEST_PROTOCOL))
            size += len(chunk[-1])
        item = next(rows, None)
        if len(befores) == CHUNK_ROWS or size > CHUNK_BYTES or item is None:
            yield befores, chunk
            befores, chunk, size = [], [], 0


def make_chunk(make: Maker, rows: list[bytes]) -> list[bytes]:
    """What comes of pickled rows, in a process beside the main one; in pieces of a bounded size."""
    make.loader.by_name = True
    pieces, made, size = [], list[Made](), 0
    for number, row in enumerate(rows, start=1):
        make.loader.taken = {}
        made.append(_made(make, pickle.loads(row), make.loader.taken))
        size += sum(map(_size, made[-1].question.images)) if made[-1].question else 0
        if size > CHUNK_BYTES or number == len(rows):
            pieces.append(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
            made, size = [], 0
    return pieces


def _size(image: Image) -> int:
    return image.bytes.size if isinstance(image.bytes, FileBytes) else len(image.bytes or b"")


def _made(make: Maker, row: SourceRow, taken: dict[str, str] | None = None) -> Made:
    """What comes of a row by itself."""
    log = Log()
    question = None
    try:
        if (made := make(row, log)) is not None:
            question = _sound(_agreeing(_checked(made), row, log))
            for absence in absences(question):
                log.note(row.where, question.id, absence)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        log.skip(row.where, _row_id(row), f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    except BadRow as error:
        log.skip(row.where, _row_id(row), error)
    except UNFORESEEN as error:  # a hostile row must not end the build
        log.skip(row.where, _row_id(row), f"it cannot be read ({type(error).__name__}: {error})")
    return Made(question, row.where, _row_id(row) if taken else None, log, taken or {})


def _checked(question: Question) -> Question:
    """Refuses what can only be a mistake, long before it fits no column, no file name or no prompt."""
    if not question.id.isprintable() or len(question.id) > _LONGEST_ID:
        raise BadRow(f"its id is longer than {_LONGEST_ID} characters, or holds some that cannot be printed")
    if abs(question.year or 0) > _LARGEST or not all(0 < page <= _LARGEST for page in question.page_numbers):
        raise BadRow("year or page_numbers is out of range")
    if not all(0 <= points <= _LARGEST for points in question.part_points):  # neither is nan
        raise BadRow("part_points holds what is not a number of points")
    if sum(map(len, [question.question, question.solution or "", *(o.text for o in question.options)])) > _LONGEST_TEXT:
        raise BadRow(f"its text has more than {_LONGEST_TEXT} characters")
    return question


def _agreeing(question: Question, row: SourceRow, log: Log) -> Question:
    """The question without points and units of parts that are not as many as its answers."""
    answers = len(question.answer)
    astray = {
        name: len(parts)
        for name, parts in (("part_points", question.part_points), ("part_units", question.part_units))
        if parts and answers and len(parts) != answers
    }
    for name, count in astray.items():
        log.note(row.where, question.id, f"{name} has {count} entries for {answers} answers: left empty")
    return question.model_copy(update={name: [] for name in astray}) if astray else question


def _sound(question: Question) -> Question:
    """Refuses what `validate` would find wrong in the data set, so that one bad row does not spoil it."""
    if problem := next(problems(question), None):
        raise BadRow(problem)
    return question


def _row_id(row: SourceRow) -> str | None:
    """The id to show: none where it is no text, and nothing but the place of a row without id or index."""
    own = row.data.get("id") or row.data.get("index")
    return row.id if isinstance(own, str | int) and isinstance(row.data.get("id") or "", str | int) else None
