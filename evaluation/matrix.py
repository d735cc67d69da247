"""Result matrices: the cells of models × questions in a file of others.

A table (CSV, TSV, JSON lines, Parquet; each also as .gz) has a row a cell (columns model, question, value), a row a
question (a column for each model) or a row a model (a column for each question).

Contract: all cells are of one kind; a table that is not understood or names a cell twice is refused.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, Literal, get_args

from livek12.core.errors import UserError, why
from livek12.core.tables import MAX_LINE, BadLine, read_lines, read_table
from livek12.core.text import clean, one_line

Cells = Literal["letters", "answers", "marks", "shares", "points"]
KINDS: tuple[Cells, ...] = get_args(Cells)
NO_ANSWER: Final = "-"
"""A cell of letters or answers in which none was read."""
MOST_CELLS, MOST_MODELS, MOST_BYTES = 5_000_000, 2_000, 2 << 30
LONGEST_NAME, LONGEST_CELL = 200, 10_000
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("model", "model_name", "system"),
    "question": ("question", "question_id", "qid", "id", "item", "item_id", "doc_id"),
    "value": ("value", "cell", "answer", "pred", "prediction", "letter", "score", "correct", "acc", "mark"),
    "key": ("key", "gold", "target", "answer_key", "correct_answer"),
    "subject": ("subject", "category"),
    "options": ("options", "choices", "n_options", "num_options"),
    "question_type": ("question_type", "type"),
    "text": ("text", "question_text", "stem"),
    "tokens": ("tokens", "completion_tokens", "output_tokens"),
    "cost": ("cost", "cost_usd"),
    "date": ("date",),
    **{name: (name,) for name in ("points", "language", "year", "release", "difficulty", "paper_id", "number")},
}
"""Roles of columns, and the names that have them."""
_OF_QUESTION: Final = frozenset(COLUMNS) - {"model", "question", "value", "tokens", "cost", "date"}
Item = dict[str, Any]
"""Facts of a question by role."""


@dataclass
class Matrix:
    """The cells of a table.

    Attributes:
        cells: by model and question; a missing one is no answer of that model.
        items: facts of each question.
        tokens: by model and question, where stated; `costs` likewise.
        dates: the last date of each model.
        ignored: columns that were not understood.
    """

    file: Path
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    costs: dict[str, dict[str, float]] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    _count: int = 0

    def add(self, line: int, model: str, question: str, value: Any) -> None:
        """Adds a cell; an empty one is none."""
        for what, name in (("model", model), ("question", question)):
            if not name or len(name) > LONGEST_NAME:
                raise UserError(
                    f"{self.file}: row {line}: {what} {name[:40]!r} is no name of 1 to {LONGEST_NAME} signs"
                )
        self.items.setdefault(question, {})
        cell = _text(value)
        if cell is None or len(cell) > LONGEST_CELL:
            raise UserError(
                f"{self.file}: row {line}: the cell of {model}, question {question}, is no short text or number"
            )
        own = self.cells.setdefault(model, {})
        if question in own:
            raise UserError(
                f"{self.file}: row {line}: question {question} of {model} is there twice; keep one row of each"
            )
        if self._count >= MOST_CELLS or len(self.cells) > MOST_MODELS:
            raise UserError(
                f"{self.file}: more than {MOST_CELLS:,} cells or {MOST_MODELS:,} models; import it in parts"
            )
        if cell:
            own[question] = cell
            self._count += 1

    def take_facts(self, line: int, question: str, row: Mapping[str, Any], roles: Mapping[str, str]) -> None:
        """Takes the facts of a question, which rows may repeat but not change."""
        facts = self.items.setdefault(question, {})
        for role in _OF_QUESTION & roles.keys():
            value = row.get(roles[role])
            if value not in (None, "") and facts.setdefault(role, value) != value:
                raise UserError(f"{self.file}: row {line}: question {question} has another {role} than before")

    def kind(self, stated: str = "") -> Cells:
        """The kind of all cells: as stated, or the narrowest that fits; UserError names the first that does not."""
        has_keys = any("key" in facts for facts in self.items.values())
        lettered = has_keys and all(_LETTERS.fullmatch(str(facts.get("key", "A"))) for facts in self.items.values())
        kinds = [kind for kind in KINDS if kind == stated] or [
            *(("letters",) if lettered else ()),
            *("marks", "shares"),
            *(("points",) if any("points" in facts for facts in self.items.values()) else ()),
            *(("answers",) if has_keys and not lettered else ()),
        ]
        misfits = {kind: self._misfit(kind) for kind in kinds}
        if fitting := next((kind for kind, misfit in misfits.items() if misfit is None), None):
            return fitting
        kind, misfit = max(misfits.items(), key=lambda pair: pair[1][0] if pair[1] else 0)
        assert misfit is not None
        _, model, question, cell = misfit
        hint = "" if has_keys else "; answers need keys: a column key, here or in --items"
        raise UserError(f"{self.file}: {model}, question {question}: {one_line(cell, 40)!r} is no cell of {kind}{hint}")

    def _misfit(self, kind: Cells) -> tuple[int, str, str, str] | None:
        """The first cell that is not of the kind, after the number of those that are."""
        judged: dict[str, bool] = {}
        count = 0
        for model, own in self.cells.items():
            for question, cell in own.items():
                if cell not in judged:
                    judged[cell] = _FITS[kind](cell)
                if not judged[cell]:
                    return count, model, question, cell
                count += 1
        return None


_LETTERS: Final = re.compile(r"[A-Za-z](?:[,; ]*[A-Za-z])*")
_RIGHT: Final = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0}
_FITS: Final[Mapping[Cells, Callable[[str], bool]]] = {
    "letters": lambda cell: cell == NO_ANSWER or (_LETTERS.fullmatch(cell) is not None and len(cell) <= 26),
    "answers": lambda cell: True,
    "marks": lambda cell: cell.lower() in _RIGHT,
    "shares": lambda cell: (number := mark_in(cell)) is not None and number <= 1,
    "points": lambda cell: mark_in(cell) is not None,
}


def mark_in(cell: str) -> float | None:
    """The mark in a cell, from 0 upwards."""
    if cell.lower() in _RIGHT:
        return _RIGHT[cell.lower()]
    return float(cell) if _NUMBER.fullmatch(cell) else None


_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,17})?(?:e-\d{1,2})?", re.ASCII)


def _text(value: Any) -> str | None:
    """A cell as text; None for what is none."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return clean(str(value)).strip() if isinstance(value, str | int | float) else None


def read_matrix(file: Path, named: Mapping[str, str]) -> Matrix:
    """The matrix of a file; `named` has columns by role, where their names do not tell."""
    matrix = Matrix(file)
    with _unpacked(file) as plain:
        columns = list(dict.fromkeys(name for _, row in _rows(plain, file) for name in row))
        roles = _roles(columns, named, file)
        others = [name for name in columns if name not in roles.values()]
        if "model" in roles and "question" in roles:
            if "value" not in roles:
                raise UserError(
                    f"{file}: has no column of values ({_shown(columns)}); name it with --column value=NAME"
                )
            matrix.ignored = others
            fill = _by_cell
        elif "model" in roles or "question" in roles:
            fill = _by_model if "model" in roles else _by_question
            others += [roles[role] for role in ("value", "tokens", "cost", "date") if role in roles]
        else:
            raise UserError(
                f"{file}: has no column of models or questions ({_shown(columns)}): name it by --column question=NAME"
            )
        for line, row in _rows(plain, file):
            fill(matrix, line, row, roles, others)
    if not any(matrix.cells.values()):
        raise UserError(f"{file}: holds no cell: no model has an answer or a mark in it")
    return matrix


def _by_cell(matrix: Matrix, line: int, row: Item, roles: Mapping[str, str], others: Iterable[str]) -> None:
    model, question = (_text(row.get(roles[role])) or "" for role in ("model", "question"))
    matrix.add(line, model, question, row.get(roles["value"]))
    matrix.take_facts(line, question, row, roles)
    tokens, cost, date = (row.get(roles.get(role, "")) for role in ("tokens", "cost", "date"))
    if tokens not in (None, ""):
        number = mark_in(_text(tokens) or "")
        if number is None or number != int(number):
            raise UserError(f"{matrix.file}: row {line}: tokens {one_line(tokens, 40)!r} are no whole number")
        matrix.tokens.setdefault(model, {})[question] = int(number)
    if cost not in (None, ""):
        if (amount := mark_in(_text(cost) or "")) is None:
            raise UserError(f"{matrix.file}: row {line}: cost {one_line(cost, 40)!r} is no number from 0")
        matrix.costs.setdefault(model, {})[question] = amount
    if date not in (None, ""):
        if not _DATE.fullmatch(str(date)):
            raise UserError(f"{matrix.file}: row {line}: date {one_line(date, 40)!r} is no date like 2026-05-31")
        matrix.dates[model] = max(str(date), matrix.dates.get(model, ""))


_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.+Z-]{1,30})?", re.ASCII)


def _by_question(matrix: Matrix, line: int, row: Item, roles: Mapping[str, str], others: Iterable[str]) -> None:
    question = _text(row.get(roles["question"])) or ""
    if question in matrix.items:
        raise UserError(f"{matrix.file}: row {line}: question {question} is there twice; keep one row of each")
    for model in others:
        matrix.add(line, model, question, row.get(model))
    matrix.take_facts(line, question, row, roles)


def _by_model(matrix: Matrix, line: int, row: Item, roles: Mapping[str, str], others: Iterable[str]) -> None:
    model = _text(row.get(roles["model"])) or ""
    if model in matrix.cells:
        raise UserError(f"{matrix.file}: row {line}: model {model} is there twice; keep one row of each")
    for question in others:
        matrix.add(line, model, question, row.get(question))


def read_items(file: Path, named: Mapping[str, str]) -> dict[str, Item]:
    """Facts of questions from a file of their own."""
    matrix = Matrix(file)
    with _unpacked(file) as plain:
        columns = list(dict.fromkeys(name for _, row in _rows(plain, file) for name in row))
        roles = _roles(columns, named, file)
        if "key" not in roles and "answer" in columns:
            roles["key"] = "answer"
        if "question" not in roles:
            raise UserError(f"{file}: has no column id ({_shown(columns)}); name it with --column question=NAME")
        for line, row in _rows(plain, file):
            question = _text(row.get(roles["question"])) or ""
            if not question or question in matrix.items or len(matrix.items) >= MOST_CELLS:
                raise UserError(f"{file}: row {line}: question {question[:40]!r} is there twice, or has no id")
            matrix.take_facts(line, question, row, roles)
    return matrix.items


def _roles(columns: Iterable[str], named: Mapping[str, str], file: Path) -> dict[str, str]:
    """The column of each role that is there."""
    by_name = {name.lower(): name for name in columns}
    roles = {}
    for role, names in COLUMNS.items():
        if (name := named.get(role)) is not None and name in by_name.values():
            roles[role] = name
        elif (name := next((name for name in names if name in by_name), None)) is not None:
            roles[role] = by_name[name]
    if missing := [name for name in named.values() if name not in by_name.values()]:
        raise UserError(f"{file}: has no column {missing[0]!r} ({_shown(by_name.values())})")
    return roles


def _shown(columns: Iterable[str]) -> str:
    return one_line(", ".join(columns), 120)


def _rows(plain: Path, file: Path) -> Iterator[tuple[int, Item]]:
    reader = _READERS.get(plain.suffix.lower())
    if reader is None:
        raise UserError(f"{file}: is no .csv, .tsv, .jsonl or .parquet, nor one of them as .gz")
    for line, row in reader(plain):
        if isinstance(row, BadLine):
            raise UserError(f"{file}: row {line}: {row}")
        yield line, row


def _json_rows(file: Path) -> Iterator[tuple[int, Item | BadLine]]:
    with file.open("rb") as stream:
        for number, line in read_lines(stream):
            if not line.strip():
                continue
            try:
                row = json.loads(line) if len(line) <= MAX_LINE else None
            except (ValueError, RecursionError) as error:
                row = BadLine(number, f"is not JSON ({one_line(error, 80)})")
            yield number, row if isinstance(row, dict | BadLine) else BadLine(number, "is no JSON object")


def _parquet_rows(file: Path) -> Iterator[tuple[int, Item | BadLine]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(file) as parquet:
            sizes = (parquet.metadata.row_group(n).total_byte_size for n in range(parquet.num_row_groups))
            if sum(sizes) > MOST_BYTES:
                yield 1, BadLine(1, f"the file unpacks to more than {MOST_BYTES >> 30} GiB")
                return
            for batch in parquet.iter_batches(10_000):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, UnicodeError) as error:
        yield number + 1, BadLine(number + 1, f"damaged or not Parquet ({one_line(error, 120)})")


_READERS: Final[Mapping[str, Callable[[Path], Iterator[tuple[int, Item | BadLine]]]]] = {
    ".csv": read_table,
    ".tsv": read_table,
    ".jsonl": _json_rows,
    ".parquet": _parquet_rows,
}


@contextmanager
def _unpacked(file: Path) -> Iterator[Path]:
    """The file, or a copy of it without gzip."""
    try:
        if file.suffix.lower() != ".gz":
            file.open("rb").close()
            yield file
            return
        with NamedTemporaryFile(suffix=Path(file.stem).suffix.lower()) as copy, gzip.open(file) as packed:
            size = 0
            while block := packed.read(1 << 20):
                size += copy.write(block)
                if size > MOST_BYTES:
                    raise UserError(f"{file}: unpacks to more than {MOST_BYTES >> 30} GiB")
            copy.flush()
            yield Path(copy.name)
    except (OSError, EOFError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
