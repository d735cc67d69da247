"""What `report.html` shows of a run's rows, picked out as they pass by on their way to the scores.

Contract: what is held is bounded however large the run is: the rows of the questions that the page shows, and of all
others what is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from livek12.core.questions import paper_order
from livek12.core.records import Question
from livek12.core.run_answers import AnswerOrigin
from livek12.core.scoring import Row

PAGE_QUESTIONS = 500
PAGE_ANSWERS = 1000
"""What one page holds at most: a run with more has an index and pages for each task."""
MAX_QUESTIONS = 2000
MAX_ANSWERS = 8000
"""What all pages together hold at most."""


class Shown:
    """Of the questions of a run those that the page shows, and once its rows have passed by, the answers to them.

    Args:
        questions: all of the run, each with its task.
        trials: of each question.
        limit: questions that are shown at most, the first of each task by paper and number; fewer where their answers
            would be more than `MAX_ANSWERS`.

    Attributes:
        tasks: in the order of the questions.
        asked: how many questions there are, in all tasks.
        questions: task and id of those that are shown.
        rows: those of the questions that are shown.
        exams: the names of the exams that all questions are of.
        split: whether the report has an index and pages for each task, as one page would be too heavy.
        made: by what the answers and verdicts say of how they were made: each that occurs, and how often.
    """

    def __init__(self, questions: Iterable[tuple[str, Question]], trials: int = 1, limit: int = MAX_QUESTIONS) -> None:
        by_task: dict[str, list[tuple[Any, str]]] = {}
        exams: dict[str, None] = {}
        for task, question in questions:
            by_task.setdefault(task, []).append((paper_order(question), question.id))
            if question.exam:
                exams[question.exam] = None
        self.tasks = list(by_task)
        self.exams = list(exams)
        self.asked = sum(map(len, by_task.values()))
        self.split = self.asked > PAGE_QUESTIONS or self.asked * trials > PAGE_ANSWERS
        self.rows: list[Row] = []
        kinds = ("judge of the answers", "versions of the verdicts", "engine of the answers", "versions of the answers")
        self.made: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
        shares = _shares({task: len(found) for task, found in by_task.items()}, min(limit, MAX_ANSWERS // trials))
        self.questions = {
            (task, id_)
            for task, found in by_task.items()
            for _, id_ in sorted(found, key=lambda item: item[0])[: shares[task]]
        }

    @property
    def left_out(self) -> int:
        """How many questions are not shown."""
        return self.asked - len(self.questions)

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, each looked at as it passes by."""
        for row in rows:
            if (row.task, row.question.id) in self.questions:
                self.rows.append(row)
            yield row

    def count(self, origins: Mapping[AnswerOrigin, int]) -> None:
        """Takes in how the answers were made."""
        for origin, answers in origins.items():
            for made, said in zip(self.made.values(), origin, strict=True):
                if said is not None:
                    made[said] += answers


def _shares(questions: Mapping[str, int], limit: int) -> dict[str, int]:
    """How many questions of each task are shown: every task has its share, and at least one."""
    shares: dict[str, int] = {}
    for rank, task in enumerate(sorted(questions, key=lambda task: questions[task])):
        shares[task] = min(questions[task], max(1, limit // (len(questions) - rank)))
        limit -= shares[task]
    return shares
