"""Sign-flip tests of many pairs together: the same p, to the last digit, as of each pair by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from livek12.core.scoring.comparison import Flips
from livek12.core.scoring.estimates import Units
from livek12.core.scoring.outcomes import SlimQuestion
from livek12.core.scoring.schema import PairedTest, Parameters, Unit
from livek12.core.statistics import grouped_sums, sign_flip_tests


def a_test(unit: Unit) -> PairedTest:
    """A test before it is made."""
    return PairedTest(name="sign_flip", p=None, p_holm=None, unit=unit, questions=0, undecided=0)


@pytest.mark.parametrize("unit", ["question", "paper"])
@pytest.mark.parametrize("kind", ["marks", "close", "alike"])
def test_pairs_together_are_pairs_alone(unit: Unit, kind: str) -> None:
    """With questions that some runs leave undecided, runs that hardly differ, and equal ones."""
    rng = np.random.default_rng(5)
    questions = [
        SlimQuestion(f"q{n}", f"q{n - n % 2}", "", "livek12", f"p{n // 4}", 5.0, False, ()) for n in range(200)
    ]
    units = Units(questions, Parameters())
    base = rng.integers(0, 6, 200) * 1e6
    means = {}
    for run in range(7):
        low = rng.integers(0, 6, 200) + rng.random(200) * (run % 2)
        if kind == "close":
            low = base + low * 1e-9
        if kind == "alike" and run < 5:
            low = np.where(np.arange(200) < 30 * run, base, low)
        means[f"run{run}"] = {"mark": (low, np.where(rng.random(200) < 0.1 * (run % 4), low + 1, low))}
    flips, tests = Flips(units, means), {}
    for a, b in combinations(means, 2):
        (low_a, high_a), (low_b, high_b) = means[a]["mark"], means[b]["mark"]
        difference = np.where((low_a == high_a) & (low_b == high_b), low_b - low_a, 0.0)
        tests[a, b] = a_test(unit), difference
        flips.add(tests[a, b][0], "mark", a, b, difference, unit)
    flips.test()
    for test, difference in tests.values():
        sums = grouped_sums(units.clusters(unit), difference, units.size(unit))
        assert test["p"] == sign_flip_tests(sums[:, None])[0]
