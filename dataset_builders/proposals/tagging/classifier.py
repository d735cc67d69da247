"""Knowledge point classifier: learned labels plus the tree's own words.

Contract: `train` needs labelled questions and measures confidences; `untrained` uses names alone, with confidences
None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import Record
from livek12.dataset_builders.proposals.tagging.features import EMBEDDING, Encoder, Step
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds
from livek12.dataset_builders.proposals.tagging.linear import Calibration, Ridge, calibrate, fit
from livek12.dataset_builders.proposals.tagging.names import Names
from livek12.dataset_builders.proposals.tagging.tree import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDS = 5
NAMED = 0.1
"""Bonus for a named point: at most this, as a share of the best-named point's."""
MIN_LABELLED = 20
"""Smallest number to learn from and to measure on."""


class Proposed(Record):
    """A knowledge point proposed for a question.

    Attributes:
        name: in the question's language.
        route: with the nodes above it.
        score: classifier score, without a scale.
        confidence: measured on held-out questions, 0 to 1, or None.
    """

    name: str
    route: str
    score: float
    confidence: float | None


@dataclass
class Classifier:
    """Scores the points of a tree.

    Attributes:
        encoder: None for names alone.
        ridge: learned weights, or None.
        calibration: of the scores, or None.
        nodes: embeddings of the points' names, if available.
    """

    tree: Tree
    names: Names
    encoder: Encoder | None = None
    ridge: Ridge | None = None
    calibration: Calibration | None = None
    nodes: NDArray[np.float32] | None = None

    @property
    def made_by(self) -> str:
        """Description for readers of its proposals."""
        if self.encoder is None:
            return "names"
        return self.encoder.name if self.ridge is None else f"{self.encoder.name}, trained"

    def scores(self, items: Sequence[Item], step: Step = lambda: None) -> NDArray[np.float32]:
        """Scores, shape (items, points)."""
        texts = [item.text for item in items]
        rows = self.encoder(texts, step) if self.encoder else None
        totals = combined(rows, self.ridge, self.nodes, self.names(texts))
        return totals * self._of_subject(items)

    def _of_subject(self, items: Sequence[Item]) -> NDArray[np.float32]:
        import numpy as np

        subjects = [point.subject for point in self.tree.points]
        masks = {name: np.array([subject == name for subject in subjects], np.float32) for name in set(subjects)}
        every: NDArray[np.float32] = np.ones(len(subjects), np.float32)
        rows = [masks.get(item.subject, every) for item in items]
        return np.array(rows, np.float32).reshape(len(items), len(subjects))

    def propose(self, items: Sequence[Item], most: int = 3, step: Step = lambda: None) -> list[list[Proposed]]:
        """Best points of each question, best first; only positive scores."""
        return [self._best(item, row, most) for item, row in zip(items, self.scores(items, step), strict=True)]

    def _best(self, item: Item, row: NDArray[np.float32], most: int) -> list[Proposed]:
        import numpy as np

        best = [int(place) for place in np.argsort(-row, kind="stable")[:most] if row[place] > 0]
        return [
            Proposed(
                name=self.tree.points[place].name(item.language),
                route=self.tree.points[place].route(item.language),
                score=round(float(row[place]), 4),
                confidence=round(self.calibration(float(row[place])), 3) if self.calibration else None,
            )
            for place in best
        ]


def combined(
    rows: NDArray[np.float32] | None,
    ridge: Ridge | None,
    nodes: NDArray[np.float32] | None,
    named: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Learned scores, plus bonuses for named points (as a share of the best-named) and near names."""
    import numpy as np

    bonus = named / np.maximum(named.max(axis=1, keepdims=True, initial=0), 1e-9)
    if rows is None:
        return named
    near = _standing(rows @ nodes.T) if nodes is not None else np.zeros_like(named)
    if ridge is None:
        return (bonus + near).astype(np.float32) if nodes is not None else named
    return (ridge(rows) + NAMED * bonus + NAMED * near).astype(np.float32)


def _standing(similarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rescales similarities from 0 (a question's mean) to 1 (its best): E5's cosines are all within 0.7 to 1."""
    import numpy as np

    above = similarity - similarity.mean(axis=1, keepdims=True)
    return np.maximum(above, 0) / np.maximum(above.max(axis=1, keepdims=True, initial=0), 1e-9)


def untrained(tree: Tree, encoder: Encoder | None) -> Classifier:
    """Classifier by the tree's words, and by embedded names if the encoder supports words."""
    understands = encoder is not None and encoder.name == EMBEDDING
    return Classifier(tree, Names(tree), encoder if understands else None, nodes=_nodes(tree, encoder))


def train(
    tree: Tree, encoder: Encoder, items: Sequence[Item], step: Step = lambda: None
) -> tuple[Classifier, list[str]]:
    """Trains a classifier with measured confidences; returns it and notes.

    Raises UserError for too few labels of the tree.
    """
    import numpy as np

    truth, unknown = truths(tree, items)
    labelled = np.flatnonzero(truth.any(axis=1))
    if len(labelled) < MIN_LABELLED:
        raise UserError(
            f"only {len(labelled)} questions have a label of the tree {tree.name}; give at least {MIN_LABELLED}"
            f"{f' (not in the tree: {unknown[0]!r} and {len(unknown) - 1} more)' if unknown else ''}"
        )
    used = [items[place] for place in labelled]
    truth, texts = truth[labelled], [item.text for item in used]
    rows, names = encoder(texts, step), Names(tree)
    named, nodes = names(texts), _nodes(tree, encoder)
    # Labels without questions cost as much as others and learn nothing.
    outside = np.zeros_like(truth)
    fold = np.array(folds(used, FOLDS))
    for number in range(FOLDS):
        held_out = fold == number
        if held_out.any() and (~held_out).any():
            outside[held_out] = combined(rows[held_out], fit(rows[~held_out], truth[~held_out]), nodes, named[held_out])
    best = outside.argsort(axis=1)[:, -3:]
    calibration = calibrate(
        np.take_along_axis(outside, best, axis=1).ravel(), np.take_along_axis(truth, best, axis=1).ravel() > 0
    )
    notes = [
        f"{len(used)} labelled questions, {int(truth.any(axis=0).sum())} points, {len(items) - len(used)} unlabelled"
    ]
    if unknown:
        notes.append(f"{len(unknown)} labels are not in the tree, such as {unknown[0]!r}")
    return Classifier(tree, names, encoder, fit(rows, truth), calibration, nodes), notes


def truths(tree: Tree, items: Sequence[Item]) -> tuple[NDArray[np.float32], list[str]]:
    """Label matrix, shape (items, points), and labels missing in the tree."""
    import numpy as np

    truth: NDArray[np.float32] = np.zeros((len(items), len(tree.points)), dtype=np.float32)
    unknown: dict[str, None] = {}
    for row, item in zip(truth, items, strict=True):
        for label in item.labels:
            place = tree.find(label)
            if place is None:
                unknown[label[:80]] = None
            else:
                row[place] = 1
    return truth, list(unknown)


def _nodes(tree: Tree, encoder: Encoder | None) -> NDArray[np.float32] | None:
    if encoder is None or encoder.name != EMBEDDING:
        return None
    return encoder([f"{point.name()} {' '.join(point.terms)}" for point in tree.points])
