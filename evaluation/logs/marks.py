"""Marks of judge models in a harness's log, taken into the imported run.

Contract: a mark is taken if judge models decided it or audited the reasoning, and if it is of the very response that
was imported and of no more points than its question has; the rules make the others anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.progress import say, warn
from livek12.core.records import Question, Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.keys import KeySet
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Slim
from livek12.core.text import one_line
from livek12.evaluation.logs import MARKED


def marks_in(file: Path) -> Iterator[dict[str, Any]]:
    """Marks by models in an imported file, row by row."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            marked = json.loads(line).get(MARKED)
            if isinstance(marked, dict):
                yield marked


def tell_marks(run: RunFolder, file: Path, take: bool) -> None:
    """Takes an imported file's marks of judge models, or mentions them."""
    if take:
        take_marks(run, file)
    elif next(marks_in(file), None) is not None:
        say("the log holds marks of judge models, which are not taken: --log-marks takes them and their audits")


def take_marks(run: RunFolder, file: Path) -> None:
    """Writes an imported file's marks of judge models into the run."""
    questions = {(task, item.id): item for task, exam in run.questions().items() for item in exam}
    bare = {"text": "", "reasoning": None}
    responses = {str(item.key): (item.sha256, item.model_copy(update=bare)) for item in run.responses()}
    done = KeySet(str(response.key) for response, _ in run.judged())
    judges: dict[str, str] = {}
    names: set[str] = set()
    taken = refused = 0
    with run.writer("verdicts") as writer:
        for marked in marks_in(file):
            verdict = _checked(marked, questions, responses)
            if verdict is None:
                refused += 1
            elif done.add(verdict.key):
                writer.append(verdict)
                judges.setdefault(verdict.key.task, verdict.judge)
                names.update(call.judge for call in verdict.calls)
                taken += 1
    if judges:
        who = one_line(f"judges of the imported log: {', '.join(sorted(names))}", 200)
        words = dict.fromkeys(judges.values(), who)
        run.begin_marking(judges, words, run.spec().marking)
        say(f"{run.path}: the marks of {taken:,} answers are those of the log's judge models")
    if refused:
        warn(f"{refused:,} marks in the log do not fit what was imported; these answers are marked anew")


def _checked(
    marked: dict[str, Any],
    questions: dict[tuple[str, str], Question],
    responses: dict[str, tuple[str, Response]],
) -> Verdict | None:
    try:
        verdict = Verdict.model_validate({**marked, "marking": 0, "repeat": 0})
        key = verdict.key
        digest, response = responses[str(key)]
        question = questions[key.task, key.question_id]
        Slim()(Row(key.task, question, key.trial, verdict.state, response, verdict))
    except (ValidationError, KeyError, UserError):
        return None
    full = question.points in (None, verdict.max_points)
    by_models = verdict.by_models or verdict.process is not None
    return verdict if full and by_models and verdict.response_sha256 == digest else None
