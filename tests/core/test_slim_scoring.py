"""Scoring and comparing hold no text, and what several runs have in common is worked out once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Parameters, Row
from livek12.core.scoring.comparison import Watch, compare_outcomes
from livek12.core.scoring.outcomes import Slim
from livek12.scripts.bench.common import made_run
from tests.core.test_scoring import TASK, ended, graded, question, ungraded
from tests.scored import compare, score


class Counting(Watch):
    """Counts the steps, and notes the shares of random signs."""

    def __init__(self) -> None:
        self.steps, self.shares = 0, list[float]()

    def step(self) -> None:
        self.steps += 1

    def flipped(self, share: float) -> None:
        self.shares.append(share)


LONG = 100_000
MANY = 400


def long_rows(wrong: int = 3) -> Iterator[Row]:
    """Answers to MANY questions, each with a text of its own of LONG characters wherever a text stands."""
    for number in range(MANY):
        text = f"{number} {wrong}" + "x" * LONG
        row = graded(question(f"q{number}", question=text, solution=text), float(number % wrong > 0), parts="a")
        assert row.response is not None
        assert row.verdict is not None
        part = row.verdict.parts[0].model_copy(update={"answer": text, "reason": text})
        yield replace(
            row,
            response=row.response.model_copy(update={"text": text, "reasoning": text}),
            verdict=row.verdict.model_copy(update={"parts": [part], "reason": text}),
        )


@pytest.mark.parametrize(
    "use",
    [
        lambda: score(long_rows()),
        lambda: compare({"a": long_rows(), "b": long_rows(4), "c": long_rows(5)}),
    ],
    ids=["score", "compare"],
)
def test_no_text_is_held(use: Callable[[], object]) -> None:
    assert held(use) < MANY * LONG / 2


def held(use: Callable[[], object]) -> int:
    """The most bytes that a call held at once."""
    score([graded(question("warm"))])  # what is imported once is no part of it
    tracemalloc.start()
    try:
        use()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_questions_of_a_run_folder_are_read_one_after_the_other(tmp_path: Path) -> None:
    asked = [row.question for row in long_rows()]
    answers = []
    for row in long_rows():
        assert row.verdict is not None
        response = Response(key=row.verdict.key, text=row.question.question, engine="e", model="m")
        answers.append((response, Verdict.model_validate({**row.verdict.model_dump(), "judge": "rules"})))
    made_run(tmp_path, {TASK: asked}, answers, judges={TASK: "rules"})
    del answers
    run = RunFolder.open(tmp_path)
    rows = iter(run.rows())
    assert next(rows).state == "graded"
    assert held(lambda: score(run.rows())) < MANY * LONG / 2


def runs_alike(count: int) -> dict[str, list[Row]]:
    """Runs of the same 60 questions, of which each leaves others undecided."""
    found: dict[str, list[Row]] = {}
    for run in range(count):
        rows: list[Row] = []
        for number in range(60):
            asked = question(f"q{number:02}", points=float(1 + number % 5))
            kind = (number * 7 + run * 3) % 11
            rows.append(
                ended(asked, "failed")
                if kind == 0
                else ungraded(asked)
                if kind == 1
                else graded(asked, float(kind > 3 + run % 3), tokens=100 + 13 * number + run)
            )
        found[f"run{run}"] = rows
    return found


@pytest.mark.parametrize("profile", ["article", "release"])
def test_a_pair_is_the_same_whatever_it_is_compared_with(profile: Any) -> None:
    """Whether its runs asked the same questions, others, or none that are shared."""
    runs = runs_alike(4)
    runs["shorter"] = runs["run0"][:40]
    runs["shorter too"] = [replace(row) for row in runs["run1"][:40]]
    runs["other"] = [*runs["run2"][30:], graded(question("own"))]
    runs["alone"] = [graded(question("apart"))]
    parameters = Parameters()
    watch = Counting()
    outcomes = {name: map(Slim(), rows) for name, rows in runs.items()}
    found = compare_outcomes(outcomes, profile, parameters, watch)["tasks"][TASK]
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        (a, b) for place, a in enumerate(runs) for b in list(runs)[place + 1 :]
    ]
    assert watch.steps == len(runs) + sum(pair["shared"] > 0 for pair in found["pairs"])
    for pair in found["pairs"]:
        of_two = compare({name: runs[name] for name in (pair["a"], pair["b"])}, profile, parameters)["tasks"][TASK]
        (expected,) = of_two["pairs"]
        for pairs in (pair, expected):
            for metric in pairs["metrics"].values():
                metric["test"]["p_holm"] = None  # of all pairs, here of others
        assert pair == expected
        if profile == "article":
            for name, by_run in of_two["metrics"].items():
                assert {run: found["metrics"][name][run] for run in by_run} == by_run
    assert {pair["shared"] for pair in found["pairs"]} == {0, 10, 30, 40, 60}
