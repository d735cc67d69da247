"""Estimates from terms: bounds, interval, spread over trials; and by groups of questions.

Contract: a question without a paper is a cluster of its own; its trials and derivatives stay together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

from livek12.core.groups import grouped
from livek12.core.lazy import np
from livek12.core.scoring.formulas import PredictedTerm, Term, Terms
from livek12.core.scoring.metrics import contrasted_metrics
from livek12.core.scoring.outcomes import AXES, SlimQuestion, Table, answers_of
from livek12.core.scoring.schema import Estimate, Parameters, Unit
from livek12.core.statistics import Floats, Indices, correlation, difference_reach, grouped_sums, mean_std, ratio_spread

NORMAL = NormalDist().inv_cdf(0.975)


class Units:
    """Clusters of questions: papers, or single ones."""

    def __init__(self, questions: Sequence[SlimQuestion], parameters: Parameters) -> None:
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

    def unit(self, questions: Indices) -> Unit:
        """Unit of an estimate over questions (indices)."""
        papers = np.unique(self._paper[questions])
        return "paper" if np.count_nonzero(papers >= 0) >= self.parameters.min_papers else "question"

    def clusters(self, unit: Unit) -> Indices:
        """Cluster of each question."""
        return self._codes[unit]

    def size(self, unit: Unit) -> int:
        """Number of clusters."""
        return int(self._codes[unit].max()) + 1


@dataclass(frozen=True)
class Draw:
    """Metric at worst and best with the reach of its interval; only `note` if unavailable."""

    low: float | None
    high: float | None
    unit: Unit
    clusters: int
    n: int
    below: float | None = None
    """How far the interval at worst reaches below `low`; None where there is no interval."""
    above: float | None = None
    """How far the interval at best reaches above `high`."""
    influence: Floats | None = None
    """(2, clusters), at worst and at best; (1, clusters) where they are the same: see `intervals.Spread`."""
    members: Indices | None = None
    """Which clusters of the set these are, in order."""
    size: float = 0.0
    """How many questions of equal weight they are worth."""
    std: float | None = None
    note: str | None = None

    def minus(self, other: Draw) -> Draw:
        """Difference of two draws over one set of questions by one unit."""
        note = self.note or other.note
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Draw(None, None, self.unit, self.clusters, self.n, note=note)
        below = above = None
        if self.below is not None and self.above is not None and other.below is not None and other.above is not None:
            size = np.array(min(self.size, other.size))
            reach = [np.array(end) for end in (self.below, self.above, other.below, other.above)]
            below = float(difference_reach(reach[0], reach[3], _correlation(self, other, 0), size))
            above = float(difference_reach(reach[1], reach[2], _correlation(self, other, 1), size))
        return Draw(
            low=self.low - other.high,
            high=self.high - other.low,
            unit=self.unit,
            clusters=self.clusters,
            n=self.n,
            below=below,
            above=above,
            note=note,
        )


def _correlation(draw_a: Draw, other: Draw, side: int) -> Floats:
    """One draw at its worst with another at its best (`side` 0), or the other way round (1)."""
    if draw_a.influence is None or other.influence is None or draw_a.members is None or other.members is None:
        return np.zeros(())
    a, b = draw_a.influence[-side], other.influence[side - 1]
    if not np.array_equal(draw_a.members, other.members):  # only where they share a cluster do they move together
        every = np.union1d(draw_a.members, other.members)
        a, b = (_spread_over(every, each.members, values) for each, values in ((draw_a, a), (other, b)))
    return correlation(a, b)


def _spread_over(every: Indices, members: Indices | None, values: Floats) -> Floats:
    sums = np.zeros(len(every))
    sums[np.searchsorted(every, members)] = values
    return sums


def draw(
    terms: Terms, table: Table, units: Units, picked: Indices | None = None, unit: Unit | None = None
) -> dict[str, Draw]:
    """Each metric over the picked answers (indices into the table, whose questions are the units').

    Default: all answers, and the unit that fits the questions.
    """
    absent = {name: term if isinstance(term, str) else term.absence(picked) for name, term in terms.items()}
    picked = np.arange(len(table.rows)) if picked is None else picked
    picked_questions = table.question[picked]
    begins = np.flatnonzero(np.concatenate([[True], picked_questions[1:] != picked_questions[:-1]]))
    questions = picked_questions[begins]
    unit = unit or units.unit(questions)
    members, local = np.unique(units.clusters(unit)[questions], return_inverse=True)
    shape = (unit, len(members), len(questions))
    draws = {
        name: _predicted(term)
        if isinstance(term, PredictedTerm) and absent[name] is None
        else Draw(None, None, *shape, note=absent[name])
        for name, term in terms.items()
    }
    usable = {name: term for name, term in terms.items() if isinstance(term, Term) and absent[name] is None}
    if not usable:
        return draws

    # Many terms share their arrays: each is summed once.
    arrays = {id(a): a for term in usable.values() for a in (term.low, term.high, term.weight)}
    column = {key: i for i, key in enumerate(arrays)}
    totals = [float(array[picked].sum()) for array in arrays.values()]
    # One after the other: a copy of all arrays would be the peak of memory.
    by_question = np.stack([np.add.reduceat(array[picked], begins) for array in arrays.values()], axis=1)
    ratios: dict[tuple[int, int, float], int] = {}
    for name, term in usable.items():
        weight = column[id(term.weight)]
        if not totals[weight]:
            draws[name] = Draw(None, None, *shape, note="nothing to divide by: the denominator is 0")
            continue
        for numerator in (term.low, term.high):
            ratios.setdefault((column[id(numerator)], weight, term.most), len(ratios))
    if not ratios:
        return draws
    numerators, weights, most = (np.array(part) for part in zip(*ratios, strict=True))
    spread = ratio_spread(
        by_question[:, numerators],
        by_question[:, weights],
        local if unit == "paper" or len(members) < len(questions) else None,
        most,
        units.parameters.level,
    )
    for name, term in usable.items():
        weight = column[id(term.weight)]
        if not totals[weight]:
            continue
        low, high = (ratios[column[id(numerator)], weight, term.most] for numerator in (term.low, term.high))
        alone = len(members) < 2 or len(questions) < units.parameters.min_questions
        draws[name] = Draw(
            low=term.scale * totals[column[id(term.low)]] / totals[weight],
            high=term.scale * totals[column[id(term.high)]] / totals[weight],
            unit=unit,
            clusters=len(members),
            n=len(questions),
            below=None if alone else term.scale * float(spread.value[low] - spread.low[low]),
            above=None if alone else term.scale * float(spread.high[high] - spread.value[high]),
            influence=spread.influence.T[[low] if low == high else [low, high]],
            members=members,
            size=float(spread.size[low]),
            std=_trial_std(term, table, picked, len(questions)),
            note=term.note,
        )
    return draws


def _predicted(term: PredictedTerm) -> Draw:
    reach = NORMAL * term.error
    below, above = min(reach, term.value), min(reach, 1 - term.value)
    return Draw(
        low=term.scale * term.value,
        high=term.scale * term.value,
        unit="question",
        clusters=term.posed,
        n=len(term.bank),
        below=term.scale * below,
        above=term.scale * above,
        size=float(len(term.bank)),
        note=term.note,
    )


def group_difference(terms: Terms, table: Table, units: Units, a: Indices, b: Indices) -> dict[str, Draw]:
    """Each metric over answers `a` minus the same over answers `b`, of one table."""
    questions = np.unique(table.question[np.concatenate([a, b])])
    unit = units.unit(questions)
    clusters = len(np.unique(units.clusters(unit)[questions]))
    of_a, of_b = (draw(terms, table, units, picked, unit) for picked in (a, b))
    return {name: replace(of_a[name].minus(of_b[name]), clusters=clusters, n=len(questions)) for name in terms}


def _trial_std(term: Term, table: Table, picked: Indices, questions: int) -> float | None:
    """None where undecided, or where trials differ in their questions."""
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


def estimates(draws: Mapping[str, Draw]) -> dict[str, Estimate]:
    """Draws as JSON."""
    return {name: _estimate(drawn) for name, drawn in draws.items()}


def _estimate(draw: Draw) -> Estimate:
    ci = None
    if draw.low is not None and draw.high is not None and draw.below is not None and draw.above is not None:
        ci = [draw.low - draw.below, draw.high + draw.above]
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


NO_VALUE = "(none)"
IMAGE_ONLY = "image_only"


def question_groups(questions: Sequence[SlimQuestion], modality: str | None = None) -> dict[str, dict[str, list[int]]]:
    """Groups of questions: axis to value to indices, values sorted, "(none)" last.

    `modality` is the task's, if it is not that of its questions.
    """
    axes: dict[str, dict[str, list[int]]] = {}
    alike = grouped((question.values, index) for index, question in enumerate(questions))
    for place, axis in enumerate(AXES):
        members: defaultdict[str, list[int]] = defaultdict(list)
        for values, indices in alike.items():
            for value in ((modality,) if modality and axis == "modality" else values[place]) or (NO_VALUE,):
                members[value] += indices
        named = sorted(value for value in members if value != NO_VALUE)
        if len(named) > (axis == "paper"):
            axes[axis] = {value: sorted(members[value]) for value in (*named, NO_VALUE) if value in members}
    return axes


def group_deltas(
    groups: Mapping[str, Mapping[str, Sequence[int]]], terms: Terms, table: Table, units: Units
) -> dict[str, Estimate]:
    """Δ Korean-specific (accuracy: KMMMU, table 21) and Δ between consecutive releases, newer minus older."""
    wanted = {name: terms[name] for name in contrasted_metrics() if isinstance(terms.get(name), Term)}
    deltas: dict[str, Estimate] = {}

    def add(axis: str, newer: str, older: str, picked: Terms) -> None:
        a, b = (answers_of(table, groups[axis][value]) for value in (newer, older))
        drawn = group_difference(picked, table, units, a, b)
        metrics = estimates(drawn)
        deltas.update({f"{name}/{axis}/{newer}-{older}": delta for name, delta in metrics.items()})

    if {"true", "false"} <= groups.get("korean_specific", {}).keys():
        add("korean_specific", "true", "false", {"accuracy": terms["accuracy"]})
    releases = [name for name in groups.get("release", ()) if name != NO_VALUE]
    for older, newer in pairwise(releases):
        add("release", newer, older, wanted)
    return deltas
