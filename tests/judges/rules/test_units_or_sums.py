"""A letter may be a unit or a variable: what could be a sum is never read as a power of a unit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges.helpers import outcome

LETTERS = st.sampled_from([*"tmshdgNLkTVWJAK", "kg", "cm", "mm", "s^2", "t^2", "千克", "미터"])
SHAPES = st.sampled_from(["{}", "a_n={}", "x = {}", "({})", "${}$", r"\({}\)", "约{}", r"f(t)={}", r"{{{}}}", "-{}"])
SIGNS = st.sampled_from(["+{}", " + {}", "-{}", " - {}", " +{}", r"\, + {}", "{{}}+{}", r"\text{{ + {}}}", "{{+{}}}"])


@given(LETTERS, SHAPES, SIGNS, st.sampled_from(["5", "4 ", r"\frac{1}{2}", "1.5", "10"]), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_a_sum_is_no_power(letter: str, shape: str, sign: str, number: str, term: int) -> None:
    product, total = f"{number}{letter}", f"{number}{letter}{sign.format(term)}"
    for gold, answer in ((product, total), (total, product)):
        assert outcome(shape.format(gold), shape.format(answer)) != "accept"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("2h+3", "2h^3"), ("4t+2", "4t^2"), ("4t-1", "4t^{-1}"), ("4t-1", "4/t"), ("3h-t", "3ht"), ("3h-t", "3 h t"),
        ("5 m/s-1", "5 m/s"), ("5 m s-1", "5 m/s"), ("4 kg+1", "4 kg"), ("3d", "72h"), ("4t {+1}", "4t"),
        (r"5\text{ cm}+1", r"5\text{ cm}"), (r"\sqrt{3}\text{ cm}+1", r"\sqrt{3}\text{ cm}"),
    ],
)  # fmt: skip
def test_what_may_be_a_sum_is_not_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer) != "accept"


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("5 cm2", "5 cm^2", "accept"), ("5 m/s2", "5 m/s^2", "accept"), ("5 m s^-1", "5 m/s", "accept"),
        ("8.31 J mol-1 K-1", "8.31 J/(mol·K)", "accept"), ("0.1 mol/L", "0.1 mol·L-1", "accept"),
        ("3 kW-h", "3 kWh", "accept"), ("5 m s-1", "5 m/s", "undecided"), ("5 N·m", "5 N-m", "undecided"),
        ("5 s-1", "5 s^{-1}", "undecided"), ("4t", "4t+1", "reject"), ("5 m", "5 m + 1", "reject"),
    ],
)  # fmt: skip
def test_plain_powers_of_units_are_still_read(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer) == expected
