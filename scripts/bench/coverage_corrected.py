"""Measures how often the intervals of corrected marks hold the truth, over planted judges.

`python scripts/bench/coverage_corrected.py [--judges 1000]` prints the table of docs/corrected-marks.md. Each
judge has error rates of its own: models accept a wrong answer with a chance of 0 to 30 % and reject a right one with
another; rules err in 0 to 1 %. It marks an exam drawn at random (share right 20 to 90 %, 30 to 90 % decided by rules,
papers of ten questions that are alike by ρ); `livek12.evaluation.studies.label_plan` chooses the answers to label, and
the interval is asked whether it holds the share right of all such exams. `uncorrected` is the judge's own mark with its
interval of the sample; `judges` is how many could be corrected, with two labels in each stratum of models.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from livek12.core.errors import UserError
from livek12.core.intervals import mean_interval
from livek12.evaluation.studies.corrected import corrected
from livek12.evaluation.studies.label_plan import RIGHT, RULES, WRONG, Judged, allocate, draw

if TYPE_CHECKING:
    from livek12.core.statistics import Indices

PAPER = 10


class Held(NamedTuple):
    """Whether the intervals held the truth, and how wide the corrected one is."""

    corrected: bool
    uncorrected: bool
    width: float


def exam(
    rng: np.random.Generator, questions: int, rho: float
) -> tuple[list[Judged], dict[tuple[str, str, int], float], float]:
    """Judged answers, the truth of each, and the share right that was planted."""
    p, ruled = rng.uniform(0.2, 0.9), rng.uniform(0.3, 0.9)
    accepts, rejects, slips = rng.uniform(0, 0.3), rng.uniform(0, 0.3), rng.uniform(0, 0.01)
    papers = -(-questions // PAPER)
    chance = rng.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, papers) if rho else np.full(papers, p)
    answers, truth = [], {}
    for number in range(questions):
        right = rng.random() < chance[number // PAPER]
        by_rules = rng.random() < ruled
        wrongly = rng.random() < (slips if by_rules else rejects if right else accepts)
        said = float(right != wrongly)
        key = ("task", f"q{number:05}", 0)
        stratum = RULES if by_rules else RIGHT if said else WRONG
        answers.append(Judged(key, f"paper {number // PAPER}", True, 1.0, said, said, stratum))
        truth[key] = float(right)
    return answers, truth, p


def held(rng: np.random.Generator, questions: int, rho: float, budget: int, seed: int) -> Held | None:
    """One planted judge; None where the draw left a stratum too small to correct."""
    answers, truth, p = exam(rng, questions, rho)
    strata = {("task", name): [a for a in answers if a.stratum == name] for name in (RULES, RIGHT, WRONG)}
    strata = {place: own for place, own in strata.items() if own}
    counts = allocate(strata, budget)
    said = {a.key: truth[a.key] for place in strata for a in draw(strata[place], counts[place], seed)}
    try:
        found = corrected(answers, said)
    except UserError:
        return None
    papers: Indices = np.arange(questions) // PAPER
    _, low, high = mean_interval(np.array([a.low for a in answers]), clusters=papers)
    ends = found["interval"]
    return Held(ends[0] <= p <= ends[1], low <= p <= high, ends[1] - ends[0])


def rows(judges: int) -> Iterator[str]:
    """The table, line by line."""
    yield "| questions | labels | ρ | judges | corrected, % | width, points | uncorrected, % |"
    yield "|--:|--:|--:|--:|--:|--:|--:|"
    for questions, budget in ((4, 4), (20, 10), (20, 20), (100, 40), (100, 80), (400, 60), (1000, 60), (1000, 200)):
        for rho in (0.0, 0.1, 0.3):
            rng = np.random.default_rng(0)
            found = [one for seed in range(judges) if (one := held(rng, questions, rho, budget, seed))]
            share, alone, width = (100 * float(np.mean([one[part] for one in found])) for part in (0, 1, 2))
            yield f"| {questions:,} | {budget} | {rho} | {len(found):,} | {share:.1f} | {width:.1f} | {alone:.1f} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judges", type=int, default=1000, help="planted judges a row")
    for line in rows(parser.parse_args().judges):
        print(line, flush=True)


if __name__ == "__main__":
    main()
