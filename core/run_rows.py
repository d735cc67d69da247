"""One answer of a run as a row, from what is stored of it."""

from __future__ import annotations

from livek12.core.records import UNMARKED, Failure, Question, Response, Verdict
from livek12.core.rows import Row


def row_of(
    task: str,
    question: Question,
    trial: int,
    response: Response | None,
    failure: Failure | None,
    verdict: Verdict | None,
) -> Row:
    """An answer in whatever state it ended; a verdict that is on another response of its key is none."""
    if response is None:
        if failure is None:
            return Row(task, question, trial, "failed", None, None, "not asked yet")
        return Row(task, question, trial, failure.state, None, None, failure.reason)
    if verdict is None or not fits(verdict, response):
        verdict = _unmarked(question, response)
    return Row(task, question, trial, verdict.state, response, verdict)


def fits(verdict: Verdict, response: Response) -> bool:
    """Whether the verdict is on this very response."""
    return verdict.response_sha256 in (None, response.sha256)


def _unmarked(question: Question, response: Response) -> Verdict:
    """Stands for the verdict of a response that no judge has seen yet."""
    worth = question.points or 1.0
    reason = "not judged yet"
    return Verdict(
        key=response.key,
        state="ungraded",
        points=None,
        low=0.0,
        high=worth,
        max_points=worth,
        correct=None,
        reason=reason,
        judge=UNMARKED,
    )
