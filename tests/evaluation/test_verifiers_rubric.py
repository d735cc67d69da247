"""The rubric judge for verifiers: criteria of a file or of the task, points as a reward, metrics of each criterion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import pytest

from tests.plugins.standins import Fields, plugin

T, U = TypeVar("T"), TypeVar("U")


class Judge(Generic[T, U]):
    """verifiers' judge."""

    reward_name = "rubric"

    def __init__(self, config: Any) -> None:
        self.config = config


V1 = {"JudgeConfig": Fields, "Judge": Judge, "TaskData": object, "Trace": object}
RUBRIC = [
    {"name": "law", "text": "uses $F = m a$", "weight": 1.0},
    {"name": "style", "text": "is well written", "weight": 2.0, "choices": ["poor", "fair", "good"]},
]
EARNED = {"points": 1, "text": "uses the law", "expression": "F = m a"}


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    name = "livek12.evaluation.verifiers_rubric"
    with plugin(name, "verifiers", {"verifiers": {}, "verifiers.v1": V1}) as loaded:
        yield loaded


class Trace:
    """A rollout that answered."""

    last_reply = "We know $m a = F$."

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def record_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def score(module: Any, trace: Trace, scheme: Any = None, **config: Any) -> float:
    judge = module.SchemeJudge(module.SchemeJudgeConfig(id="rubric", **config))
    task = SimpleNamespace(prompt_text="How heavy?", scheme=scheme)
    reward: float = asyncio.run(judge.score(task, trace))
    return reward


def test_the_scheme_of_the_task(module: Any) -> None:
    trace = Trace()
    assert score(module, trace, scheme=[EARNED]) == 1
    assert trace.metrics == {"rubric/1": 1}
    with pytest.raises(ValueError, match="stays open"):
        score(module, Trace(), scheme=[EARNED, {"points": 3, "text": "argues well"}])
    with pytest.raises(ValueError, match="needs criteria"):
        score(module, Trace())
    with pytest.raises(ValueError, match="cannot read its row"):
        score(module, Trace(), scheme=[{"points": -1, "text": "x"}])


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_rubric_in_the_form_of_verifiers(module: Any, tmp_path: Path, suffix: str) -> None:
    """Weights are points, the middle choices partial marks; what is earned so far is a dense reward."""
    path = tmp_path / f"rubric{suffix}"
    tables = [[f"{name} = {json.dumps(value)}" for name, value in item.items()] for item in RUBRIC]
    toml = "\n".join("\n".join(["[[criteria]]", *lines]) for lines in tables)
    path.write_text(toml if suffix == ".toml" else json.dumps({"criteria": RUBRIC}))
    judge = module.SchemeJudge(module.SchemeJudgeConfig(id="rubric", path=path, weights={"law": 3.0}))
    assert [(item["id"], item["points"], item["partial"]) for item in judge.scheme] == [
        ("law", 3.0, []),
        ("style", 2.0, [{"points": 1.0, "text": "fair"}]),
    ]
    trace = Trace()
    scheme = [EARNED, {"points": 3, "text": "argues well"}]
    assert score(module, trace, scheme=scheme, undecided="low") == 0.25
    assert trace.metrics == {"rubric/1": 1}
    assert score(module, Trace(), path=path, undecided=0.5) == 0.5
