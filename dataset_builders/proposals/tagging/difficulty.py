"""Difficulty: learned from labelled questions, else a heuristic without a confidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.question_types import READER_TYPES
from livek12.core.records import Record
from livek12.dataset_builders.proposals.tagging.features import Encoder, Step
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds
from livek12.dataset_builders.proposals.tagging.linear import Calibration, Ridge, calibrate, fit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVELS = ("easy", "medium", "hard")
FOLDS = 5
_PART = re.compile(r"[（(]\s*(?:\d|[ⅰ-ⅸ]|i{1,3})\s*[)）]|[①②③④⑤⑥]")


class Level(Record):
    """A proposed difficulty; `confidence` is None for the heuristic."""

    name: str
    confidence: float | None = None


def rule_of_thumb(item: Item) -> Level:
    """Heuristic by points, type, parts and length: each may add a step."""
    steps = int((item.points or 0) >= 10 or item.kind in READER_TYPES)
    steps += len(_PART.findall(item.text)) >= 3
    steps += len(item.text) >= 400
    return Level(name=LEVELS[min(steps, 2)])


@dataclass
class Difficulty:
    """Difficulty model trained on labelled questions."""

    levels: Sequence[str]
    encoder: Encoder
    ridge: Ridge
    calibration: Calibration
    better: bool
    """True if more accurate than the commonest level; others are not used."""

    def __call__(self, items: Sequence[Item], step: Step = lambda: None) -> list[Level]:
        """Level of each question."""
        scores = self.ridge(_rows(self.encoder, items, step))
        best = scores.argmax(axis=1)
        return [
            Level(name=self.levels[place], confidence=round(self.calibration(float(row[place])), 3))
            for row, place in zip(scores, best, strict=True)
        ]


def train(encoder: Encoder, items: Sequence[Item], least: int = 50) -> Difficulty | None:
    """Trains a model; None with fewer than `least` difficulties, or a single level."""
    import numpy as np

    used = [item for item in items if item.difficulty]
    levels = sorted({item.difficulty for item in used})
    if len(used) < least or not 1 < len(levels) <= 10:
        return None
    truth = np.array([[float(item.difficulty == level) for level in levels] for item in used], dtype=np.float32)
    rows = _rows(encoder, used)
    fold, outside = np.array(folds(used, FOLDS)), np.zeros_like(truth)
    for number in range(FOLDS):
        held_out = fold == number
        if held_out.any() and (~held_out).any():
            outside[held_out] = fit(rows[~held_out], truth[~held_out])(rows[held_out])
    best = outside.argmax(axis=1)
    right = truth[np.arange(len(used)), best] > 0
    better = bool(right.mean() > truth.mean(axis=0).max())
    return Difficulty(levels, encoder, fit(rows, truth), calibrate(outside.max(axis=1), right), better)


def _rows(encoder: Encoder, items: Sequence[Item], step: Step = lambda: None) -> NDArray[np.float32]:
    import numpy as np

    measures = [
        [np.log1p(len(item.text)) / 8, len(_PART.findall(item.text)) / 8, min((item.points or 0) / 20, 1)]
        for item in items
    ]
    return np.concatenate([encoder([item.text for item in items], step), np.array(measures, dtype=np.float32)], axis=1)
