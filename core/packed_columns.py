"""The columns of a packed run by the places of its answers: what responses and verdicts say, without their texts.

A place is that of a question in the run, times the trials, and the trial.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Any

from livek12.core.light import StoredKey
from livek12.core.packed import KEYS, PackedLines, values_of
from livek12.core.packed_rows import LIGHT, VERSIONS
from livek12.core.progress import watched
from livek12.core.records import Key, Question, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.keys import Expected
from livek12.core.scoring.columns import MOST_TOKENS, UNTOLD, Numbers
from livek12.core.scoring.outcomes import ENDINGS, Slim, SlimQuestion, ending_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyarrow import Table

    from livek12.core.statistics import Codes, Indices

_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_MOST_BYTES = 1 << 30


class OnlyRows(Exception):
    """What is packed cannot be read by columns."""


class QuestionTable(Container[tuple[str, str]]):
    """The questions of a run.

    Attributes:
        slim: of each what scoring needs.
        task: of each.
        shape: of each the place in `shapes`.
        shapes: questions, each of other parts or points than the others.
        taken: of each, whether it is asked for.
    """

    def __init__(self, run: RunFolder, slim: Slim, takes: Callable[[Question], bool]) -> None:
        self.trials = run.spec().trials
        self.slim: list[SlimQuestion] = []
        self.task: list[str] = []
        self.shape: list[int] = []
        self.shapes: list[Question] = []
        self.taken: list[bool] = []
        self._numbers: dict[str, dict[str, int]] = {}
        known: dict[tuple[Any, ...], int] = {}
        for task, question in run.each_question():
            if self._numbers.setdefault(task, {}).setdefault(question.id, len(self.slim)) != len(self.slim):
                raise OnlyRows
            shape = len(question.variables), len(question.answer), question.points
            if known.setdefault(shape, len(self.shapes)) == len(self.shapes):
                self.shapes.append(question)
            self.slim.append(slim.question(question))
            self.task.append(task)
            self.shape.append(known[shape])
            self.taken.append(takes(question))

    def __len__(self) -> int:
        return len(self.slim) * self.trials

    def __contains__(self, name: object) -> bool:
        task, id = name if isinstance(name, tuple) else ("", "")
        return id in self._numbers.get(task, {})

    def place(self, task: str, id: str, trial: int) -> int:
        """The place of an answer that the run asks for."""
        return self._numbers[task][id] * self.trials + trial

    def places(self, table: Table) -> Indices:
        """Of each row of a packed file the place of its answer; -1 where the run has none.

        Raises:
            OnlyRows: a row is no record.
        """
        import numpy as np

        if any(table[name].null_count for name in KEYS):
            raise OnlyRows
        none: dict[str, int] = {}
        asked = zip(values_of(table["task"]), values_of(table["question_id"]), strict=True)
        number = np.array([self._numbers.get(task, none).get(id, -1) for task, id in asked], dtype=np.int64)
        trial = _numbers(table["trial"])
        return np.where((number >= 0) & (trial >= 0) & (trial < self.trials), number * self.trials + trial, -1)


class Responses:
    """The responses of a packed run, by place.

    Args:
        lines: the packed file.
        asked: by the run.
        expected: counts those that are not the run's.
        model: whose they are.
        versions: whether `origin` is read.

    Attributes:
        row: number of the row in the file, -1 where there is none.
        used: tokens, (n, 4), `UNTOLD` where not stated.
        ending: index into ENDINGS.
        sha256: hashes.
        size: (n, 2), how many characters of the text are about a token each, and how many are not.
        origin: index into `origins`.
    """

    def __init__(
        self, lines: PackedLines, asked: QuestionTable, expected: Expected, model: str, versions: bool
    ) -> None:
        import numpy as np

        count = len(asked)
        self.row: Indices = np.full(count, -1, dtype=np.int64)
        self.used: Indices = np.full((count, 4), UNTOLD, dtype=np.int64)
        self.ending: Codes = np.full(count, ENDINGS.index("whole"), dtype=np.int8)
        self.sha256: NDArray[np.bytes_] = np.zeros(count, dtype="S64")
        self.origin: Codes = np.zeros(count, dtype=np.int32)
        self._origins = Numbers[tuple[str, str | None, str]]()
        self._earlier: list[tuple[Indices, Indices]] = []
        columns = [*KEYS, "model", LIGHT, *([VERSIONS] * versions)]
        if not {*columns} <= lines.columns:
            raise OnlyRows
        for begin, table in watched(lines.groups(columns), "reading responses", lines.parts):
            if table["model"].null_count or table[LIGHT].null_count:
                raise OnlyRows
            places = asked.places(table)
            models = values_of(table["model"])
            good = (places >= 0) & np.array([name == model for name in models], dtype=np.bool_)
            for row in np.flatnonzero(~good).tolist():
                task, id, trial = (values_of(table[name].slice(row, 1))[0] for name in KEYS)
                expected(StoredKey(Key(task=task, question_id=id, trial=trial), models[row]))
            rows = np.flatnonzero(good)
            rows = rows[self.row[places[rows]] < 0]
            rows = rows[np.sort(np.unique(places[rows], return_index=True)[1])]  # the first of each counts
            if len(rows):
                self._put(places[rows], begin + rows, _picked(table, rows), versions)
        expected.tell()

    @property
    def origins(self) -> list[tuple[str, str | None, str]]:
        """Engine, revision of the model, and versions as JSON: those that occur."""
        return list(self._origins)

    @property
    def spent(self) -> Indices | None:
        """As `used`, with the tokens of the reply before each; None where no answer has one."""
        import numpy as np

        if not self._earlier:
            return None
        spent = self.used.copy()
        for places, earlier in self._earlier:
            untold = (spent[places] == UNTOLD) | (earlier == UNTOLD)
            spent[places] = np.where(untold, UNTOLD, spent[places] + earlier)
        return spent

    def _put(self, places: Indices, rows: Indices, table: Table, versions: bool) -> None:
        import numpy as np
        from pyarrow.compute import is_valid

        said = _parsed(table[LIGHT].to_pylist())
        if said["hash"].null_count or said["engine"].null_count:
            raise OnlyRows
        self.row[places] = rows
        self.used[places] = _counts([said[name] for name in _TOKENS])
        self.ending[places] = [ENDINGS.index(ending_of(reason)) for reason in said["finish_reason"].to_pylist()]
        self.sha256[places] = np.array(said["hash"].to_pylist(), dtype="S64")
        if said["earlier"].null_count < len(rows):
            has = _numbers(is_valid(said["earlier"])) > 0
            earlier = said["earlier"].combine_chunks().flatten()
            self._earlier.append((places[has], _counts(earlier)[has]))
        if versions:
            if table[VERSIONS].null_count:
                raise OnlyRows
            found = zip(*(values_of(column) for column in _origin(said, table)), strict=True)
            self.origin[places] = [self._origins[origin] for origin in found]


def _picked(table: Table, rows: Indices) -> Table:
    """Some rows of a table."""
    import numpy as np
    import pyarrow as pa

    if len(rows) == len(table) and (rows == np.arange(len(rows))).all():
        return table
    # By its buffer: what takes an array of numpy imports pandas first.
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows, np.int64))])
    return table.take(indices)


def _numbers(column: Any, untold: int = 0) -> Indices:
    """A column of whole numbers or truths as an array of numpy; `untold` where it has none."""
    import numpy as np
    import pyarrow as pa
    from pyarrow.compute import is_valid

    # By its buffer: what makes one of arrow's by itself imports pandas first, as scalars do.
    held = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).cast(pa.int64())
    numbers = np.frombuffer(held.buffers()[1] or b"", dtype=np.int64)[held.offset : held.offset + len(held)]
    return np.where(_numbers(is_valid(held)) > 0, numbers, untold) if held.null_count else numbers


def _origin(said: Table, table: Table) -> list[Any]:
    return [said["engine"], said["model_revision"], table[VERSIONS]]


def _counts(columns: list[Any]) -> Indices:
    """(n, 4), `UNTOLD` where one is not stated."""
    import numpy as np

    counts = np.stack([_numbers(column, UNTOLD) for column in columns], axis=1)
    return np.where(np.abs(counts) > MOST_TOKENS, UNTOLD, counts)


def _parsed(lines: list[bytes]) -> Table:
    """Light lines of responses as a table.

    Raises:
        OnlyRows: a line is none.
    """
    import pyarrow as pa
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    counts = [(name, pa.int64()) for name in _TOKENS]
    words = [(name, pa.string()) for name in ("hash", "finish_reason", "engine", "model_revision")]
    schema = pa.schema([*counts, *words, ("earlier", pa.struct(counts))])
    joined = b"\n".join(lines)
    if len(joined) > _MOST_BYTES:
        raise OnlyRows
    try:
        table = read_json(
            pa.BufferReader(joined),
            read_options=ReadOptions(use_threads=False, block_size=len(joined) + 1),
            parse_options=ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException as error:
        raise OnlyRows from error
    if table.num_rows != len(lines):
        raise OnlyRows
    return table


class Verdicts:
    """The verdicts of a packed run, by place.

    Attributes:
        row: number of the row of the one that counts, -1 where there is none.
    """

    def __init__(
        self, lines: PackedLines, asked: QuestionTable, counts_over: Callable[[Verdict, Verdict], bool]
    ) -> None:
        import numpy as np

        self.lines = lines
        self.row: Indices = np.full(len(asked), -1, dtype=np.int64)
        if not {LIGHT, *KEYS} <= lines.columns:
            raise OnlyRows
        for begin, table in lines.groups(KEYS):
            places = asked.places(table)
            rows = np.flatnonzero(places >= 0)
            first = rows[np.unique(places[rows], return_index=True)[1]]
            first = first[self.row[places[first]] < 0]
            self.row[places[first]] = begin + first
            for row in np.setdiff1d(rows, first).tolist():  # of several on one answer one counts
                if counts_over(self.at(begin + row), self.at(int(self.row[places[row]]))):
                    self.row[places[row]] = begin + row

    def at(self, row: int) -> Verdict:
        """The verdict of a row, without its texts."""
        return Verdict.model_validate_json(self.lines.at(row))

    def groups(self, versions: bool) -> Iterator[tuple[Indices, list[bytes], list[str]]]:
        """Of those that count, some at a time: places, light lines, and versions as JSON."""
        import numpy as np

        order: Indices = np.argsort(self.row, kind="stable")
        order = order[np.count_nonzero(self.row < 0) :]
        rows: Indices = self.row[order]
        columns = [LIGHT, *([VERSIONS] * versions)]
        if not {*columns} <= self.lines.columns:
            raise OnlyRows
        for begin, table in watched(self.lines.groups(columns), "reading verdicts", self.lines.parts):
            start, end = (int(np.searchsorted(rows, row)) for row in (begin, begin + len(table)))
            places = order[start:end]
            if any(table[name].null_count for name in columns):
                raise OnlyRows
            if len(places):
                picked = _picked(table, rows[start:end] - begin)
                yield places, picked[LIGHT].to_pylist(), values_of(picked[VERSIONS]) if versions else []
