"""Marks of the harness of a run's log, compared with ours.

Contract: `harness.jsonl` has a line for each question (or trial) that the harness marked: `{task, question_id, trial,
scores}`, `trial` null for a mark of all trials. A mark whose values are all 0 or 1 is compared answer by answer; others
have their mean alone. An answer undecided here is no disagreement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.progress import say, warn
from livek12.core.records import Question, Response, Verdict
from livek12.core.run.folder import HARNESS_MARKS, RunFolder
from livek12.core.run.journal import KeySet
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Slim
from livek12.core.text import one_line
from livek12.evaluation.logs import MARKED
from livek12.tasks.plugins.harness_task import PREFIX, RIGHT_OR_WRONG
from livek12.tasks.registry import logged_name

DISAGREEMENTS: Final = "disagreements.jsonl"
_SHOWN_CHARS: Final = 400
_NO_MARK: Final = re.compile(
    r"bleu|rouge|meteor|chrf|bert|f1\b|[wc]er\b|ppl|perplexity|len|token|latency|time", re.IGNORECASE
)
"""Names of what is no mark of right or wrong, even where it is 0 or 1 throughout."""
_OURS: Final = logged_name(PREFIX)
"""Prefix of our tasks' names in logs that are marked again."""
Place = tuple[str, str]
"""A task and the name of one of its marks."""


@dataclass
class MarkBeside:
    """One mark of the harness compared with ours, over one task."""

    answers: int = 0
    total: float = 0.0
    is_binary: bool = True
    both_right: int = 0
    both_wrong: int = 0
    only_harness: int = 0
    only_here: int = 0
    undecided: int = 0
    unmatched: int = 0

    @property
    def decided(self) -> int:
        """Answers that both decided."""
        return self.both_right + self.both_wrong + self.only_harness + self.only_here

    def add(self, mark: float, ours: bool | None) -> bool:
        """Counts an answer; returns true if the two disagree."""
        if ours is None:
            self.undecided += 1
        elif mark == 1.0:
            self.both_right, self.only_harness = self.both_right + ours, self.only_harness + (not ours)
        else:
            self.only_here, self.both_wrong = self.only_here + ours, self.both_wrong + (not ours)
        return ours is not None and ours != (mark == 1.0)


@dataclass
class HarnessMarks:
    """Marks in a harness.jsonl: `of` by name, task, question and trial; comparisons `beside`."""

    source: str
    of: dict[Place, dict[str, float]] = field(default_factory=dict)
    beside: dict[Place, MarkBeside] = field(default_factory=dict)

    @classmethod
    def read(cls, run: RunFolder) -> HarnessMarks | None:
        """Run's marks; None if its answers come from elsewhere."""
        file = run.path / HARNESS_MARKS
        if not file.is_file():
            return None
        marks = cls(str(run.spec().engine_args.get("from") or "the harness"))
        for task, key, scores in _lines(file):
            for name, value in scores.items():
                marks.of.setdefault((task, name), {})[key] = value
                beside = marks.beside.setdefault((task, name), MarkBeside(is_binary=_is_mark(task, name)))
                beside.answers += 1
                beside.total += value
                beside.is_binary &= value in (0.0, 1.0)
        return marks

    def passing(self, rows: Iterable[Row], trials: int, into: Path) -> Iterator[Row]:
        """Passes rows on, comparing each; then writes the disagreements."""
        listed: list[str] = []
        for row in rows:
            if (entry := self._compared(row, trials)) is not None:
                listed.append(json.dumps(entry, ensure_ascii=False) + "\n")
            yield row
        write_atomically(into / DISAGREEMENTS, listed)

    def _compared(self, row: Row, trials: int) -> dict[str, Any] | None:
        ours = row.verdict.correct if row.verdict is not None and row.state in ("graded", "no_answer") else None
        values, unlike = {}, []
        for (task, name), marks in self.of.items():
            if task != row.task or not self.beside[task, name].is_binary:
                continue
            value = marks.get(_key(row.question.id, row.trial))
            if value is None and trials > 1 and row.trial == 0 and _key(row.question.id, None) in marks:
                self.beside[task, name].unmatched += 1
            if value is None and trials == 1:
                value = marks.get(_key(row.question.id, None))
            if value is None or row.response is None:
                continue
            values[name] = value
            if self.beside[task, name].add(value, ours):
                unlike.append(name)
        return _listed(row, values, unlike) if unlike else None

    def summary(self) -> dict[str, Any]:
        """Counts, for report.json, with a sentence for each mark."""
        tasks: dict[str, dict[str, Any]] = {}
        for (task, name), beside in self.beside.items():
            figures: dict[str, Any] = {"mean": beside.total / beside.answers, "marked": beside.answers}
            if beside.is_binary:
                names = ("both_right", "both_wrong", "only_harness", "only_here", "undecided", "unmatched")
                figures |= {key: getattr(beside, key) for key in names}
            tasks.setdefault(task, {})[name] = figures
        lines = [_sentence(self.source, task, name, beside) for (task, name), beside in self.beside.items()]
        return {"from": self.source, "tasks": tasks, "lines": lines}


def _is_mark(task: str, name: str) -> bool:
    if task.startswith(_OURS):
        return not RIGHT_OR_WRONG.isdisjoint(re.split(r"[/,.]", name))
    return not _NO_MARK.search(name)


def _sentence(source: str, task: str, name: str, mark: MarkBeside) -> str:
    mean = f"{task}: {source} says {name} {mark.total / mark.answers:.3f} over {mark.answers:,}"
    if not mark.is_binary:
        return f"{mean}, which is no mark of right or wrong"
    if mark.unmatched and not mark.decided:
        return f"{mean}, one mark for all answers to a question, which is compared with none of them"
    unlike = mark.only_harness + mark.only_here
    if not unlike:
        open_ = f"; {mark.undecided:,} are undecided here" if mark.undecided else ""
        return f"{mean}; of {mark.decided:,} answers that both decided they agree on all{open_}"
    return (
        f"{mean}; of {mark.decided:,} answers that both decided they disagree on {unlike:,}: {mark.only_harness:,} are"
        f" right there alone, {mark.only_here:,} here alone; {mark.undecided:,} are undecided here"
        f" ({DISAGREEMENTS} lists them)"
    ).replace(f"; 0 are undecided here ({DISAGREEMENTS}", f" ({DISAGREEMENTS}")


def _listed(row: Row, marks: Mapping[str, float], unlike: list[str]) -> dict[str, Any]:
    verdict, response = row.verdict, row.response
    parts = verdict.parts if verdict else []
    text = response.text if response else ""
    return {
        "task": row.task,
        "question_id": row.question.id,
        "trial": row.trial,
        "here": "right" if verdict and verdict.correct else "wrong",
        "harness": dict(marks),
        "disagree": unlike,
        "question": one_line(row.question.question, _SHOWN_CHARS),
        "gold": row.question.answer,
        "found": [part.answer for part in parts],
        "decided_by": "+".join(dict.fromkeys(part.decided_by for part in parts)),
        "reason": "; ".join(filter(None, dict.fromkeys(part.reason for part in parts)))
        or (verdict.reason if verdict else ""),
        "response_end": one_line(text[-_SHOWN_CHARS:], _SHOWN_CHARS),
    }


def _lines(file: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    try:
        with file.open("rb") as lines:
            for line in lines:
                row = json.loads(line)
                yield row["task"], _key(row["question_id"], row["trial"]), row["scores"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({one_line(error, 80)}); rejudge the log into a new folder") from None


def _key(question: str, trial: int | None) -> str:
    return f"{question}/{'' if trial is None else trial}"


def _marks_in(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            marked = json.loads(line).get(MARKED)
            if isinstance(marked, dict):
                yield marked


def tell_marks(run: RunFolder, file: Path, take: bool) -> None:
    """Takes an imported file's marks of judge models, or mentions them."""
    if take:
        take_marks(run, file)
    elif next(_marks_in(file), None) is not None:
        say("the log holds marks of judge models, which are not taken: --log-marks takes them and their audits")


def take_marks(run: RunFolder, file: Path) -> None:
    """Writes an imported file's marks of judge models into the run.

    Contract: a mark is taken if judge models decided it or audited the reasoning, and if it is of the very response
    that was imported and of no more points than its question has; the rules make the others anew.
    """
    questions = {(task, item.id): item for task, exam in run.questions().items() for item in exam}
    bare = {"text": "", "reasoning": None}
    responses = {str(item.key): (item.sha256, item.model_copy(update=bare)) for item in run.responses()}
    done = KeySet(str(response.key) for response, _ in run.judged())
    judges: dict[str, str] = {}
    names: set[str] = set()
    taken = refused = 0
    with run.writer("verdicts") as writer:
        for marked in _marks_in(file):
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
    marked: dict[str, Any], questions: dict[tuple[str, str], Question], responses: dict[str, tuple[str, Response]]
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
