"""The environment for verifiers: which questions are in it, what an answer is worth, that keys accept themselves."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import pytest

from livek12.core.errors import UserError
from livek12.tasks.plugins.harness_task import open_task
from tests.plugins.conftest import planted_answers, sample_data  # noqa: F401
from tests.plugins.standins import Fields, plugin

T, U = TypeVar("T"), TypeVar("U")


class Data(Fields):
    """verifiers' data of a task."""


class Config(Fields):
    """verifiers' settings of a taskset."""

    task = None


class Task(Generic[T]):
    """verifiers' task."""

    def __init__(self, data: Any, config: Any = None) -> None:
        self.data, self.config = data, config


class Taskset(Generic[T, U]):
    """verifiers' set of tasks."""

    def __init__(self, config: Any) -> None:
        self.config = config


V1 = {
    "TaskData": Data,
    "TasksetConfig": Config,
    "Task": Task,
    "Taskset": Taskset,
    "reward": lambda function: function,
    "metric": lambda function: function,
    "Trace": object,
    "Runtime": object,
}


@pytest.fixture(scope="module")
def exam() -> Iterator[Any]:
    with plugin("livek12.evaluation.verifiers_exam", "verifiers", {"verifiers": {}, "verifiers.v1": V1}) as module:
        yield module


def tasks(exam: Any, data: str, name: str = "livek12_text_only", **settings: Any) -> list[Any]:
    return list(exam.ExamTaskset(exam.ExamConfig(id="exam", data=data, exam=name, **settings)).load())


def documents(data: str, name: str = "livek12_text_only") -> list[Any]:
    return open_task(name, data).documents


def trace(text: str) -> Any:
    return SimpleNamespace(last_reply=text)


def test_the_newest_release_is_left_out_unless_it_is_said_otherwise(exam: Any, sample_data: str) -> None:  # noqa: F811
    asked = documents(sample_data)
    releases = {one.question.release for one in asked}
    assert releases and None not in releases
    every = tasks(exam, sample_data, held=["none"])
    assert [one.data.id for one in every] == [one.id for one in asked]
    if len(releases) > 1:
        left = [one.data.id for one in tasks(exam, sample_data)]
        assert left == [one.id for one in asked if one.question.release != max(releases)]
    else:
        with pytest.raises(UserError, match="no question of livek12_text_only is left to train on"):
            tasks(exam, sample_data)


def test_what_the_data_set_holds_back_is_never_in_it(exam: Any, sample_data: str, tmp_path: Path) -> None:  # noqa: F811
    copy = Path(shutil.copytree(sample_data, tmp_path / "copy"))
    held = max(one.question.release for one in documents(sample_data))
    (copy / "held_back.json").write_text(json.dumps({"release": held}))
    assert exam.held_releases(str(copy), {"2601", held}, ["none"]) == {held}
    assert exam.held_releases(str(copy), {"2601", held}, ["2601"]) == {"2601", held}
    assert exam.held_releases(sample_data, {"2601", "2605", None}, []) == {"2605"}
    left = [one for one in documents(sample_data) if one.question.release != held]
    if left:
        assert len(tasks(exam, str(copy), held=["none"])) == len(left)
    else:
        with pytest.raises(UserError, match="is left to train on"):
            tasks(exam, str(copy), held=["none"])


def test_questions_with_pictures_are_left_out_and_counted(
    exam: Any,
    sample_data: str,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = documents(sample_data, "kmmmu")
    shown = [one for one in asked if one.request.images]
    found = tasks(exam, sample_data, "kmmmu", held=["none"])
    assert 0 < len(shown) < len(asked) and len(found) == len(asked) - len(shown)
    assert f"{len(shown)} questions are left out" in caplog.text
    texts = {one.id: one.text for one in asked}
    assert all(one.data.prompt == texts[one.data.id] for one in found)


@pytest.mark.slow
def test_rewards_are_the_share_of_the_points_and_keys_accept_themselves(exam: Any, sample_data: str) -> None:  # noqa: F811
    found = {one.data.id: one for one in tasks(exam, sample_data, "cfe_text", held=["none"])}
    answers = planted_answers(documents(sample_data, "cfe_text"))[:5]

    async def judged() -> list[tuple[float, float, bool | None]]:
        return [
            (await one.correct(said), await one.undecided(said), await one.validate(None))
            for row in answers
            for one, said in [(found[row["question_id"]], trace(row["response"]))]
        ]

    rule = open_task("cfe_text", sample_data)
    for row, (reward, undecided, valid) in zip(answers, asyncio.run(judged()), strict=True):
        verdict = rule.mark(row["question_id"], row["response"])
        assert valid is not False, row
        assert undecided == float(verdict.state == "ungraded"), row
        assert reward == (0.0 if undecided else verdict.low / verdict.max_points), row
