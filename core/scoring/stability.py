"""How far ranks move when the exam is drawn anew: a bootstrap over papers, or over questions where papers are few.

Contract: the units are those of the intervals (`estimates.Units`). A draw takes as many of them as there are, with
replacement, and the same ones for all runs, so that runs stay paired. In a draw the best rank of a run counts those
that are better whatever becomes of what is undecided, its worst those that may be as good. Seeded: equal input gives
equal output (Efron 1979; for ranks Goldstein & Spiegelhalter 1996). It says how ranks would vary over exams like this
one; which runs the data can tell apart is what the paired tests say (`ranks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.estimates import Units
from livek12.core.scoring.formulas import Term
from livek12.core.scoring.outcomes import SlimQuestion
from livek12.core.scoring.schema import Parameters
from livek12.core.statistics import grouped_sums

if TYPE_CHECKING:
    from livek12.core.statistics import Floats

DRAWS = 2000
AT_ONCE = 200
"""Draws that are held at once."""


def rank_stability(
    tables: Mapping[str, Table], terms: Mapping[str, Term], parameters: Parameters
) -> dict[str, list[float]]:
    """By run the rank that 2.5 %, half and 97.5 % of the draws stay below or at: [lower end, median, upper end].

    Args:
        tables: of one task, by run; of the same data set.
        terms: one metric of each of these runs; runs without it are left out.
        parameters: of the comparison; the seed is theirs.
    """
    import numpy as np

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
    """Each run's metric in each draw, at worst and at best; where nothing of a run was drawn, that of all it has."""
    import numpy as np

    drawn = times @ weight
    ends = []
    for sums in (low, high):
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = sums.sum(axis=0) / weight.sum(axis=0)
            ends.append(np.where(drawn > 0, times @ sums / drawn, whole))
    return ends[0], ends[1]


def _ranks(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Best and worst rank of each run (columns) in each draw (rows); equal to a rounding is equal."""
    import numpy as np

    slack = 1e-9
    best, worst = np.empty_like(low), np.empty_like(low)
    for row, (lows, highs) in enumerate(zip(low, high, strict=True)):
        some, most = np.sort(lows), np.sort(highs)
        best[row] = 1 + len(some) - np.searchsorted(some, highs + slack, side="right")
        worst[row] = len(most) - np.searchsorted(most, lows - slack, side="left")
    return best, worst
