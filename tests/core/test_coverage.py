"""Coverage of the 95 % intervals of reports: exams are drawn whose true values are planted.

A design is a number of questions, how many of them are of one paper, how alike those are (ρ, the intra-class
correlation of right or wrong within a paper: papers are harder or easier by a beta distribution), and the share p that
is right. The same simulation with 4,000 exams of each design made the table of `docs/measured.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from livek12.core.scoring import Parameters
from livek12.core.statistics import (
    Spread,
    correlation,
    difference_reach,
    ratio_spread,
)

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
POINTS = np.array([5.0] * 11 + [6.0] * 3 + [13.0, 15.0, 15.0, 17.0, 17.0])
"""What the 19 questions of a Gaokao paper in mathematics are worth."""
TRIALS = 4
WITHIN_QUESTION = 0.5
"""Correlation of the answers to one question."""
BETTER = 0.6
"""A second run, or group, is planted at p, and again at p · BETTER."""


@dataclass(frozen=True)
class Design:
    """What is drawn; `paper` 0: every question stands for itself."""

    questions: int
    paper: int
    rho: float
    p: float

    @property
    def papers(self) -> int:
        """How many papers there are."""
        return -(-self.questions // self.paper) if self.paper else self.questions

    @property
    def of(self) -> Indices:
        """The paper of each question."""
        return np.arange(self.questions) // max(1, self.paper)

    @property
    def clusters(self) -> Indices | None:
        """What the reports would cluster by."""
        return self.of if self.paper and self.papers >= Parameters().min_papers else None


@dataclass(frozen=True)
class Covered:
    """Ends of the intervals, shape (repetitions,), and the planted value."""

    low: Floats
    high: Floats
    truth: float


Estimator = Callable[[np.random.Generator, Design, int], Covered]


def beta(rng: np.random.Generator, mean: Floats, rho: float) -> Floats:
    """Draws with these means, of which right or wrong answers have the intra-class correlation rho."""
    if not rho:
        return mean
    spread, inner = (1 - rho) / rho, np.clip(mean, 1e-12, 1 - 1e-12)
    return rng.beta(inner * spread, (1 - inner) * spread)


def chances(rng: np.random.Generator, plan: Design, repetitions: int, p: float | None = None) -> Floats:
    """The chance that a question is answered right, shape (questions, repetitions)."""
    mean = np.full((plan.papers, repetitions), plan.p if p is None else p)
    return beta(rng, mean, plan.rho)[plan.of] if plan.paper else mean


def points(rng: np.random.Generator, chance: Floats) -> Floats:
    """What each question is worth."""
    return rng.choice(POINTS, chance.shape)


def right(rng: np.random.Generator, chance: Floats) -> Floats:
    """1 where it is answered right."""
    return (rng.random(chance.shape) < chance).astype(np.float64)


def credit(rng: np.random.Generator, chance: Floats) -> Floats:
    """The share of one to four parts that are right."""
    parts = rng.integers(1, 5, chance.shape)
    return rng.binomial(parts, chance) / parts


def trials(rng: np.random.Generator, chance: Floats) -> Floats:
    """How many of the answers to each question are right."""
    return np.asarray(rng.binomial(TRIALS, beta(rng, chance, WITHIN_QUESTION)), dtype=np.float64)


def single(earn: Callable[..., Floats], weigh: Callable[..., Floats] | None = None) -> Estimator:
    """A mean over questions: `earn` draws the share of each, `weigh` what it is worth."""

    def estimator(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
        chance = chances(rng, plan, repetitions)
        worth = np.ones_like(chance) if weigh is None else weigh(rng, chance)
        spread = ratio_spread(earn(rng, chance) * worth, worth, plan.clusters)
        return Covered(spread.low, spread.high, plan.p)

    return estimator


def pass_at_2(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
    """pass@2 of four answers to each question."""
    wrong = TRIALS - trials(rng, chances(rng, plan, repetitions))
    passed = 1 - wrong * (wrong - 1) / (TRIALS * (TRIALS - 1))
    spread = plan.p * (1 - plan.p)
    rho = plan.rho if plan.paper else 0.0
    truth = 1 - ((1 - plan.p) ** 2 + spread * rho + WITHIN_QUESTION * spread * (1 - rho))
    interval = ratio_spread(passed, np.ones_like(passed), plan.clusters)
    return Covered(interval.low, interval.high, truth)


def between(a: Spread, b: Spread, shared: bool) -> tuple[Floats, Floats]:
    """The interval of a - b, as `scoring.estimates.Draw.minus` makes it."""
    alike = correlation(a.influence, b.influence) if shared else np.zeros_like(a.value)
    size = np.minimum(a.size, b.size)
    below = difference_reach(a.value - a.low, b.high - b.value, alike, size)
    above = difference_reach(a.high - a.value, b.value - b.low, alike, size)
    return a.value - b.value - below, a.value - b.value + above


def groups(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
    """Two releases of as many questions each, on other papers."""
    spreads = []
    for p in (plan.p, plan.p * BETTER):
        answers = right(rng, chances(rng, plan, repetitions, p))
        spreads.append(ratio_spread(answers, np.ones_like(answers), plan.clusters))
    return Covered(*between(spreads[0], spreads[1], shared=False), plan.p * (1 - BETTER))


def two_runs(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
    """The difference of two runs on the same questions.

    Half of the papers are as hard for both, by rank; half of the questions are as hard for both.
    """
    ones = np.ones((plan.papers if plan.paper else plan.questions, repetitions))
    hard, other = rng.random(ones.shape), rng.random(ones.shape) < 0.5
    harder = np.where(other, hard, rng.random(ones.shape))
    rho = plan.rho if plan.paper else 0.0
    of = plan.of if plan.paper else np.arange(plan.questions)
    a, b = (_beta_at(p, rho, quantile)[of] for p, quantile in ((plan.p, hard), (plan.p * BETTER, harder)))
    luck = rng.random((plan.questions, repetitions))
    same = rng.random(luck.shape) < 0.5
    answers = [(luck < a) * 1.0, (np.where(same, luck, rng.random(luck.shape)) < b) * 1.0]
    spreads = [ratio_spread(answer, np.ones_like(luck), plan.clusters) for answer in answers]
    return Covered(*between(spreads[0], spreads[1], shared=True), plan.p * (1 - BETTER))


def _beta_at(p: float, rho: float, quantile: Floats) -> Floats:
    """Quantiles of the beta distribution, read from a sample of it."""
    if not rho:
        return np.full_like(quantile, p)
    sample = np.sort(np.random.default_rng(0).beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, 400_000))
    sample *= p / sample.mean()
    return np.asarray(sample[(quantile * len(sample)).astype(np.intp)])


ESTIMATORS: dict[str, Estimator] = {
    "accuracy": single(right),
    "mark, partial credit": single(credit, points),
    "accuracy of 4 trials": single(lambda rng, chance: trials(rng, chance) / TRIALS),
    "pass@2 of 4": pass_at_2,
    "Δ of two groups": groups,
    "Δ of two runs": two_runs,
}
LAYOUTS = [(4, 0, 0.0), (20, 0, 0.0), (100, 0, 0.0), (1000, 0, 0.0)]
LAYOUTS += [
    (*size, rho) for size in ((20, 5), (20, 2), (100, 20), (100, 5), (1000, 50), (1000, 5)) for rho in (0.0, 0.1, 0.3)
]
"""Questions, questions a paper, ρ. With one paper, or two that are unlike, intervals fall short: the docs say so."""


def covered(name: str, layout: tuple[int, int, float], p: float, repetitions: int) -> float:
    """Per cent of the intervals of a design that hold the truth; their widths are positive."""
    questions, paper, rho = layout
    rng = np.random.default_rng([questions, paper, int(100 * rho), int(100 * p)])
    drawn = ESTIMATORS[name](rng, Design(questions, paper, rho, p), repetitions)
    assert float(np.mean(drawn.high - drawn.low)) > 0
    holds = (drawn.low <= drawn.truth + 1e-12) & (drawn.truth - 1e-12 <= drawn.high)
    return 100 * float(np.asarray(holds).mean())


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("layout", [(4, 0, 0.0), (20, 0, 0.0), (20, 5, 0.3), (100, 20, 0.1), (100, 5, 0.3)])
def test_intervals_hold_the_truth(name: str, layout: tuple[int, int, float]) -> None:
    for p in (0.3, 0.9):
        assert covered(name, layout, p, 400) > 91  # the aim is 93; of 400 exams (the seeds are fixed) some show less


@pytest.mark.release
@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_do_at_every_documented_size(name: str) -> None:
    for layout in LAYOUTS:
        for p in (0.3, 0.5, 0.9):
            assert covered(name, layout, p, 2000) > 91.5, (layout, p)
