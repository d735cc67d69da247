"""Coefficients of agreement against published examples and their own definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.statistics import binary_agreement, cohen_kappa, kendall_tau, krippendorff_alpha, quadratic_kappa

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
UNITS = [[float(v) for v in column if v != "."] for column in zip(*(row.split() for row in OBSERVERS), strict=True)]


def test_alpha_of_the_published_example() -> None:
    assert krippendorff_alpha(UNITS) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(UNITS, "interval") == pytest.approx(0.849, abs=5e-4)


def test_kappa_of_a_hand_computed_table() -> None:
    """20 both yes, 5 only the first, 10 only the second, 15 both no: p_o = 0.7, p_e = 0.5, κ = 0.4."""
    human = [True] * 25 + [False] * 25
    judge = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    found = binary_agreement(human, judge)
    assert (found["true_accepts"], found["false_rejects"], found["false_accepts"], found["true_rejects"]) == (
        20,
        5,
        10,
        15,
    )
    assert found["accuracy"] == 0.7
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["recall"] == 0.8
    assert found["f1"] == pytest.approx(8 / 11)
    assert found["kappa"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("x", "y", "tau"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 2 / 3),
        ([1, 1, 2], [1, 2, 3], 2 / math.sqrt(6)),
    ],
)
def test_kendall_by_hand(x: list[float], y: list[float], tau: float) -> None:
    assert kendall_tau(x, y) == pytest.approx(tau)


def test_what_does_not_exist_is_none() -> None:
    assert cohen_kappa([], []) is None
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert quadratic_kappa([0.5, 0.5], [0.5, 0.5]) is None
    assert krippendorff_alpha([[1.0], [2.0]]) is None
    assert krippendorff_alpha([[1.0, 1.0]]) is None
    assert kendall_tau([1.0], [2.0]) is None
    assert kendall_tau([1.0, 1.0], [1.0, 2.0]) is None
    empty = binary_agreement([], [])
    assert empty["accuracy"] is None
    assert empty["precision"] is None


marks = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@given(marks)
def test_quadratic_kappa_is_its_definition(pairs: list[tuple[int, int]]) -> None:
    a, b = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    observed = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / len(a)
    expected = sum((x - y) ** 2 for x in a for y in b) / len(a) ** 2
    found = quadratic_kappa(a, b)
    assert (found is None) == (expected == 0)
    assert found is None or found == pytest.approx(1 - observed / expected)


@given(marks)
def test_kappa_of_two_categories_is_quadratic_kappa(pairs: list[tuple[int, int]]) -> None:
    a, b = [float(x > 1) for x, _ in pairs], [float(y > 1) for _, y in pairs]
    nominal, quadratic = cohen_kappa(a, b), quadratic_kappa(a, b)
    assert (nominal is None) == (quadratic is None)
    assert nominal is None or quadratic is None or nominal == pytest.approx(quadratic)


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=8))
def test_alpha_is_one_when_all_agree_and_below_when_not(units: list[list[int]]) -> None:
    alpha = krippendorff_alpha(units)
    if alpha is None:
        return
    agreed = all(len(set(unit)) == 1 for unit in units if len(unit) > 1)
    assert (alpha == pytest.approx(1)) == agreed
    assert alpha <= 1
