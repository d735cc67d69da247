"""Rows: one answer of a run with its question, response and verdict."""

from __future__ import annotations

from dataclasses import dataclass

from livek12.core.records import NO_KEY, UNMARKED, Failure, Question, Response, State, Verdict


@dataclass(frozen=True)
class Row:
    """One answer that a run asked for (`verdict` None: failed or unsupported, `why`).

    `judged` is the judges' verdict, where a person set another mark in its place (`core.run.markings`).
    """

    task: str
    question: Question
    trial: int
    state: State
    response: Response | None
    verdict: Verdict | None
    why: str = ""
    judged: Verdict | None = None


def row_of(
    task: str,
    question: Question,
    trial: int,
    response: Response | None,
    failure: Failure | None,
    verdict: Verdict | None,
) -> Row:
    """Joins the records of one answer; a verdict on another response of its key is ignored."""
    if response is None:
        if failure is None:
            return Row(task, question, trial, "failed", None, None, "not asked yet")
        return Row(task, question, trial, failure.state, None, None, failure.reason)
    if verdict is None or not fits(verdict, response):
        verdict = _unmarked(question, response)
    return Row(task, question, trial, verdict.state, response, verdict)


def fits(verdict: Verdict, response: Response) -> bool:
    """Tells whether the verdict is on this very response."""
    return verdict.response_sha256 in (None, response.sha256)


def lacks_key(verdict: Verdict) -> bool:
    """Tells whether an answer waits for a key."""
    return any(part.decided_by == NO_KEY for part in verdict.parts)


def _unmarked(question: Question, response: Response) -> Verdict:
    worth = question.points or 1.0
    return Verdict(
        key=response.key,
        state="ungraded",
        points=None,
        low=0.0,
        high=worth,
        max_points=worth,
        correct=None,
        reason="not judged yet",
        judge=UNMARKED,
    )
