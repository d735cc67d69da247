"""Unit rewards: planted responses earn the units that they reach, less their detours, in TRL and in verifiers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from livek12 import UserError
from livek12.evaluation.rewarding import results_in, units_of
from livek12.rewards import unit_reward
from tests.evaluation.test_verifiers_exam import V1
from tests.plugins.conftest import sample_data  # noqa: F401
from tests.plugins.standins import plugin

FLOW = [
    {"step": "What is the force?", "answer": "12 N"},
    {"step": "What is the acceleration?", "answer": r"\frac{3}{2}"},
    {"step": "What is the distance?", "answer": "7"},
]
SAID = {
    "all": ("First F = 4·3.\nResult: 12 N\nThen a.\n**Result:** 1.5\nResult: 7.0", 1.0, 1.0),
    "a detour": ("Result: 12 N\nResult: 99\nResult: 3/2\nResult: 7", 0.9, 0.9),
    "said twice": ("Result: 12 N\nResult: 12 N\nResult: 1.5\nResult: 7", 0.9, 0.9),
    "a gap": ("Result: 12 N\nResult: 7", 2 / 3, 1 / 3),
    "the last alone": ("Result: 7", 1 / 3, 0.0),
    "out of order": ("Result: 7\nResult: 1.5\nResult: 12 N", 0.4 / 3, 0.4 / 3),
    "wrong": ("Result: 8\nResult: 9", 0.0, 0.0),
    "no results": ("The distance is 7.", 0.0, 0.0),
}  # fmt: skip
"""Response, reward at a cost of 0.3 a detour, and reward of verified units alone."""


@pytest.mark.parametrize(("verified", "place"), [(False, 1), (True, 2)])
def test_units_are_paid_and_detours_cost(verified: bool, place: int) -> None:
    texts = [said[0] for said in SAID.values()]
    logged: dict[str, float] = {}
    rewards = unit_reward(
        texts,
        [FLOW] * len(texts),
        cost=0.3,
        verified=verified,
        log_metric=logged.__setitem__,
        answer=["7"] * len(texts),
    )
    assert rewards == [pytest.approx(said[place]) for said in SAID.values()]
    assert logged["redundant_results"] == pytest.approx((0 + 1 + 1 + 0 + 0 + 2 + 2 + 0) / 8)


def test_flows_as_data_sets_hold_them() -> None:
    columns = {name: [unit[name] for unit in FLOW] for name in ("step", "answer")}
    assert units_of(columns) == units_of(FLOW) == [(unit["step"], unit["answer"]) for unit in FLOW]
    assert units_of([{"step": "s", "verifiable_answer": True}, {"step": "none", "answer": None}]) == [("s", "True")]
    talk = [{"role": "assistant", "content": "Result: 12 N"}]
    assert unit_reward([talk, "x"], [columns, []]) == [pytest.approx(1 / 3), None]
    assert len(results_in("Result: 1\n" * 500)) == 500
    for flows, problem in (([FLOW], "1 values for 2"), (["12", FLOW], "a list of units")):
        with pytest.raises(UserError, match=problem):
            unit_reward(["a", "b"], flows)


@pytest.fixture(scope="module")
def environment() -> Iterator[Any]:
    with plugin("livek12.evaluation.verifiers_units", "verifiers", {"verifiers": {}, "verifiers.v1": V1}) as module:
        yield module


def test_the_environment_rewards_units(environment: Any, sample_data: str) -> None:  # noqa: F811
    config = environment.UnitConfig(id="units", data=sample_data, held=["none"], cost=0.5, verified=True)
    task, *_ = environment.UnitTaskset(config).load()
    assert task.data.units and "Result: VALUE" in task.data.prompt
    task.data.units = units_of(FLOW)
    trace = SimpleNamespace(last_reply="Result: 12 N\nResult: 5\nResult: 1.5")

    async def judged() -> list[Any]:
        return [
            await task.correct(trace),
            await task.redundant(trace),
            *[await task.check(n, "12 N") for n in (1, 3, 9)],
        ]

    assert asyncio.run(judged()) == [pytest.approx(1.5 / 3), 1.0, "right", "wrong", "open"]
