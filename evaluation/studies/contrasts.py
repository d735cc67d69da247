"""Are models better on one part of the questions than on another? Marks of two parts, their difference and its test.

Contract: questions are of one part or the other, never both. What is undecided or missing enters at its worst and at
its best, so that every mark is two numbers, equal where all is decided; an interval of the difference holds for both.
Intervals are those of `core.statistics`; the test permutes which papers (questions, where papers are few) are of which
part, for all runs at once, and gives the larger p of the two; where the undecided could turn the difference it is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.scoring import Profile
from livek12.core.scoring.answers import tabulate
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import Outcome, SlimQuestion
from livek12.core.scoring.schema import parameters_of
from livek12.core.statistics import difference_reach, mean_interval
from livek12.evaluation.sieve import QuestionKey, exam_of, exam_sums

if TYPE_CHECKING:
    from livek12.core.statistics import Bools, Floats, Indices

DRAWS = 9999
"""Permutations of a test."""
_FEWER_DRAWS = 999
"""Where there are more than `_MANY` papers or questions."""
_MANY = 5000
_BLOCK = 4_000_000
"""Bytes that a block of permutations may take."""


@dataclass(frozen=True)
class Scored:
    """One run's metric on each question, as shares: at worst, at best, and how much the question weighs."""

    low: Mapping[QuestionKey, float]
    high: Mapping[QuestionKey, float]
    weight: Mapping[QuestionKey, float]


@dataclass(frozen=True)
class Contrast:
    """Part a minus part b, as shares; `interval` and `p` None where a part has one question alone.

    Attributes:
        a: mark of part a, at worst and at best.
        b: mark of part b.
        low: the difference at its least.
        high: at its most.
        interval: 95 %, of the sample and around both.
        p: of the permutation test.
        unit: "paper" or "question".
    """

    a: tuple[float, float]
    b: tuple[float, float]
    low: float
    high: float
    interval: tuple[float, float] | None
    p: float | None
    unit: str


def scored(rows: Iterable[Outcome], metric: str, profile: Profile) -> tuple[Scored, dict[QuestionKey, SlimQuestion]]:
    """A metric on each question (its trials together), and the questions.

    Args:
        rows: answers asked in one way, each question and trial once (`evaluation.sieve`).
        metric: as in reports.
        profile: which formulas.

    Raises:
        UserError: the run has no such metric.
    """
    table = tabulate(rows)
    term = task_terms(table, profile, parameters_of(profile)).get(metric, "there is no such metric in these runs")
    if isinstance(term, str):
        raise UserError(f"{metric}: {term}; choose another --metric")
    by_task = table.rows.by_task()
    exams = {task: exam_of(task) for task in by_task}
    asked = {(exams[task], question.id): question for task, own in by_task.items() for question in own.asked()}
    sums = {key: own for key, own in exam_sums(table, term.low, term.high, term.weight).items() if own[2] > 0}
    return (
        Scored(
            {key: own[0] / own[2] for key, own in sums.items()},
            {key: own[1] / own[2] for key, own in sums.items()},
            {key: own[2] for key, own in sums.items()},
        ),
        asked,
    )


def beyond_others(runs: Mapping[str, Scored]) -> dict[str, Scored]:
    """Of each run, what it has more than the mean of the others on each question that all have; {} for one run."""
    if len(runs) < 2:
        return {}
    shared = set.intersection(*(set(run.weight) for run in runs.values()))
    count = len(runs) - 1
    lows = {key: sum(run.low[key] for run in runs.values()) for key in shared}
    highs = {key: sum(run.high[key] for run in runs.values()) for key in shared}
    return {
        name: Scored(
            {key: run.low[key] - (highs[key] - run.high[key]) / count for key in shared},
            {key: run.high[key] - (lows[key] - run.low[key]) / count for key in shared},
            {key: run.weight[key] for key in shared},
        )
        for name, run in runs.items()
    }


def contrast(
    run: Scored,
    part: Mapping[QuestionKey, bool],
    asked: Mapping[QuestionKey, SlimQuestion],
    least: float = 0.0,
    seed: int = 0,
) -> Contrast | None:
    """One run on the questions that are in part a (True) against those in part b (False); None where either is empty.

    Args:
        run: from `scored` or `beyond_others`.
        part: of which part each question is; others are left out.
        asked: the questions.
        least: what a value is at least: 0, or -1 for `beyond_others`.
        seed: of the permutations.
    """
    import numpy as np

    keys = [key for key in part if key in run.weight]
    in_a = np.array([part[key] for key in keys], dtype=bool)
    if not in_a.any() or in_a.all():
        return None
    ends = np.array([[run.low[key] for key in keys], [run.high[key] for key in keys]])
    weight = np.array([run.weight[key] for key in keys])
    unit, cluster = _clusters([asked[key] for key in keys])
    (a, b) = (
        [mean_interval(end[of], weight[of], _numbered(cluster[of]), least) for end in ends] for of in (in_a, ~in_a)
    )
    low, high = a[0][0] - b[1][0], a[1][0] - b[0][0]
    interval = (
        max(low - _reach(a[0][0] - a[0][1], b[1][2] - b[1][0]), least - 1),
        min(high + _reach(a[1][2] - a[1][0], b[0][0] - b[0][1]), 1 - least),
    )
    known = not any(np.isnan(interval))
    p = _permuted(ends * weight, weight, in_a, cluster, seed) if known and (low > 0 or high < 0 or low == high) else 1.0
    return Contrast(
        a=(a[0][0], a[1][0]),
        b=(b[0][0], b[1][0]),
        low=low,
        high=high,
        interval=interval if known else None,
        p=p if known else None,
        unit=unit,
    )


def _reach(own: float, other: float) -> float:
    """How far the difference of two estimates that share no question reaches, from how far each does."""
    import numpy as np

    return float(difference_reach(np.array(own), np.array(other), np.array(0.0), np.array(1.0)))


def _clusters(asked: Sequence[SlimQuestion]) -> tuple[str, Indices]:
    """Papers where there are enough of them, else the questions; what was made of one question is one."""
    import numpy as np

    papers = {question.paper_id for question in asked}
    by_paper = None not in papers and len(papers) >= parameters_of("article").min_papers
    names = [(question.paper_id if by_paper else question.source) or "" for question in asked]
    return "paper" if by_paper else "question", np.unique(np.array(names), return_inverse=True)[1]


def _numbered(cluster: Indices) -> Indices:
    import numpy as np

    return np.unique(cluster, return_inverse=True)[1]


def _permuted(earned: Floats, weight: Floats, in_a: Bools, cluster: Indices, seed: int) -> float | None:
    """P of the permutation test, the larger of those at worst and at best.

    A cluster that has questions in both parts is one in each. None where a part has one cluster alone.
    """
    import numpy as np

    units = _numbered(cluster * 2 + in_a)
    groups = int(units.max()) + 1
    where: Bools = np.zeros(groups, dtype=bool)
    where[units] = in_a
    chosen = int(where.sum())
    if min(chosen, groups - chosen) < 2:
        return None
    columns = np.stack([np.bincount(units, column, groups) for column in (weight, *earned)])
    total = columns.sum(axis=1)
    rng = np.random.default_rng(seed)
    draws = DRAWS if groups <= _MANY else _FEWER_DRAWS
    block = max(1, _BLOCK // groups)
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    drawn = np.concatenate([rng.permuted(np.tile(where, (size, 1)), axis=1) @ columns.T for size in sizes])
    seen = columns[:, where].sum(axis=1)

    def gaps(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = sums[..., 1:] / sums[..., :1] - (total[1:] - sums[..., 1:]) / (total[0] - sums[..., :1])
        return np.abs(np.asarray(apart))

    as_far = (np.nan_to_num(gaps(drawn), nan=np.inf) >= gaps(seen) - 1e-12).sum(axis=0)
    return float(((as_far + 1) / (draws + 1)).max())
