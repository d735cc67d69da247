"""Reads human marks: JSONL or CSV rows {question_id, correct | score and max_score}.

Contract: a row may also name task, trial (from 0), model and rater. One `Label` a row; a row that cannot be used
costs one line, and the rest goes on.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError, why

UNNAMED = "(unnamed)"
_ID = ("question_id", "item_id", "id")
_YES_NO = {"true": True, "1": True, "correct": True, "accept": True, "yes": True, "right": True}
_YES_NO |= {"false": False, "0": False, "incorrect": False, "reject": False, "no": False, "wrong": False}


@dataclass(frozen=True)
class Label:
    """What one person said of one answer.

    Attributes:
        question_id: of the question.
        correct: fully right or not.
        share: the marks given over the full marks, 0 to 1; None where only right or wrong is said.
        task: of the run; None where the question's id says enough.
        trial: of the answer.
        rater: who; UNNAMED where the row does not say.
    """

    question_id: str
    correct: bool
    share: float | None
    task: str | None
    trial: int
    rater: str


def read_labels(file: Path, model: str, warn: Callable[[str], None]) -> list[Label]:
    """The labels of a file.

    Args:
        file: .csv, or JSON lines.
        model: whose answers the run holds; picks its labels where the file names several models.
        warn: told of each row that cannot be used, in one line.

    Raises:
        UserError: the file cannot be read or holds no usable row.
    """
    labels: list[tuple[str, Label]] = []
    try:
        for number, row in _rows(file):
            try:
                if row is None:
                    raise ValueError("not a JSON object")
                labels.append((str(row.get("model") or ""), _label(row)))
            except (ValueError, TypeError) as error:
                warn(f"{file.name}:{number}: passed over: {error}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
    if not labels:
        raise UserError(f"{file}: no label; rows are {{question_id, correct}} or {{question_id, score, max_score}}")
    return _of_model(labels, model, file)


def _of_model(labels: list[tuple[str, Label]], model: str, file: Path) -> list[Label]:
    """All labels of a file about one model, under whatever name; else those that name the model of the run."""
    named = {name for name, _ in labels if name}
    found = [label for name, label in labels if len(named) < 2 or name in ("", model)]
    if not found:
        raise UserError(f"{file}: labels of {', '.join(sorted(named))}, none of {model}; give the file of this model")
    return found


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        if file.suffix.lower() == ".csv":
            yield from enumerate(csv.DictReader(lines), start=2)
            return
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                yield number, row if isinstance(row, dict) else None


def _label(row: Mapping[str, Any]) -> Label:
    id = next((str(row[name]) for name in _ID if row.get(name) not in (None, "")), None)
    if id is None:
        raise ValueError("no question_id")
    share = _share(row)
    correct = row.get("correct", row.get("verdict"))
    if correct in (None, ""):
        if share is None:
            raise ValueError(f"{id}: neither correct nor score and max_score")
        right = share == 1
    else:
        found = _YES_NO.get(str(correct).strip().lower())
        if found is None and share is None:
            raise ValueError(f"{id}: correct is {correct!r}: write true or false")
        right = share == 1 if found is None else found
    task = row.get("task")
    return Label(
        id, right, share, str(task) if task else None, int(row.get("trial") or 0), str(row.get("rater") or UNNAMED)
    )


def _share(row: Mapping[str, Any]) -> float | None:
    if row.get("score") in (None, ""):
        return None
    score, full = float(row["score"]), float(row.get("max_score") or 1)
    if not (math.isfinite(score) and math.isfinite(full) and 0 <= score <= full):
        raise ValueError(f"score {row['score']} of {row.get('max_score', 1)} is no mark")
    return score / full
