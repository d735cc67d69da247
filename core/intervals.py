"""Intervals of means and ratios that cover what they say, also where questions or papers are few.

Contract: pure functions on arrays; nothing is drawn at random. The method is one, for shares and for marks:

1. A ratio Σ x / Σ w over questions, on the scale of 0 (least) to 1 (most), has the variance of its influence values
   (x - share·w) / Σ w, summed over questions, or over clusters of them (papers): v = G/(G-1) · Σ e².
2. v is set beside the variance of a right-or-wrong answer: v / (share·(1 - share)) is one over the number of
   questions that these are worth (Kish 1965: the effective sample size). `PRIOR` of a question's worth of variance
   is added to both, so that values that turned out equal are not taken for certain.
3. Wilson's score interval (1927) is taken at that number, with the quantile of Student's t for the clusters there are
   in place of the normal one (Dean & Pagano 2015 compare such intervals), and fewer degrees of freedom where few
   clusters carry the variance.
4. With clusters, the interval is never narrower than it would be over the questions alone.
5. The difference of two such ratios is put together from both intervals (Zou & Donner 2008: MOVER), with the
   correlation of their influence values where they are of the same questions.

`tests/core/test_coverage.py` holds them against planted exams; the table is in `docs/how-marks-are-computed.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices

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
        low: lower ends, shape (m,); not a number where there is one question alone.
        high: upper ends.
        influence: what each cluster (without clusters: each question) moves the ratio by, as a share of `most`,
            shape (clusters, m); sums to 0.
        size: how many questions of equal weight these are worth, shape (m,).
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
        clusters: the cluster of each question, from 0 on, every one present; None: each question is its own.
        most: the largest ratio that a question can have, one for all or for each column.
        level: coverage aimed at.
    """
    import numpy as np

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
    """A (weighted) mean of values between `least` and `most`, and its interval; see `ratio_spread`.

    Args:
        values: shape (questions,).
        weights: as many; None: all alike.
        clusters: the cluster of each value, from 0 on; None: each is its own.
        least: what a value is at least.
        most: what it is at most.
        level: coverage aimed at.

    Returns:
        Mean, lower end, upper end (not a number for one value alone).
    """
    import numpy as np

    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    scaled = (np.asarray(values, dtype=np.float64) - least) / (most - least)
    found = ratio_spread((scaled * weight)[:, None], weight[:, None], clusters, 1.0, level)
    mean, low, high = (least + (most - least) * float(end[0]) for end in (found.value, found.low, found.high))
    return mean, low, high


def difference_reach(below: Floats, above: Floats, correlation: Floats, size: Floats) -> Floats:
    """How far differences reach to one side (Zou & Donner 2008, equation 7).

    Args:
        below: how far the interval of the first reaches to that side.
        above: how far that of the second reaches to the other side.
        correlation: of the two estimates; 0 where they share no question.
        size: questions of equal weight that they share: a correlation that was seen in n is lessened by 3/n.
    """
    import numpy as np

    sure = correlation * np.maximum(0.0, 1 - UNSEEN_PAIRS / size)
    return np.asarray(np.sqrt(np.maximum(0.0, below**2 + above**2 - 2 * sure * below * above)))


def correlation(a: Floats, b: Floats) -> Floats:
    """Of two estimates, from their influence values on the same clusters, shape (clusters, …); 0 where one has none."""
    import numpy as np

    norm = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    return np.asarray(np.where(norm > 0, (a * b).sum(axis=0) / np.where(norm > 0, norm, 1.0), 0.0))


def t_quantile(freedom: Floats, level: float) -> Floats:
    """The value that |t| of Student stays below with probability `level` (Hill 1970, algorithm 396).

    Args:
        freedom: degrees of freedom, 1 or more; need not be whole.
        level: like 0.95.
    """
    from statistics import NormalDist

    import numpy as np

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
        found = np.sqrt(n * np.where(y > 0.05 + a, large, small))
    found = np.where(n == 1, 1 / math.tan(p * math.pi / 2), found)
    return np.asarray(np.where(n == 2, math.sqrt(2 / (p * (2 - p)) - 2), found))


def _doubt(
    share: Floats, influence: Floats, size: Floats, design: Floats | float, freedom: Floats, level: float
) -> Floats:
    """t² over the number of questions that these are worth."""
    variance = len(influence) / (len(influence) - 1) * (influence**2).sum(axis=0)
    return t_quantile(freedom, level) ** 2 * _worth(share, variance, size, design)


def _worth(share: Floats, variance: Floats, size: Floats, design: Floats | float) -> Floats:
    """One over the number of right-or-wrong questions whose share would vary as much."""
    import numpy as np

    binary = np.maximum(0.0, share * (1 - share))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.where(binary > 1e-12, variance / binary, 0.0)
    return np.asarray(np.maximum(seen, (size * variance + PRIOR * design / size) / (size * binary + PRIOR)))


def _freedom(influence: Floats) -> Floats:
    """Degrees of freedom of the variance of cluster sums: that of a χ² as unsure as their fourth moments say."""
    import numpy as np

    groups = len(influence)
    second, fourth = (influence**2).sum(axis=0), (influence**4).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 * second**2 / (fourth - second**2 / groups)
    found = np.where((second > 0) & np.isfinite(found) & (found > 0), found, groups - 1)
    return np.clip(found, min(LEAST_FREEDOM, groups - 1), groups - 1)


def _score_ends(share: Floats, doubt: Floats) -> tuple[Floats, Floats]:
    """Wilson's interval at z²/n = `doubt`."""
    import numpy as np

    half = np.sqrt(doubt * np.maximum(0.0, share * (1 - share)) + doubt**2 / 4)
    middle = share + doubt / 2
    low, high = np.maximum(0.0, middle - half) / (1 + doubt), np.minimum(1.0, (middle + half) / (1 + doubt))
    return np.minimum(share, low), np.maximum(share, high)
