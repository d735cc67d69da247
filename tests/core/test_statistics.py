"""Statistics against arithmetic by hand, brute force and published values."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.statistics import (
    holm,
    mcnemar_exact,
    mean_std,
    pass_at_k,
    percentile_intervals,
    resample_counts,
    resampled_sums,
    sign_flip_tests,
    unseen_interval,
    wilson_interval,
)
from tests.core.bootstrap import bootstrap_ratio


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


@pytest.mark.parametrize(
    ("value", "n", "lowest", "highest", "low", "high"),
    [
        (0, 10, 0, 1, 0, 0.277533),  # Wilson's 0 of 10 and 10 of 10
        (1, 10, 0, 1, 0.722467, 1),
        (50, 10, 0, 100, 50 - 0.277533 * 50, 50 + 0.277533 * 50),
        (0, 10, -1, 1, -0.277533, 0.277533),  # a difference: no question told the two apart
        (0, 1, 0, 1, 0, 0.793450),  # z²/(1 + z²)
    ],
)
def test_the_interval_of_values_that_are_all_equal(
    value: float, n: int, lowest: float, highest: float, low: float, high: float
) -> None:
    assert unseen_interval(value, n, lowest, highest) == pytest.approx((low, high), abs=5e-5)


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


def test_each_resample_draws_as_many_clusters_as_there_are() -> None:
    counts = resample_counts(7, 50, seed=1)
    assert counts.shape == (7, 50)
    assert (counts.sum(axis=0) == 7).all()
    assert (counts == resample_counts(7, 50, seed=1)).all()
    assert (counts != resample_counts(7, 50, seed=2)).any()


def test_resampled_sums_equal_writing_every_resample_out() -> None:
    rng = np.random.default_rng(0)
    contributions, members = rng.normal(size=(5000, 2)), np.arange(1000, 6000)
    counts = resample_counts(8000, 3, seed=4)
    expected = [
        [sum(counts[m, b] * row[j] for m, row in zip(members, contributions, strict=True)) for b in range(3)]
        for j in range(2)
    ]
    assert resampled_sums(contributions, counts, members) == pytest.approx(np.array(expected))


def test_clustered_bootstrap_matches_all_possible_resamples() -> None:
    """Four clusters have 4^4 equally likely resamples: the exact percentiles are those of all of them."""
    clusters = {"a": [(1, 1)] * 3, "b": [(0, 1)] * 4, "c": [(1, 1)] * 2, "d": [(0, 1), (1, 1)]}
    flat = [(name, n, d) for name, pairs in clusters.items() for n, d in pairs]
    exact = np.array(
        [
            sum(n for name in draw for n, _ in clusters[name]) / sum(d for name in draw for _, d in clusters[name])
            for draw in product(clusters, repeat=4)
        ]
    )
    names, numerator, denominator = zip(*flat, strict=True)

    def off(interval: tuple[float, float] | None) -> float:
        """By how much the ends miss being the 5 % and 95 % points of the exact distribution (it has jumps)."""
        assert interval is not None
        below = [float(np.mean(exact < end - 1e-9)) for end in interval]
        up_to = [float(np.mean(exact <= end + 1e-9)) for end in interval]
        return max(max(b - p, p - u) for b, u, p in zip(below, up_to, (0.05, 0.95), strict=True))

    assert off(bootstrap_ratio(numerator, denominator, names, resamples=20_000, level=0.9)) < 0.01
    # Whole clusters vary more than single observations: an interval that forgets them is too narrow.
    assert off(bootstrap_ratio(numerator, denominator, resamples=20_000, level=0.9)) > 0.03


def test_clusters_of_copies_are_worth_one_observation_each() -> None:
    values, names = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0] * 5, [i // 3 for i in range(30)]
    copies = bootstrap_ratio(values, [1.0] * 30, names)
    assert copies == bootstrap_ratio(values[::3], [1.0] * 10)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(5), 0
    for trial in range(200):
        interval = bootstrap_ratio(rng.random(60) < 0.4, np.ones(60), resamples=400, seed=trial)
        assert interval is not None
        hits += interval[0] <= 0.4 <= interval[1]
    assert 176 <= hits <= 200  # 95 % of 200 is 190; the standard deviation of the count is 3.1


def test_one_cluster_has_no_interval() -> None:
    assert bootstrap_ratio([1.0, 0.0], [1.0, 1.0], ["a", "a"]) is None


def test_resamples_without_the_group_are_left_out() -> None:
    samples = np.array([[math.nan, 1.0, 2.0, 3.0], [math.nan] * 4])
    low, high = percentile_intervals(samples, level=0.5)[0]
    assert (low, high) == (1.5, 2.5)
    assert np.isnan(percentile_intervals(samples)[1]).all()


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
    assert flipped([1.0] * 100) == pytest.approx(1 / 10_000)
    assert flipped([]) == flipped([0.0, 0.0]) == 1.0


def test_holm_adjustment() -> None:
    # sorted 0.01, 0.02, 0.04: times 3, 2, 1 gives 0.03, 0.04, 0.04
    assert holm([0.04, None, 0.01, 0.02]) == pytest.approx([0.04, None, 0.03, 0.04])
    # an adjusted value is never below that of a smaller p: 0.02*2 = 0.04, then 0.03*1 is raised to 0.04
    assert holm([0.02, 0.03]) == pytest.approx([0.04, 0.04])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
