"""Which questions tell models apart, and which keys look wrong: the items of an exam over the runs of several models.

Contract: answers are those of one way of asking (`evaluation.sieve`). A question's difficulty is the share of runs'
answers that are fully right, low and high where some are undecided. Its discrimination is the correlation, over the
runs, of being right on it with the ability shown on the others (item-rest correlation; ability is the mean of
right-or-wrong less the question's own mean, so that runs need not have asked the same questions). Undecided answers
are in neither. A key is suspect for either of two reasons, which are told apart: the discrimination is negative, or
the answers themselves say so (`evaluation.studies.suspects`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.core.statistics import mean_std
from livek12.core.text import one_line
from livek12.evaluation.sieve import ANY, AnswerChoice, QuestionKey, exam_of, one_way
from livek12.evaluation.studies.suspects import AnswerSaid, SameAnswer, Suspicion, suspicion
from livek12.evaluation.studies.words import number, percent
from livek12.report.paper import anchor_of

FEWEST_RUNS = 3
"""Fewer runs give no correlation worth the name."""
SUSPECT = 0.3
"""From which chance on a key is listed; docs/studies.md has recall and precision of planted wrong keys."""


class Answered(NamedTuple):
    """What an item study keeps of one answer; `right` None: undecided or missing; `said` the parts' answers."""

    right: bool | None
    low: float
    high: float
    said: tuple[str, ...]
    seconds: float | None
    tokens: int | None


@dataclass
class ExamItem:
    """One question with what each run answered, by run.

    Attributes:
        task: of the first run that asked it.
        question: that was asked.
        answers: by run.
        tasks: that asked it, by run.
    """

    task: str
    question: Question
    answers: dict[str, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    tasks: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Its name in results."""
        return self.task, self.question.id

    def scores(self) -> dict[str, float]:
        """The share of decided answers that are right, of each run that has some."""
        decided = {run: [a.right for a in given if a.right is not None] for run, given in self.answers.items()}
        return {run: sum(marks) / len(marks) for run, marks in decided.items() if marks}

    def said(self) -> list[AnswerSaid]:
        """The decided answers that say something; the trials of a run weigh one together."""
        found = []
        for run, given in self.answers.items():
            usable = [answer for answer in given if answer.right is not None and any(answer.said)]
            found += [AnswerSaid(run, bool(a.right), a.said, 1 / len(usable)) for a in usable]
        return found


def read_items(runs: Mapping[str, Iterable[Row]], choice: AnswerChoice = ANY) -> list[ExamItem]:
    """The items of several runs, by exam and question.

    Args:
        runs: rows of each run by its name.
        choice: of the answers, where runs were asked in several ways.

    Raises:
        UserError: there are no answers, or the runs have no way of asking in common.
    """
    items: dict[QuestionKey, ExamItem] = {}
    exams = _Exams()
    for run, rows in one_way(runs, choice).items():
        for row in rows:
            key = exams[row.task], row.question.id
            item = items.get(key) or items.setdefault(key, ExamItem(row.task, row.question))
            item.answers[run].append(_answered(row))
            item.tasks[run] = row.task
    if not items:
        raise UserError("there are no answers: give run folders with answers to the same questions")
    return [items[key] for key in sorted(items)]


class _Exams(dict[str, str]):
    """The exam of each task, looked up once."""

    def __missing__(self, task: str) -> str:
        self[task] = exam = exam_of(task)
        return exam


def _answered(row: Row) -> Answered:
    _, (low, high) = outcome_bounds(row)
    parts, response = row.verdict.parts if row.verdict else [], row.response
    return Answered(
        right=bool(low) if low == high else None,
        low=low,
        high=high,
        said=tuple(part.answer or "" for part in parts),
        seconds=response.seconds if response else None,
        tokens=response.completion_tokens if response else None,
    )


def items_study(
    items: Sequence[ExamItem], same: SameAnswer, step: Callable[[], None] = lambda: None, prior: float = 0.03
) -> dict[str, Any]:
    """Difficulty, discrimination, open share and time of each question, and the keys that look wrong.

    Args:
        items: from `read_items`.
        same: whether two answers to a question are one.
        step: called after each item.
        prior: the share of keys taken to be wrong before any answer is seen.

    Raises:
        UserError: fewer than three runs.
    """
    runs = sorted({run for item in items for run in item.answers})
    if len(runs) < FEWEST_RUNS:
        raise UserError(f"items needs the runs of {FEWEST_RUNS} models or more on the same questions, not {len(runs)}")
    scores = [item.scores() for item in items]
    rest = _Rest(scores)
    rows, suspects = [], []
    for item, own in zip(items, scores, strict=True):
        seen = _row(item, rest.discrimination(own))
        doubt = suspicion(item.question, item.said(), rest.abilities(own), same, prior)
        step()
        rows.append(seen)
        negative = seen["discrimination"] is not None and seen["discrimination"] < 0
        if doubt.chance >= SUSPECT or negative:
            suspects.append(_suspect(item, seen, doubt, len(runs)))
    suspects.sort(key=lambda one: (-one["chance"], one["discrimination"] or 0.0))
    known = [row["discrimination"] for row in rows if row["discrimination"] is not None]
    return {
        "runs": runs,
        "questions": len(rows),
        "negative": sum(value < 0 for value in known),
        "without_discrimination": len(rows) - len(known),
        "prior": prior,
        "suspects": suspects,
        "items": rows,
    }


class _Rest:
    """The ability of each run, on all but the item that is looked at."""

    def __init__(self, scores: Sequence[Mapping[str, float]]) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._rights: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, int] = defaultdict(int)
        for own in scores:
            mean = _mean(own)
            for run, score in own.items():
                self._sums[run] += score - mean
                self._rights[run] += score
                self._counts[run] += 1

    def centred(self, own: Mapping[str, float]) -> dict[str, float]:
        """By run, the mean of right less the items' means over the other items."""
        mean = _mean(own)
        others = {run: self._counts[run] - 1 for run in own}
        return {run: (self._sums[run] - own[run] + mean) / n for run, n in others.items() if n}

    def abilities(self, own: Mapping[str, float]) -> dict[str, float]:
        """By run, the logit of its share of right on the other items (one right and one wrong added)."""
        from math import log

        found = {}
        for run, count in self._counts.items():
            n, right = count - (run in own), self._rights[run] - own.get(run, 0.0)
            found[run] = log((right + 1) / (n - right + 1))
        return found

    def discrimination(self, own: Mapping[str, float]) -> float | None:
        """ExamItem-rest correlation; None without spread or with fewer than three runs."""
        rest = self.centred(own)
        return correlation([own[run] for run in rest], list(rest.values())) if len(rest) >= FEWEST_RUNS else None


def correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r; None where one of them has no spread."""
    from statistics import StatisticsError
    from statistics import correlation as pearson

    try:
        return pearson(x, y)
    except StatisticsError:
        return None


def _mean(own: Mapping[str, float]) -> float:
    return sum(own.values()) / len(own) if own else 0.0


def _row(item: ExamItem, discrimination: float | None) -> dict[str, Any]:
    given = [answer for answers in item.answers.values() for answer in answers]
    seconds, _ = mean_std([answer.seconds for answer in given if answer.seconds is not None])
    tokens, _ = mean_std([float(answer.tokens) for answer in given if answer.tokens is not None])
    return {
        "task": item.task,
        "question_id": item.question.id,
        "runs": len(item.answers),
        "answers": len(given),
        "difficulty_low": sum(answer.low for answer in given) / len(given),
        "difficulty_high": sum(answer.high for answer in given) / len(given),
        "undecided": sum(answer.right is None for answer in given) / len(given),
        "discrimination": discrimination,
        "seconds": seconds,
        "tokens": tokens,
    }


def _suspect(item: ExamItem, seen: Mapping[str, Any], doubt: Suspicion, runs: int) -> dict[str, Any]:
    others = {run: task for run, task in item.tasks.items() if task != item.task}
    return {
        "task": item.task,
        "question_id": item.question.id,
        "chance": doubt.chance,
        "discrimination": seen["discrimination"],
        "right_low": seen["difficulty_low"],
        "right_high": seen["difficulty_high"],
        "key": one_line("; ".join(item.question.answer)),
        "agreed": one_line("; ".join(filter(None, doubt.agreed))),
        "agreed_runs": doubt.runs,
        "of_runs": runs,
        **({"asked_as": others} if others else {}),
    }


def linked(suspects: Sequence[dict[str, Any]], folders: Mapping[str, Path]) -> None:
    """Adds to each suspect where its graded papers are, of the runs that have a report."""
    papers = {run: path / "report.html" for run, path in folders.items()}
    papers = {run: paper for run, paper in papers.items() if paper.is_file()}
    for one in suspects:
        one["papers"] = [
            f"{paper}#{anchor_of(one.get('asked_as', {}).get(run, one['task']), one['question_id'])}"
            for run, paper in papers.items()
        ]


def plan(suspects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Which answers a person should look at: the first of each run to each suspect question, as a label plan."""
    names = ("task", "question_id")
    return [{**{name: one[name] for name in names}, "trial": 0, "stratum": "suspect key"} for one in suspects]


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """What the study found, in words."""
    yield (
        f"{found['questions']} questions over {len(found['runs'])} runs: {found['negative']} have a negative"
        f" discrimination; {found['without_discrimination']} have none, since all or no decided answers are right or"
        " too few are decided."
    )
    sure = [one for one in found["suspects"] if one["chance"] >= SUSPECT]
    if sure:
        yield (
            f"{len(sure)} keys look wrong from what the models answered (chance {percent(SUSPECT)} or more, with"
            f" {percent(found['prior'])} before any answer was seen). A person should look at each."
        )
    for one in sure:
        yield (
            f"{one['task']}/{one['question_id']}: the key is {one['key'] or '(empty)'}; {one['agreed_runs']} of"
            f" {one['of_runs']} runs say {one['agreed']}. Chance {percent(one['chance'])}, discrimination"
            f" {number(one['discrimination'])}."
        )
