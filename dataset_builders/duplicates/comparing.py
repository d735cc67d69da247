"""Exact comparison of near questions: similarity, and the difference that makes a variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.languages import language_of
from livek12.dataset_builders.duplicates.figures import SAME_ALONE, distance, is_same
from livek12.dataset_builders.duplicates.library import ask_of
from livek12.dataset_builders.duplicates.shingling import jaccards
from livek12.dataset_builders.duplicates.stems import Stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD = 0.75
SAME_ASK = 0.5
"""Share of the shingles of the ending, and of the options, that questions asking the same thing share."""
LOOSE = 0.5
"""Lower bound for misread or reworded questions with no other difference."""
SAME, NUMBERS, ASK, KEY, FIGURES, SAME_FIGURE, WORDING = range(7)
DIFFERENCES = (
    "",
    "other numbers",
    "asks something else",
    "another option is right",
    "other figures",
    "same figure, other text",
    "other wording",
)
"""Reason for a variant; empty for a duplicate."""


@dataclass(frozen=True)
class Compared:
    """Near pairs: their indices among the pairs given, and indices into `DIFFERENCES`."""

    pair: NDArray[np.int64]
    similarity: NDArray[np.float64]
    difference: NDArray[np.int64]


def compare(
    stems: Sequence[Stem],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    least: float = THRESHOLD,
    *,
    by_key: bool = True,
) -> Compared:
    """Compares pairs of stems of one language, given as indices into the stems.

    With `least` below the threshold, pairs down to this similarity are variants in wording, unless something else
    differs. Without `by_key`, choices whose texts differ are variants.
    """
    import numpy as np

    similarity = _by_size(stems, [stem.masked for stem in stems], one, other)
    same_figure = np.array(
        [
            bool(stems[a].figures and stems[b].figures)
            and is_same(distance(stems[a].figures, stems[b].figures), SAME_ALONE)
            for a, b in zip(one.tolist(), other.tolist(), strict=True)
        ],
        dtype=bool,
    )
    near = similarity >= least
    difference = np.full(len(one), SAME_FIGURE)
    difference[near] = _differences(stems, one[near], other[near], by_key)
    loose = near & (similarity < THRESHOLD)
    near &= ~loose | (difference == SAME)
    difference[loose] = np.where(near[loose], WORDING, SAME_FIGURE)
    pair = np.flatnonzero(near | same_figure)
    return Compared(pair, similarity[pair], difference[pair])


def _by_size(
    stems: Sequence[Stem], texts: Sequence[str], first: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    import numpy as np

    sizes = np.array([language_of(stem.language).word for stem in stems])
    similarity = np.zeros(len(first))
    for size in set(sizes.tolist()):
        own = np.flatnonzero(sizes == size)
        place: NDArray[np.int64] = np.zeros(len(stems), dtype=np.int64)
        place[own] = np.arange(len(own))
        pairs = np.flatnonzero(sizes[first] == size)
        similarity[pairs] = jaccards([texts[n] for n in own], size, place[first[pairs]], place[other[pairs]])
    return similarity


def _differences(
    stems: Sequence[Stem], first: NDArray[np.int64], other: NDArray[np.int64], by_key: bool
) -> NDArray[np.int64]:
    import numpy as np

    asks = _ask_something_else(stems, first, other)
    codes = [
        _difference(stems[a], stems[b], asks_other, by_key)
        for a, b, asks_other in zip(first.tolist(), other.tolist(), asks.tolist(), strict=True)
    ]
    return np.array(codes, dtype=np.int64)


def _difference(first: Stem, other: Stem, asks_other: bool, by_key: bool) -> int:
    if first.numbers != other.numbers:
        return NUMBERS
    if asks_other:
        return ASK
    if first.text != other.text and not by_key and first.has_options and other.has_options:
        return WORDING
    if first.text != other.text and by_key and first.key and other.key and first.key != other.key:
        return KEY
    if first.short and other.short and (first.figures or other.figures):
        return SAME if is_same(distance(first.figures, other.figures)) else FIGURES
    return SAME


def _ask_something_else(stems: Sequence[Stem], first: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True if endings or options have too little in common; equal texts are not examined."""
    import numpy as np

    differs: NDArray[np.bool_] = np.zeros(len(first), dtype=bool)
    pairs = zip(first.tolist(), other.tolist(), strict=True)
    wanted = [
        n for n, (a, b) in enumerate(pairs) if stems[a].text != stems[b].text and stems[a].numbers == stems[b].numbers
    ]
    if not wanted:
        return differs
    asks = [ask_of(stem) for stem in stems]
    for part in range(2):
        texts = [ask[part] for ask in asks]
        both = [
            n
            for n in wanted
            if texts[first[n]] != texts[other[n]] and (part == 0 or (texts[first[n]] and texts[other[n]]))
        ]
        differs[both] |= _by_size(stems, texts, first[both], other[both]) < SAME_ASK
    return differs
