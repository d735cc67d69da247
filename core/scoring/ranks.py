"""Which runs the data can tell apart, and what that leaves open of their ranks.

Contract: two runs are told apart where their paired test does (p below `ALPHA` after Holm's adjustment) and the 95 %
interval of their difference, which counts what is undecided either way, lies on one side of 0.
"""

from __future__ import annotations

from collections import Counter

from livek12.core.scoring.schema import PairMetric, TaskComparison

ALPHA = 0.05


def told(found: PairMetric) -> int:
    """1 where b is told to be better than a, -1 where it is told to be worse, else 0."""
    p, difference = found["test"]["p_holm"], found["difference"]
    low, high = difference["ci"] or (difference["low"] or 0.0, difference["high"] or 0.0)
    if p is None or p >= ALPHA:
        return 0
    return (low > 0) - (high < 0)


def rank_ranges(task: TaskComparison, metric: str) -> dict[str, list[int]]:
    """The best and the worst rank of each run that has the metric: as many are told to be better, or worse."""
    runs = [name for name, estimate in task["metrics"][metric].items() if estimate["low"] is not None]
    better, worse = Counter[str](), Counter[str]()
    for pair in task["pairs"]:
        if (found := pair["metrics"].get(metric)) and (sign := told(found)):
            best, last = (pair["b"], pair["a"]) if sign > 0 else (pair["a"], pair["b"])
            better[last] += 1
            worse[best] += 1
    return {name: [1 + better[name], len(runs) - worse[name]] for name in runs}
