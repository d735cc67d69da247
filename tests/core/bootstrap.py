"""The cluster bootstrap of one ratio, put together from its steps: what the intervals of scoring are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livek12.core.statistics import grouped_sums, percentile_intervals, resample_counts, resampled_sums


def bootstrap_ratio(
    numerator: Sequence[float],
    denominator: Sequence[float],
    clusters: Sequence[object] | None = None,
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """Interval of Σ numerator / Σ denominator by the cluster bootstrap (Field & Welsh 2007).

    Whole clusters are drawn with replacement, so that what belongs together (questions of a paper, trials of
    a question) stays together.

    Args:
        numerator: one value an observation.
        denominator: one value an observation.
        clusters: the cluster of each observation; None: each is its own.
        resamples: how many.
        seed: of the draw.
        level: coverage aimed at.

    Returns:
        The percentile interval; None for fewer than two clusters.
    """
    labels = list(range(len(numerator))) if clusters is None else list(clusters)
    index = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    if len(index) < 2:
        return None
    codes = np.array([index[label] for label in labels], dtype=np.intp)
    values = [np.asarray(v, dtype=np.float64) for v in (numerator, denominator)]
    pairs = np.column_stack([grouped_sums(codes, v, len(index)) for v in values])
    sums = resampled_sums(pairs, resample_counts(len(index), resamples, seed), np.arange(len(index)))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = percentile_intervals(sums[:1] / sums[1:], level)[0]
    return float(low), float(high)
