"""Quality of the proposals on held-out labelled questions, against unlearned baselines.

Contract: one fifth is held out, in groups of near-duplicates. Points labelled only there count in the truth: every
method misses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from livek12.dataset_builders.proposals.tagging.classifier import (
    Classifier,
    Encoder,
    Step,
    train,
    train_difficulty,
    truths,
    untrained,
)
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds
from livek12.dataset_builders.proposals.tagging.tree import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDS = 5
KEPT = 0.3
"""Least confidence of a second or third point; the best is always proposed."""
BINS = 10


def measure(tree: Tree, encoder: Encoder, items: Sequence[Item], step: Step = lambda: None) -> dict[str, Any]:
    """Metrics of majority, names and classifier on held-out questions, and of labelled difficulty."""
    import numpy as np

    fold = folds(items, FOLDS)
    used = [item for item, number in zip(items, fold, strict=True) if number]
    test_items = [item for item, number in zip(items, fold, strict=True) if not number]
    classifier, _ = train(tree, encoder, used, step)
    truth, _ = truths(tree, test_items)
    test_items = [item for item, row in zip(test_items, truth, strict=True) if row.any()]
    truth = truth[truth.any(axis=1)]
    learned, _ = truths(tree, used)
    common = np.tile(learned.sum(axis=0), (len(test_items), 1))
    metrics = {
        "trained_on": int(learned.any(axis=1).sum()),
        "held_out": len(test_items),
        "points": int(learned.any(axis=0).sum()),
        "unseen": round(float((~(truth * learned.any(axis=0)).any(axis=1)).mean()), 3) if test_items else None,
        "majority": figures(common, truth, tree),
        "names": figures(untrained(tree, None).scores(test_items), truth, tree),
        encoder.name: _trained_figures(classifier, test_items, truth, step),
    }
    if rows := _difficulty(encoder, used, test_items):
        metrics["difficulty"] = rows
    return metrics


def _trained_figures(
    classifier: Classifier, items: Sequence[Item], truth: NDArray[np.float32], step: Step = lambda: None
) -> dict[str, Any]:
    import numpy as np

    scores = classifier.scores(items, step)
    metrics = figures(scores, truth, classifier.tree)
    if classifier.calibration:
        sure = np.vectorize(classifier.calibration, otypes=[float])(np.sort(scores, axis=1)[:, ::-1][:, :3])
        metrics |= figures(scores, truth, classifier.tree, sure)
        best = scores.argmax(axis=1)
        metrics["calibration"] = calibration(sure[:, 0], truth[np.arange(len(items)), best] > 0)
    return metrics


def figures(
    scores: NDArray[np.float32], truth: NDArray[np.float32], tree: Tree, sure: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Metrics of scored points against 0/1 labels, both of shape (questions, points).

    `sure` holds confidences of the three best, shape (questions, 3); None keeps the best alone. Returns top1, top3
    (share of questions with a label among them), unit (best point in the unit, the node above, of a label) and f1
    (micro-averaged over proposals).
    """
    import numpy as np

    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    hits = np.take_along_axis(truth, best, axis=1) > 0
    hits &= np.take_along_axis(scores, best, axis=1) > 0
    kept = np.ones_like(hits) if sure is None else sure >= KEPT
    kept[:, 1:] &= sure is not None
    kept[:, 0] = True
    units = [_unit(tree, place) for place in range(len(tree.points))]
    same = [
        units[row[0]] in {units[place] for place in np.flatnonzero(gold)} for row, gold in zip(best, truth, strict=True)
    ]
    right = float((hits & kept).sum())
    return {
        "top1": _share(hits[:, 0]),
        "top3": _share(hits.any(axis=1)),
        "unit": _share(np.array(same)),
        "f1": round(2 * right / max(1.0, float(kept.sum()) + float(truth.sum())), 3),
    }


def calibration(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, Any]:
    """Expected calibration error (equal-count bins), and correct shares of the sure and the unsure half."""
    import numpy as np

    bins = [piece for piece in np.array_split(np.argsort(sure, kind="stable"), BINS) if len(piece)]
    gaps = [abs(float(sure[piece].mean()) - float(right[piece].mean())) * len(piece) for piece in bins]
    halves = np.array_split(np.argsort(-sure, kind="stable"), 2)
    return {
        "error": round(sum(gaps) / max(1, len(sure)), 3),
        "stated": round(float(sure.mean()), 3),
        "right": _share(right),
        "right_where_sure": _share(right[halves[0]]),
        "right_where_unsure": _share(right[halves[1]]),
    }


def _difficulty(encoder: Encoder, used: Sequence[Item], test_items: Sequence[Item]) -> dict[str, Any] | None:
    model = train_difficulty(encoder, used)
    test_items = [item for item in test_items if item.difficulty]
    if model is None or not test_items:
        return None
    common = max(model.levels, key=lambda level: sum(item.difficulty == level for item in used))
    levels = model(test_items)
    return {
        "held_out": len(test_items),
        "majority": round(sum(item.difficulty == common for item in test_items) / len(test_items), 3),
        encoder.name: round(
            sum(item.difficulty == level.name for item, level in zip(test_items, levels, strict=True))
            / len(test_items),
            3,
        ),
        "used": model.better,
    }


def _unit(tree: Tree, place: int) -> str:
    point = tree.points[place]
    return "->".join(next(iter(names.values())) for names in point.path) or point.name()


def _share(hits: NDArray[np.bool_]) -> float:
    return round(float(hits.mean()), 3) if len(hits) else 0.0
