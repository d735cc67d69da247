"""Ranks over exams drawn anew: what must come out, and that it comes out the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from livek12.core.scoring.formulas import Term
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import AXES, AnswerFinding, Bounds, Outcome, SlimQuestion, tabulate
from livek12.core.scoring.ranks import rank_stability
from livek12.core.scoring.schema import parameters_of

OPEN: Bounds = (0.0, 1.0)
Shares = Sequence[Bounds | float]


def stability(
    runs: Mapping[str, Shares], papers: int = 0, skip: Mapping[str, int] | None = None
) -> dict[str, list[float]]:
    """Of runs with these shares of the points; every question in one of so many papers, or in none."""
    tables = {}
    for name, shares in runs.items():
        rows = []
        for n, share in enumerate(shares):
            if n < (skip or {}).get(name, 0):
                continue
            paper = f"p{n * papers // len(shares)}" if papers else None
            question = SlimQuestion(f"q{n:03}", f"q{n:03}", "", "b", paper, 1.0, False, tuple(() for _ in AXES))
            ends = share if isinstance(share, tuple) else (share, share)
            rows.append(Outcome("t", question, 0, AnswerFinding("graded", ends, ends, ends)))
        tables[name] = tabulate(rows)
    parameters = parameters_of("article")
    terms = {name: task_terms(table, "article", parameters)["mark"] for name, table in tables.items()}
    return rank_stability(tables, {name: t for name, t in terms.items() if isinstance(t, Term)}, parameters)


def test_a_run_that_is_better_everywhere_is_always_first() -> None:
    found = stability({"poor": [0.0] * 40, "good": [1.0] * 40, "half": [0.5] * 40})
    assert found == {"poor": [3, 3, 3], "good": [1, 1, 1], "half": [2, 2, 2]}


def test_equal_runs_share_all_ranks_between_them() -> None:
    shares = [float(n % 3 == 0) for n in range(60)]
    assert stability({"a": shares, "b": shares, "c": [1.0] * 60}) == {
        "a": [2, 2.5, 3],
        "b": [2, 2.5, 3],
        "c": [1, 1, 1],
    }


def test_runs_that_are_near_each_other_change_places_and_far_ones_do_not() -> None:
    near, other, far = ([float((n * k) % 20 < most) for n in range(100)] for k, most in ((7, 12), (11, 11), (3, 3)))
    found = stability({"near": near, "other": other, "far": far})
    assert found["near"][0] == found["other"][0] == 1
    assert found["near"][2] == found["other"][2] == 2
    assert found["far"] == [3, 3, 3]
    assert found == stability({"near": near, "other": other, "far": far})


def test_papers_are_drawn_whole() -> None:
    """Each run has whole papers right: over questions the first is nearly always ahead, over papers far from it."""
    one = [float(n // 10 in (0, 1, 2, 3)) for n in range(60)]
    other = [float(n // 10 in (3, 4, 5)) for n in range(60)]
    assert stability({"one": one, "other": other})["one"][1] == 1
    assert stability({"one": one, "other": other}, papers=6)["one"][2] == 2
    assert stability({"one": one, "other": other}, papers=6)["other"][0] == 1


def test_what_is_undecided_leaves_ranks_open() -> None:
    found = stability({"sure": [0.8] * 50, "open": [OPEN] * 25 + [1.0] * 25, "low": [0.1] * 50})
    assert found == {"sure": [1, 1.5, 2], "open": [1, 1.5, 2], "low": [3, 3, 3]}


def test_runs_of_other_questions_are_ranked_by_what_they_have() -> None:
    found = stability({"all": [0.5] * 30, "some": [0.9] * 30}, skip={"some": 28})
    assert found == {"all": [2, 2, 2], "some": [1, 1, 1]}


def test_one_run_has_no_rank() -> None:
    assert stability({"alone": [1.0, 0.0]}) == {}


@pytest.mark.parametrize("runs", [2, 40])
def test_ranks_lie_between_the_first_and_the_last(runs: int) -> None:
    found = stability({f"r{n}": [float((q * (n + 3)) % 7 < 3) for q in range(35)] for n in range(runs)})
    assert all(1 <= low <= middle <= high <= runs for low, middle, high in found.values())
