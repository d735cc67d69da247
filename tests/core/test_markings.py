"""Of two verdicts on one answer which one counts, in whatever order they are read."""

from __future__ import annotations

from typing import Any

import pytest

from livek12.core.records import Call, Key, Process, Verdict
from livek12.core.run.markings import counts_over, in_words

LOST = Call(judge="x", prompt="p", problem="no connection")
REFUSED = Call(judge="x", prompt="p", problem="too long", final=True)
SAID = Call(judge="x", prompt="p", raw="right")


NEWER = "rules-1f+c18dff40"
OLDER = "rules-5+c18dff40"
KNOWN = ("j", "j keys+89abcdef", OLDER, f"{OLDER} p2-1+0a1b2c3d", NEWER, f"{NEWER} keys+89abcdef")


def verdict(
    low: float, high: float, marking: int = 0, judge: str = "j", call: Call | None = None, **more: Any
) -> Verdict:
    state = "graded" if low == high else "ungraded"
    points = low if low == high else None
    return Verdict(
        key=Key(task="t", question_id="q"), state=state, points=points, low=low, high=high, max_points=4,
        correct=None, judge=judge, marking=marking, calls=[call] if call else [], **more,
    )  # fmt: skip


AUDIT = Process(cie=0, lae=0, dre=0)
BETTER = {
    "a later marking": (verdict(4, 4, marking=1), verdict(0, 0)),
    "an open one of a later marking, whose judges were asked": (verdict(0, 4, marking=1, call=SAID), verdict(4, 4)),
    "so does one whose request was refused": (verdict(0, 4, marking=1, call=REFUSED), verdict(4, 4)),
    "a decided one over one that waits, in a later marking": (verdict(4, 4), verdict(0, 4, marking=1, call=LOST)),
    "and in the same": (verdict(4, 4), verdict(0, 4, call=LOST)),
    "a decided one over one whose audit waits": (
        verdict(4, 4), verdict(4, 4, marking=1, call=LOST, process_ungraded="no critique")
    ),
    "one that waits over an open one of an earlier marking": (verdict(0, 4, marking=1, call=LOST), verdict(0, 4)),
    "a decided one": (verdict(0, 0), verdict(0, 4)),
    "one of models that replied, over an answer that no rule found": (
        verdict(0, 4, call=SAID), verdict(0, 0).model_copy(update={"state": "no_answer"})
    ),
    "one by the keys that came later, over an answer that no rule found without": (
        verdict(0, 4, judge="j keys+89abcdef"), verdict(0, 0).model_copy(update={"state": "no_answer"})
    ),
    "which stands while they wait": (
        verdict(0, 0).model_copy(update={"state": "no_answer"}), verdict(0, 4, call=LOST)
    ),
    "the one that leaves less open": (verdict(1, 4), verdict(0, 4)),
    "the one with an audit": (verdict(4, 4, process=AUDIT), verdict(4, 4)),
    "the one that does not wait, of two open ones": (verdict(0, 4, call=SAID), verdict(0, 4, call=LOST)),
    "a known judge, in runs from before markings": (verdict(0, 4), verdict(4, 4, judge="gone")),
    "an unknown judge of a later marking": (verdict(0, 0, marking=1, judge="gone"), verdict(4, 4)),
    "one by rules that came later, though it leaves open what was decided": (
        verdict(0, 4, judge=NEWER), verdict(4, 4, judge=OLDER)
    ),
    "not over one of models": (
        verdict(4, 4, judge=f"{OLDER} p2-1+0a1b2c3d", call=SAID), verdict(0, 4, judge=NEWER)
    ),
    "nor without the keys that it had": (
        verdict(4, 4, judge=f"{NEWER} keys+89abcdef"), verdict(0, 4, judge=OLDER)
    ),
    "nor of an earlier marking": (verdict(4, 4, marking=1, judge=OLDER), verdict(0, 0, judge=NEWER)),
}  # fmt: skip


@pytest.mark.parametrize("case", BETTER)
def test_the_better_verdict_counts_in_whatever_order_they_are_read(case: str) -> None:
    better, worse = BETTER[case]
    assert counts_over(better, worse, KNOWN)
    assert not counts_over(worse, better, KNOWN)


def test_of_equal_ones_the_later_counts() -> None:
    assert counts_over(verdict(0, 0), verdict(4, 4), KNOWN)
    assert counts_over(verdict(4, 4), verdict(0, 0), KNOWN)


def test_the_number_is_written_where_there_is_one_and_old_records_read_as_before() -> None:
    assert "marking" not in verdict(4, 4).model_dump_json()
    assert Verdict.model_validate_json(verdict(4, 4, marking=2).model_dump_json()).marking == 2


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("rules-5+c18dff40", "rules 5"),
        ("rules-00ab12ef+c18dff40 count-12345678+0a1b2c3d", "rules 00ab12ef and judge models (count)"),
        ("rules-12+c18dff40 p2-1+0a1b2c3d", "rules 12 and judge models (p2)"),
        ("rules-5+c18dff40 count-1+0a1b2c3d audit1-1+0a1b2c3d", "rules 5 and judge models (count, audit)"),
        ("rules-5+c18dff40 s2s-1+0a1b2c3d keys+89abcdef", "rules 5 and judge models (s2s)"),
        ("somebody", "somebody"),
    ],
)
def test_judges_of_runs_that_do_not_say_who_it_was(version: str, words: str) -> None:
    assert in_words(version) == words
