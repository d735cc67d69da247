"""Pair search within a library of stems, or of one question against it; both give the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.dataset_builders.duplicates.comparing import DIFFERENCES, THRESHOLD, compare
from livek12.dataset_builders.duplicates.figures import figure_keys
from livek12.dataset_builders.duplicates.joining import Buckets
from livek12.dataset_builders.duplicates.library import BANDS, Library, levels, sketch
from livek12.dataset_builders.duplicates.stems import Stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AT_ONCE = 4_096
"""Pairs compared together: about 50 MB."""


@dataclass(frozen=True)
class Match:
    """A near question; `difference` is empty for a duplicate."""

    other: Stem
    similarity: float
    difference: str


@dataclass(frozen=True)
class Pairs:
    """Pairs, duplicates first, then by similarity: indices of the stems, the earlier in `one`.

    `looked_at` counts the compared pairs.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    similarity: NDArray[np.float64]
    difference: NDArray[np.int64]
    looked_at: int

    def __len__(self) -> int:
        return len(self.one)

    def __iter__(self) -> Iterator[tuple[int, int, float, str]]:
        for earlier, other, similarity, difference in zip(
            self.one.tolist(), self.other.tolist(), self.similarity.tolist(), self.difference.tolist(), strict=True
        ):
            yield earlier, other, similarity, DIFFERENCES[difference]


def find_pairs(
    library: Library,
    first: int = 0,
    least: float = THRESHOLD,
    step: Callable[[int], None] = lambda _pairs: None,
) -> Pairs:
    """Returns the near pairs of a library, each once, whose later stem has at least the index `first`.

    `least`: see `compare`.
    """
    import numpy as np

    candidates = _candidates(library, first)
    batches: list[tuple[NDArray[np.int64], ...]] = []
    for begin in range(0, len(candidates), AT_ONCE):
        codes = candidates[begin : begin + AT_ONCE]
        earlier, other = (codes >> np.uint64(32)).astype(np.int64), (codes & np.uint64(0xFFFFFFFF)).astype(np.int64)
        places, inverse = np.unique(np.concatenate([earlier, other]), return_inverse=True)
        stems = [library.stem(place) for place in places.tolist()]
        near = compare(stems, inverse[: len(earlier)], inverse[len(earlier) :], least)
        batches.append((earlier[near.pair], other[near.pair], near.similarity, near.difference))
        step(len(codes))
    if not batches:
        nothing: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        return Pairs(nothing, nothing, nothing.astype(np.float64), nothing, 0)
    ones, others, similarity, difference = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    order = np.lexsort((others, ones, -similarity, difference > 0))
    return Pairs(ones[order], others[order], similarity[order], difference[order], len(candidates))


def _candidates(library: Library, first: int) -> NDArray[np.uint64]:
    """Candidate pairs as codes: the earlier index in the upper 32 bits, the later in the lower; each once."""
    import numpy as np

    codes: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
    places = np.flatnonzero(library.filled()) if len(library) else np.zeros(0, dtype=np.int64)
    for band in range(BANDS) if len(places) else ():
        own = [keys[places] for keys in library.levels(band)]
        askers = int(np.searchsorted(places, first))
        rows, others = Buckets(own, places).join([keys[askers:] for keys in own])
        codes = _merged(codes, others, places[askers + rows])
    if library.figures:
        owners = np.array([place for place, _ in library.figures], dtype=np.int64)
        languages = {place: library.stem(place).language for place in set(owners.tolist())}
        keys = figure_keys([figure for _, figure in library.figures])
        asking = np.flatnonzero(owners >= first)
        for table in keys:
            rows, others = Buckets(table, owners).join(table[:, asking])
            queries = owners[asking[rows]]
            alike = [languages[a] == languages[b] for a, b in zip(queries.tolist(), others.tolist(), strict=True)]
            codes = _merged(codes, others[alike], queries[alike])
    return codes


def _merged(merged: NDArray[np.uint64], ones: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.uint64]:
    import numpy as np

    earlier = ones < others
    codes = (ones[earlier].astype(np.uint64) << np.uint64(32)) | others[earlier].astype(np.uint64)
    return np.unique(np.concatenate([merged, codes]))


class DuplicateIndex:
    """Index of questions for one-by-one comparison."""

    def __init__(self, stems: Iterable[Stem]) -> None:
        import numpy as np

        self._library = Library()
        self._library.add_stems(list(stems))
        self._texts: list[Buckets] = []
        self._figures: list[Buckets] = []
        if not len(self._library):
            return
        places = np.flatnonzero(self._library.filled())
        if len(places):
            self._texts = [
                Buckets([keys[places] for keys in self._library.levels(band)], places) for band in range(BANDS)
            ]
        if self._library.figures:
            owners = np.array([place for place, _ in self._library.figures], dtype=np.int64)
            self._figures = [Buckets(table, owners) for table in figure_keys([f for _, f in self._library.figures])]

    def matches(self, asked: Stem, *, by_key: bool = True) -> list[Match]:
        """Returns the other questions near `asked`: duplicates first, then by similarity. `by_key`: see `compare`."""
        import numpy as np

        own = sketch([asked])
        keys = levels(own.texts, own.numbers, own.asks)
        places: set[int] = set()
        for band, buckets in enumerate(self._texts) if own.filled[0] else ():
            places.update(buckets.join([level[band] for level in keys])[1].tolist())
        if asked.figures:
            for table, buckets in zip(figure_keys(asked.figures), self._figures, strict=False):
                places.update(buckets.join(table)[1].tolist())
        others = [self._library.stem(place) for place in sorted(places)]
        others = [other for other in others if other.language == asked.language]
        others = [other for other in others if (other.benchmark, other.id) != (asked.benchmark, asked.id)]
        if not others:
            return []
        firsts, other = np.arange(len(others)), np.full(len(others), len(others))
        near = compare([*others, asked], firsts, other, by_key=by_key)
        results = [
            Match(others[pair], similarity, DIFFERENCES[difference])
            for pair, similarity, difference in zip(
                near.pair.tolist(), near.similarity.tolist(), near.difference.tolist(), strict=True
            )
        ]
        return sorted(results, key=lambda match: (bool(match.difference), -match.similarity, match.other.id))
