"""Labels: the only reader of what people state of a run's answers (JSON lines or CSV, docs/label-answers.md); plans.

An unusable row is reported with file and line, and the whole file is refused: a study never uses part of it. Unread
columns are reported, near misses of a column's name refused.

A plan names the answers to label within a budget. Its strata: `rules`; `models, right`, `models, wrong`, `models,
partly`, by mark, since false accepts and false rejects differ; `no answer`, worth 0 for sure; `undecided`. Weights are
points for `mark`, else equal. The budget is shared by Neyman's rule (1934), n ∝ weight · deviation of what a label
changes: for rules from the judge card, for models `SUPPOSED`. The draw within a stratum is systematic over papers from
a seeded start. Raters see no other field of a plan than {task, question_id, trial}.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

from livek12.core.error_types import error_types
from livek12.core.errors import UserError, explain_errors
from livek12.core.files import refuse_pointer
from livek12.core.groups import grouped
from livek12.core.records import ERROR_TYPES, ErrorType
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Outcome, Slim, question_points
from livek12.core.text import one_line

UNNAMED = "(unnamed)"
COLUMNS = (
    *("task", "question_id", "trial", "model", "rater", "correct", "score", "max_score"),
    *ERROR_TYPES,
    *("criteria", "error_type", "note", "response_sha256", "at", "withdrawn"),
)
"""The labelling page writes `response_sha256` (the response that was read), `at` (so that a rater's later label
replaces the earlier one) and `withdrawn`."""
_ALIASES = {"item_id": "question_id", "id": "question_id", "verdict": "correct"}
_YES_NO = {"true": True, "1": True, "correct": True, "accept": True, "yes": True, "right": True}
_YES_NO |= {"false": False, "0": False, "incorrect": False, "reject": False, "no": False, "wrong": False}
_BEYOND = "(beyond)"
_TOLD = 10
"""Bad rows that are reported one by one."""


@dataclass(frozen=True)
class Label:
    """One person's label of one answer.

    `correct` None: only errors are stated; `share`: marks over full marks; `task` None: the id is enough; `errors`:
    presence of error types (LiveK12Bench, section 2.3); `criteria`: points by criterion of the scheme; `error_type`:
    the one kind, by its name in `core.error_types`; `response_sha256`: of the response that was read; `at`: ISO 8601;
    `place`: file and line.
    """

    question_id: str
    correct: bool | None
    share: float | None
    task: str | None
    trial: int
    rater: str
    errors: Mapping[ErrorType, bool] = field(default_factory=dict)
    criteria: Mapping[str, float] = field(default_factory=dict)
    error_type: str | None = None
    note: str = ""
    model: str | None = None
    response_sha256: str | None = None
    at: str = ""
    withdrawn: bool = False
    place: str = ""

    @property
    def said(self) -> tuple[object, ...]:
        """Its content, without rater, time and place."""
        by_name = tuple(sorted(self.errors.items())), tuple(sorted(self.criteria.items()))
        return self.correct, self.share, *by_name, self.error_type, self.withdrawn


Stranger = tuple[Label, str]
"""A label whose answer is not in a run, and the reason."""


def read_labels(files: Path | Sequence[Path], model: str | None, warn: Callable[[str], None]) -> list[Label]:
    """One label for each rater and answer of .csv or JSON lines files, in file order.

    `model` selects labels where files name several; `warn` gets a line for each unusable row or column.
    """
    files = [files] if isinstance(files, Path) else files
    labels = [label for file in files for label in _of_file(file, warn)]
    return of_model(_last_words(labels), model, files)


def _of_file(file: Path, warn: Callable[[str], None]) -> list[Label]:
    labels, bad, unread = list[Label](), 0, set[str]()
    for line, row in read_rows(file):
        place = f"{file.name}:{line}"
        try:
            if row is None:
                raise ValueError("not a JSON object")
            labels.append(label_of(row, place))
            unread |= row.keys() - {*COLUMNS, *_ALIASES}
        except (ValueError, TypeError) as error:
            bad += 1
            if bad <= _TOLD:
                warn(f"{place}: {one_line(error, 300)}")
    if bad:
        raise UserError(f"{file}: {bad} row{'s' * (bad > 1)} cannot be used; mend or remove what is told above")
    if not labels:
        raise UserError(f"{file}: no label; rows are {{question_id, correct}} or {{question_id, score, max_score}}")
    if unread:
        warn(f"{file.name}: columns that are not read: {', '.join(map(one_line, sorted(unread)))}")
    return labels


def read_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Rows of a file by line; None for a line that is no JSON object."""
    damage = UnicodeDecodeError, csv.Error
    with explain_errors(f"{file}: cannot be read:", "", *damage):
        refuse_pointer(file)
        with file.open(encoding="utf-8-sig", newline="") as lines:
            if file.suffix.lower() == ".csv":
                reader = csv.DictReader(lines, restkey=_BEYOND)
                for row in reader:
                    yield reader.line_num, row
                return
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _object(line)


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    lower = {name.lower(): name for name in (*COLUMNS, *_ALIASES)}
    for name, value in sorted(row.items(), key=lambda cell: cell[0] in _ALIASES):  # our own names come first
        if name == _BEYOND:
            raise ValueError("more cells than columns")
        if name in COLUMNS or name in _ALIASES:
            if value is not None and value != "":
                cells.setdefault(_ALIASES.get(name, name), value)
        elif near := get_close_matches(name.strip().lower(), lower, n=1, cutoff=0.84):
            raise ValueError(f"unknown column {name!r}: write {lower[near[0]]!r}, or give it another name")
    return cells


def label_of(given: Mapping[str, Any], place: str = "") -> Label:
    """Label of one row; empty cells are absent."""
    row = _known(given)
    if "question_id" not in row:
        raise ValueError("no question_id")
    share, id = _share(row), str(row["question_id"])
    correct = _yes_no(row, "correct", lenient=share is not None)
    if share is not None and correct is not None and correct != (share == 1):
        raise ValueError(f"{id}: correct is {row['correct']!r}, but score is {row['score']} of {row.get('max_score')}")
    errors = {kind: present for kind in ERROR_TYPES if (present := _yes_no(row, kind)) is not None}
    withdrawn = bool(_yes_no(row, "withdrawn"))
    if correct is None and share is None and not (errors or row.keys() & {"error_type", "criteria"} or withdrawn):
        raise ValueError(f"{id}: says nothing: neither correct, nor score and max_score, nor an error")
    return Label(
        id,
        share == 1 if correct is None and share is not None else correct,
        share,
        _text(row, "task"),
        _trial(row),
        _text(row, "rater") or UNNAMED,
        errors,
        _criteria(row),
        _text(row, "error_type"),
        _text(row, "note") or "",
        _text(row, "model"),
        _text(row, "response_sha256"),
        _text(row, "at") or "",
        withdrawn,
        place,
    )


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{row['question_id']}: {name} is no text")
    return None if value is None else str(value).strip() or None


def _yes_no(row: Mapping[str, Any], name: str, lenient: bool = False) -> bool | None:
    if name not in row:
        return None
    value = _YES_NO.get(str(row[name]).strip().lower())
    if value is None and not lenient:
        raise ValueError(f"{row['question_id']}: {name} is {str(row[name])[:40]!r}: write true or false")
    return value


def _trial(row: Mapping[str, Any]) -> int:
    text = str(row.get("trial", 0)).strip()
    if isinstance(row.get("trial"), bool) or not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise ValueError(f"{row['question_id']}: trial is {text[:40]!r}: write a number from 0")
    return int(text)


def _share(row: Mapping[str, Any]) -> float | None:
    if "score" not in row:
        if "max_score" in row and "correct" not in row:
            raise ValueError(f"{row['question_id']}: max_score without score")
        return None
    try:
        score, full = float(row["score"]), float(row.get("max_score", 1))
    except (ValueError, TypeError):
        score = full = math.nan
    if not (math.isfinite(score) and math.isfinite(full) and 0 <= score <= full and full > 0):
        given = f"score {str(row['score'])[:40]!r} of {str(row.get('max_score', 1))[:40]!r}"
        raise ValueError(f"{row['question_id']}: {given} is no mark")
    return score / full


def _criteria(row: Mapping[str, Any]) -> dict[str, float]:
    value = row.get("criteria", {})
    with suppress(ValueError, RecursionError):
        value = json.loads(value) if isinstance(value, str) else value
    marks: dict[Any, Any] = value if isinstance(value, dict) else {"": None}
    if not all(isinstance(mark, int | float) and 0 <= mark < math.inf for mark in marks.values()):
        raise ValueError(f"{row['question_id']}: criteria is no object of points by criterion")
    return {str(name): mark for name, mark in marks.items()}


def _last_words(labels: Iterable[Label]) -> list[Label]:
    latest: dict[tuple[object, ...], Label] = {}
    for label in labels:
        key = label.rater, label.model, label.task, label.question_id, label.trial
        before = latest.get(key)
        if before is not None and not (before.at and label.at) and before.said != label.said:
            raise UserError(
                f"{label.place}: {label.rater} says something else of {label.question_id} (trial {label.trial}) than"
                f" in {before.place}; keep one of them, or say in `at` when each was written"
            )
        if before is None or label.at >= before.at:
            latest[key] = label
    return [label for label in latest.values() if not label.withdrawn]


def of_model(labels: list[Label], model: str | None, files: Sequence[Path]) -> list[Label]:
    """All labels if about one model; else those of the run's model."""
    named = {label.model for label in labels if label.model}
    chosen = [label for label in labels if model is None or len(named) < 2 or label.model in (None, model)]
    if labels and not chosen:
        names = ", ".join(sorted(named))
        raise UserError(f"{files[0]}: labels of {one_line(names, 200)}, none of {model}; give the file of this model")
    return chosen


# --- labels and the answers they are of -----------------------------------------------------------------------------


def fit_labels(labels: Iterable[Label], rows: Iterable[Row]) -> tuple[list[tuple[Label, Row]], list[Stranger]]:
    """Pairs of labels and answers, and labels without an answer with the reason."""
    answers = grouped(((row.question.id, row.trial), row) for row in rows)
    tasks = {row.task for answers_of in answers.values() for row in answers_of}
    pairs, strangers = list[tuple[Label, Row]](), list[Stranger]()
    for label in labels:
        answers_of = [
            row for row in answers.get((label.question_id, label.trial), []) if label.task in (None, row.task)
        ]
        if len(answers_of) > 1:
            raise UserError(f"{_named(label)}: is in several tasks of the run: name the task in the label")
        if not answers_of:
            strangers.append((label, _why_none(label, tasks, {id for id, _ in answers})))
        elif answers_of[0].response and label.response_sha256 not in (None, answers_of[0].response.sha256):
            strangers.append((label, f"{_named(label)}: the label is of another response than the run's"))
        else:
            check_kind(label, answers_of[0])
            pairs.append((replace(label, task=answers_of[0].task), answers_of[0]))
    return pairs, strangers


def refuse_strangers(runs: Sequence[Sequence[Stranger]]) -> None:
    """Refuses labels that match no answer of any run (`fit_labels`)."""
    lost = [{label.place: line for label, line in strangers} for strangers in runs]
    nowhere = set(lost[0]).intersection(*lost) if lost else set()
    first = next((line for place, line in lost[0].items() if place in nowhere), None) if lost else None
    if first is not None:
        more = f" (and {len(nowhere) - 1} more such labels)" if len(nowhere) > 1 else ""
        raise UserError(f"{first}{more}")


def check_kind(label: Label, row: Row) -> None:
    """Refuses a kind of error that the answer's benchmark does not have."""
    kinds = error_types(row.question.benchmark)
    if label.error_type and kinds is not None and label.error_type not in {kind.name for kind in kinds}:
        names = ", ".join(kind.name for kind in kinds) or "none"
        problem = f"{one_line(label.error_type, 40)!r} is no kind of error of {row.question.benchmark}"
        raise UserError(f"{_named(label)}: {problem}, which has {names}")


def _why_none(label: Label, tasks: set[str], questions: set[str]) -> str:
    if label.task is not None and label.task not in tasks:
        return f"{_named(label)}: {one_line(label.task, 80)} is no task of the run; it has {', '.join(sorted(tasks))}"
    if label.question_id not in questions:
        return f"{_named(label)}: is no question of the run"
    return f"{_named(label)}: the run has no trial {label.trial} of it"


def _named(label: Label) -> str:
    return f"{label.place}: {one_line(label.question_id, 80)}" if label.place else one_line(label.question_id, 80)


RULES, UNDECIDED, NOTHING = "rules", "undecided", "no answer"
RIGHT, WRONG, PARTLY = "models, right", "models, wrong", "models, partly"
MODELS = (RIGHT, WRONG, PARTLY)
METRICS = ("accuracy", "mark")
Key = tuple[str, str, int]
_Seen = tuple[Outcome, bool]
"""An answer, and whether models voted on a part of it."""


@dataclass(frozen=True)
class Judged:
    """Answer for sampling; `cluster` is its paper (`paper`), else its source question.

    `low` and `high` are the judge's share at worst and best; `weight` is above 0.
    """

    key: Key
    cluster: str
    paper: bool
    weight: float
    low: float
    high: float
    stratum: str


def judged(rows: Iterable[Row], metric: str) -> dict[str, list[Judged]]:
    """Answers by task, question and trial."""
    slim = Slim()
    tasks: dict[str, list[_Seen]] = {}
    for row in rows:
        voted = row.verdict is not None and any(part.votes for part in row.verdict.parts)
        tasks.setdefault(row.task, []).append((slim(row), voted))
    return {task: _of_task(task, outcomes, metric) for task, outcomes in tasks.items()}


def _of_task(task: str, outcomes: list[_Seen], metric: str) -> list[Judged]:
    outcomes = sorted(outcomes, key=lambda seen: (seen[0].question.id, seen[0].trial))
    worth = [1.0] * len(outcomes)
    if metric == "mark":
        points, note = question_points([outcome.question for outcome, _ in outcomes])
        if points is None:
            raise UserError(f"{task}: mark: {note}; choose --metric accuracy")
        worth = points
    return [
        _one(outcome, voted, weight, metric)
        for (outcome, voted), weight in zip(outcomes, worth, strict=True)
        if weight > 0
    ]


def _one(outcome: Outcome, voted: bool, weight: float, metric: str) -> Judged:
    low, high = outcome.finding.share if metric == "mark" else outcome.finding.correct
    paper = outcome.question.paper_id
    return Judged(
        key=(outcome.task, outcome.question.id, outcome.trial),
        cluster=outcome.question.source if paper is None else paper,
        paper=paper is not None,
        weight=weight,
        low=low,
        high=high,
        stratum=_stratum(outcome, voted, low, high),
    )


def _stratum(outcome: Outcome, voted: bool, low: float, high: float) -> str:
    if low != high:
        return UNDECIDED
    if outcome.finding.state == "no_answer":
        return NOTHING
    if voted:
        return RIGHT if low == 1 else WRONG if low == 0 else PARTLY
    return RULES


@cache
def rules_record() -> tuple[int, int]:
    """Labelled answers of the judge card that rules decided, and wrong ones."""
    record = json.loads((Path(__file__).parent / "rules_record.json").read_text("utf-8"))
    return int(record["decided"]), int(record["wrong"])


def read_plan(file: Path) -> list[Key]:
    """Distinct keys of a plan's answers."""
    return list(_read(file))


def planned_strata(file: Path) -> dict[Key, str]:
    """Strata of planned answers (plans of other studies have none)."""
    return {key: stratum for key, stratum in _read(file).items() if stratum in (RULES, *MODELS)}


def _read(file: Path) -> dict[Key, Any]:
    with explain_errors(f"{file}: cannot be read:", "", UnicodeDecodeError):
        lines = file.read_text("utf-8-sig").splitlines()
    strata = dict(_planned(line, f"{file.name}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    if not strata:
        raise UserError(f"{file}: plans nothing; rows are {{task, question_id, trial}}")
    return strata


def _planned(line: str, place: str) -> tuple[Key, Any]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UserError(f"{place}: not a JSON object")
    task, id, trial = row.get("task"), row.get("question_id"), row.get("trial", 0)
    if not isinstance(task, str) or not isinstance(id, str) or type(trial) is not int:
        raise UserError(f"{place}: names no answer; rows are {{task, question_id, trial}}")
    return (task, id, trial), row.get("stratum")


def planned(rows: Iterable[Row], plan: list[Key] | None, name: str, tell: Callable[[str], None]) -> list[Row]:
    """Answers to label, in the plan's order; all answers without one.

    `tell` gets one line on planned answers that never came.
    """
    if plan is None:
        answers = [row for row in rows if row.response is not None]
    else:
        wanted = set(plan)
        by_key = {key: row for row in rows if (key := (row.task, row.question.id, row.trial)) in wanted}
        if strange := next((key for key in plan if key not in by_key), None):
            task, id, trial = strange
            raise UserError(f"{name}: {one_line(f'{task}/{id}/{trial}', 120)} is no answer of the run")
        answers = [row for key in plan if (row := by_key[key]).response is not None]
        if len(answers) < len(plan):
            tell(f"{name}: {len(plan) - len(answers)} of its answers never came: there is nothing to label")
    if not answers:
        raise UserError("there is no answer to label: the run holds none yet")
    return answers


SUPPOSED = 0.15
"""Prior error rate of models."""
FEWEST = 5
"""Labels of each stratum of models."""
Place = tuple[str, str]


def label_plan(rows: Iterable[Row], budget: int, seed: int = 0, metric: str = "accuracy") -> list[dict[str, Any]]:
    """Rows {task, question_id, trial, stratum, answers, planned}, in labelling order."""
    strata = grouped(
        ((task, answer.stratum), answer)
        for task, answers in judged(rows, metric).items()
        for answer in answers
        if answer.stratum in (RULES, *MODELS)
    )
    if not strata:
        raise UserError("nothing of this run is decided: judge it first, then plan the labels")
    counts = allocate(strata, budget)
    chosen = [
        (answer, place, counts[place])
        for place in sorted(strata)
        for answer in draw(strata[place], counts[place], seed)
    ]
    random.Random(seed).shuffle(chosen)  # a rater sees neither strata nor papers in a row
    return [
        {
            **dict(zip(("task", "question_id", "trial"), answer.key, strict=True)),
            "stratum": place[1],
            "answers": len(strata[place]),
            "planned": count,
        }
        for answer, place, count in chosen
    ]


def allocate(strata: Mapping[Place, Sequence[Judged]], budget: int) -> dict[Place, int]:
    """Number of labels by stratum."""
    sizes = {place: len(answers) for place, answers in strata.items()}
    counts = {place: min(FEWEST, size) if place[1] in MODELS else 0 for place, size in sizes.items()}
    if sum(counts.values()) > budget:
        raise UserError(f"--budget {budget}: the strata of models alone need {sum(counts.values())} labels")
    need = {place: sum(a.weight for a in strata[place]) * _deviation(place[1]) for place in strata}
    for _ in range(min(budget, sum(sizes.values())) - sum(counts.values())):
        open_places = [place for place in sizes if counts[place] < sizes[place]]
        # Neyman's shares in whole labels.
        best = max(open_places, key=lambda place: need[place] ** 2 / ((counts[place] + 0.5) * (counts[place] + 1.5)))
        counts[best] += 1
    return counts


def _deviation(stratum: str) -> float:
    decided, wrong = rules_record()
    rate = (wrong + 0.5) / (decided + 1) if stratum == RULES else SUPPOSED
    return sqrt(rate * (1 - rate))


def draw(answers: Sequence[Judged], count: int, seed: int) -> list[Judged]:
    """Every n-th answer, by paper, random within."""
    if not count:
        return []

    def order(answer: Judged) -> tuple[str, bytes]:
        return answer.cluster, hashlib.sha256(f"{seed}/{answer.key}".encode("utf-8", "surrogatepass")).digest()

    sorted_answers = sorted(answers, key=order)
    step = len(answers) / count
    start = random.Random(f"{seed}/{answers[0].key[0]}/{answers[0].stratum}").random() * step
    return [sorted_answers[min(int(start + number * step), len(answers) - 1)] for number in range(count)]
