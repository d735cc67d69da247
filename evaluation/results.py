"""Runs without responses, made of a result matrix (`evaluation.matrix`).

Contract: a run folder for each model, with the same questions. Letters and answers are marked by the rules, other cells
taken as given. The marks of a missing cell are open. Imported again, an unchanged matrix goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.progress import say, warn, watched
from livek12.core.question_types import kind_of, settle
from livek12.core.records import Key, Option, PartVerdict, Question, Response, Review, Source, Verdict
from livek12.core.run.access import check_out
from livek12.core.run.folder import RunFolder, RunQuestion, without_bytes
from livek12.core.run.journal import has_lines
from livek12.core.run.spec import MARKS, RESULTS, RunSpec, check_size
from livek12.core.text import one_line
from livek12.core.version import __version__
from livek12.evaluation.marking import RunScorer
from livek12.evaluation.matrix import NO_ANSWER, Cells, Item, Matrix, mark_in, read_items, read_matrix
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
    """The matrix, its questions and the runs.

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
        _join(matrix, read_items(options.items, options.columns), options.items)
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
    several = _has_several(matrix)
    questions = [_question(id, facts, source, several, file) for id, facts in matrix.items.items()]
    return TaskData(str(file.resolve()), [get_task(name)], {name: questions}, {})


def _take_keys(matrix: Matrix, exam: TaskData) -> None:
    for questions in exam.questions.values():
        for question in questions:
            matrix.items[question.id] = {"key": "; ".join(question.answer)} if question.answer else {}


def _has_several(matrix: Matrix) -> bool:
    """Some key has several letters."""
    return any(len(read_labels(str(facts.get("key", ""))) or ()) > 1 for facts in matrix.items.values())


def _question(id: str, facts: Item, source: Source, several: bool, file: Path) -> Question:
    """A question without what the matrix does not have."""
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
    """The options of a question, of which the number alone may be known."""
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
    """Makes runs of one matrix: what they share is made once."""

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
        """Equal for questions whose answers are marked alike."""
        if self._cells == "letters" and question.question_type in ("single_choice", "multiple_choice"):
            return question.model_copy(update={"options": [o.label for o in question.options]}).model_dump_json(
                include={*_MARKING}, warnings=False
            )
        return question.id if self._cells not in MARKS else str(question.points)

    def run(self, model: str, folder: Path) -> Imported:
        """Makes the run of a model, or goes on with it."""
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
            answer=None,
            gold="",
            decision="accept" if share == 1 else "reject",
            score=share,
            decided_by=GIVEN,
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
    """The question in questions.jsonl, without what it has by default."""
    return (
        RunQuestion(task=task, question=without_bytes(question)).model_dump_json(exclude_defaults=True).encode() + b"\n"
    )


def _is_begun(run: RunFolder) -> bool:
    return any(has_lines(run.path, stem) for stem in ("responses", "verdicts", "failures"))


def _rest(record: Response | Verdict) -> str:
    """The line of a record behind its key, without what it has by default."""
    return record.model_dump_json(exclude={"key"}, exclude_defaults=True)[1:]
