"""Ordinary least squares for few observations, with Student's t for each coefficient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from livek12.core.statistics import t_tail


@dataclass(frozen=True)
class LeastSquares:
    """A fit of y on a constant and some columns.

    Attributes:
        coefficients: of the constant, then of each column.
        errors: their standard errors.
        p: two-sided, of each being 0; None where nothing is left to estimate the errors from.
        r2: the share of the variance of y that is explained.
        freedom: observations less coefficients.
    """

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    p: tuple[float | None, ...]
    r2: float
    freedom: int


def least_squares(y: Sequence[float], columns: Sequence[Sequence[float]]) -> LeastSquares | None:
    """The fit; None where the columns and the constant depend on each other, or observations are too few for errors.

    Args:
        y: n observations.
        columns: each of n values.
    """
    import numpy as np

    seen = np.asarray(y, dtype=np.float64)
    x = np.column_stack([np.ones(len(seen)), *(np.asarray(column, dtype=np.float64) for column in columns)])
    freedom = len(seen) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        return None
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    found = inverse @ (q.T @ seen)
    left = seen - x @ found
    variance = float(left @ left) / freedom
    errors = [math.sqrt(value) for value in (variance * (inverse**2).sum(axis=1)).tolist()]
    spread = float(((seen - seen.mean()) ** 2).sum())
    return LeastSquares(
        coefficients=tuple(found.tolist()),
        errors=tuple(errors),
        p=tuple(
            t_tail(value / error, freedom) if error > 0 else None
            for value, error in zip(found.tolist(), errors, strict=True)
        ),
        r2=1 - float(left @ left) / spread if spread > 0 else 0.0,
        freedom=freedom,
    )


def unit_variance(column: Sequence[float]) -> list[float] | None:
    """The values less their mean, over their standard deviation (n in the denominator); None where all are equal."""
    mean = math.fsum(column) / len(column)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
    return [(value - mean) / deviation for value in column] if deviation > 1e-12 else None
