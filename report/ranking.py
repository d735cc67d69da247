"""Runs of a comparison in order: who is better, and what the data cannot tell (`livek12.core.scoring.ranks`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from livek12.core.scoring.metrics import metric_of, ranking_metrics
from livek12.core.scoring.ranks import told
from livek12.core.scoring.schema import Estimate, PairMetric, TaskComparison
from livek12.report.marks import shown


class Tested(NamedTuple):
    """Difference of two runs, higher minus lower, and its test."""

    difference: Estimate
    found: PairMetric
    shared: int

    @property
    def told(self) -> bool:
        """The data tell the two apart."""
        return told(self.found) != 0


@dataclass(frozen=True)
class Ranking:
    """Runs of one task, numbered from 1, the best first.

    `tests` are by two numbers, `ranks` (best, worst) by name.
    """

    metric: str
    names: list[str]
    tests: dict[tuple[int, int], Tested]
    ranks: dict[str, list[int]]

    def tied(self, run: int) -> list[int]:
        """Numbers of the runs tied with this one."""
        others = (other for other in range(1, len(self.names) + 1) if other != run)
        tests = {other: self.tests.get((min(run, other), max(run, other))) for other in others}
        return [other for other, test in tests.items() if test is None or not test.told]


def ranking(comparison: TaskComparison) -> Ranking:
    """Ranks the runs of a task."""
    metrics = comparison["metrics"]
    metric = next((name for name in ranking_metrics() if is_known(comparison, name)), "mark")
    names = sorted(comparison["counts"], key=lambda name: _height(metrics.get(metric, {}).get(name)), reverse=True)
    pairs = {frozenset((pair["a"], pair["b"])): pair for pair in comparison["pairs"]}
    tests = {}
    for (first, a), (other, b) in combinations(enumerate(names, 1), 2):
        pair = pairs[frozenset((a, b))]
        if tested := pair["metrics"].get(metric):
            difference = tested["difference"] if pair["b"] == a else _negated(tested["difference"])
            tests[first, other] = Tested(difference, tested, pair["shared"])
    return Ranking(metric, names, tests, comparison["ranks"].get(metric, {}))


def is_known(comparison: TaskComparison, metric: str) -> bool:
    """Some run has the metric."""
    return any(estimate["low"] is not None for estimate in comparison["metrics"].get(metric, {}).values())


def _height(estimate: Estimate | None) -> float:
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return float("-inf")
    return estimate["low"] + estimate["high"]


def _negated(estimate: Estimate) -> Estimate:
    low, high, value, ci = estimate["low"], estimate["high"], estimate["value"], estimate["ci"]
    return {
        **estimate,
        "low": None if high is None else -high,
        "high": None if low is None else -low,
        "value": None if value is None else -value,
        "ci": None if ci is None else [-ci[1], -ci[0]],
    }


def verdict(ranked: Ranking) -> str:
    """Best run, or that the data cannot tell."""
    best, *others = ranked.names
    if not others:
        return f"{best} alone has this task: there is nothing to compare it with."
    if len(others) == 1:
        return _verdict_of_two(ranked)
    if tied := ranked.tied(1):
        if not any(test.told for test in ranked.tests.values()):
            return "The data cannot tell any two of the runs apart."
        leading = [ranked.names[run - 1] for run in (1, *tied)]
        some = f"the runs {ranges([1, *tied])}" if len(tied) > 2 else f"{', '.join(leading[:-1])} and {leading[-1]}"
        return f"The data cannot tell which of {some} is the best."
    p = max(test.found["test"]["p_holm"] or 0.0 for (first, _), test in ranked.tests.items() if first == 1)
    return f"{best} is better than each of the others (p {'≤ ' if p >= 0.001 else ''}{p_value(p)} after Holm)."


def _verdict_of_two(ranked: Ranking) -> str:
    best, other = ranked.names
    test = ranked.tests.get((1, 2))
    if test is None:
        return f"{best} and {other} share no question that both are marked on: nothing tells which is better."
    by, p = shown(ranked.metric, test.difference), test.found["test"]["p_holm"]
    details = [f"95 % interval {by.ci}"] if by.ci else []
    details += [] if p is None else [f"p {'= ' if p >= 0.001 else ''}{p_value(p)}"]
    how = f" ({', '.join(details)})" if details else ""
    amount = f"{by.text}{' per cent' if is_share(ranked.metric) else ''}{how}"
    word = in_words(ranked.metric)
    if test.told:
        return f"{best} is better than {other}: its {word} is higher by {amount}."
    return f"The data cannot tell which is better: the {word} of {best} minus that of {other} is {amount}."


def in_words(metric: str) -> str:
    """A metric as people write it."""
    return metric.replace("_", " ")


def is_share(metric: str) -> bool:
    """The metric is shown in per cent."""
    return metric_of(metric).scale == "share"


def p_value(p: float | None) -> str:
    """A p with three decimals."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def rank_range(ranked: Ranking, name: str) -> str:
    """Possible ranks of a run, like 1–2."""
    best, worst = ranked.ranks.get(name, (0, 0))
    return "–" if not best else str(best) if best == worst else f"{best}–{worst}"


def about(number: int | None) -> str:
    """A number of questions, to two figures."""
    if number is None:
        return "–"
    step = 10 ** max(0, len(str(number)) - 2)
    return f"{-(-number // step) * step:,}"


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers as people list them: 2–5, 7."""
    runs: list[list[int]] = []
    for value in numbers:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
