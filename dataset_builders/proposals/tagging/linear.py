"""A linear classifier, one against the rest, by ridge regression, with confidences measured on held-out questions.

Contract: closed form, so the same data gives the same weights; numpy alone. Scores of points that no question was
labelled with come from their names only. A confidence is the share of held-out questions whose proposal of that score
was right: isotonic regression on out-of-fold scores, near-duplicates never across folds. (Zadrozny and Elkan 2002.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIDGE = 1.0
"""Weight of the penalty, for rows that are of length 1 on average once their mean is taken off."""


@dataclass(frozen=True)
class Ridge:
    """Weights of shape (columns, labels), and what is taken off rows and added to scores."""

    centre: NDArray[np.float32]
    weights: NDArray[np.float32]
    prior: NDArray[np.float32]

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores, shape (rows, labels); 1 is what a label scores where it is right."""
        scores: NDArray[np.float32] = (rows - self.centre) @ self.weights + self.prior
        return scores


def fit(rows: NDArray[np.float32], truth: NDArray[np.float32], penalty: float = RIDGE) -> Ridge:
    """The least squares fit of labels (0 or 1, shape (rows, labels)) to rows, with a penalty on the weights."""
    import numpy as np

    centre, prior = rows.mean(axis=0), truth.mean(axis=0)
    a, b = rows - centre, truth - prior
    # Embeddings all point one way: what tells them apart is short, and would be penalised away.
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
    """How often proposals of a score were right: a curve that never falls.

    Attributes:
        scores: where the curve has its corners, rising.
        shares: right ones at each, 0 to 1.
        measured_on: how many proposals.
    """

    scores: Sequence[float]
    shares: Sequence[float]
    measured_on: int

    def __call__(self, score: float) -> float:
        """The confidence of a score."""
        import numpy as np

        return float(np.interp(score, self.scores, self.shares))


def calibrate(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> Calibration:
    """The isotonic curve of held-out proposals, by pooling neighbours that fall (pool adjacent violators).

    Each pool counts one more right and one more wrong than it saw, so that no confidence is 0 or 1.
    """
    import numpy as np

    order = np.argsort(scores, kind="stable")
    pools: list[list[float]] = []  # right, all, sum of scores
    # Coarse to begin with: a corner a proposal would follow chance.
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
