"""Pair search within a library of stems, or of one question against it; both give the same pairs.

Contract: candidates share a key (bucket joins, linear in the number of keys), and are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from livek12.core.languages import language_of
from livek12.dataset_builders.duplicates.library import (
    BANDS,
    SAME_ALONE,
    Library,
    Stem,
    ask_of,
    distance,
    figure_keys,
    is_same,
    jaccards,
    levels,
    sketch,
    spread,
)

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
CROWD = 16
"""Members of one bucket that are all compared with each other.

In larger buckets a row meets the first member, and those that share a narrower key. A pair in a crowd of lookalikes may
be missed.
"""
AT_ONCE = 4_096
"""Pairs compared together: about 50 MB."""


def compare(
    stems: Sequence[Stem],
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    least: float = THRESHOLD,
    *,
    by_key: bool = True,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The near ones of pairs of stems of one language, given as indices into the stems.

    Returns their indices among the pairs, their similarities, and indices into `DIFFERENCES`.

    With `least` below the threshold, pairs down to this similarity are variants in wording, unless something else
    differs. Without `by_key`, choices whose texts differ are variants.
    """
    similarity = _by_size(stems, [stem.masked for stem in stems], first, other)
    same_figure = np.array(
        [
            bool(stems[a].figures and stems[b].figures)
            and is_same(distance(stems[a].figures, stems[b].figures), SAME_ALONE)
            for a, b in zip(first.tolist(), other.tolist(), strict=True)
        ],
        dtype=bool,
    )
    near = similarity >= least
    difference = np.full(len(first), SAME_FIGURE)
    difference[near] = _differences(stems, first[near], other[near], by_key)
    loose = near & (similarity < THRESHOLD)
    near &= ~loose | (difference == SAME)
    difference[loose] = np.where(near[loose], WORDING, SAME_FIGURE)
    pair = np.flatnonzero(near | same_figure)
    return pair, similarity[pair], difference[pair]


def _by_size(
    stems: Sequence[Stem], texts: Sequence[str], first: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
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


class Buckets:
    """Members by key, in ascending order; default: 0, 1, 2, ….

    Levels run from the widest key to the narrowest; a shared key implies the wider ones.
    """

    def __init__(self, levels: Sequence[NDArray[np.uint64]], members: NDArray[np.int64] | None = None) -> None:
        self._levels = []
        for keys in levels:
            order = np.argsort(keys, kind="stable")
            ordered = keys[order]
            self._levels.append((ordered, order if members is None else members[order]))
            if not (ordered[CROWD:] == ordered[: max(0, len(ordered) - CROWD)]).any():
                break

    def join(self, queries: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a row of `queries` (keys, widest first) and a member of one of its buckets."""
        rows = np.arange(len(queries[0]))
        askers: list[NDArray[np.int64]] = []
        matches: list[NDArray[np.int64]] = []
        for (ordered, members), keys in zip(self._levels, queries, strict=False):
            own = keys[rows]
            begin = np.searchsorted(ordered, own, "left")
            count = np.searchsorted(ordered, own, "right") - begin
            crowded = count > CROWD
            count[crowded] = 1
            askers.append(np.repeat(rows, count))
            matches.append(members[spread(begin, count)])
            rows = rows[crowded]
            if not len(rows):
                break
        return np.concatenate(askers), np.concatenate(matches)


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


def find_pairs(library: Library, first: int = 0, least: float = THRESHOLD) -> Pairs:
    """Near pairs of a library, each once, whose later stem has at least the index `first`.

    `least`: see `compare`.
    """
    candidates = _candidates(library, first)
    batches: list[tuple[NDArray[np.int64], ...]] = []
    for begin in range(0, len(candidates), AT_ONCE):
        codes = candidates[begin : begin + AT_ONCE]
        earlier, other = (codes >> np.uint64(32)).astype(np.int64), (codes & np.uint64(0xFFFFFFFF)).astype(np.int64)
        places, inverse = np.unique(np.concatenate([earlier, other]), return_inverse=True)
        stems = [library.stem(place) for place in places.tolist()]
        pair, *near = compare(stems, inverse[: len(earlier)], inverse[len(earlier) :], least)
        batches.append((earlier[pair], other[pair], *near))
    if not batches:
        nothing: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        return Pairs(nothing, nothing, nothing.astype(np.float64), nothing, 0)
    ones, others, similarity, difference = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    order = np.lexsort((others, ones, -similarity, difference > 0))
    return Pairs(ones[order], others[order], similarity[order], difference[order], len(candidates))


def _candidates(library: Library, first: int) -> NDArray[np.uint64]:
    """Candidate pairs as codes: the earlier index in the upper 32 bits, the later in the lower; each once."""
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
    earlier = ones < others
    codes = (ones[earlier].astype(np.uint64) << np.uint64(32)) | others[earlier].astype(np.uint64)
    return np.unique(np.concatenate([merged, codes]))


class DuplicateIndex:
    """Index of questions for one-by-one comparison."""

    def __init__(self, stems: Iterable[Stem]) -> None:
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

    def matches(self, stem: Stem, *, by_key: bool = True) -> list[Match]:
        """Questions near `stem`: duplicates first, then by similarity. `by_key`: see `compare`."""
        own = sketch([stem])
        keys = levels(own.texts, own.numbers, own.asks)
        places: set[int] = set()
        for band, buckets in enumerate(self._texts) if own.filled[0] else ():
            places.update(buckets.join([level[band] for level in keys])[1].tolist())
        if stem.figures:
            for table, buckets in zip(figure_keys(stem.figures), self._figures, strict=False):
                places.update(buckets.join(table)[1].tolist())
        others = [self._library.stem(place) for place in sorted(places)]
        others = [other for other in others if other.language == stem.language]
        others = [other for other in others if (other.benchmark, other.id) != (stem.benchmark, stem.id)]
        if not others:
            return []
        firsts, other = np.arange(len(others)), np.full(len(others), len(others))
        near = (part.tolist() for part in compare([*others, stem], firsts, other, by_key=by_key))
        results = [Match(others[pair], share, DIFFERENCES[code]) for pair, share, code in zip(*near, strict=True)]
        return sorted(results, key=lambda match: (bool(match.difference), -match.similarity, match.other.id))
