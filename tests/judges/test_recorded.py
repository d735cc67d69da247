"""Replies of published rubric judges: the forms in which they conclude, and what is no mark."""

from __future__ import annotations

import pytest

from livek12.core.replies import Unreadable
from livek12.core.schemes import read_scheme
from livek12.judges.llm.forms import Earned
from livek12.judges.recorded import read_reply

SCHEME = read_scheme(["energy: says that energy is kept (1)", "height: names the height (1)", "finds the speed (2)"])
CRITERIA = SCHEME[0]
RESPONSE = "Energy is kept, so the ball is fast."
OURS = (
    '{"criteria": [{"id": "1", "reason": "", "quote": "Energy is kept", "decision": "full", "points": 1},'
    ' {"id": "2", "reason": "", "quote": "", "decision": "none", "points": 0},'
    ' {"id": "3", "reason": "", "quote": "so the ball is slow", "decision": "full", "points": 2}]}'
)


@pytest.mark.parametrize(
    ("reply", "points"),
    [
        ("Item 3 is partly there.\n**Final grading vector: {1, 0, 1.5}**", [1, 0, 1.5]),
        ("The roots are {1,0,2}.\n\nSo the grade is {1,0,1}.", [1, 0, 1]),
        ("The grade is {1,0,2}.\n\nWell done.", [1, 0, 2]),
        ('{"points": 1, "details": [{"title": "energy", "points": 1}, {"title": "height", "points": "0/1"}'
         ', {"title": "finds the speed", "points": 0, "desc": ""}]}', [1, 0, 0]),
        ('Thinking.\n```json\n{"criteria": {"1": 1, "2": 1, "3": 2}}\n```\nDone.', [1, 1, 2]),
        ('{"scores": [{"points": 1}, {"points": 1}, {"points": 0}]}', [1, 1, 0]),
        (OURS, [1, 0, None]),
    ],
)  # fmt: skip
def test_criteria(reply: str, points: list[float | None]) -> None:
    award = read_reply(reply, CRITERIA, 4, RESPONSE)
    assert [each.points if isinstance(each, Earned) else None for each in award.criteria] == points


@pytest.mark.parametrize(
    ("reply", "full", "share"),
    [
        ("A gap.\n<points>6 out of 7</points>", None, 6 / 7),
        ("<assessment>Good</assessment>\n<score>3</score>", 6, 0.5),
        ("So it is \\boxed{2/4}.", None, 0.5),
        ("The student gives \\boxed{5}.\nFinal score: 5 / 10", 7, 0.5),
        ("总分：3分", 6, 0.5),
        ('{"score": 2, "max_score": "8"}', 7, 0.25),
        ('<json>{"reason": "x < y", "response": "almost"}</json>', 7, 6 / 7),
        ("Grade: **Partial**", 7, 1 / 7),
        ("incorrect", 10, 0),
    ],
)
def test_marks(reply: str, full: float | None, share: float) -> None:
    assert read_reply(reply, [], full, RESPONSE).share == pytest.approx(share)


@pytest.mark.parametrize(
    ("reply", "full", "reason"),
    [
        ("{1,0,3}", 4, "awards 3 of 2 points"),
        ("{1,0}", 4, "concludes with no mark"),
        ("{1,0,2} or rather {0,0,0}", 4, "concludes with no mark"),
        ("<points>6</points> <points>7</points>\nGood", 7, "concludes with no mark"),
        ("<score>8</score>", 7, "awards 8 of 7 points"),
        ("<score>8</score>", None, "says no maximum"),
        ("partial", 10, "tells no points of 10"),
        ('{"criteria": {"1": 1, "2": 1, "3": 2, "bonus": 1}}', 4, "criterion 'bonus', which the scheme lacks"),
        ('{"criteria": {"1": 1, "2": 1}}', 4, "does not decide criterion '3'"),
        ('{"details": [{"id": "1", "points": 1}, {"id": "1", "points": 1}]}', 4, "criterion '1' twice"),
        ('{"details": [{"id": "1", "points": true}]}', 4, "an item without points"),
        ('{"points": 4, "criteria": {"1": 1, "2": 1, "3": 0}}', 4, "awards 4 points and 2 for its criteria"),
        (OURS.replace('"id": "3"', '"id": "4"'), 4, "decides criterion '4', which it was not asked for"),
        ('{"thoughts": "fine"}', 4, "has no mark among its fields"),
        ("I like it.", 4, "concludes with no mark"),
        ("", 4, "concludes with no mark"),
    ],
)
def test_no_mark(reply: str, full: float | None, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason.replace("'", ".")):
        read_reply(reply, CRITERIA, full, RESPONSE)


SPACES = " " * 190_000
LONG = ["<json>" * 30_000, "{1," * 60_000, f"1 {SPACES}x", f"<score>1{SPACES}", "```json{" * 20_000]


@pytest.mark.parametrize("reply", LONG)
def test_long_replies_cost_no_time(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(reply, CRITERIA, 4, RESPONSE)


def test_braces_of_formulas_are_no_vectors() -> None:
    """A scheme of one criterion, as guidelines of proofs have, or indices as many as criteria."""
    assert read_reply("So $x^{2}$ is right.\n<points>6 out of 7</points>", CRITERIA[:1], 7, "").share == 6 / 7
    assert read_reply("So $x_{1,2}$ is right.\n<points>1 out of 2</points>", CRITERIA[:2], 2, "").share == 0.5
