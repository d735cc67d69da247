"""A run folder goes on with its own run, refuses any other, and accounts for every question."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Failure, Image, Key, Question, Response, Sampling, Verdict
from livek12.core.run_folder import RunFolder, RunSpec, TaskSpec, differences, without_bytes


def task_spec(**changes: object) -> TaskSpec:
    base: dict[str, object] = {
        "name": "t",
        "version": 1,
        "modality": "text_only",
        "prompt_sha256": "p" * 64,
        "data": "data",
        "data_sha256": "d" * 64,
        "questions": 3,
        "sampling": Sampling(),
    }
    return TaskSpec.model_validate({**base, **changes})


def spec(**changes: object) -> RunSpec:
    base: dict[str, object] = {"model": "m", "engine": "openai", "tasks": [task_spec()], "trials": 2}
    return RunSpec.model_validate({**base, **changes})


def question(name: str) -> Question:
    return Question(
        id=name,
        benchmark="livek12",
        language="en",
        subject="math",
        question_type="single_choice",
        question="<image>?",
        images=[Image(bytes=b"png", path="a.png")],
        answer=["A"],
        points=4,
    )


def response(name: str, trial: int = 0, text: str = "A") -> Response:
    return Response(key=Key(task="t", question_id=name, trial=trial), text=text, engine="openai", model="m")


def verdict(name: str, judge: str, points: float = 4) -> Verdict:
    key = Key(task="t", question_id=name)
    correct = points == 4
    return Verdict(
        key=key, state="graded", points=points, low=points, high=points, max_points=4, correct=correct, judge=judge
    )


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create_or_resume(tmp_path / "run", spec(), {"t": [question(n) for n in "abc"]})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "other"}, "model was 'm', now 'other'"),
        ({"engine": "vllm"}, "engine was 'openai', now 'vllm'"),
        ({"package_version": "9.9"}, "package version was"),
        ({"record_version": 99}, "record version was"),
        ({"trials": 3}, "trials was 2, now 3"),
        ({"limit": 5}, "limit was None, now 5"),
        ({"engine_args": {"dtype": "half"}}, "engine argument dtype was None, now 'half'"),
        ({"tasks": [task_spec(data_sha256="e" * 64)]}, "data of t was 'dddddddddddd', now 'eeeeeeeeeeee'"),
        ({"tasks": [task_spec(prompt_sha256="e" * 64)]}, "prompt of t was 'pppp"),
        ({"tasks": [task_spec(version=2)]}, "version of t was '1', now '2'"),
        ({"tasks": [task_spec(sampling=Sampling(max_tokens=5))]}, "sampling of t was"),
        ({"tasks": [task_spec(), task_spec(name="u")]}, "tasks was ['t'], now ['t', 'u']"),
    ],
)
def test_another_run_is_refused_saying_what_differs(run: RunFolder, changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as error:
        RunFolder.create_or_resume(run.path, spec(**changes), {})
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"started_at": "2001-01-01T00:00:00+00:00"},
        {"engine_args": {"base_url": "http://elsewhere", "concurrency": 3}},
        {"tasks": [task_spec(data="moved")]},
    ],
)
def test_the_same_run_goes_on(run: RunFolder, changes: dict[str, object]) -> None:
    assert RunFolder.create_or_resume(run.path, spec(**changes), {}).path == run.path


def test_engine_versions_count_once_both_sides_know_them() -> None:
    old = spec(engine_versions={"vllm": "1", "torch": "2"}, model_revision="abc")
    assert differences(old, spec()) == []
    assert differences(old, spec(engine_versions={"vllm": "2"})) == ["version of vllm was '1', now '2'"]
    assert differences(old, spec(model_revision="def")) == ["model revision was 'abc', now 'def'"]


def test_every_question_and_trial_is_a_row_in_one_state(run: RunFolder) -> None:
    run.write_spec(run.spec().model_copy(update={"judges": {"t": "j2"}}))
    with run.writer("responses") as responses, run.writer("failures") as failures, run.writer("verdicts") as verdicts:
        responses.append(response("a"))
        responses.append(response("a", text="said again"))
        responses.append(response("a", trial=1))
        for name, state in (("b", "unsupported"), ("a", "failed")):
            failures.append(
                Failure.model_validate({"key": {"task": "t", "question_id": name}, "state": state, "reason": ""})
            )
        verdicts.append(verdict("a", "j2", 0))
        verdicts.append(verdict("a", "j2", 4))
        verdicts.append(verdict("a", "j1", 0))
    rows = list(run.rows())
    assert [(row.question.id, row.trial, row.state) for row in rows] == [
        ("a", 0, "graded"),
        ("a", 1, "ungraded"),
        ("b", 0, "unsupported"),
        ("b", 1, "failed"),
        ("c", 0, "failed"),
        ("c", 1, "failed"),
    ]
    assert rows[0].verdict is not None and rows[0].verdict.points == 4  # the last of the present judge
    assert rows[0].response is not None and rows[0].response.text == "A"  # the first that was stored
    assert rows[1].verdict is not None and (rows[1].verdict.low, rows[1].verdict.high) == (0, 4)


def test_questions_are_kept_by_hash_not_by_bytes(run: RunFolder) -> None:
    (kept, *_) = run.questions()["t"]
    assert kept == without_bytes(question("a"))
    assert kept.images == [Image(path=question("a").images[0].sha256)]


@pytest.mark.parametrize("text", ["", "{", '{"model": 3}', "\x00"])
def test_a_damaged_run_json_is_one_line(run: RunFolder, text: str) -> None:
    (run.path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json: cannot be read"):
        RunFolder.open(run.path)


def test_a_folder_without_a_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder.open(tmp_path)


def test_only_what_the_run_asks_counts_whatever_the_journals_hold(run: RunFolder) -> None:
    told: list[str] = []
    with run.writer("responses") as responses:
        for name, trial in (("a", 0), ("a", -1), ("a", 2), ("x", 0), ("a", 0), ("c", 1)):
            responses.append(response(name, trial=trial))
    opened = RunFolder.open(run.path, told.append)
    assert [str(found.key) for found in opened.responses()] == ["t/a/0", "t/c/1"]
    assert len(told) == 3 and all("which this run does not ask" in line for line in told)
    assert opened.answered() == {"t/a/0", "t/c/1"}
    assert [row.response is not None for row in opened.rows()] == [True, False, False, False, False, True]


def test_marked_are_the_responses_whose_last_present_verdict_fits_and_counts(run: RunFolder) -> None:
    run.write_spec(run.spec().model_copy(update={"judges": {"t": "j"}}))
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for name in "abc":
            responses.append(response(name))
        verdicts.append(verdict("a", "j", 0))
        verdicts.append(verdict("a", "j", 4))
        verdicts.append(verdict("b", "other", 4))
        verdicts.append(verdict("c", "j", 4).model_copy(update={"response_sha256": "0" * 64}))
    assert run.marked() == {"t/a/0"}
    assert run.marked(lambda found: found.points == 0) == set()
