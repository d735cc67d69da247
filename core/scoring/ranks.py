"""Which runs the data can tell apart, and what that leaves open of their ranks.

Contract: two runs are told apart where their paired test does (p below `ALPHA` after Holm's adjustment) and the 95 %
interval of their difference, which counts what is undecided either way, lies on one side of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from livek12.core.scoring.schema import PairMetric, TaskComparison

ALPHA = 0.05


def side(found: PairMetric) -> int:
    """1 where the interval of b - a lies above 0, -1 where below, else 0."""
    difference = found["difference"]
    low, high = difference["ci"] or (difference["low"] or 0.0, difference["high"] or 0.0)
    return (low > 0) - (high < 0)


def told(found: PairMetric) -> int:
    """1 where b is told to be better than a, -1 where it is told to be worse, else 0."""
    p = found["test"]["p_holm"]
    return 0 if p is None or p >= ALPHA else side(found)


def rank_ranges(task: TaskComparison, metric: str) -> dict[str, list[int]]:
    """The best and the worst rank of each run that has the metric: as many are told to be better, or worse."""
    runs = [name for name, estimate in task["metrics"][metric].items() if estimate["low"] is not None]
    return ranges(runs, ((p["a"], p["b"], told(p["metrics"][metric])) for p in task["pairs"] if metric in p["metrics"]))


def ranges(runs: Sequence[str], pairs: Iterable[tuple[str, str, int]]) -> dict[str, list[int]]:
    """The same of pairs (a, b, what `told` says of them)."""
    better, worse = Counter[str](), Counter[str]()
    for a, b, sign in pairs:
        if sign:
            best, last = (b, a) if sign > 0 else (a, b)
            better[last] += 1
            worse[best] += 1
    return {name: [1 + better[name], len(runs) - worse[name]] for name in runs}


def tied(order: Sequence[str], pairs: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """The place of each run: those that cannot be told from the first of their group share that one's place.

    Args:
        order: the runs, the best first.
        pairs: (a, b, what `told` says of them).
    """
    apart = {couple for a, b, sign in pairs if sign for couple in ((a, b), (b, a))}
    found: dict[str, int] = {}
    first = 0
    for place, run in enumerate(order):
        if (order[first], run) in apart:
            first = place
        found[run] = first + 1
    return found
