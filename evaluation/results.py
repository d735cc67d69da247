"""Runs without responses, made of the cells of models × questions in a file of others.

A table (CSV, TSV, JSON lines, Parquet; each also as .gz) has a row a cell (columns model, question, value), a row a
question (a column for each model) or a row a model (a column for each question).

Contract: all cells are of one kind; a table that is not understood or names a cell twice is refused. A run folder for
each model, with equal questions. Letters and answers are marked by the rules, other cells taken as given. The marks of
a missing cell are open. Importing resumes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError

from livek12.core.errors import UserError, explain_errors
from livek12.core.lazy import pa, pq
from livek12.core.progress import say, warn, watched
from livek12.core.question_types import kind_of, settle
from livek12.core.records import Key, Option, PartVerdict, Question, Response, Review, Source, Verdict
from livek12.core.run.access import check_out
from livek12.core.run.folder import RunFolder, RunQuestion, without_bytes
from livek12.core.run.journal import has_lines
from livek12.core.run.spec import MARKS, RESULTS, RunSpec, check_size
from livek12.core.tables import MAX_LINE, BadLine, read_lines, read_table
from livek12.core.text import clean, one_line
from livek12.core.version import __version__
from livek12.evaluation.marking import RunScorer
from livek12.evaluation.task_data import TaskData, load_task_data, make_spec
from livek12.judges.jury import JudgeOptions, Jury
from livek12.judges.rules.labels import read_labels
from livek12.tasks.registry import BENCHMARK, get_task, logged_name

GIVEN: Final = "given"
"""The judge of marks that the matrix states."""
_MISSING: Final = '"state":"failed","reason":"the matrix has no cell of this model","final":true'
MOST_OPTIONS: Final = 26
_MARKING: Final = ("answer", "question_type", "options", "points", "language", "part_points", "part_units")


@dataclass(frozen=True)
class ResultsOptions:
    """Matrix, its questions and the runs.

    `items` or `data` has the questions; without both the matrix has their keys. `columns` are names by role, `source`
    and `licence` are those of the questions.
    """

    file: Path
    out: Path
    items: Path | None = None
    data: str = ""
    task: str = ""
    cells: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    licence: str = ""


@dataclass(frozen=True)
class Imported:
    """A run that was made: right, decided and all answers."""

    folder: Path
    model: str
    right: int
    decided: int
    questions: int


def import_results(options: ResultsOptions) -> list[Imported]:
    """Makes the run folders of a matrix."""
    matrix = read_matrix(options.file, options.columns)
    if options.items is not None:
        _join(matrix, _read_items(options.items, options.columns), options.items)
    exam = _exam(matrix, options)
    if options.data:
        _take_keys(matrix, exam)
    cells = matrix.kind(options.cells)
    check_size(len(matrix.items), len(matrix.cells))
    if matrix.ignored:
        say(f"{options.file}: columns {one_line(', '.join(matrix.ignored), 80)} are not taken")
    names = folder_names(matrix.cells)
    for name in names.values():
        check_out(options.out / name)
    with Jury(JudgeOptions()) as jury:
        maker = _Maker(matrix, exam, cells, jury)
        models = watched(names.items(), "importing", len(names))
        return [maker.run(model, options.out / name) for model, name in models]


def folder_names(models: Iterable[str]) -> dict[str, str]:
    """A folder name for each model; names that differ in signs alone get numbers."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for model in models:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-_")[:80] or "model"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            name = f"{plain}~{number}"
        taken.add(name.lower())
        names[model] = name
    return names


def _join(matrix: Matrix, items: Mapping[str, Item], file: Path) -> None:
    if unknown := [question for question in matrix.items if question not in items]:
        raise UserError(
            f"{file}: has no question {unknown[0][:60]}, which the matrix has ({len(unknown):,} are missing);"
            " are these its items?"
        )
    matrix.items = {question: {**facts, **matrix.items.get(question, {})} for question, facts in items.items()}


def _exam(matrix: Matrix, options: ResultsOptions) -> TaskData:
    if options.data:
        if not options.task:
            raise UserError("--data needs --task: the task whose questions the matrix is of; see `livek12 tasks`")
        exam = load_task_data(options.data, [get_task(options.task)], None)
        own = {question.id: question for question in exam.questions[options.task]}
        if unknown := [question for question in matrix.items if question not in own]:
            raise UserError(
                f"{options.data}: {options.task} has no question {unknown[0][:60]}, which the matrix has"
                f" ({len(unknown):,} are missing)"
            )
        if rest := len(own) - len(matrix.items):
            say(f"{options.data}: {rest:,} questions of {options.task} are not in the matrix and are left out")
        chosen = [question for id, question in own.items() if id in matrix.items]
        return TaskData(options.data, exam.tasks, {options.task: chosen}, exam.pages)
    file = options.items or options.file
    name = logged_name(options.task or file.name.partition(".")[0])
    source = Source(url=options.source or None, licence=options.licence or None)
    several = any(len(read_labels(str(facts.get("key", ""))) or ()) > 1 for facts in matrix.items.values())
    questions = [_question(id, facts, source, several, file) for id, facts in matrix.items.items()]
    return TaskData(str(file.resolve()), [get_task(name)], {name: questions}, {})


def _take_keys(matrix: Matrix, exam: TaskData) -> None:
    for questions in exam.questions.values():
        for question in questions:
            matrix.items[question.id] = {"key": "; ".join(question.answer)} if question.answer else {}


def _question(id: str, facts: Item, source: Source, several: bool, file: Path) -> Question:
    key = str(facts.get("key", "")).strip()
    options = _options(facts.get("options"), key, id, file)
    kind = kind_of(str(facts["question_type"])) if "question_type" in facts else None
    if "question_type" in facts and kind is None:
        raise UserError(f"{file}: question {id}: {one_line(facts['question_type'], 40)!r} is no type of question")
    lettered = bool(options) or re.fullmatch(r"[A-Z]{1,9}", key) is not None
    kind = settle(kind or ("choice" if lettered else "free"), several=several, has_key=True)
    names = ("points", "language", "year", "release", "difficulty", "paper_id", "number")
    stated = {name: facts[name] for name in names if name in facts}
    stated |= {name: str(stated[name]) for name in ("release", "difficulty", "paper_id", "number") if name in stated}
    try:
        return Question(
            id=id,
            benchmark=BENCHMARK,
            subject=str(facts.get("subject", "unknown")),
            question_type=kind,
            question=str(facts.get("text", "")),
            options=options,
            answer=[key] if key else [],
            review=Review(state="upstream"),
            source=source,
            **{"language": "en", **stated},
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{file}: question {id}: {first['loc'][0]}: {one_line(first['msg'], 120)}") from None


def _options(stated: Any, key: str, id: str, file: Path) -> list[Option]:
    texts = stated if isinstance(stated, list) else [""] * _count_of(stated)
    if len(texts) > MOST_OPTIONS or (stated not in (None, "") and not texts):
        raise UserError(f"{file}: question {id}: options {one_line(stated, 40)!r} are no number up to {MOST_OPTIONS}")
    options = [Option(label=chr(65 + place), text=str(text)) for place, text in enumerate(texts)]
    labels = read_labels(key) or frozenset()
    if options and labels and not labels <= {option.label for option in options}:
        raise UserError(f"{file}: question {id}: the key {key[:20]} is none of its {len(options)} options")
    return options


def _count_of(stated: Any) -> int:
    number = mark_in(str(stated)) if stated not in (None, "") else 0
    return int(number) if number is not None and number == int(number) else MOST_OPTIONS + 1


class _Maker:
    def __init__(self, matrix: Matrix, exam: TaskData, cells: Cells, jury: Jury) -> None:
        self._matrix, self._exam, self._cells, self._jury = matrix, exam, cells, jury
        ((self._task, self._questions),) = exam.questions.items()
        self._spec = make_spec(exam, "", "replay", {"from": RESULTS, "cells": cells}, 1, None, {})
        self._scorer: RunScorer | None = None
        self._lines = b"".join(_line(self._task, question) for question in self._questions)
        self._alike = [self._alike_as(question) for question in self._questions]
        self._verdicts: dict[tuple[str, str], tuple[Verdict, str]] = {}
        self._keys = [Key(task=self._task, question_id=q.id).model_dump_json() for q in self._questions]
        if cells not in MARKS and not any(question.has_key for question in self._questions):
            raise UserError(f"{matrix.file}: {cells} cannot be marked without keys: a column key, here or in --items")

    def _alike_as(self, question: Question) -> str:
        if self._cells == "letters" and question.question_type in ("single_choice", "multiple_choice"):
            return question.model_copy(update={"options": [o.label for o in question.options]}).model_dump_json(
                include={*_MARKING}, warnings=False
            )
        return question.id if self._cells not in MARKS else str(question.points)

    def run(self, model: str, folder: Path) -> Imported:
        cells = self._matrix.cells[model]
        digest = hashlib.sha256(
            json.dumps([cells, self._matrix.tokens.get(model)], sort_keys=True).encode()
        ).hexdigest()
        args = {**self._spec.engine_args, "sha256": digest[:16]}
        costs = self._matrix.costs.get(model, {})
        if costs and cells.keys() <= costs.keys():  # else the whole cost is unknown
            args["cost"] = round(sum(costs.values()), 6)
        spec = self._spec.model_copy(update={"model": model, "engine_args": args})
        if date := self._matrix.dates.get(model):
            spec = spec.model_copy(update={"started_at": date})
        run = RunFolder.create_or_resume(folder, spec, self._lines, warn)
        if self._scorer is None and self._cells not in MARKS:
            self._scorer = RunScorer.open(run, self._jury)
        judge, words = self._judge()
        run.begin_marking({self._task: judge}, {judge: words}, run.spec().marking)
        verdicts = self._store(run, cells)
        run.leave()
        decided = [verdict.correct for verdict in verdicts if verdict.correct is not None]
        return Imported(folder, model, sum(decided), len(decided), len(self._questions))

    def _judge(self) -> tuple[str, str]:
        if self._scorer is None:
            return GIVEN, f"marks as given in {self._matrix.file.name}"
        ((judge, words),) = self._scorer.words.items()
        return judge, words

    def _store(self, run: RunFolder, cells: Mapping[str, str]) -> list[Verdict]:
        spec = run.spec()
        tokens = self._matrix.tokens.get(spec.model, {})
        responses, marks, failures, verdicts = list[str](), list[str](), list[str](), list[Verdict]()
        answered, marked, failed = (run.answered(), run.verdicts(), run.failures()) if _is_begun(run) else ((), (), ())
        texts: dict[str, str] = {}
        for key, question, alike in zip(self._keys, self._questions, self._alike, strict=True):
            name = f"{self._task}/{question.id}/0"
            cell = cells.get(question.id)
            if cell is None:
                if name not in failed:
                    failures.append(f'{{"key":{key},{_MISSING}}}')
                continue
            response = None
            if cell not in texts:
                response = self._response(question, cell, spec)
                texts[cell] = _rest(response)
            if (alike, cell) not in self._verdicts:
                verdict = self._verdict(question, cell, response or self._response(question, cell, spec))
                self._verdicts[alike, cell] = verdict, _rest(verdict)
            verdict, rest = self._verdicts[alike, cell]
            verdicts.append(verdict)
            counted = f',"completion_tokens":{tokens[question.id]}' if question.id in tokens else ""
            if name not in answered:
                responses.append(f'{{"key":{key}{counted},{texts[cell]}')
            if name not in marked:
                marks.append(f'{{"key":{key},{rest}')
        for stem, lines in (("responses", responses), ("verdicts", marks), ("failures", failures)):
            if lines:
                with run.writer(stem) as writer:
                    writer.write_lines(lines)
        return verdicts

    def _response(self, question: Question, cell: str, spec: RunSpec) -> Response:
        text = "" if self._cells in MARKS or cell == NO_ANSWER else cell
        if self._cells == "letters":
            text = re.sub(r"[,; ]+", "", text).upper()
        key = Key(task=self._task, question_id=question.id)
        return Response(key=key, text=text, engine=RESULTS, model=spec.model, run=spec.identity)

    def _verdict(self, question: Question, cell: str, response: Response) -> Verdict:
        if self._scorer is not None:
            return self._scorer.by_rules(response)
        worth, mark = question.points or 1.0, mark_in(cell)
        assert mark is not None
        share = mark / worth if self._cells == "points" else mark
        if share > 1:
            raise UserError(f"{self._matrix.file}: question {question.id}: {cell} points of {worth:g}")
        part = PartVerdict(
            answer=None, gold="", decision="accept" if share == 1 else "reject", score=share, decided_by=GIVEN
        )
        return Verdict(
            key=response.key,
            response_sha256=response.sha256,
            state="graded",
            parts=[part],
            points=share * worth,
            low=share * worth,
            high=share * worth,
            max_points=worth,
            correct=share == 1,
            judge=GIVEN,
            versions={"livek12": __version__, "judge": GIVEN},
        )


def _line(task: str, question: Question) -> bytes:
    return (
        RunQuestion(task=task, question=without_bytes(question)).model_dump_json(exclude_defaults=True).encode() + b"\n"
    )


def _is_begun(run: RunFolder) -> bool:
    return any(has_lines(run.path, stem) for stem in ("responses", "verdicts", "failures"))


def _rest(record: Response | Verdict) -> str:
    return record.model_dump_json(exclude={"key"}, exclude_defaults=True)[1:]


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
    """Cells of a table.

    Attributes:
        cells: by model and question; a missing one is no answer of that model.
        tokens: by model and question, where stated; `costs` likewise.
        dates: the last date of each model.
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
        """Kind of all cells: as stated, or the narrowest that fits; UserError names the first that does not."""
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
    """Mark in a cell, from 0 upwards."""
    if cell.lower() in _RIGHT:
        return _RIGHT[cell.lower()]
    return float(cell) if _NUMBER.fullmatch(cell) else None


_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,17})?(?:e-\d{1,2})?", re.ASCII)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return clean(str(value)).strip() if isinstance(value, str | int | float) else None


def read_matrix(file: Path, named: Mapping[str, str]) -> Matrix:
    """Matrix of a file; `named` has columns by role, where their names do not tell."""
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


def _read_items(file: Path, named: Mapping[str, str]) -> dict[str, Item]:
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
    with explain_errors(f"{file}: cannot be read:", "", EOFError):
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
