"""Measures how often the 95 % intervals hold the truth: exams are drawn whose true values are planted.

`python scripts/bench/coverage.py [--repetitions 4000] [--json FILE]` prints the tables of
`docs/how-marks-are-computed.md`. The intervals are made by the functions that make those of every report
(`livek12.core.statistics`); `old` is the percentile bootstrap that reports had before, for comparison.

A plan is a number of questions, how many of them are of one paper, how alike those are (ρ, the intra-class correlation
of right or wrong within a paper: papers are harder or easier by a beta distribution), and the share p that is right.
An estimator draws `repetitions` exams of a plan and gives their intervals; add one to `ESTIMATORS` and it is measured
like the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from livek12.core.scoring import Parameters
from livek12.core.statistics import (
    Spread,
    clustered_t_test,
    correlation,
    difference_reach,
    mcnemar_exact,
    questions_needed,
    ratio_spread,
    sign_flip_tests,
)

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
POINTS = np.array([5.0] * 11 + [6.0] * 3 + [13.0, 15.0, 15.0, 17.0, 17.0])
"""What the 19 questions of a Gaokao paper in mathematics are worth."""
SHARES = (0.05, 0.3, 0.5, 0.9, 0.99)
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
Interval = Callable[[Floats, Floats, Indices | None], Spread]


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


def single(earn: Callable[..., Floats], weigh: Callable[..., Floats] | None, interval: Interval) -> Estimator:
    """A mean over questions: `earn` draws the share of each, `weigh` what it is worth."""

    def estimator(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
        chance = chances(rng, plan, repetitions)
        worth = np.ones_like(chance) if weigh is None else weigh(rng, chance)
        found = interval(earn(rng, chance) * worth, worth, plan.clusters)
        return Covered(found.low, found.high, plan.p)

    return estimator


def pass_at_2(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
    """pass@2 of four answers to each question."""
    wrong = TRIALS - trials(rng, chances(rng, plan, repetitions))
    passed = 1 - wrong * (wrong - 1) / (TRIALS * (TRIALS - 1))
    spread = plan.p * (1 - plan.p)
    rho = plan.rho if plan.paper else 0.0
    truth = 1 - ((1 - plan.p) ** 2 + spread * rho + WITHIN_QUESTION * spread * (1 - rho))
    found = ratio_spread(passed, np.ones_like(passed), plan.clusters)
    return Covered(found.low, found.high, truth)


def arl(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
    """Accuracy weighted by length: lengths are lognormal around 2,000 tokens."""
    chance = chances(rng, plan, repetitions)
    factor = 1 + 0.15 * np.log(4096 / np.maximum(1.0, 2000 * np.exp(rng.normal(0, 0.7, chance.shape))))
    most = 1 + 0.15 * np.log(4096)
    found = ratio_spread(right(rng, chance) * factor, np.ones_like(chance), plan.clusters, most)
    return Covered(found.low, found.high, plan.p * (1 + 0.15 * np.log(4096 / 2000)))


def between(a: Spread, b: Spread, shared: bool) -> tuple[Floats, Floats]:
    """The interval of a - b, as `scoring.estimates.Draw.minus` makes it."""
    alike = correlation(a.influence, b.influence) if shared else np.zeros_like(a.value)
    size = np.minimum(a.size, b.size)
    below = difference_reach(a.value - a.low, b.high - b.value, alike, size)
    above = difference_reach(a.high - a.value, b.value - b.low, alike, size)
    return a.value - b.value - below, a.value - b.value + above


def groups(rng: np.random.Generator, plan: Design, repetitions: int, better: float = BETTER) -> Covered:
    """Two releases of as many questions each, on other papers."""
    spreads = []
    for p in (plan.p, plan.p * better):
        answers = right(rng, chances(rng, plan, repetitions, p))
        spreads.append(ratio_spread(answers, np.ones_like(answers), plan.clusters))
    return Covered(*between(spreads[0], spreads[1], shared=False), plan.p * (1 - better))


def two_runs(
    rng: np.random.Generator, plan: Design, repetitions: int, better: float, partial: bool
) -> tuple[Floats, Floats, Floats]:
    """Answers of two runs to the same questions, and what these are worth.

    Half of the papers are as hard for both, by rank; half of the questions are as hard for both.
    """
    ones = np.ones((plan.papers if plan.paper else plan.questions, repetitions))
    hard, other = rng.random(ones.shape), rng.random(ones.shape) < 0.5
    harder = np.where(other, hard, rng.random(ones.shape))
    rho = plan.rho if plan.paper else 0.0
    of = plan.of if plan.paper else np.arange(plan.questions)
    a, b = (_beta_at(p, rho, at)[of] for p, at in ((plan.p, hard), (plan.p * better, harder)))
    luck = rng.random((plan.questions, repetitions))
    same = rng.random(luck.shape) < 0.5
    answers = [(luck < a) * 1.0, (np.where(same, luck, rng.random(luck.shape)) < b) * 1.0]
    if partial:
        parts = rng.random(luck.shape) < 0.4
        answers = [np.where(parts, (x + right(rng, c)) / 2, x) for x, c in zip(answers, (a, b), strict=True)]
    return answers[0], answers[1], points(rng, luck) if partial else np.ones_like(luck)


def _beta_at(p: float, rho: float, at: Floats) -> Floats:
    """Quantiles of the beta distribution, read from a sample of it."""
    if not rho:
        return np.full_like(at, p)
    sample = np.sort(np.random.default_rng(0).beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, 400_000))
    sample *= p / sample.mean()
    return np.asarray(sample[(at * len(sample)).astype(np.intp)])


def paired(better: float, partial: bool) -> Estimator:
    """The difference of two runs on the same questions."""

    def estimator(rng: np.random.Generator, plan: Design, repetitions: int) -> Covered:
        a, b, worth = two_runs(rng, plan, repetitions, better, partial)
        spreads = [ratio_spread(x * worth, worth, plan.clusters) for x in (a, b)]
        return Covered(*between(spreads[0], spreads[1], shared=True), plan.p * (1 - better))

    return estimator


def bootstrap(numerators: Floats, weights: Floats, clusters: Indices | None) -> Spread:
    """The percentile bootstrap by question, or by paper from ten on, with Wilson's 0 of n where all are alike."""
    if clusters is not None and clusters.max() >= 9:
        begins = np.flatnonzero(np.diff(clusters, prepend=-1))
        numerators, weights = np.add.reduceat(numerators, begins), np.add.reduceat(weights, begins)
    n = len(numerators)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 500).astype(np.float64)
    low, high = np.quantile((drawn @ numerators) / (drawn @ weights), [0.025, 0.975], axis=0)
    value = numerators.sum(axis=0) / weights.sum(axis=0)
    unseen = 3.8415 / (n + 3.8415) * (high - low < 1e-9)
    return Spread(value, low - unseen * value, high + unseen * (1 - value), numerators, weights.sum(axis=0))


ESTIMATORS: dict[str, Estimator] = {
    "accuracy": single(right, None, ratio_spread),
    "mark, right or wrong": single(right, points, ratio_spread),
    "mark, partial credit": single(credit, points, ratio_spread),
    "accuracy of 4 trials": single(lambda rng, chance: trials(rng, chance) / TRIALS, None, ratio_spread),
    "pass@2 of 4": pass_at_2,
    "ARL": arl,
    "Δ of two groups": groups,
    "Δ of two groups (none)": lambda rng, plan, repetitions: groups(rng, plan, repetitions, 1.0),
    "Δ of two runs": paired(BETTER, partial=False),
    "Δ of two runs (none)": paired(1.0, partial=False),
    "Δ of two runs' marks": paired(BETTER, partial=True),
    "old: accuracy": single(right, None, bootstrap),
    "old: mark, partial credit": single(credit, points, bootstrap),
}
AIM = 92.5
"""Less is too little: intervals of 95 % are to hold the truth in 93 to 97 of 100, and in more only where they must."""
RHOS = (0.0, 0.1, 0.3)
LAYOUTS = tuple(
    (questions, paper, rho)
    for questions, papers in ((4, (0,)), (20, (0, 10, 5, 2)), (100, (0, 20, 5)), (1000, (0, 50, 5)))
    for paper in papers
    for rho in (RHOS if paper else (0.0,))
)
"""Questions, questions a paper, ρ."""


def measured(
    names: Mapping[str, Estimator],
    layouts: Iterator[Any] | tuple[Any, ...],
    shares: tuple[float, ...],
    repetitions: int,
) -> Iterator[dict[str, Any]]:
    """One row for each estimator and plan: how many per cent of the intervals hold the truth, and how wide they are."""
    for name, estimator in names.items():
        for questions, paper, rho in layouts:
            for p in shares:
                plan = Design(questions, paper, float(rho), p)
                found = estimator(
                    np.random.default_rng([questions, paper, int(100 * rho), int(100 * p)]), plan, repetitions
                )
                held = np.asarray((found.low <= found.truth + 1e-12) & (found.truth - 1e-12 <= found.high))
                wide = float(np.mean(found.high - found.low))
                yield {
                    "estimator": name,
                    **asdict(plan),
                    "papers": plan.papers if paper else None,
                    "covered": 100 * float(held.mean()),
                    "width": wide,
                }


def false_alarms(questions: int, paper: int, rho: float, p: float, repetitions: int) -> dict[str, Any]:
    """How often the paired test of two runs that do not differ says p < 0.05."""
    plan = Design(questions, paper, rho, p)
    a, b, _ = two_runs(np.random.default_rng(1), plan, repetitions, 1.0, partial=False)
    d, name = b - a, "sign_flip"
    if plan.clusters is None:
        name = "mcnemar_exact"
        found = [mcnemar_exact(int((x < 0).sum()), int((x > 0).sum())) for x in d.T]
    elif plan.papers < Parameters().few_papers:
        name = "clustered_t"
        flips = sign_flip_tests(d)
        found = [max(flip, clustered_t_test(x, plan.of)) for flip, x in zip(flips, d.T, strict=True)]
    else:
        found = sign_flip_tests(np.add.reduceat(d, np.flatnonzero(np.diff(plan.of, prepend=-1))))
    return {
        "test": name,
        **asdict(plan),
        "papers": plan.papers if paper else None,
        "below_5": 100 * float(np.mean(np.array(found) < 0.05)),
        "below_0.5": 100 * float(np.mean(np.array(found) < 0.005)),
    }


def power(p: float, better: float, repetitions: int, pilot: int = 400) -> dict[str, Any]:
    """Exams of the size that a pilot of 400 questions asks for: how often does the test find the difference?"""
    rng = np.random.default_rng(2)
    a, b, _ = two_runs(rng, Design(20_000, 0, 0.0, p), 1, better, partial=False)
    needed = questions_needed((b - a)[:, 0], np.arange(len(a))) or 0
    a, b, _ = two_runs(rng, Design(pilot, 0, 0.0, p), repetitions, better, partial=False)
    pilots = [questions_needed(x, np.arange(pilot)) or 10**9 for x in (b - a).T]
    a, b, _ = two_runs(rng, Design(needed, 0, 0.0, p), repetitions, better, partial=False)
    found = [mcnemar_exact(int((x < 0).sum()), int((x > 0).sum())) < 0.05 for x in (b - a).T]
    pilots = sorted(pilots)
    quarter, middle, high = (pilots[len(pilots) * part // 4] for part in (1, 2, 3))
    return {
        "p": p,
        "difference": p * (1 - better),
        "needed": needed,
        "power": 100 * float(np.mean(found)),
        "pilot": [quarter, middle, high],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a row a layout, a column an estimator; the least and the most coverage over the planted shares.

    What is planted without a difference ("(none)") is in the column of its difference. Cells in bold fall short of the
    aim.
    """
    rows = [row | {"estimator": row["estimator"].removesuffix(" (none)")} for row in rows]
    names = list(dict.fromkeys(row["estimator"] for row in rows))
    places = list(dict.fromkeys((row["questions"], row["papers"], row["rho"]) for row in rows))
    lines = [f"| questions | papers | ρ | {' | '.join(names)} |", "|--:|--:|--:|" + "--:|" * len(names)]
    for questions, papers, rho in places:
        cells = []
        for name in names:
            found = [
                row["covered"]
                for row in rows
                if (row["estimator"], row["questions"], row["papers"], row["rho"]) == (name, questions, papers, rho)
            ]
            low, high = (f"{value:.0f}" for value in (min(found), max(found)))
            cell = low if low == high else f"{low}–{high}"
            cells.append(f"**{cell}**" if min(found) < AIM and not name.startswith("old") else cell)
        lines.append(f"| {questions:,} | {papers or '–'} | {rho if papers else '–'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the tables and writes the figures behind them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repetitions", type=int, default=4000)
    options.add_argument("--only", help="estimators with this in their name")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    chosen = {name: each for name, each in ESTIMATORS.items() if not given.only or given.only in name}
    rows = list(measured(chosen, LAYOUTS, SHARES, given.repetitions))
    print(table(rows))
    tests = [
        false_alarms(n, paper, rho, p, given.repetitions // 2)
        for n, paper, rho in LAYOUTS
        if n in (20, 100)
        for p in (0.3, 0.9)
    ]
    print("\n| test | questions | papers | ρ | p | p < 0.05, % | p < 0.005, % |\n|:--|--:|--:|--:|--:|--:|--:|")
    for row in tests:
        print(
            f"| {row['test']} | {row['questions']} | {row['papers'] or '–'} | {row['rho']} | {row['p']} |"
            f" {row['below_5']:.1f} | {row['below_0.5']:.1f} |"
        )
    powers = [power(p, better, given.repetitions // 4) for p, better in ((0.5, 0.8), (0.9, 0.9), (0.3, 0.6))]
    print("\n| p | difference | needed | found in, % | a pilot of 400 says |\n|--:|--:|--:|--:|--:|")
    for row in powers:
        print(
            f"| {row['p']} | {row['difference']:.2f} | {row['needed']} | {row['power']:.0f} | {row['pilot'][1]}"
            f" ({row['pilot'][0]}–{row['pilot'][2]}) |"
        )
    if given.json:
        given.json.write_text(
            json.dumps({"repetitions": given.repetitions, "coverage": rows, "tests": tests, "power": powers}, indent=1)
            + "\n"
        )


if __name__ == "__main__":
    main()
