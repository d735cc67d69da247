"""Statistics against arithmetic by hand, brute force and published values."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.statistics import (
    clustered_t_test,
    holm,
    mcnemar_exact,
    mean_std,
    pass_at_k,
    questions_needed,
    sign_flip_tests,
    t_tail,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # z = 1.959964; n = 10, p = 0.5: centre 0.5, half-width 1.959964/1.384146 * sqrt(0.025 + 0.0096036) = 0.263405
        (5, 10, 0.236595, 0.763405),
        # p = 0: centre z²/2n / (1 + z²/n) = 0.138766 = half-width
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
    ],
)
def test_wilson_interval(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_interval_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="0 successes of 0"):
        wilson_interval(0, 0)


def test_mean_and_sample_deviation() -> None:
    # mean 3; squared deviations 4 + 0 + 4 = 8, over n - 1 = 2: variance 4
    assert mean_std([1, 3, 5]) == (3, 2)
    assert mean_std([7]) == (7, None)
    assert mean_std([]) == (None, None)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_correct_sample(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_is_not_one_as_soon_as_c_reaches_k() -> None:
    # 4 samples, 2 correct, k = 2: of 6 pairs one has no correct sample
    assert pass_at_k(4, 2, 2) == pytest.approx(5 / 6)
    assert pass_at_k(200, 1, 100) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="pass@3"):
        pass_at_k(2, 1, 3)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, 1.0),
        (0, 5, 2 / 32),
        (1, 5, 2 * (1 + 6) / 64),
        (3, 3, 1.0),
        (2, 8, 2 * (1 + 10 + 45) / 1024),
    ],
)
def test_exact_mcnemar(only_a: int, only_b: int, p: float) -> None:
    assert mcnemar_exact(only_a, only_b) == pytest.approx(p)
    assert mcnemar_exact(only_b, only_a) == pytest.approx(p)


def test_exact_mcnemar_of_many() -> None:
    n = 3000
    exact = 2 * sum(math.comb(n, i) for i in range(1451)) / 2**n
    assert mcnemar_exact(1450, 1550) == pytest.approx(exact, rel=1e-9)


def flipped(*tests: list[float]) -> float | list[float]:
    """The p of each list of differences; of one alone, that."""
    found = sign_flip_tests(np.array(tests, dtype=np.float64).T)
    return found[0] if len(tests) == 1 else found


@given(st.lists(st.integers(-4, 4), max_size=7))
def test_sign_flips_are_all_tried_for_few_differences(differences: list[int]) -> None:
    patterns = list(product([-1, 1], repeat=len(differences)))
    sums = [sum(s * d for s, d in zip(p, differences, strict=True)) for p in patterns]
    expected = sum(abs(s) >= abs(sum(differences)) for s in sums) / len(patterns)
    assert flipped(differences) == pytest.approx(expected)


@given(st.integers(0, 6), st.integers(0, 6))
def test_sign_flips_of_single_answers_are_mcnemar(only_a: int, only_b: int) -> None:
    assert flipped([-1.0] * only_a + [1.0] * only_b) == pytest.approx(mcnemar_exact(only_a, only_b))


def test_sampled_sign_flips_come_near_the_exact_test() -> None:
    assert flipped([-1.0] * 18 + [1.0] * 32) == pytest.approx(mcnemar_exact(18, 32), abs=0.015)
    assert flipped([1.0] * 20) == pytest.approx(3.178 * math.erfc(math.sqrt(10)))
    assert flipped([]) == flipped([0.0, 0.0]) == 1.0


@pytest.mark.parametrize(("more", "less"), [(40, 2), (70, 20), (100, 0), (600, 400)])
def test_sign_flips_tell_what_a_sample_of_them_cannot(more: int, less: int) -> None:
    """With a thousand pairs of runs, p must be able to fall below one in ten thousand; never below the exact."""
    found, exact = flipped([1.0] * more + [-1.0] * less), mcnemar_exact(more, less)
    assert isinstance(found, float)
    assert exact <= found < 3e-5


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [(12.706, 1, 0.05), (4.303, 2, 0.05), (2.776, 4, 0.05), (2.571, 5, 0.05), (3.169, 10, 0.01), (0, 3, 1.0)],
)
def test_tails_of_students_t(t: float, freedom: int, p: float) -> None:
    assert t_tail(t, freedom) == pytest.approx(p, abs=1e-4)
    assert t_tail(-t, freedom) == t_tail(t, freedom)


def test_t_test_by_clusters() -> None:
    # four papers of two questions, sums 2, 1, 1, 0: mean 1 a paper, variance (1 + 0 + 0 + 1) / 3 = 2/3 a paper;
    # t = 4 / √(4 · 2/3) = 2.449; over single questions it would be 0.5 / √(0.2857 / 8) = 2.646, so papers vary more
    d, of = np.array([1, 1, 1, 0, 0, 1, 0, 0], dtype=float), np.repeat(np.arange(4), 2)
    assert clustered_t_test(d, of) == pytest.approx(t_tail(4 / math.sqrt(8 / 3), 3))
    assert clustered_t_test(d - d, of) == 1
    # papers that happen to agree are no more certain than their questions: sums 1, 1, 1, 1
    even = np.array([1, 0] * 4, dtype=float)
    assert clustered_t_test(even, of) == pytest.approx(t_tail(0.5 / math.sqrt(2 / 7 / 8), 3))


def test_questions_that_would_tell_two_runs_apart() -> None:
    # 30 better, 20 worse of 100: mean 0.1, variance (50 - 1) / 99; (1.95996 + 0.84162)² · 0.49495 / 0.01 = 388.5, + 10
    d = np.array([1.0] * 30 + [-1.0] * 20 + [0.0] * 50)
    assert questions_needed(d, np.arange(100)) == 399
    assert questions_needed(-d, np.arange(100)) == 399
    # the same questions in pairs that are copies are worth half as much
    assert questions_needed(np.repeat(d, 2), np.repeat(np.arange(100), 2)) == pytest.approx(2 * 399, abs=12)
    assert questions_needed(np.ones(10), np.arange(10)) == 6  # no sign test has p < 0.05 before
    assert questions_needed(np.array([1.0, -1.0]), np.arange(2)) is None
    assert questions_needed(np.array([1.0]), np.arange(1)) is None


def test_holm_adjustment() -> None:
    # sorted 0.01, 0.02, 0.04: times 3, 2, 1 gives 0.03, 0.04, 0.04
    assert holm([0.04, None, 0.01, 0.02]) == pytest.approx([0.04, None, 0.03, 0.04])
    # an adjusted value is never below that of a smaller p: 0.02*2 = 0.04, then 0.03*1 is raised to 0.04
    assert holm([0.02, 0.03]) == pytest.approx([0.04, 0.04])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
