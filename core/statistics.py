"""Statistics of exams: intervals of shares, pass@k, paired tests and their power.

Contract: small pure functions; whatever is drawn is drawn from a seed, so that equal input gives equal output.
A statistic that does not exist (no observations, no spread to estimate) is None, never a stand-in number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]
    Indices: TypeAlias = NDArray[np.intp]
    Codes: TypeAlias = NDArray[np.signedinteger[Any]]

FLIPS_AT_ONCE = 2**20
"""Signs that are drawn at once: bounds the memory, changes no result."""
FEW_FLIPS = 13
"""Up to so many differences other than 0 all patterns of signs are tried."""


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
    seen counted among them, p = (1 + hits) / (1 + permutations) (Phipson & Smyth 2010). Where that sample is too
    small to tell, p is at most 3.178 times the normal tail at Σd / √Σd², which bounds every such test (Bentkus &
    Dzindzalieta 2015, theorem 1.1): many pairs of runs need a p far below one in ten thousand. The sample hangs on n
    and the seed alone: it is made once for all tests, and the p of one is the same whatever it is tested with.

    Args:
        differences: those of each test in a column, shape (n, tests).
        permutations: how many sign patterns to sample.
        seed: of the sample.

    Returns:
        The p of each test.
    """
    import numpy as np

    many = np.count_nonzero(differences, axis=0) > FEW_FLIPS
    p = np.empty(len(many))
    p[~many] = [_all_flips(d[d != 0]) for d in differences.T[~many]]
    if many.any():
        p[many] = _sampled_flips(differences[:, many], permutations, seed)
    found: list[float] = p.tolist()
    return found


def _all_flips(d: Floats) -> float:
    import numpy as np

    patterns = (np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1
    return float(np.mean(np.abs((2 * patterns - 1) @ d) >= seen_sum(d)))


def _sampled_flips(d: Floats, permutations: int, seed: int) -> Floats:
    import numpy as np

    total, seen, hits = d.sum(axis=0), seen_sum(d), np.zeros(d.shape[1])
    for signs in flip_signs(len(d), permutations, seed):
        hits += np.count_nonzero(np.abs(2 * (signs @ d) - total) >= seen, axis=0)
    return flip_p(hits, permutations, total, (d**2).sum(axis=0))


def flip_signs(n: int, permutations: int, seed: int) -> Iterator[Floats]:
    """The sample of `sign_flip_tests` in blocks of shape (patterns, n): 1 where a sign stays, 0 where it does not."""
    import numpy as np

    rng = np.random.default_rng(seed)
    block = max(1, FLIPS_AT_ONCE // n)
    for start in range(0, permutations, block):
        drawn = rng.integers(2, size=(min(block, permutations - start), n), dtype=np.uint8)
        yield drawn.astype(np.float64)


def flip_p(hits: Floats, permutations: int, total: Floats, squares: Floats) -> Floats:
    """The p of sampled flips: of so many hits, with Σd and Σd² of each test (`sign_flip_tests`)."""
    import numpy as np

    sampled = (1 + hits) / (1 + permutations)
    high = np.abs(total) / np.sqrt(2 * squares)
    return np.minimum(sampled, [3.178 * math.erfc(value) for value in high])


def seen_sum(d: Floats) -> Floats:
    """|Σ d| of each column, with slack: patterns that tie with it stay tied when summed in another order."""
    import numpy as np

    return np.asarray(np.abs(d.sum(axis=0)) - 1e-9 * np.abs(d).sum(axis=0))


def clustered_t_test(differences: Floats, clusters: Indices) -> float:
    """Two-sided t test of a mean difference of 0, by clusters (Liang & Zeger 1986, with G - 1 degrees of freedom).

    The variance is that of the clusters' sums, and never less than that of single differences.

    Args:
        differences: of each question.
        clusters: which cluster each is in, 0 to G - 1, G ≥ 2.
    """
    groups = int(clusters.max()) + 1
    variance = len(differences) ** 2 * _mean_variance(differences, clusters)
    total = float(differences.sum())
    return 1.0 if not total else t_tail(total / math.sqrt(variance), groups - 1) if variance > 0 else 0.0


def t_tail(t: float, freedom: int) -> float:
    """The probability that |t| of Student is at least so large (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cos2 = math.cos(angle) ** 2
    odd = freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    for i in range(3 if odd else 2, freedom - 1, 2):
        term *= cos2 * (i - 1) / i
        total += term
    within = 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0)) if odd else math.sin(angle) * total
    return max(0.0, min(1.0, 1 - within))


def questions_needed(differences: Floats, clusters: Indices, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """How many questions like these would show a difference as large as theirs.

    n·v·(z₁₋α/₂ + z_power)² / mean², v the variance of the mean (by clusters, where that is more); one difference more,
    as signs come in steps; and at least as many as it takes for six that differ, below which no sign test has p < 0.05.

    Args:
        differences: of each question.
        clusters: which cluster each is in, from 0 on.
        alpha: of the two-sided test.
        power: chance that it finds the difference.

    Returns:
        None where the difference is 0, or of one question alone.
    """
    from statistics import NormalDist

    import numpy as np

    n, mean = len(differences), float(differences.mean()) if len(differences) else 0.0
    differing = np.abs(differences[differences != 0])
    if n < 2 or not len(differing) or abs(mean) <= 1e-12 * float(differing.max()):
        return None
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    spread = n * _mean_variance(differences, clusters)
    enough = z * z * spread / mean**2 + float(differing.mean()) / abs(mean)
    return math.ceil(max(enough, 6 * n / len(differing)) - 1e-9)


def _mean_variance(differences: Floats, clusters: Indices) -> float:
    """Of the mean of differences: the larger of that over single ones and that over clusters."""
    import numpy as np

    n, left = len(differences), differences - differences.mean()
    groups = int(clusters.max()) + 1
    single = float(n / (n - 1) * (left @ left))
    if groups < 2:
        return single / n**2
    sums = np.bincount(clusters, left, groups)
    return max(single, float(groups / (groups - 1) * (sums @ sums))) / n**2


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Step-down adjustment for several tests (Holm 1979); None stays None and does not count."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(order):
        running = max(running, min(1.0, p * (len(order) - rank)))
        adjusted[i] = running
    return adjusted
