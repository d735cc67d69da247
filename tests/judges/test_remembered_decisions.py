"""What the rules decided is remembered on disk, so that equal comparisons are decided once."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.store import DECISIONS, Store
from livek12.judges.base import AnswerComparison, Decision, accept, undecided
from livek12.judges.cascade import DEAR_SECONDS, Cascade


class Slow:
    """A stage that counts how often it is asked, and takes its time."""

    name = "slow"

    def __init__(self, said: Decision) -> None:
        self.said, self.asked = said, 0

    def decide(self, comparison: AnswerComparison) -> Decision:
        import time

        self.asked += 1
        time.sleep(3 * DEAR_SECONDS)
        return self.said


@pytest.mark.parametrize("said", [accept("slow", "so it is"), undecided("slow", "who knows")])
def test_equal_comparisons_are_decided_once_across_runs(tmp_path: Path, said: Decision) -> None:
    first, second = Slow(said), Slow(said)
    one, other = (AnswerComparison("x", "y", "short_answer", question_id=name) for name in "ab")
    cascade = Cascade([first], store=Store(DECISIONS, tmp_path))
    cascade.decide(one)
    decided = cascade.decide(other)
    cascade.flush()
    assert Cascade([second], store=Store(DECISIONS, tmp_path)).decide(one) == decided
    assert (first.asked, second.asked) == (1, 0)
    Cascade([second], store=Store(DECISIONS, tmp_path)).decide(AnswerComparison("x", "z", "short_answer"))
    assert second.asked == 1


def test_what_broke_a_limit_is_asked_again(tmp_path: Path) -> None:
    stage = Slow(undecided("slow", "no result within 2 s", lasting=False))
    comparison = AnswerComparison("x", "y", "short_answer")
    for _ in range(2):
        cascade = Cascade([stage], store=Store(DECISIONS, tmp_path))
        cascade.decide(comparison)
        cascade.decide(comparison)
        cascade.flush()
    assert stage.asked == 4


def test_another_version_of_the_rules_decides_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Slow(accept("slow"))
    for digest in ("one", "two"):
        monkeypatch.setattr("livek12.judges.cascade.rules_digest", lambda digest=digest: digest)
        cascade = Cascade([stage], store=Store(DECISIONS, tmp_path))
        cascade.decide(AnswerComparison("x", "y", "short_answer"))
        cascade.flush()
    assert stage.asked == 2
