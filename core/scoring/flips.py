"""Batched sign-flip tests of many pairs of runs over the same questions.

Contract: each p is that of `core.statistics.sign_flip_tests` on the pair's differences, with undecided ones as 0.
Flipped sums are linear, so the matrix of signs (questions × permutations) is multiplied with each run once, not with
each pair. Pairs with differences near rounding error, or few enough to try all patterns, are tested by themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from livek12.core.scoring.estimates import Units
from livek12.core.scoring.schema import PairedTest, Unit
from livek12.core.statistics import FEW_FLIPS, flip_p, flip_signs, grouped_sums, seen_sum, sign_flip_tests

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices

PERMUTATIONS = 9999
_AT_ONCE = 2**23
"""Differences that are tested at once: 64 MiB."""
_SUMS_AT_ONCE = 2**22
"""Flipped sums that are held at once: 32 MiB."""
_ROUNDING = 16 * 2.0**-52
"""Times √n · Σ|m|: how far a sum of n numbers m may be off (Higham & Mary 2019, with room)."""

Means = Mapping[str, Mapping[str, "tuple[Floats, Floats]"]]
"""By run and metric the mean of each question, at worst and at best."""


class _Waiting(NamedTuple):
    test: PairedTest
    a: str
    b: str
    total: float
    seen: float
    squares: float


class Flips:
    """Batch of pending tests."""

    def __init__(self, units: Units, means: Means) -> None:
        self._units, self._means = units, means
        self._alone: dict[Unit, list[tuple[PairedTest, Floats]]] = {"paper": [], "question": []}
        self._together: defaultdict[Unit, defaultdict[str, list[_Waiting]]]
        self._together = defaultdict(lambda: defaultdict(list))
        self._sizes: dict[tuple[str, str], float] = {}

    def add(self, test: PairedTest, metric: str, a: str, b: str, difference: Floats, unit: Unit) -> None:
        """Tests b - a of the questions, summed within the unit, now or later; an existing p may only rise."""
        import numpy as np

        size = self._units.size(unit)
        d = grouped_sums(self._units.clusters(unit), difference, size)
        slack = 1e-9 * float(np.abs(d).sum())
        rounding = _ROUNDING * len(difference) ** 0.5 * (self._size(metric, a) + self._size(metric, b))
        if np.count_nonzero(d) > FEW_FLIPS and rounding < slack / 8:
            waiting = _Waiting(test, a, b, float(d.sum()), float(seen_sum(d)), float((d**2).sum()))
            self._together[unit][metric].append(waiting)
            return
        self._alone[unit].append((test, d))
        if len(self._alone[unit]) * size >= _AT_ONCE:
            self._test_alone()

    def _size(self, metric: str, run: str) -> float:
        import numpy as np

        if (metric, run) not in self._sizes:
            self._sizes[metric, run] = float(np.abs(self._means[run][metric][0]).sum())
        return self._sizes[metric, run]

    def test(self, tell: Callable[[float], None] = lambda share: None) -> None:
        """Runs the pending tests; `tell` receives the share (0 to 1) that is done."""
        self._test_alone()
        for number, (unit, by_metric) in enumerate(self._together.items()):
            clusters, groups = self._units.clusters(unit), self._units.size(unit)
            tests = [_Together(waiting, metric, self._means, clusters, groups) for metric, waiting in by_metric.items()]
            tried = 0
            for signs in flip_signs(groups, PERMUTATIONS, self._units.parameters.seed):
                for each in tests:
                    each.count(signs)
                tried += len(signs)
                tell((number + tried / PERMUTATIONS) / len(self._together))
            for each in tests:
                each.tell()
        self._together.clear()

    def _test_alone(self) -> None:
        import numpy as np

        for waiting in self._alone.values():
            if waiting:
                differences = np.column_stack([difference for _, difference in waiting])
                p_values = sign_flip_tests(differences, permutations=PERMUTATIONS, seed=self._units.parameters.seed)
                for (test, _), p in zip(waiting, p_values, strict=True):
                    _raise(test, p)
            waiting.clear()


def _raise(test: PairedTest, p: float) -> None:
    test["p"] = max(p, test["p"] or 0.0)


@dataclass
class _First:
    """Pairs with one first run: tests, second runs and counts."""

    waiting: list[_Waiting]
    others: Indices
    total: Floats
    seen: Floats
    hits: Floats


class _Together:
    """Pending pairs of one metric, with R runs."""

    def __init__(self, waiting: Sequence[_Waiting], metric: str, means: Means, clusters: Indices, groups: int) -> None:
        import numpy as np

        self._clusters = clusters
        place = {name: i for i, name in enumerate(dict.fromkeys(name for each in waiting for name in (each.a, each.b)))}
        ends = [means[name][metric] for name in place]
        self._decided = np.column_stack([np.where(low == high, low, 0.0) for low, high in ends])  # (questions, R)
        self._open = {i: np.flatnonzero(low != high) for i, (low, high) in enumerate(ends) if (low != high).any()}
        self._sums = np.column_stack([grouped_sums(clusters, column, groups) for column in self._decided.T])
        by_first: defaultdict[int, list[_Waiting]] = defaultdict(list)
        for each in waiting:
            by_first[place[each.a]].append(each)
        self._firsts = {
            a: _First(
                waiting=pending,
                others=np.array([place[each.b] for each in pending], dtype=np.intp),
                total=np.array([each.total for each in pending]),
                seen=np.array([each.seen for each in pending]),
                hits=np.zeros(len(pending)),
            )
            for a, pending in by_first.items()
        }

    def count(self, signs: Floats) -> None:
        """Counts the patterns, shape (patterns, groups), whose sum is at least the observed one."""
        import numpy as np

        step = max(1, _SUMS_AT_ONCE // self._sums.shape[1] ** 2)
        for start in range(0, len(signs), step):
            some = signs[start : start + step]
            flipped = some @ self._sums  # (patterns, R)
            without = {a: some[:, self._clusters[open]] @ self._decided[open] for a, open in self._open.items()}
            for a, first in self._firsts.items():
                sums = flipped[:, first.others] - flipped[:, a, None]
                if a in without:
                    sums -= without[a][:, first.others]
                for column, b in enumerate(first.others.tolist()):
                    if b in without:
                        sums[:, column] += without[b][:, a]
                first.hits += np.count_nonzero(np.abs(2 * sums - first.total) >= first.seen, axis=0)

    def tell(self) -> None:
        import numpy as np

        for first in self._firsts.values():
            squares = np.array([each.squares for each in first.waiting])
            for each, p in zip(first.waiting, flip_p(first.hits, PERMUTATIONS, first.total, squares), strict=True):
                _raise(each.test, float(p))
