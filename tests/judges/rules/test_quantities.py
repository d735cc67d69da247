"""Quantities in several units, and units in plain letters behind a root or π."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.units import compound, upright
from tests.judges.helpers import outcome

ACCEPT = r"""
2 h 30 min @ 2.5 hours
2 h 30 min @ 150 min
80 min @ 1小时20分钟
80 minutes @ 1 hour and 20 minutes
2시간 30분 @ 150분
90 s @ 1\,\text{min}\,30\,\text{s}
5 ft 6 in @ 66 inches
3米20厘米 @ 3.2米
1 kg 50 g @ 1.05 kg
2\sqrt{3}\,\text{cm} @ 2√3 cm
2\sqrt{3}\,\text{cm} @ 20√3 mm
2√3 @ $2\sqrt{3}$ cm
9π cm^2 @ 9π cm²
9π @ 9π cm^2
45° @ θ = π/4 rad
\frac{\sqrt3}{2}\,\mathrm{m} @ √3/2 m
4\sqrt{5}\ \mathrm{m/s} @ 4√5 m/s
100π N @ 100π牛
\sqrt{3}mg @ \sqrt{3} mg
20℃ @ 20 degrees Celsius
5 N @ 5 Newtons
1919年 @ 1919
"""
REJECT = r"""
2 h 30 min @ 2.3 hours
2 h 30 min @ 2 h 20 min
2\sqrt{3}\,\text{cm} @ 2√3 mm
45° @ π/3 rad
20℃ @ 68 degrees Celsius
1919年 @ 1918
"""
OPEN = r"""
25% @ 25 degrees
3.2 m @ 3 m, 20 cm
150 min @ 2 h 70 min
3.5 h @ 3 h 30
3时20分 @ 15时20分
5 m @ \sqrt{25}\text{ cm}
2√3 cm @ 2√3
2√3 m @ 2√3
"""


def _pairs(table: str) -> list[list[str]]:
    return [line.split(" @ ") for line in table.strip().splitlines()]


@pytest.mark.parametrize(("gold", "answer"), _pairs(ACCEPT))
def test_one_quantity_is_itself_however_it_is_written(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), _pairs(REJECT))
def test_another_quantity_is_wrong(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), _pairs(OPEN))
def test_what_may_be_another_thing_is_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@given(st.integers(0, 10**6), st.integers(0, 59), st.integers(0, 59))
def test_hours_minutes_and_seconds_are_their_sum(hours: int, minutes: int, seconds: int) -> None:
    found = compound(f"{hours} h {minutes} min {seconds} s")
    assert found is not None
    assert found.value * 3600 == hours * 3600 + minutes * 60 + seconds
    assert found.quantum is None


@pytest.mark.parametrize("text", ["3 h", "2 h 60 min", "1.5 h 30 min", "30 min 2 h", "3 m 20 s", "2 h 2 h"])
def test_no_quantity_in_several_units(text: str) -> None:
    assert compound(text) is None


def test_a_broken_last_value_says_how_exact_it_is() -> None:
    found = compound("1 min 30.25 s")
    assert found is not None
    assert (found.value, found.quantum, found.digits) == (Fraction(361, 240), Fraction(1, 6000), 4)


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    compound(text)
    upright(text)
    upright(text, letters=True)
