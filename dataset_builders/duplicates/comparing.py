"""What tells two near questions apart: exact similarity, and the difference that makes a variant.

Contract: see the package. Pairs are compared many at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.dataset_builders.duplicates.figures import SAME_ALONE, distance, is_same
from livek12.dataset_builders.duplicates.library import SHINGLE, ask_of
from livek12.dataset_builders.duplicates.shingling import jaccards
from livek12.dataset_builders.duplicates.stems import Stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD = 0.75
SAME_ASK = 0.5
"""Share of the shingles of the ending, and of the options, that questions asking the same thing have in common."""
LOOSE = 0.5
"""Below the threshold, down to this: misread or reworded, if nothing tells the two apart."""
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
"""What makes a variant; nothing for a duplicate."""


@dataclass(frozen=True)
class Compared:
    """The pairs that are near each other: which of those given, and what came of each.

    Attributes:
        pair: its place among the pairs given.
        similarity: of the texts.
        difference: its place in `DIFFERENCES`.
    """

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
    """Compares pairs of stems of one language.

    Args:
        stems: the stems.
        one: the first of each pair, as a place among the stems.
        other: the second of each pair.
        least: with less than the threshold, pairs down to this similarity are variants in wording, unless something
            else tells them apart.
        by_key: whether the right options may tell two apart; otherwise choices whose texts differ are variants, as if
            another option was right.
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
    stems: Sequence[Stem], texts: Sequence[str], one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What two texts of a pair have in common, in shingles of its language."""
    import numpy as np

    sizes = np.array([SHINGLE[stem.language] for stem in stems])
    found = np.zeros(len(one))
    for size in set(sizes.tolist()):
        own = np.flatnonzero(sizes == size)
        place: NDArray[np.int64] = np.zeros(len(stems), dtype=np.int64)
        place[own] = np.arange(len(own))
        pairs = np.flatnonzero(sizes[one] == size)
        found[pairs] = jaccards([texts[n] for n in own], size, place[one[pairs]], place[other[pairs]])
    return found


def _differences(
    stems: Sequence[Stem], one: NDArray[np.int64], other: NDArray[np.int64], by_key: bool
) -> NDArray[np.int64]:
    """What tells each of some near pairs apart."""
    import numpy as np

    asks = _ask_something_else(stems, one, other)
    found = [
        _difference(stems[a], stems[b], asks_other, by_key)
        for a, b, asks_other in zip(one.tolist(), other.tolist(), asks.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _difference(one: Stem, other: Stem, asks_other: bool, by_key: bool) -> int:
    if one.numbers != other.numbers:
        return NUMBERS
    if asks_other:
        return ASK
    if one.text != other.text and not by_key and one.has_options and other.has_options:
        return WORDING
    if one.text != other.text and by_key and one.key and other.key and one.key != other.key:
        return KEY
    if one.short and other.short and (one.figures or other.figures):
        return SAME if is_same(distance(one.figures, other.figures)) else FIGURES
    return SAME


def _ask_something_else(stems: Sequence[Stem], one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the ends of the two stems, or their options, have too little in common; not looked at in equal texts."""
    import numpy as np

    found: NDArray[np.bool_] = np.zeros(len(one), dtype=bool)
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    wanted = [
        n for n, (a, b) in enumerate(pairs) if stems[a].text != stems[b].text and stems[a].numbers == stems[b].numbers
    ]
    if not wanted:
        return found
    asks = [ask_of(stem) for stem in stems]
    for part in range(2):
        texts = [ask[part] for ask in asks]
        both = [
            n for n in wanted if texts[one[n]] != texts[other[n]] and (part == 0 or (texts[one[n]] and texts[other[n]]))
        ]
        found[both] |= _by_size(stems, texts, one[both], other[both]) < SAME_ASK
    return found
