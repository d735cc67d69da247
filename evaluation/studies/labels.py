"""Labels: the only reader of what people state of a run's answers (JSON lines or CSV, docs/label-answers.md).

An unusable row is reported with file and line, and the whole file is refused: a study never uses part of it. Unread
columns are reported, near misses of a column's name refused.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from livek12.core.error_types import error_types
from livek12.core.errors import UserError, why
from livek12.core.files import refuse_pointer
from livek12.core.records import ERROR_TYPES, ErrorType
from livek12.core.scoring import Row
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
    """One label for each rater and answer of .csv or JSON lines files, in the order of the files.

    `model` selects labels where files name several; `warn` gets a line for each unusable row or column.
    """
    files = [files] if isinstance(files, Path) else files
    labels = [label for file in files for label in _of_file(file, warn)]
    return of_model(_last_words(labels), model, files)


def _of_file(file: Path, warn: Callable[[str], None]) -> list[Label]:
    labels, bad, unread = list[Label](), 0, set[str]()
    try:
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
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
    if bad:
        raise UserError(f"{file}: {bad} row{'s' * (bad > 1)} cannot be used; mend or remove what is told above")
    if not labels:
        raise UserError(f"{file}: no label; rows are {{question_id, correct}} or {{question_id, score, max_score}}")
    if unread:
        warn(f"{file.name}: columns that are not read: {', '.join(map(one_line, sorted(unread)))}")
    return labels


def read_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """The rows of a file by line; None for a line that is no JSON object."""
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
    """The label of one row; empty cells are absent."""
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
    """A truth value; None for an empty cell, and for other words if `lenient`."""
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
    """Points by criterion, from an object or (CSV) its JSON."""
    value = row.get("criteria", {})
    with suppress(ValueError, RecursionError):
        value = json.loads(value) if isinstance(value, str) else value
    marks: dict[Any, Any] = value if isinstance(value, dict) else {"": None}
    if not all(isinstance(mark, int | float) and 0 <= mark < math.inf for mark in marks.values()):
        raise ValueError(f"{row['question_id']}: criteria is no object of points by criterion")
    return {str(name): mark for name, mark in marks.items()}


def _last_words(labels: Iterable[Label]) -> list[Label]:
    """One label for each rater and answer: the latest where rows have times; without withdrawn ones."""
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
    """All labels if they are about one model, under whatever name; else those of the run's model."""
    named = {label.model for label in labels if label.model}
    chosen = [label for label in labels if model is None or len(named) < 2 or label.model in (None, model)]
    if labels and not chosen:
        names = ", ".join(sorted(named))
        raise UserError(f"{files[0]}: labels of {one_line(names, 200)}, none of {model}; give the file of this model")
    return chosen


# --- labels and the answers they are of -----------------------------------------------------------------------------


def fit_labels(labels: Iterable[Label], rows: Iterable[Row]) -> tuple[list[tuple[Label, Row]], list[Stranger]]:
    """Pairs of labels and answers, and labels without an answer with the reason."""
    answers: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        answers[row.question.id, row.trial].append(row)
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
