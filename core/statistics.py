"""Statistics of exams: intervals, pass@k, paired tests and their power, least squares, agreement of raters.

Contract: pure functions, seeded draws. A statistic without observations or spread is None.

Intervals of means and ratios cover at their level even for few questions or papers:

1. A ratio Σ x / Σ w over questions, on the scale of 0 (least) to 1 (most), has the variance of its influence values
   (x - share·w) / Σ w, summed over questions, or over clusters of them (papers): v = G/(G-1) · Σ e².
2. v over the variance of a right-or-wrong answer, share·(1 - share), is one over the effective number of questions
   (Kish 1965). `PRIOR` of a question's worth of variance is added to both, so that equal values are not certain.
3. Wilson's score interval (1927) is taken at that number, with Student's t for the clusters there are (Dean & Pagano
   2015 compare such intervals), and fewer degrees of freedom where few clusters carry the variance.
4. With clusters, the interval is never narrower than over the questions alone.
5. The difference of two ratios combines both intervals (Zou & Donner 2008: MOVER), with the correlation of their
   influence values on shared questions.

Measured coverage: `docs/measured.md`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from livek12.core.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Bools: TypeAlias = "NDArray[np.bool_]"
Indices: TypeAlias = "NDArray[np.intp]"
Codes: TypeAlias = "NDArray[np.signedinteger[Any]]"


FLIPS_AT_ONCE = 2**20
"""Signs that are drawn at once: bounds the memory, changes no result."""
FEW_FLIPS = 13
"""Up to so many differences other than 0 all patterns of signs are tried."""


def wilson_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of a proportion (Wilson 1927): good for small n and near 0 and 1.

    centre = (p + z²/2n) / (1 + z²/n), half-width = z/(1 + z²/n) · √(p(1-p)/n + z²/4n²).
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} are no proportion")
    z = NormalDist().inv_cdf((1 + level) / 2)
    p, shrink = successes / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_std(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and sample standard deviation (n - 1; None for fewer than two values)."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n samples, drawn without replacement, include one of the c correct ones.

    1 - C(n-c, k) / C(n, k), the unbiased estimator of pass@k (Chen et al. 2021, equation 1).
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {n} samples with {c} correct does not exist")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def grouped_sums(codes: Indices, values: Floats, groups: int) -> Floats:
    """Sum of the values of each group 0..groups-1; `codes` names the group of each value."""
    return np.asarray(np.bincount(codes, values, groups), dtype=np.float64)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar test: p = min(1, 2·P(X ≤ min(only_a, only_b))), X ~ Binomial(only_a + only_b, 1/2)."""
    n, k = only_a + only_b, min(only_a, only_b)
    log_all = math.lgamma(n + 1) - n * math.log(2)
    terms = (math.exp(log_all - math.lgamma(i + 1) - math.lgamma(n - i + 1)) for i in range(k + 1))
    return min(1.0, 2 * math.fsum(terms))


def sign_flip_tests(differences: Floats, *, permutations: int = 9999, seed: int = 0) -> list[float]:
    """Two-sided paired permutation tests by sign flips, one a column of `differences` (n, tests).

    The statistic is |Σ d|; under the null every d may as well be -d (Fisher 1935, section 21). Up to 13 differences
    other than 0 all 2^m sign patterns are tried; beyond, a random sample, the observed pattern included: p = (1 + hits)
    / (1 + permutations) (Phipson & Smyth 2010). p is at most 3.178 times the normal tail at Σd / √Σd², which bounds
    every such test (Bentkus & Dzindzalieta 2015, theorem 1.1). The sample depends on n and the seed alone.
    """
    many = np.count_nonzero(differences, axis=0) > FEW_FLIPS
    p = np.empty(len(many))
    p[~many] = [_all_flips(d[d != 0]) for d in differences.T[~many]]
    if many.any():
        p[many] = _sampled_flips(differences[:, many], permutations, seed)
    p_values: list[float] = p.tolist()
    return p_values


def _all_flips(d: Floats) -> float:
    patterns = (np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1
    return float(np.mean(np.abs((2 * patterns - 1) @ d) >= seen_sum(d)))


def _sampled_flips(d: Floats, permutations: int, seed: int) -> Floats:
    total, seen, hits = d.sum(axis=0), seen_sum(d), np.zeros(d.shape[1])
    for signs in flip_signs(len(d), permutations, seed):
        hits += np.count_nonzero(np.abs(2 * (signs @ d) - total) >= seen, axis=0)
    return flip_p(hits, permutations, total, (d**2).sum(axis=0))


def flip_signs(n: int, permutations: int, seed: int) -> Iterator[Floats]:
    """Sample of `sign_flip_tests` in blocks of shape (patterns, n): 1 keeps a sign, 0 flips it."""
    rng = np.random.default_rng(seed)
    block = max(1, FLIPS_AT_ONCE // n)
    for start in range(0, permutations, block):
        drawn = rng.integers(2, size=(min(block, permutations - start), n), dtype=np.uint8)
        yield drawn.astype(np.float64)


def flip_p(hits: Floats, permutations: int, total: Floats, squares: Floats) -> Floats:
    """P of sampled flips from the hits, Σd and Σd² of each test."""
    sampled = (1 + hits) / (1 + permutations)
    high = np.abs(total) / np.sqrt(2 * squares)
    return np.minimum(sampled, [3.178 * math.erfc(value) for value in high])


def seen_sum(d: Floats) -> Floats:
    """|Σ d| of each column, with slack for the order of summation."""
    return np.asarray(np.abs(d.sum(axis=0)) - 1e-9 * np.abs(d).sum(axis=0))


def clustered_t_test(differences: Floats, clusters: Indices) -> float:
    """Two-sided t test of a mean difference of 0, by G clusters (Liang & Zeger 1986, G - 1 degrees of freedom).

    The variance is that of the clusters' sums, and never less than that of single differences.
    """
    groups = int(clusters.max()) + 1
    variance = len(differences) ** 2 * _mean_variance(differences, clusters)
    total = float(differences.sum())
    return 1.0 if not total else t_tail(total / math.sqrt(variance), groups - 1) if variance > 0 else 0.0


def t_tail(t: float, freedom: int) -> float:
    """Two-sided tail probability of Student's t (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
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
    """Questions like these that would show a difference of this size.

    n·v·(z₁₋α/₂ + z_power)² / mean², v the variance of the mean (by clusters, if larger); one difference more, as signs
    come in steps; and enough for six that differ, below which no sign test has p < 0.05. None where the difference is
    0, or of one question alone.
    """
    n, mean = len(differences), float(differences.mean()) if len(differences) else 0.0
    differing = np.abs(differences[differences != 0])
    if n < 2 or not len(differing) or abs(mean) <= 1e-12 * float(differing.max()):
        return None
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    spread = n * _mean_variance(differences, clusters)
    enough = z * z * spread / mean**2 + float(differing.mean()) / abs(mean)
    return math.ceil(max(enough, 6 * n / len(differing)) - 1e-9)


def _mean_variance(differences: Floats, clusters: Indices) -> float:
    """The larger of the variance over single differences and that over clusters."""
    n, residuals = len(differences), differences - differences.mean()
    groups = int(clusters.max()) + 1
    single = float(n / (n - 1) * (residuals @ residuals))
    if groups < 2:
        return single / n**2
    sums = np.bincount(clusters, residuals, groups)
    return max(single, float(groups / (groups - 1) * (sums @ sums))) / n**2


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Step-down adjustment for several tests (Holm 1979); None is kept and does not count."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(order):
        running = max(running, min(1.0, p * (len(order) - rank)))
        adjusted[i] = running
    return adjusted


PRIOR = 0.5
"""How much of one question's variance is added to what was seen."""
WITHIN_PAPERS = 0.1
"""Correlation of the questions of a paper that is added with it: what papers are like before any was seen."""
LEAST_FREEDOM = 3.0
"""However few clusters carry the variance, degrees of freedom do not go below these (or below the clusters' own)."""
UNSEEN_PAIRS = 3.0
"""Two runs that never differed on n questions may differ on 3/n of them (the rule of three)."""


@dataclass(frozen=True)
class Spread:
    """Ratios with their intervals, one a column.

    Attributes:
        value: Σ numerators / Σ weights, shape (m,).
        low: lower ends, shape (m,); NaN for one question alone.
        influence: of each cluster on the ratio, as a share of `most`, shape (clusters, m); sums to 0.
        size: effective number of questions, shape (m,).
    """

    value: Floats
    low: Floats
    high: Floats
    influence: Floats
    size: Floats


def ratio_spread(
    numerators: Floats,
    weights: Floats,
    clusters: Indices | None = None,
    most: Floats | float = 1.0,
    level: float = 0.95,
) -> Spread:
    """Intervals of ratios Σ numerator / Σ weight over the same questions.

    Args:
        numerators: of each question (its trials added up), shape (questions, m); between 0 and `most` times the weight.
        weights: shape (questions, m); none below 0, and not all 0.
        clusters: of each question, from 0 without gaps; None: each question is its own.
        most: the largest ratio of a question, one for all or for each column.
    """
    total = weights.sum(axis=0)
    value = numerators.sum(axis=0) / total
    share = value / most
    influence = (numerators / most - share * weights) / total
    size = total**2 / (weights**2).sum(axis=0)
    if len(numerators) < 2:
        nowhere = np.full_like(value, np.nan)
        return Spread(value, nowhere, nowhere, influence, size)
    doubt = _doubt(share, influence, size, 1.0, np.full_like(share, len(numerators) - 1.0), level)
    if clusters is not None:
        order = np.argsort(clusters, kind="stable")
        groups = int(clusters.max()) + 1
        begins = np.searchsorted(clusters[order], np.arange(groups))
        influence = np.add.reduceat(influence[order], begins)
        if groups > 1:
            by_cluster = np.add.reduceat(weights[order], begins)
            design = 1 + WITHIN_PAPERS * np.maximum(0.0, size * (by_cluster**2).sum(axis=0) / total**2 - 1)
            doubt = np.maximum(doubt, _doubt(share, influence, size, design, _freedom(influence), level))
    low, high = _score_ends(share, doubt)
    return Spread(value, low * most, high * most, influence, size)


def mean_interval(
    values: Floats,
    weights: Floats | None = None,
    clusters: Indices | None = None,
    least: float = 0.0,
    most: float = 1.0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """A (weighted) mean of values between `least` and `most`, and its interval (NaN for a single value)."""
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    scaled = (np.asarray(values, dtype=np.float64) - least) / (most - least)
    spread = ratio_spread((scaled * weight)[:, None], weight[:, None], clusters, 1.0, level)
    mean, low, high = (least + (most - least) * float(end[0]) for end in (spread.value, spread.low, spread.high))
    return mean, low, high


def difference_reach(below: Floats, above: Floats, correlation: Floats, size: Floats) -> Floats:
    """Reach of the interval of a difference to one side (Zou & Donner 2008, equation 7).

    Args:
        below: reach of the first interval to that side.
        above: reach of the second to the other side.
        correlation: of the two estimates; 0 where they share no question.
        size: effective number of shared questions: a correlation seen in n is lessened by 3/n.
    """
    sure = correlation * np.maximum(0.0, 1 - UNSEEN_PAIRS / size)
    return np.asarray(np.sqrt(np.maximum(0.0, below**2 + above**2 - 2 * sure * below * above)))


def correlation(a: Floats, b: Floats) -> Floats:
    """Correlation of two estimates by influence on the same clusters, shape (clusters, …); 0 where one has none."""
    norm = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    return np.asarray(np.where(norm > 0, (a * b).sum(axis=0) / np.where(norm > 0, norm, 1.0), 0.0))


def t_quantile(freedom: Floats, level: float) -> Floats:
    """The `level` quantile of |t| of Student (Hill 1970, algorithm 396); `freedom` need not be whole."""
    p, n = 1 - level, np.asarray(freedom, dtype=np.float64)
    normal = NormalDist().inv_cdf(p / 2)
    with np.errstate(all="ignore"):
        a = 1 / (n - 0.5)
        b = 48 / a**2
        c = ((20700 * a / b - 98) * a - 16) * a + 96.36
        d = ((94.5 / (b + c) - 3) / b + 1) * np.sqrt(a * np.pi / 2) * n
        y = (d * p) ** (2 / n)
        near = normal**2
        c_near = c + np.where(n < 5, 0.3 * (n - 4.5) * (normal + 0.6), 0.0)
        c_near = (((0.05 * d * normal - 5) * normal - 7) * normal - 2) * normal + b + c_near
        large = (((((0.4 * near + 6.3) * near + 36) * near + 94.5) / c_near - near - 3) / b + 1) * normal
        large = np.expm1(a * large**2)
        small = (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1
        small = small * (n + 1) / (n + 2) + 1 / y
        quantile = np.sqrt(n * np.where(y > 0.05 + a, large, small))
    quantile = np.where(n == 1, 1 / math.tan(p * math.pi / 2), quantile)
    return np.asarray(np.where(n == 2, math.sqrt(2 / (p * (2 - p)) - 2), quantile))


def _doubt(
    share: Floats, influence: Floats, size: Floats, design: Floats | float, freedom: Floats, level: float
) -> Floats:
    """t² over the effective number of questions."""
    variance = len(influence) / (len(influence) - 1) * (influence**2).sum(axis=0)
    return t_quantile(freedom, level) ** 2 * _worth(share, variance, size, design)


def _worth(share: Floats, variance: Floats, size: Floats, design: Floats | float) -> Floats:
    """One over the number of right-or-wrong questions whose share would vary as much."""
    binary = np.maximum(0.0, share * (1 - share))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.where(binary > 1e-12, variance / binary, 0.0)
    return np.asarray(np.maximum(seen, (size * variance + PRIOR * design / size) / (size * binary + PRIOR)))


def _freedom(influence: Floats) -> Floats:
    """From the fourth moments of cluster sums (matching a χ²)."""
    groups = len(influence)
    second, fourth = (influence**2).sum(axis=0), (influence**4).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = 2 * second**2 / (fourth - second**2 / groups)
    freedom = np.where((second > 0) & np.isfinite(freedom) & (freedom > 0), freedom, groups - 1)
    return np.clip(freedom, min(LEAST_FREEDOM, groups - 1), groups - 1)


def _score_ends(share: Floats, doubt: Floats) -> tuple[Floats, Floats]:
    """Wilson's interval at z²/n = `doubt`."""
    half = np.sqrt(doubt * np.maximum(0.0, share * (1 - share)) + doubt**2 / 4)
    middle = share + doubt / 2
    low, high = np.maximum(0.0, middle - half) / (1 + doubt), np.minimum(1.0, (middle + half) / (1 + doubt))
    return np.minimum(share, low), np.maximum(share, high)


@dataclass(frozen=True)
class LeastSquares:
    """Fit of y on a constant and some columns.

    Attributes:
        coefficients: of the constant, then of each column.
        p: two-sided (Student's t) of each being 0; None without degrees of freedom.
        r2: explained share of the variance of y.
        freedom: observations less coefficients.
    """

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    p: tuple[float | None, ...]
    r2: float
    freedom: int


def least_squares(y: Sequence[float], columns: Sequence[Sequence[float]]) -> LeastSquares | None:
    """Ordinary least squares."""
    seen = np.asarray(y, dtype=np.float64)
    x = np.column_stack([np.ones(len(seen)), *(np.asarray(column, dtype=np.float64) for column in columns)])
    freedom = len(seen) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        return None
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    coefficients = inverse @ (q.T @ seen)
    residuals = seen - x @ coefficients
    variance = float(residuals @ residuals) / freedom
    errors = [math.sqrt(value) for value in (variance * (inverse**2).sum(axis=1)).tolist()]
    spread = float(((seen - seen.mean()) ** 2).sum())
    return LeastSquares(
        coefficients=tuple(coefficients.tolist()),
        errors=tuple(errors),
        p=tuple(
            t_tail(value / error, freedom) if error > 0 else None
            for value, error in zip(coefficients.tolist(), errors, strict=True)
        ),
        r2=1 - float(residuals @ residuals) / spread if spread > 0 else 0.0,
        freedom=freedom,
    )


def unit_variance(column: Sequence[float]) -> list[float] | None:
    """Values less their mean, over their standard deviation (n in the denominator)."""
    mean = math.fsum(column) / len(column)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
    return [(value - mean) / deviation for value in column] if deviation > 1e-12 else None


Level = Literal["nominal", "interval"]


class Agreement(TypedDict):
    """Judge against a human on yes-or-no marks; `accepted` is the positive class."""

    n: int
    true_accepts: int
    false_accepts: int
    false_rejects: int
    true_rejects: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None


def binary_agreement(human: Sequence[bool], judge: Sequence[bool]) -> Agreement:
    """Confusion counts, accuracy, precision, recall, F1 and Cohen's κ of a judge against human marks."""
    pairs = Counter(zip(human, judge, strict=True))
    tp, fp, fn, tn = (pairs[key] for key in ((True, True), (False, True), (True, False), (False, False)))
    return {
        "n": len(human),
        "true_accepts": tp,
        "false_accepts": fp,
        "false_rejects": fn,
        "true_rejects": tn,
        "accuracy": _ratio(tp + tn, len(human)),
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "kappa": cohen_kappa(human, judge),
    }


def weighted_agreement(human: Sequence[bool], judge: Sequence[bool]) -> dict[str, float | None]:
    """Precision, recall and F1 of both classes, weighted by the human marks of each."""
    sides = [
        binary_agreement([mark == own for mark in human], [mark == own for mark in judge]) for own in (True, False)
    ]
    counted = [(side["true_accepts"] + side["false_rejects"], side) for side in sides]
    result: dict[str, float | None] = {}
    for name, values in {
        "precision": [(count, side["precision"]) for count, side in counted if count],
        "recall": [(count, side["recall"]) for count, side in counted if count],
        "f1": [(count, side["f1"]) for count, side in counted if count],
    }.items():
        weighed = [count * value for count, value in values if value is not None]
        result[f"weighted_{name}"] = sum(weighed) / len(human) if values and len(weighed) == len(values) else None
    return result


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Cohen's κ of two raters on nominal labels (Cohen 1960): (p_o - p_e) / (1 - p_e)."""
    n = len(a)
    if not n:
        return None
    agreed = sum(x == y for x, y in zip(a, b, strict=True))
    left, right = Counter(a), Counter(b)
    chance = sum(count * right[label] for label, count in left.items())
    return None if chance == n * n else (agreed * n - chance) / (n * n - chance)


def quadratic_kappa(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Cohen's κ weighted by the squared distance of the mark values (Cohen 1968): 1 - Σ o·d² / Σ e·d²."""
    n = len(a)
    observed = math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    # Sum over all n² pairs, (x - y)² multiplied out.
    expected = n * (math.fsum(x * x for x in a) + math.fsum(y * y for y in b)) - 2 * math.fsum(a) * math.fsum(b)
    return None if not n or expected <= 1e-12 * n * n else 1 - n * observed / expected


def krippendorff_alpha(units: Sequence[Sequence[float | str | bool]], level: Level = "nominal") -> float | None:
    """Agreement of any number of raters with gaps (Krippendorff 2011): α = 1 - D_o / D_e.

    Units with fewer than two values do not count; level `interval` is the squared distance of numbers.
    """
    paired = [list(unit) for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    if not values:
        return None
    observed = math.fsum(_disagreement(unit, level) / (len(unit) - 1) for unit in paired)
    expected = _disagreement(values, level) / (len(values) - 1)
    return None if expected <= 0 else 1 - observed / expected


def kendall_tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Likeness of two rankings, with ties (Kendall's τ-b, 1945)."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} ranks")
    score = tied_x = tied_y = pairs = 0
    for i in range(len(x)):
        for j in range(i):
            dx, dy = _sign(x[i] - x[j]), _sign(y[i] - y[j])
            score, tied_x, tied_y, pairs = score + dx * dy, tied_x + (not dx), tied_y + (not dy), pairs + 1
    spread = (pairs - tied_x) * (pairs - tied_y)
    return score / math.sqrt(spread) if spread else None


def _disagreement(values: Sequence[float | str | bool], level: Level) -> float:
    if level == "nominal":
        return float(len(values) ** 2 - sum(count * count for count in Counter(values).values()))
    numbers = [float(value) for value in values]
    mean = math.fsum(numbers) / len(numbers)
    return 2 * len(numbers) * math.fsum((number - mean) ** 2 for number in numbers)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
