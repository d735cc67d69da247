"""An answer, or a key, that says its value twice: right when both are, never right when one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.restated import restated
from tests.judges.helpers import outcome

RIGHT = r"""
3 @ 3 (or 6/2)
3 @ 3（或6/2）
3 @ 3, or equivalently 6/2
3 @ x=3, i.e. x=6/2
3 @ x=3，即x=6/2
3 @ 3, i.e., 6/2
3 @ 3 (three)
1/2 @ 1/2 (=0.5)
1/2 @ 0.5（即1/2）
1/2 @ 1/2, or equivalently 50%
2/3 @ ≈0.667 (2/3)
2/3 @ 0.667 (2/3)
2/3 @ 2/3 (≈0.667)
2/3 @ \frac{2}{3}（约为0.667）
\sqrt[3]{\frac32} @ \sqrt[3]{\frac32}（或\frac{\sqrt[3]{12}}{2}）
\frac{\sqrt{66}}{6} @ \(\dfrac{\sqrt{66}}{6}\)（或等价的 \(\sqrt{\dfrac{11}{6}}\)）
\sqrt2 @ \sqrt{2} (≈1.414)
\sqrt2 @ \sqrt{2} (约1.4)
\sqrt2 @ ≈1.414
7 m/s @ 7 m/s (25.2 km/h)
5 m @ 5 m (i.e. 500 cm)
60° @ 60° (or π/3)
30 @ 30° (π/6)
9 @ 9 (3^2)
12 @ 3（4）
5 @ 5 m (i.e. 500 cm)
14 @ 2 (3+4)
a>1 @ a>1 (i.e. (1,\infty))
x=1或x=2 @ 1 (或 2)
0.5（或1/2） @ 1/2
\sqrt{2}（≈1.414） @ \sqrt2
增大（或变大） @ 变大
2（或3） @ 2或3
"""
WRONG = r"""
3 @ 3 or 4
3 @ 3（或4）
3 @ 5（或10/2）
3 @ 5（即10/2）
60° @ 60° (or π/4)
x^2 @ x^2 (or x^3)
3.14 @ 3.14 (3.15)
9 @ 9 (2^3)
3 @ 3 (4)
2 @ 2 (or 1)
\sqrt2 @ \sqrt3 (≈1.73)
\sqrt2 @ ≈1.5
\sqrt{2}（≈1.414） @ \sqrt3
2（或3） @ 4
"""
OPEN = r"""
3 @ 3（即4）
3 @ x=3，即x=7/2
1/2 @ 0.5（即1/3）
1/2 @ 1/2, i.e. 0.6
\sqrt2 @ \sqrt2 (≈1.73)
5 m @ 5 m (i.e. 50 cm)
5 m @ 5 m（或50cm）
x=1,y=2 @ x=1（即y=2）
CO2 @ CO2 (or H2O)
x=3 @ x=3 (rejected x=4)
2（或3） @ 2
2（或1） @ 2
甲（或乙） @ 甲
3 @ 3 (or the number of apples)
"""


def lines(table: str) -> list[tuple[str, str]]:
    pairs = [line.split(" @ ") for line in table.strip().splitlines()]
    return [(gold.strip(), answer.strip()) for gold, answer in pairs]


CASES = [
    *((*pair, "accept") for pair in lines(RIGHT)),
    *((*pair, "reject") for pair in lines(WRONG)),
    *((*pair, "undecided") for pair in lines(OPEN)),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), CASES)
def test_two_values_in_one_answer(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer) == expected


@given(
    st.integers(1, 500), st.integers(1, 500), st.sampled_from(["{} (or {})", "{}（或{}）", "{}, i.e. {}", "{}，即{}"])
)
def test_only_two_values_of_equal_worth_are_right(first: int, second: int, form: str) -> None:
    answer = form.format(first, f"{2 * second}/2")
    assert (outcome(str(first), answer) == "accept") is (first == second)
    assert outcome(str(first + 1000), answer) != "accept"


@pytest.mark.parametrize(
    "text",
    [
        "(3 or 4)",
        "P(A or B)",
        "f(2)",
        "2(3)",
        "3 (x)",
        "5（单位：cm）",
        "5个（苹果）",
        "n(n+1)/2 (n≥1)",
        "",
        "（",
        "()",
        "x" * 400,
    ],
)
def test_anything_else_is_one_value(text: str) -> None:
    assert restated(text) is None
