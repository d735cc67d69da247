"""A rule that breaks off costs one answer its mark, never the run."""

from __future__ import annotations

import pytest

from livek12.core.records import Key, Question, Response
from livek12.judges.base import AnswerComparison, Decision, accept, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig
from livek12.tasks.scorer import mark_response

QUESTION = Question(
    id="q", benchmark="livek12", language="en", subject="math", question_type="short_answer", question="?", answer=["7"]
)
RESPONSE = Response(key=Key(task="t", question_id="q"), text=r"The answer is \boxed{7}.", engine="replay", model="m")


class Broken:
    name = "broken"

    def decide(self, comparison: AnswerComparison) -> Decision:
        raise IndexError("list index out of range")


class Equal:
    name = "equal"

    def decide(self, comparison: AnswerComparison) -> Decision:
        return accept("equal") if comparison.gold == comparison.answer else undecided("equal")


def test_the_other_stages_still_have_their_say() -> None:
    verdict = mark_response(QUESTION, RESPONSE, GradingConfig(), Cascade([Broken(), Equal()]))
    assert (verdict.state, verdict.parts[0].decided_by) == ("graded", "equal")
    alone = mark_response(QUESTION, RESPONSE, GradingConfig(), Cascade([Broken()]))
    assert (alone.state, alone.low, alone.high) == ("ungraded", 0, 1)
    assert "broke off (IndexError)" in alone.reason


def test_extraction_that_breaks_off_leaves_the_answer_ungraded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("livek12.tasks.scorer.extract", broken)
    verdict = mark_response(QUESTION, RESPONSE, GradingConfig(), Cascade([Equal()]))
    assert (verdict.state, verdict.correct, verdict.low, verdict.high) == ("ungraded", None, 0, 1)
    assert "RecursionError" in verdict.reason
    assert verdict.response_sha256 == RESPONSE.sha256
