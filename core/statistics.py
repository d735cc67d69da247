"""Statistics of exams: intervals, resampling, pass@k, paired tests.

Contract: small pure functions; whatever is drawn is drawn from a seed, so that equal input gives equal output.
A statistic that does not exist (no observations, no spread to estimate) is None, never a stand-in number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]
    Indices: TypeAlias = NDArray[np.intp]
    Draws: TypeAlias = NDArray[np.uint8]

_BLOCK = 4096
"""Clusters (or resamples) worked on at once: bounds the memory, changes no result."""

_MAX_DRAWS = 2**26
"""Most bytes of resample counts held at once."""


def wilson_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of a proportion (Wilson 1927): good for small n and near 0 and 1.

    centre = (p + z²/2n) / (1 + z²/n), half-width = z/(1 + z²/n) · √(p(1-p)/n + z²/4n²).

    Raises:
        ValueError: n < 1 or successes outside 0..n.
    """
    from statistics import NormalDist

    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} are no proportion")
    z = NormalDist().inv_cdf((1 + level) / 2)
    p, shrink = successes / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def unseen_interval(value: float, n: int, lowest: float, highest: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a mean of n values that all turned out equal, though each could lie between `lowest` and `highest`.

    What n draws never showed has a chance of at most u, Wilson's upper end for 0 of n; at worst it is the extreme:
    value - u·(value - lowest) to value + u·(highest - value). For n right or n wrong answers it is Wilson's interval.
    """
    unseen = wilson_interval(0, n, level)[1]
    return value - unseen * (value - lowest), value + unseen * (highest - value)


def mean_std(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and sample standard deviation (n - 1 in the denominator; None for fewer than two values)."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n samples, drawn without replacement, hold one of the c correct ones.

    1 - C(n-c, k) / C(n, k), the unbiased estimator of pass@k (Chen et al. 2021, equation 1).

    Raises:
        ValueError: unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {n} samples with {c} correct does not exist")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def grouped_sums(codes: Indices, values: Floats, groups: int) -> Floats:
    """Sum of the values of each group 0..groups-1; `codes` names the group of each value."""
    import numpy as np

    return np.asarray(np.bincount(codes, values, groups), dtype=np.float64)


def resample_counts(clusters: int, resamples: int, seed: int) -> Draws:
    """How often each cluster comes up when as many are drawn with replacement, time and again.

    Args:
        clusters: how many there are.
        resamples: how often to draw; lowered where the counts would take more than 64 MiB.
        seed: of the draw.

    Returns:
        Draws, shape (clusters, resamples).
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    resamples = max(1, min(resamples, _MAX_DRAWS // max(1, clusters)))
    counts: Draws = np.empty((resamples, clusters), np.uint8)
    for row in counts:
        row[:] = np.bincount(rng.integers(clusters, size=clusters), minlength=clusters)
    return np.ascontiguousarray(counts.T)


def resampled_sums(contributions: Floats, counts: Draws, members: Indices) -> Floats:
    """Sums over resampled clusters: the step that all bootstrapped ratios share.

    Args:
        contributions: what each member cluster adds to each of m sums, shape (members, m).
        counts: from `resample_counts`, shape (clusters, resamples).
        members: rows of `counts` that the contributions belong to; the other clusters add nothing.

    Returns:
        Shape (m, resamples).
    """
    import numpy as np

    sums = np.zeros((contributions.shape[1], counts.shape[1]))
    for start in range(0, len(members), _BLOCK):
        block = slice(start, start + _BLOCK)
        sums += contributions[block].T @ counts[members[block]].astype(np.float64)
    return sums


def percentile_intervals(samples: Floats, level: float = 0.95) -> Floats:
    """Central percentile interval of each row of bootstrap samples (Efron & Tibshirani 1993, section 13.3).

    Samples that are not a number (a resample in which a small group did not occur) are left out.

    Args:
        samples: shape (m, resamples).
        level: coverage aimed at.

    Returns:
        Lower and upper ends, shape (m, 2); not a number where no sample is one.
    """
    import warnings

    import numpy as np

    tail = (1 - level) / 2
    find = np.nanquantile if np.isnan(samples).any() else np.quantile
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(find(samples, [tail, 1 - tail], axis=1).T, dtype=np.float64)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar test: is either of two runs right more often where exactly one is right?

    p = min(1, 2·P(X ≤ min(only_a, only_b))), X ~ Binomial(only_a + only_b, 1/2) (McNemar 1947, exact form).

    Args:
        only_a: questions that only the first run has right.
        only_b: questions that only the second run has right.
    """
    n, k = only_a + only_b, min(only_a, only_b)
    log_all = math.lgamma(n + 1) - n * math.log(2)
    terms = (math.exp(log_all - math.lgamma(i + 1) - math.lgamma(n - i + 1)) for i in range(k + 1))
    return min(1.0, 2 * math.fsum(terms))


def sign_flip_tests(differences: Floats, *, permutations: int = 9999, seed: int = 0) -> list[float]:
    """Two-sided paired permutation tests: could the labels of the two runs be swapped pair by pair?

    The statistic is |Σ d|; under the null every d may as well be -d (Fisher 1935, section 21). All 2^m sign
    patterns are tried for up to 13 differences other than 0; beyond, a random sample of them with the pattern
    seen counted among them, p = (1 + hits) / (1 + permutations) (Phipson & Smyth 2010). The sample hangs on n and
    the seed alone: it is made once for all tests, and the p of one is the same whatever it is tested with.

    Args:
        differences: those of each test in a column, shape (n, tests).
        permutations: how many sign patterns to sample.
        seed: of the sample.

    Returns:
        The p of each test.
    """
    import numpy as np

    many = np.count_nonzero(differences, axis=0) > 13
    p = np.empty(len(many))
    p[~many] = [_all_flips(d[d != 0]) for d in differences.T[~many]]
    if many.any():
        p[many] = _sampled_flips(differences[:, many], permutations, seed)
    found: list[float] = p.tolist()
    return found


def _all_flips(d: Floats) -> float:
    import numpy as np

    patterns = (np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1
    return float(np.mean(np.abs((2 * patterns - 1) @ d) >= _seen(d)))


def _sampled_flips(d: Floats, permutations: int, seed: int) -> Floats:
    import numpy as np

    total, seen = d.sum(axis=0), _seen(d)
    rng = np.random.default_rng(seed)
    hits, block = np.zeros(d.shape[1]), max(1, _BLOCK * 256 // len(d))
    for start in range(0, permutations, block):
        flips = rng.integers(2, size=(min(block, permutations - start), len(d)), dtype=np.uint8)
        hits += np.count_nonzero(np.abs(2 * (flips.astype(np.float64) @ d) - total) >= seen, axis=0)
    return np.asarray((1 + hits) / (1 + permutations))


def _seen(d: Floats) -> Floats:
    """The statistic as it is, with slack: patterns that tie with it stay tied when summed in another order."""
    import numpy as np

    return np.asarray(np.abs(d.sum(axis=0)) - 1e-9 * np.abs(d).sum(axis=0))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Step-down adjustment for several tests (Holm 1979); None stays None and does not count."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(order):
        running = max(running, min(1.0, p * (len(order) - rank)))
        adjusted[i] = running
    return adjusted
