"""One-vs-rest ridge classifier, with confidences measured on held-out questions.

Contract: closed form, deterministic, numpy alone. A confidence is the share of correct held-out proposals at a score:
isotonic regression on out-of-fold scores, with near-duplicates within a fold. (Zadrozny and Elkan 2002.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIDGE = 1.0
"""Penalty weight, for centred rows of average length 1."""


@dataclass(frozen=True)
class Ridge:
    """Weights of shape (columns, labels), row centre and score prior."""

    centre: NDArray[np.float32]
    weights: NDArray[np.float32]
    prior: NDArray[np.float32]

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores, shape (rows, labels); 1 for a right label."""
        scores: NDArray[np.float32] = (rows - self.centre) @ self.weights + self.prior
        return scores


def fit(rows: NDArray[np.float32], truth: NDArray[np.float32], penalty: float = RIDGE) -> Ridge:
    """Least squares fit of labels (0 or 1, shape (rows, labels)), with a weight penalty."""
    import numpy as np

    centre, prior = rows.mean(axis=0), truth.mean(axis=0)
    a, b = rows - centre, truth - prior
    # Embeddings share a direction: their short differences would be penalised away.
    scale = float(np.sqrt((a * a).sum(axis=1).mean())) or 1.0
    a /= scale
    size, columns = a.shape
    if size <= columns:
        weights = a.T @ np.linalg.solve(a @ a.T + penalty * np.eye(size, dtype=np.float32), b)
    else:
        weights = np.linalg.solve(a.T @ a + penalty * np.eye(columns, dtype=np.float32), a.T @ b)
    return Ridge(centre, (weights / scale).astype(np.float32), prior.astype(np.float32))


@dataclass(frozen=True)
class Calibration:
    """Monotone curve of correctness by score.

    `shares` are the correct shares at the rising corners `scores`, `measured_on` the number of proposals.
    """

    scores: Sequence[float]
    shares: Sequence[float]
    measured_on: int

    def __call__(self, score: float) -> float:
        """Confidence of a score."""
        import numpy as np

        return float(np.interp(score, self.scores, self.shares))


def calibrate(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> Calibration:
    """Isotonic curve of held-out proposals (pool adjacent violators).

    Each pool adds one right and one wrong, so that no confidence is 0 or 1.
    """
    import numpy as np

    order = np.argsort(scores, kind="stable")
    pools: list[list[float]] = []  # right, all, sum of scores
    # Coarse start: a corner for each proposal would follow chance.
    for piece in np.array_split(order, max(1, min(len(order), 2 * round(len(order) ** 0.5)))):
        pools.append([float(right[piece].sum()), float(len(piece)), float(scores[piece].sum())])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            last = pools.pop()
            pools[-1] = [mine + other for mine, other in zip(pools[-1], last, strict=True)]
    return Calibration(
        [total / count for _, count, total in pools],
        [(hits + 1) / (count + 2) for hits, count, _ in pools],
        len(order),
    )
