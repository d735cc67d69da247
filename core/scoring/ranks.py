"""Ranks of runs: which runs differ, the ranks that leaves open, and their stability.

Contract: two runs differ where p of their paired test is below `ALPHA` after Holm's adjustment and the 95 % interval of
their difference, undecided answers included, excludes 0.

Stability is a bootstrap over the units of the intervals, the same draw for all runs so that they stay paired (Efron
1979; for ranks Goldstein & Spiegelhalter 1996). A run's best rank counts the runs that are better however undecided
answers turn out, its worst those that may be as good. Seeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from livek12.core.lazy import np
from livek12.core.scoring.estimates import Units
from livek12.core.scoring.formulas import Term
from livek12.core.scoring.outcomes import SlimQuestion, Table
from livek12.core.scoring.schema import PairMetric, Parameters, TaskComparison
from livek12.core.statistics import Floats, grouped_sums

ALPHA = 0.05


def side(metric: PairMetric) -> int:
    """1 where the interval of b - a is above 0, -1 where below, else 0."""
    low, high = metric["difference"]["ci"] or (0.0, 0.0)
    return (low > 0) - (high < 0)


def told(metric: PairMetric) -> int:
    """1 where b is significantly better than a, -1 where worse, else 0."""
    p = metric["test"]["p_holm"]
    return 0 if p is None or p >= ALPHA else side(metric)


def rank_ranges(task: TaskComparison, metric: str) -> dict[str, list[int]]:
    """Best and the worst rank of each run that has the metric, by significant differences."""
    runs = [name for name, estimate in task["metrics"][metric].items() if estimate["low"] is not None]
    return ranges(runs, ((p["a"], p["b"], told(p["metrics"][metric])) for p in task["pairs"] if metric in p["metrics"]))


def ranges(runs: Sequence[str], pairs: Iterable[tuple[str, str, int]]) -> dict[str, list[int]]:
    """Rank ranges from pairs (a, b, result of `told`)."""
    better, worse = Counter[str](), Counter[str]()
    for a, b, sign in pairs:
        if sign:
            best, last = (b, a) if sign > 0 else (a, b)
            better[last] += 1
            worse[best] += 1
    return {name: [1 + better[name], len(runs) - worse[name]] for name in runs}


def tied(order: Sequence[str], pairs: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Place of each run; runs that do not differ from the first of their group share its place.

    `order` has the best run first, `pairs` (a, b, result of `told`).
    """
    apart = {couple for a, b, sign in pairs if sign for couple in ((a, b), (b, a))}
    places: dict[str, int] = {}
    first = 0
    for place, run in enumerate(order):
        if (order[first], run) in apart:
            first = place
        places[run] = first + 1
    return places


DRAWS = 2000
AT_ONCE = 200
"""Draws that are held at once."""


def rank_stability(
    tables: Mapping[str, Table], terms: Mapping[str, Term], parameters: Parameters
) -> dict[str, list[float]]:
    """By run the ranks at 2.5 %, 50 % and 97.5 % of the draws: [lower end, median, upper end].

    `terms` has one metric of each run of one task; runs without it are left out.
    """
    names = [name for name in tables if name in terms]
    if len(names) < 2:
        return {}
    questions = sorted({q.id: q for name in names for q in tables[name].questions}.values(), key=lambda q: q.id)
    units = Units(questions, parameters)
    unit = units.unit(np.arange(len(questions)))
    clusters, groups = units.clusters(unit), units.size(unit)
    place = {question.id: number for number, question in enumerate(questions)}
    low, high, weight = (np.empty((groups, len(names))) for _ in range(3))
    for column, name in enumerate(names):
        table, term = tables[name], terms[name]
        of = clusters[_places(table.questions, place)][table.question]
        for sums, values in ((low, term.low), (high, term.high), (weight, term.weight)):
            sums[:, column] = grouped_sums(of, values, groups)
    draw = np.random.default_rng(parameters.seed)
    best, worst = np.empty((DRAWS, len(names))), np.empty((DRAWS, len(names)))
    for start in range(0, DRAWS, AT_ONCE):
        times = draw.multinomial(groups, np.full(groups, 1 / groups), AT_ONCE).astype(np.float64)
        rows = slice(start, start + AT_ONCE)
        best[rows], worst[rows] = _ranks(*_shares(times, low, high, weight))
    ends = np.quantile(best, 0.025, axis=0, method="lower"), np.quantile(worst, 0.975, axis=0, method="higher")
    middle = np.median((best + worst) / 2, axis=0)
    return {name: [float(ends[0][n]), float(middle[n]), float(ends[1][n])] for n, name in enumerate(names)}


def _places(questions: Sequence[SlimQuestion], place: Mapping[str, int]) -> list[int]:
    return [place[question.id] for question in questions]


def _shares(times: Floats, low: Floats, high: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Overall share where a draw has nothing of the run."""
    drawn = times @ weight
    ends = []
    for sums in (low, high):
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = sums.sum(axis=0) / weight.sum(axis=0)
            ends.append(np.where(drawn > 0, times @ sums / drawn, whole))
    return ends[0], ends[1]


def _ranks(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Best and worst rank of each run (columns) in each draw (rows); ties up to rounding."""
    slack = 1e-9
    best, worst = np.empty_like(low), np.empty_like(low)
    for row, (lows, highs) in enumerate(zip(low, high, strict=True)):
        some, most = np.sort(lows), np.sort(highs)
        best[row] = 1 + len(some) - np.searchsorted(some, highs + slack, side="right")
        worst[row] = len(most) - np.searchsorted(most, lows - slack, side="left")
    return best, worst
