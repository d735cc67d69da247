"""Degrees in words are the sign for degrees where the key is an angle; temperatures and counts are none."""

from __future__ import annotations

import pytest

from livek12 import verify
from tests.judges.helpers import outcome

ANGLE = r"\frac{\pi}{4}"
WRITTEN = [
    "45 degrees", "45 Degrees", "45 degree", "45 deg", "45 deg.", "45°", "45 º", r"45^\circ", r"45^{\circ}", "45度",
    "45도", r"45\text{ degrees}", r"45\,\mathrm{deg}", r"\boxed{45\text{ degrees}}", "$45$ degrees",
    r"\(45\)度", "45.0 degrees",
    "90/2 degrees", r"\frac{90}{2}\text{ degrees}", r"\theta = 45 degrees", "The angle is 45 degrees.", "45도입니다",
    "45 degrees (or pi/4)",
]  # fmt: skip
CASES = [
    (ANGLE, "60 degrees", "reject"), (ANGLE, "60度", "reject"), (r"2\pi", "360 degrees", "accept"),
    (r"-\frac{\pi}{4}", "-45 degrees", "accept"), (r"\frac{\pi}{7}", "25.7 degrees", "undecided"),
    (r"\frac{\pi}{4}, \frac{3\pi}{4}", "45 degrees and 135 degrees", "accept"),
    (r"\frac{\pi}{4}, \frac{3\pi}{4}", "45 degrees and 130 degrees", "reject"),
    (r"[0,\frac{\pi}{4}]", "[0 degrees, 45 degrees]", "accept"),
    (r"\frac{\pi}{4}\text{ rad}", "45 degrees", "accept"), ("π/4 rad", "45度", "accept"),
    (r"\frac{\pi}{4}\text{ rad}", "60 degrees", "reject"), (r"90^\circ", r"90 \text{ rad}", "reject"),
    ("90 degrees", r"90 \text{ rad}", "reject"), (r"\sin 30^\circ", "sin 30 degrees", "accept"),
    ("45 degrees Celsius", ANGLE, "undecided"), ("摄氏45度", ANGLE, "undecided"), ("45 °C", ANGLE, "undecided"),
    (ANGLE, "45 degrees Celsius", "reject"), (ANGLE, "45℃", "reject"), (ANGLE, "45 degrees C", "reject"),
    ("20 ℃", "20度", "undecided"), ("20 degrees", "20℃", "undecided"), (ANGLE, "三度", "undecided"),
    (r"\frac{\pi}{4}\text{ rad/s}", "45 degrees per second", "undecided"), ("3", "3度", "accept"),
    ("3", "三度", "undecided"), ("0.785", "45 degrees", "reject"), ("1", "45度", "reject"),
    ("45", "45 degrees", "accept"), ("4 degrees", "4", "accept"),
]  # fmt: skip
INSIDE = [
    ("[2,3)", "x in [2, 3)", "accept"), ("[2,3)", r"x \in [2, 3)", "accept"), ("[2,3)", "x ∈ [2, 3)", "accept"),
    ("[2,3)", r"x \text{ in } [2,3)", "accept"), ("[2,3)", "$x$ in $[2,3)$", "accept"),
    ("x in [2,3)", "[2,3)", "accept"),
    (r"(-\infty,2)\cup(3,\infty)", "x in (-∞,2) ∪ (3,∞)", "accept"), ("[2,3)", "x in (2, 3)", "reject"),
    ("[2,3)", "3 in [2, 3)", "undecided"), ("[2,3)", "within [2, 3)", "undecided"),
]  # fmt: skip


@pytest.mark.parametrize("answer", WRITTEN)
def test_degrees_are_one_notation(answer: str) -> None:
    """In the answer and in the key."""
    assert outcome(ANGLE, answer) == "accept"
    assert outcome(answer, ANGLE) == "accept"
    assert outcome(r"\frac{\pi}{3}", answer) == "reject"


@pytest.mark.parametrize(("gold", "answer", "expected"), CASES + INSIDE)
def test_degrees_and_intervals_beside_others(gold: str, answer: str, expected: str) -> None:
    """Other values differ; what is no angle is decided as a number with its unit."""
    assert outcome(gold, answer) == expected


def test_the_asked_angle_is_no_answer() -> None:
    """In words as with the sign."""
    for answer in ("30 degrees", r"30^\circ"):
        assert outcome(r"\frac{\pi}{6}", answer, asked_form="convert", asked_expression=r"30^\circ") == "reject"
        assert outcome(r"\frac{\pi}{6}", answer, asked_form="convert", asked_expression="30 degrees") == "reject"


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        ("Convert 30 degrees to radians.", "30 degrees", None),
        ("Convert $30^\\circ$ to radians.", "30^\\circ", False),
        ("用弧度表示30度。", "30度", None),
        ("Convert 30 degrees to radians.", "\\pi/6", True),
        ("Find the angle.", "30 degrees", True),
    ],
)
def test_an_answer_in_degrees_is_open_where_radians_are_asked_for(
    asked: str, answer: str, expected: bool | None
) -> None:
    assert verify("\\frac{\\pi}{6}", answer, question=asked).correct is expected
