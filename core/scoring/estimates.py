"""From terms to estimates: bounds, bootstrap interval, spread over trials.

Contract: one `Resampler` a set of questions; all estimates made with it share its resamples, so that the
difference of two of them (groups, tasks, runs) is resampled jointly and costs a subtraction. The unit is the
paper where the questions of the estimate come from at least ten papers, else the question; a question without
a paper is a cluster of its own, and all trials of a question stay in its cluster, with all that is derived from it.
Where all clusters have the same value, resampling shows no spread, which is no certainty: the interval then is
Wilson's (`unseen_interval`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.formulas import Term, Terms
from livek12.core.scoring.outcomes import SlimQuestion
from livek12.core.scoring.schema import Estimate, Parameters, Unit
from livek12.core.statistics import (
    grouped_sums,
    mean_std,
    percentile_intervals,
    resample_counts,
    resampled_sums,
    unseen_interval,
)

if TYPE_CHECKING:
    from livek12.core.statistics import Draws, Floats, Indices


class Resampler:
    """Draws clusters of a set of questions with replacement; each unit's draws are made once, when needed."""

    def __init__(self, questions: Sequence[SlimQuestion], parameters: Parameters) -> None:
        import numpy as np

        self.parameters = parameters
        papers = [question.paper_id for question in questions]
        names = [(q.paper_id, "") if q.paper_id is not None else (None, q.source) for q in questions]
        sources = {id: code for code, id in enumerate(dict.fromkeys(question.source for question in questions))}
        index = {name: code for code, name in enumerate(dict.fromkeys(names))}
        self._paper = np.array([-1 if p is None else index[p, ""] for p in papers], dtype=np.intp)
        self._codes: dict[Unit, Indices] = {
            "paper": np.array([index[name] for name in names], dtype=np.intp),
            "question": np.array([sources[question.source] for question in questions], dtype=np.intp),
        }
        self._counts: dict[Unit, Draws] = {}

    def unit(self, questions: Indices) -> Unit:
        """What is resampled for an estimate over these questions (indices)."""
        import numpy as np

        papers = np.unique(self._paper[questions])
        return "paper" if np.count_nonzero(papers >= 0) >= self.parameters.min_papers else "question"

    def clusters(self, unit: Unit) -> Indices:
        """The cluster of each question."""
        return self._codes[unit]

    def size(self, unit: Unit) -> int:
        """How many clusters there are."""
        return int(self._codes[unit].max()) + 1

    def counts(self, unit: Unit) -> Draws:
        """How often each cluster occurs in each resample, shape (clusters, resamples)."""
        if unit not in self._counts:
            self._counts[unit] = resample_counts(self.size(unit), self.parameters.resamples, self.parameters.seed)
        return self._counts[unit]


@dataclass(frozen=True)
class Draw:
    """A metric and its resamples, at worst and at best; `note` alone where it is not available."""

    low: float | None
    high: float | None
    samples: Floats | None
    """(2, resamples), at worst and at best; (1, resamples) where they are the same. Terms share what is equal."""
    unit: Unit
    clusters: int
    n: int
    std: float | None = None
    note: str | None = None
    limits: tuple[float, float] = (0.0, 1.0)
    """What the metric can be at least and at most."""
    beyond: tuple[float, float] = (0.0, 0.0)
    """How far the interval goes beyond the samples, downwards at worst and upwards at best."""

    def minus(self, other: Draw) -> Draw:
        """The difference, resampled jointly: both come from one resampler, unit and set of questions."""
        note = self.note or other.note
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Draw(None, None, None, self.unit, self.clusters, self.n, note=note)
        samples = None
        if self.samples is not None and other.samples is not None:
            samples = self.samples - other.samples[::-1]
        return Draw(
            low=self.low - other.high,
            high=self.high - other.low,
            samples=samples,
            unit=self.unit,
            clusters=self.clusters,
            n=self.n,
            note=note,
            limits=(self.limits[0] - other.limits[1], self.limits[1] - other.limits[0]),
            beyond=(self.beyond[0] + other.beyond[1], self.beyond[1] + other.beyond[0]),
        )

    def with_unseen(self, level: float) -> Draw:
        """The same; where the samples show no spread, the interval goes beyond them."""
        if self.samples is None or self.low is None or self.high is None:
            return self
        below, above = self.beyond  # at worst the interval's lower end counts, at best the upper one
        if _without_spread(self.samples[0]):
            below = self.low - unseen_interval(self.low, self.clusters, *self.limits, level)[0]
        if _without_spread(self.samples[-1]):
            above = unseen_interval(self.high, self.clusters, *self.limits, level)[1] - self.high
        return replace(self, beyond=(below, above))


def _without_spread(samples: Floats) -> bool:
    """Whether all resamples have the same value, but for rounding; those without a value do not count."""
    import numpy as np

    known = samples[~np.isnan(samples)]
    return bool(len(known)) and float(np.ptp(known)) <= 1e-9 * max(1.0, abs(float(known[0])))


def draw(
    terms: Terms, table: Table, resampler: Resampler, picked: Indices | None = None, unit: Unit | None = None
) -> dict[str, Draw]:
    """Each metric over the picked answers (indices into the table, whose questions are the resampler's).

    Without `picked` all answers, without `unit` the one that fits the questions.
    """
    import numpy as np

    picked = np.arange(len(table.rows)) if picked is None else picked
    questions = np.unique(table.question[picked])
    unit = unit or resampler.unit(questions)
    members, local = np.unique(resampler.clusters(unit)[table.question[picked]], return_inverse=True)
    shape = (unit, len(members), len(questions))
    absent = {name: term if isinstance(term, str) else term.absence(picked) for name, term in terms.items()}
    draws = {name: Draw(None, None, None, *shape, note=reason) for name, reason in absent.items()}
    usable = {name: term for name, term in terms.items() if isinstance(term, Term) and absent[name] is None}
    if not usable:
        return draws

    # Many terms share their arrays (weights; numerators where nothing is undecided): each is summed once.
    arrays = {id(a): a for term in usable.values() for a in (term.low, term.high, term.weight)}
    column = {key: i for i, key in enumerate(arrays)}
    chosen = np.stack([array[picked] for array in arrays.values()])
    by_cluster = _by_cluster(chosen, local, len(members))
    totals = chosen.sum(axis=1).tolist()
    samples: dict[tuple[int, int, int, float], Floats] = {}
    sums = resampled_sums(by_cluster, resampler.counts(unit), members) if len(members) > 1 else None
    for name, term in usable.items():
        low, high, weight = (column[id(a)] for a in (term.low, term.high, term.weight))
        if not totals[weight]:
            draws[name] = Draw(None, None, None, *shape, note="nothing to divide by: the denominator is 0")
            continue
        ratio = (low, high, weight, term.scale)
        if sums is not None and ratio not in samples:
            with np.errstate(divide="ignore", invalid="ignore"):
                samples[ratio] = term.scale * sums[[low] if low == high else [low, high]] / sums[weight]
        drawn = Draw(
            low=term.scale * totals[low] / totals[weight],
            high=term.scale * totals[high] / totals[weight],
            samples=samples.get(ratio),
            unit=unit,
            clusters=len(members),
            n=len(questions),
            std=_trial_std(term, table, picked, len(questions)),
            note=term.note,
            limits=(0.0, term.scale * term.most),
        )
        draws[name] = drawn.with_unseen(resampler.parameters.level)
    return draws


def _by_cluster(chosen: Floats, local: Indices, clusters: int) -> Floats:
    """Sums of each row over the clusters, shape (clusters, rows); `local` names the cluster of each column."""
    import numpy as np

    if len(local) == clusters and (local[1:] > local[:-1]).all():  # each is a cluster of its own
        return chosen.T
    return np.column_stack([grouped_sums(local, values, clusters) for values in chosen])


def group_difference(terms: Terms, table: Table, resampler: Resampler, a: Indices, b: Indices) -> dict[str, Draw]:
    """Each metric over answers `a` minus the same over answers `b`, of one table."""
    import numpy as np

    questions = np.unique(table.question[np.concatenate([a, b])])
    unit = resampler.unit(questions)
    clusters = len(np.unique(resampler.clusters(unit)[questions]))
    of_a, of_b = (draw(terms, table, resampler, picked, unit) for picked in (a, b))
    return {name: replace(of_a[name].minus(of_b[name]), clusters=clusters, n=len(questions)) for name in terms}


def _trial_std(term: Term, table: Table, picked: Indices, questions: int) -> float | None:
    """Standard deviation of the trials' means; None where undecided, or where trials differ in their questions."""
    import numpy as np

    if not term.by_trial or table.trials < 2 or len(picked) != questions * table.trials:
        return None
    low, high = term.low[picked], term.high[picked]
    if low is not high and (low != high).any():
        return None
    trial = table.trial[picked]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = grouped_sums(trial, term.weight[picked], table.trials)
        means = term.scale * grouped_sums(trial, low, table.trials) / weights
    return mean_std(means.tolist())[1]


def estimates(draws: Mapping[str, Draw], level: float) -> dict[str, Estimate]:
    """The draws as JSON; intervals are found for all of them together."""
    import numpy as np

    sampled = {id(d.samples): d.samples for d in draws.values() if d.samples is not None}
    found = percentile_intervals(np.concatenate(list(sampled.values())), level) if sampled else np.empty((0, 2))
    cuts = np.cumsum([len(samples) for samples in sampled.values()])[:-1]
    ends = dict(zip(sampled, np.split(found, cuts), strict=True)) if sampled else {}
    return {name: _estimate(d, ends.get(id(d.samples))) for name, d in draws.items()}


def _estimate(draw: Draw, ends: Floats | None) -> Estimate:
    """`ends`: the interval at worst and the interval at best, which may be one."""
    import math

    below, above = draw.beyond
    ci = None if ends is None else [float(ends[0][0]) - below, float(ends[-1][1]) + above]
    if ci is not None and not all(map(math.isfinite, ci)):
        ci = None
    return Estimate(
        low=draw.low,
        high=draw.high,
        value=draw.low if draw.low == draw.high else None,
        ci=ci,
        unit=draw.unit if ci else None,
        clusters=draw.clusters if ci else None,
        n=draw.n,
        std=draw.std,
        note=draw.note,
    )
