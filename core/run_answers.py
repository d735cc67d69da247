"""Answers of a run in columns, and the table that keeps them on this machine.

Contract: the table is disposable. It lies in the cache, so that none from elsewhere makes a mark, and is used while the
run's files are unchanged; it repeats their problems. Small runs have none.

Runs without responses are read by kind: records that differ only in the key are read once, unless anything needs the
records themselves (marks by people, later keys, damaged lines).
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.key_versions import KEYS_FILE
from livek12.core.lazy import np
from livek12.core.packed import packed_path
from livek12.core.progress import watched
from livek12.core.records import UNMARKED, Failure, Key, Question, Response, Row, Verdict, row_of
from livek12.core.run.access import Fence
from livek12.core.run.folder import QUESTIONS, RunFolder, RunQuestion
from livek12.core.run.journal import journal_files, journal_lines
from livek12.core.run.markings import REGRADES, Change, RegradeCounts, change_of
from livek12.core.scoring.formulas import PredictedTerm
from livek12.core.scoring.outcomes import (
    UNTOLD,
    AnswerFinding,
    Findings,
    Numbers,
    OutcomeColumns,
    Outcomes,
    Slim,
    SlimQuestion,
    Used,
)
from livek12.core.statistics import Codes
from livek12.core.store import cache_folder
from livek12.core.version import __version__

if TYPE_CHECKING:
    from livek12.core.scoring.bank import BankEstimate


LEAST_KEPT = 20_000
"""Smallest run with a table, in answers."""
MOST_TABLES = 64
"""Most tables in the cache; the oldest are removed."""
_LAYOUT = 2


class AnswerOrigin(NamedTuple):
    """Judge and engine of an answer, with versions."""

    judge: str | None
    marked_with: str | None
    engine: str | None
    answered_with: str | None


class AnswerMaking(NamedTuple):
    """Origin of an answer, its judge before people set a mark, and the effect of their mark."""

    origin: AnswerOrigin
    judge: str
    change: Change | None


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """Answers of a run; `making` has an index into `makings` for each outcome."""

    outcomes: Outcomes
    making: Codes
    makings: list[AnswerMaking]

    @cached_property
    def _counts(self) -> list[tuple[AnswerMaking, int]]:
        codes, first, counts = np.unique(self.making, return_index=True, return_counts=True)
        return [(self.makings[codes[n]], int(counts[n])) for n in np.argsort(first).tolist()]

    @cached_property
    def origins(self) -> Mapping[AnswerOrigin, int]:
        """Answers of each origin, by the first answer of each."""
        origins: dict[AnswerOrigin, int] = {}
        for making, answers in self._counts:
            origins[making.origin] = origins.get(making.origin, 0) + answers
        return origins

    @property
    def judges(self) -> frozenset[str]:
        """Judges of the answers, before people set other marks."""
        return frozenset(making.judge for making, _ in self._counts)

    @property
    def unmarked(self) -> int:
        """Answers without a judge's mark."""
        return sum(n for making, n in self._counts if making.judge == UNMARKED and making.origin.judge)

    @property
    def changes(self) -> RegradeCounts:
        """Marks that people set."""
        counts = RegradeCounts()
        for making, answers in self._counts:
            counts.note(making.change, making.origin.judge or "", answers)
        return counts


class RowPicker(Protocol):
    """Picks rows of some questions for a page (`report.shown`)."""

    @property
    def questions(self) -> Collection[tuple[str, str]]:
        """Task and id of each."""

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Looks at rows as they pass by."""


def answers_of(rows: Iterable[Row], slim: Slim) -> ScoredAnswers:
    """Collects rows, none of which is kept."""
    outcomes, makings, codes = OutcomeColumns(), Numbers[AnswerMaking](), array("l")
    for row in rows:
        outcomes.add(slim(row))
        judged = row.judged or row.verdict
        origin = AnswerOrigin(*_marked(row.verdict), *_answered(row.response))
        codes.append(makings[AnswerMaking(origin, judged.judge if judged else UNMARKED, change_of(row))])
    return ScoredAnswers(outcomes.end(), np.array(codes, dtype=np.int64), list(makings))


def read_answers(
    run: RunFolder, slim: Slim, takes: Callable[[Question], bool] | None = None, picker: RowPicker | None = None
) -> ScoredAnswers:
    """Reads the answers of a run from its table, or from its rows, then making a table.

    `slim` is shared by runs that are compared; `takes` filters questions; `picker` receives rows with texts.
    """
    spec = run.spec()
    if picker is None and (alike := read_alike(run)) is not None:
        return of_alike(alike, slim, takes)
    total = sum(task.questions for task in spec.tasks) * spec.trials
    stamp = answers_stamp(run) if total >= LEAST_KEPT else ""
    answers = _kept(run, stamp, slim, takes) if stamp else None
    apart = answers is not None or bool(stamp and packed_path(run.path, "responses").exists())
    if answers is None:
        problems: list[str] = []

        def tell(problem: str) -> None:
            problems.append(problem)
            if run.on_problem is not None:
                run.on_problem(problem)

        rows: Iterable[Row] = RunFolder(run.path, tell).rows(texts=picker is not None and not apart)
        rows = watched(rows, "reading answers", total)
        if takes is not None:
            rows = (row for row in rows if takes(row.question))
        answers = answers_of(rows if picker is None or apart else picker.passing(rows), slim)
        if stamp and takes is None:
            _keep(run, answers, {"stamp": stamp, "problems": problems})
    answers = replace(answers, outcomes=with_prediction(run, answers.outcomes, takes is None))
    if picker is not None and apart:
        for _ in picker.passing(RunFolder(run.path).rows(questions=picker.questions)):
            pass
    return answers


def with_prediction(run: RunFolder, outcomes: Outcomes, whole: bool = True) -> Outcomes:
    """Outcomes, of an adaptive run with its bank's predicted marks."""
    if run.spec().adaptive is None:
        return outcomes
    return replace(outcomes, predicted=standing_of(run, outcomes)[1] if whole else {})


def standing_of(run: RunFolder, outcomes: Outcomes) -> tuple[BankEstimate, dict[str, PredictedTerm]]:
    """Estimate of an adaptive run from its decided answers, and its predicted metrics."""
    from livek12.core.scoring.bank import read_bank

    bank = read_bank(run.path)
    shares = shares_of(outcomes, bank.places)
    standing = bank.curves.estimate(shares)
    ids = frozenset(bank.places)
    mark = PredictedTerm(standing.mark, standing.mark_error, len(outcomes.asked()), ids, 100.0)
    return standing, {"mark": mark, **({"accuracy": replace(mark, scale=1.0)} if bank.is_plain else {})}


def shares_of(outcomes: Outcomes, places: Mapping[str, int]) -> dict[int, float]:
    """Mean share of the points over each question's decided trials, by place."""
    shares: dict[int, list[float]] = {}
    for outcome in outcomes:
        low, high = outcome.finding.share
        if low == high:
            shares.setdefault(places[outcome.question.id], []).append(low)
    return {place: sum(own) / len(own) for place, own in shares.items()}


_MOST_BYTES = 64 << 20
"""Of a list of questions that is held."""
_TOKENS = re.compile(rb'"completion_tokens":(\d{1,12}),')
_END = b'"trial":0},'


@dataclass(frozen=True, eq=False)
class AlikeExam:
    """Tasks and questions of runs, in order."""

    questions: tuple[tuple[str, Question], ...]

    @cached_property
    def places(self) -> dict[bytes, int]:
        """Places by key, as JSON without the trial."""
        keys = (Key(task=task, question_id=q.id).model_dump_json().encode() for task, q in self.questions)
        return {key[:-1]: place for place, key in enumerate(keys)}


@dataclass(frozen=True, eq=False)
class AlikeAnswers:
    """One answer to each question of a run.

    Attributes:
        rows: the first of each kind.
        kinds: index into `rows` of each question.
        tokens: of each answer; None where not stated.
    """

    exam: AlikeExam
    rows: list[Row]
    kinds: Codes
    tokens: list[int | None]


def read_alike(run: RunFolder) -> AlikeAnswers | None:
    """Answers of a run by kind, or None."""
    exam = read_exam(run)
    if exam is None or run.spec().trials != 1 or (run.path / REGRADES).exists():
        return None
    records: list[list[bytes | None]] = []
    tokens: list[int | None] = [None] * len(exam.questions)
    for stem in ("responses", "failures", "verdicts"):
        own: list[bytes | None] = [None] * len(exam.questions)
        for line in journal_lines(run.path, stem):
            key, end, rest = line.partition(_END)
            place = exam.places.get(key[len(b'{"key":') :] + end[:-2])
            if place is None or own[place] is not None:
                return None
            if stated := _TOKENS.match(rest):
                tokens[place], rest = int(stated[1]), rest[stated.end() :]
            own[place] = rest
        records.append(own)
    codes: dict[tuple[object, ...], int] = {}
    rows: list[Row] = []
    kinds: Codes = np.empty(len(exam.questions), dtype=np.int64)
    for place, (task, question) in enumerate(exam.questions):
        response, failure, verdict = (own[place] for own in records)
        kind = (task, response, failure, verdict, len(question.answer), len(question.variables))
        if kind not in codes:
            row = _row(task, question, response, failure, verdict)
            if row is None or not _is_own(row, run):
                return None
            codes[kind] = len(rows)
            rows.append(row)
        kinds[place] = codes[kind]
    return AlikeAnswers(exam, rows, kinds, tokens)


def read_exam(run: RunFolder) -> AlikeExam | None:
    """Questions of a run without responses; None where they need a reader."""
    file, spec = run.path / QUESTIONS, run.spec()
    if not spec.cells or run.key_book().versions or not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return None
    content = file.read_bytes()
    return _exam(content) if hashlib.sha256(content).hexdigest() == spec.questions_sha256 else None


@lru_cache(maxsize=1)
def _exam(content: bytes) -> AlikeExam:
    items = map(RunQuestion.model_validate_json, content.splitlines())
    return AlikeExam(tuple((item.task, item.question) for item in items))


def _row(
    task: str, question: Question, response: bytes | None, failure: bytes | None, verdict: bytes | None
) -> Row | None:
    begin = b'{"key":' + Key(task=task, question_id=question.id).model_dump_json().encode() + b","
    try:
        return row_of(
            task,
            question,
            0,
            Response.model_validate_json(begin + response) if response else None,
            Failure.model_validate_json(begin + failure) if failure else None,
            Verdict.model_validate_json(begin + verdict) if verdict else None,
        )
    except ValueError:
        return None


def _is_own(row: Row, run: RunFolder) -> bool:
    spec, response = run.spec(), row.response
    return response is None or (response.model == spec.model and response.run == spec.identity)


@lru_cache(maxsize=1)  # runs of one exam have one list of questions
def _slim_questions(exam: AlikeExam) -> list[SlimQuestion]:
    slim = Slim()
    return [slim.question(question) for _, question in exam.questions]


def of_alike(alike: AlikeAnswers, slim: Slim, takes: Callable[[Question], bool] | None = None) -> ScoredAnswers:
    """Answers of a run read by kind."""
    kinds = answers_of(alike.rows, slim)
    count = len(alike.exam.questions)
    used = kinds.outcomes.used[alike.kinds]
    used[:, Used._fields.index("completion")] = [UNTOLD if n is None else n for n in alike.tokens]
    tasks = {name: number for number, name in enumerate(kinds.outcomes.tasks)}
    outcomes = replace(
        kinds.outcomes,
        questions=_slim_questions(alike.exam),
        task=np.array([tasks[task] for task, _ in alike.exam.questions], dtype=np.int64),
        question=np.arange(count),
        trial=np.zeros(count, dtype=np.int64),
        used=used,
        spent=None,
        **{name: getattr(kinds.outcomes, name)[alike.kinds] for name in ("finding", "ending", "came")},
    )
    making = kinds.making[alike.kinds]
    if takes is not None:
        chosen = np.flatnonzero([takes(question) for _, question in alike.exam.questions])
        outcomes, making = outcomes.take(chosen), making[chosen]
    return ScoredAnswers(outcomes, making, kinds.makings)


def _kept(run: RunFolder, stamp: str, slim: Slim, takes: Callable[[Question], bool] | None) -> ScoredAnswers | None:
    """None if the table is of other files."""
    table = _table(run)
    if table is None or table["about"]["stamp"] != stamp:
        return None
    trials, about = run.spec().trials, table["about"]
    questions, tasks, task, taken = list[SlimQuestion](), Numbers[str](), array("l"), array("b")
    for name, question in watched(run.each_question(), "reading questions", len(table["making"]) // trials):
        questions.append(slim.question(question))
        task.append(tasks[name])
        taken.append(takes is None or takes(question))
    for problem in about["problems"]:
        if run.on_problem is not None:
            run.on_problem(problem)
    outcomes = Outcomes(
        tasks=list(tasks),
        questions=questions,
        findings=Findings([AnswerFinding(*_frozen(finding)) for finding in about["findings"]]),
        task=np.repeat(np.array(task, dtype=np.int64), trials),
        question=np.repeat(np.arange(len(questions)), trials),
        trial=np.tile(np.arange(trials), len(questions)),
        **{name: table[name] for name in _COLUMNS if name in table},
    )
    making = table["making"]
    if not all(taken):
        chosen = np.flatnonzero(np.repeat(np.array(taken, dtype=np.bool_), trials))
        outcomes, making = outcomes.take(chosen), making[chosen]
    makings = [AnswerMaking(AnswerOrigin(*origin), *others) for origin, *others in about["makings"]]
    return ScoredAnswers(outcomes, making, makings)


_COLUMNS = ("finding", "ending", "came", "used", "spent")


def answers_stamp(run: RunFolder) -> str:
    """Identity of a table: the version, and the state of the run's files."""
    spec, folder = run.spec(), run.path
    packed = [path for stem in _STEMS if (path := packed_path(folder, stem)).exists()]
    journals = chain.from_iterable(journal_files(folder, stem) for stem in _STEMS)
    others = [path for name in (QUESTIONS, REGRADES, KEYS_FILE) if (path := folder / name).exists()]
    states = [(path.name, path.stat()) for path in (*packed, *journals, *others)]
    files = [(name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_dev, s.st_ino) for name, s in states]
    tasks = [task.name for task in spec.tasks]
    return json.dumps([_LAYOUT, __version__, spec.model, spec.trials, tasks, [*spec.known_judges], files])


_STEMS = ("responses", "failures", "verdicts")


def restamp_answers(run: RunFolder, stamp: str, fence: Fence) -> None:
    """Keeps a run's table when lines moved, unless its problems name the old files."""
    table, now = _table(run), answers_stamp(run)
    fence()  # the files are still those that moved
    if table is not None and table["about"]["stamp"] == stamp and not table["about"]["problems"]:
        _save(run, {**table, "about": {**table["about"], "stamp": now}})


def _keep(run: RunFolder, answers: ScoredAnswers, about: dict[str, Any]) -> None:
    columns = {name: getattr(answers.outcomes, name) for name in _COLUMNS}
    about = {**about, "findings": answers.outcomes.findings.distinct, "makings": answers.makings}
    _save(run, {**columns, "making": answers.making, "about": about})


def _save(run: RunFolder, table: Mapping[str, Any]) -> None:
    file, content = _file(run), BytesIO()
    about = np.frombuffer(json.dumps(table["about"]).encode(), dtype=np.uint8)
    columns = {name: column for name, column in table.items() if column is not None and name != "about"}
    np.savez_compressed(content, about=about, **columns)
    with suppress(OSError, UserError):  # a cache that cannot be written costs time alone
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue(), sync=False)
        tables = sorted(file.parent.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)
        for old in tables[:-MOST_TABLES]:
            old.unlink(missing_ok=True)


def _table(run: RunFolder) -> dict[str, Any] | None:
    try:
        with np.load(_file(run)) as arrays:
            table: dict[str, Any] = dict(arrays)
        table["about"] = json.loads(table["about"].tobytes())
    except Exception:  # whatever is wrong with it: it is made anew
        return None
    return table


def _file(run: RunFolder) -> Path:
    name = hashlib.sha256(str(run.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_folder() / "answers" / f"{name}.npz"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _marked(verdict: Verdict | None) -> tuple[str | None, str | None]:
    return (verdict.judge, _in_a_line(verdict.versions)) if verdict else (None, None)


def _answered(response: Response | None) -> tuple[str | None, str | None]:
    if response is None:
        return None, None
    revision = f" @ {response.model_revision}" if response.model_revision else ""
    return f"{response.engine}: {response.model}{revision}", _in_a_line(response.versions)


def _in_a_line(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
