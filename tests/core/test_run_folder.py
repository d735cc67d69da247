"""A run folder goes on with its own run, refuses any other, and accounts for every question."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.compaction import compact
from livek12.core.errors import UserError
from livek12.core.records import Failure, Image, Key, Question, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder, without_bytes
from livek12.core.run.spec import RunSpec, TaskSpec, differences


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


def failure(name: str) -> Failure:
    return Failure(key=Key(task="t", question_id=name), state="failed", reason="no such model")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "other"}, "model was 'm', now 'other'"),
        ({"engine": "vllm"}, "engine was 'openai', now 'vllm'"),
        ({"trials": 3}, "trials was 2, now 3"),
        ({"limit": 5}, "limit was None, now 5"),
        ({"engine_args": {"dtype": "half"}}, "engine argument dtype was None, now 'half'"),
        ({"tasks": [task_spec(data_sha256="e" * 64)]}, "data of t was 'dddddddddddd', now 'eeeeeeeeeeee'"),
        ({"tasks": [task_spec(prompt_sha256="e" * 64)]}, "prompt of t was 'pppp"),
        ({"tasks": [task_spec(sampling=Sampling(max_tokens=5))]}, "sampling of t was"),
        ({"tasks": [task_spec(), task_spec(name="u")]}, "tasks was ['t'], now ['t', 'u']"),
    ],
)
def test_another_run_is_refused_saying_what_differs(run: RunFolder, changes: dict[str, object], said: str) -> None:
    with run.writer("responses") as responses:
        responses.append(response("a"))
    with pytest.raises(UserError) as error:
        RunFolder.create_or_resume(run.path, spec(**changes), {})
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert spec(**changes).identity != spec().identity


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"started_at": "2001-01-01T00:00:00+00:00"},
        {"engine_args": {"base_url": "http://elsewhere", "concurrency": 3}},
        {"tasks": [task_spec(data="moved")]},
        {"tasks": [task_spec(version=2)]},
        {"package_version": "9.9", "engine_versions": {"livek12": "9.9", "aiohttp": "4"}},
        {"record_version": 3},
    ],
)
def test_the_same_run_goes_on(run: RunFolder, changes: dict[str, object]) -> None:
    run.amend(engine_versions={"livek12": "0.1", "aiohttp": "3"})
    with run.writer("responses") as responses:
        responses.append(response("a"))
    told: list[str] = []
    assert RunFolder.create_or_resume(run.path, spec(**changes), {}, told.append).answered() == {"t/a/0"}
    assert [line.endswith("goes on with 9.9") for line in told] == [True] * ("package_version" in changes)
    assert spec(**changes).identity == spec().identity


@pytest.mark.parametrize(("before", "after"), [(4, 6), (5, 7), (6, 6), (7, 7)])
def test_a_run_of_older_records_is_of_later_ones_when_it_goes_on(run: RunFolder, before: int, after: int) -> None:
    """An earlier version would take responses that name their run for damaged lines."""
    run.amend(record_version=before)
    assert RunFolder.create_or_resume(run.path, spec(), {}).spec().record_version == after


def test_a_run_without_a_response_gives_way_to_the_corrected_one(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = RunFolder.create_or_resume(path, spec(model="mistyped"), {"t": [question("a")]})
    with first.writer("failures") as failures:
        failures.append(failure("a"))
    del first  # its command has ended
    told: list[str] = []
    run = RunFolder.create_or_resume(path, spec(), {"t": [question("b")]}, told.append)
    assert len(told) == 1 and "gives way to this one: model was 'mistyped', now 'm'" in told[0]
    assert run.spec().model == "m" and [q.id for q in run.questions()["t"]] == ["b"]
    assert run.failures() == {}, "what the other model could not answer says nothing of this one"
    with run.writer("responses") as responses:
        responses.append(response("b"))
    del run
    with pytest.raises(UserError, match="holds another run: model was 'm', now 'mistyped'"):
        RunFolder.create_or_resume(path, spec(model="mistyped"), {"t": [question("a")]})


def test_a_run_at_work_gives_way_to_none(tmp_path: Path) -> None:
    one = RunFolder.create_or_resume(tmp_path, spec(), {"t": []})
    two = RunFolder.create_or_resume(tmp_path, spec(), {"t": []})  # one that does the same comes in
    del one
    with pytest.raises(UserError, match="another command is at work on another run here: model was 'm', now 'x'"):
        RunFolder.create_or_resume(tmp_path, spec(model="x"), {"t": []})
    assert two.spec().model == "m"
    del two
    assert RunFolder.create_or_resume(tmp_path, spec(model="x"), {"t": []}).spec().model == "x"


def begin(path: Path, number: int, together: Any) -> None:
    """What a command does: it opens the folder for its model, and stores an answer."""
    together.wait()
    try:
        run = RunFolder.create_or_resume(path, spec(model=f"m{number}"), {"t": [question(n) for n in "abc"]})
    except UserError:
        raise SystemExit(2) from None
    with run.writer("responses") as responses:
        responses.append(response("abc"[number]).model_copy(update={"model": run.spec().model}))


def test_of_commands_that_begin_at_once_one_has_the_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for round in range(10):
        path, together = tmp_path / str(round), context.Barrier(3)
        children = [context.Process(target=begin, args=(path, number, together)) for number in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert sorted(child.exitcode or 0 for child in children) == [0, 2, 2]
        (found,) = RunFolder.open(path).responses()
        assert found.model == RunFolder.open(path).spec().model


def test_what_two_processes_write_into_run_json_stands_both(run: RunFolder) -> None:
    other = RunFolder.open(run.path)
    run.amend(engine_versions={"vllm": "1"})
    other.amend(judges={"t": "j"})
    assert (run.spec().engine_versions, run.spec().judges) == ({"vllm": "1"}, {"t": "j"})


def test_a_run_json_that_was_exchanged_stops_the_command_that_made_it(run: RunFolder) -> None:
    (run.path / "run.json").write_text(spec(model="other").model_dump_json())
    with pytest.raises(
        UserError, match=r"run\.json: was made that of another run meanwhile: model was 'm', now 'other'"
    ):
        run.spec()


@pytest.mark.parametrize("name", ["notes.txt", "README.md", ".git/HEAD", "report.html", "sub/run.json"])
def test_a_folder_of_something_else_is_refused_and_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="is no run folder, and not empty"):
        RunFolder.create_or_resume(tmp_path, spec(), {"t": []})
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UserError, match="is a file; give --out a folder"):
        RunFolder.create_or_resume(tmp_path / name, spec(), {"t": []})
    with pytest.raises(UserError, match=r"below: cannot be made \(Not a directory\)"):
        RunFolder.create_or_resume(tmp_path / name / "below", spec(), {"t": []})


@pytest.mark.parametrize(
    "name",
    [
        *("questions.jsonl", "responses-0.jsonl", "sessions-0.jsonl", "imported.jsonl", "log.txt"),
        *(".claims-responses.jsonl", ".lock", ".in-use", ".run.json.4711", ".questions.jsonl.0123456789abcdef"),
    ],
)
def test_what_a_kill_leaves_in_a_new_folder_does_not_lock_it(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert RunFolder.create_or_resume(tmp_path, spec(), {"t": []}).spec().model == "m"


def test_responses_of_nobody_knows_what_are_not_taken_in(run: RunFolder) -> None:
    with run.writer("responses") as responses:
        responses.append(response("a"))
    (run.path / "run.json").unlink()
    with pytest.raises(UserError, match=r"holds responses, but no run\.json says of what"):
        RunFolder.create_or_resume(run.path, spec(), {"t": []})


def test_a_secret_in_an_old_run_json_does_not_come_out_of_it(tmp_path: Path) -> None:
    RunFolder.create_or_resume(tmp_path, spec(), {"t": []})
    file = tmp_path / "run.json"
    clear = {**json.loads(file.read_text()), "engine_args": {"hf_token": "SECRET", "extra_body": '{"key": "SECRET"}'}}
    file.write_text(json.dumps(clear))
    now = spec(engine_args={"hf_token": "ANOTHER", "extra_body": '{"key": "ANOTHER"}'})
    run = RunFolder.create_or_resume(tmp_path, now, {})
    assert run.spec().engine_args == {"hf_token": "…", "extra_body": '{"key": "…"}'}
    run.amend(judges={"t": "j"})
    assert not any(secret in file.read_text() for secret in ("SECRET", "ANOTHER"))
    assert differences(spec().model_copy(update={"engine_args": clear["engine_args"]}), now) == []


def test_engine_versions_count_once_both_sides_know_them() -> None:
    old = spec(engine_versions={"vllm": "1", "torch": "2"}, model_revision="abc")
    assert differences(old, spec()) == []
    assert differences(old, spec(engine_versions={"vllm": "2"})) == ["version of vllm was '1', now '2'"]
    assert differences(old, spec(model_revision="def")) == ["model revision was 'abc', now 'def'"]


def test_every_question_and_trial_is_a_row_in_one_state(run: RunFolder) -> None:
    run.amend(judges={"t": "j2"})
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


@pytest.mark.parametrize("use", [RunFolder.open, lambda path: RunFolder.create_or_resume(path, spec(), {})])
def test_a_run_of_later_records_says_who_reads_it(run: RunFolder, use: Callable[[Path], RunFolder]) -> None:
    said = json.loads((run.path / "run.json").read_text())
    later = {**said, "record_version": 99, "package_version": "7.5", "a field": "of later"}
    (run.path / "run.json").write_text(json.dumps(later))
    with pytest.raises(UserError, match=r"was made by livek12 7\.5 with records of version 99, and livek12 .* reads"):
        use(run.path)
    assert json.loads((run.path / "run.json").read_text()) == later


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
    assert told == [f"{run.path}: 3 of its responses passed over: the first is to t/a/-1, which this run does not ask"]
    assert opened.answered() == {"t/a/0", "t/c/1"}
    assert [row.response is not None for row in opened.rows()] == [True, False, False, False, False, True]


def test_responses_of_another_model_never_count(run: RunFolder) -> None:
    """As two commands that began at once on one folder once left them."""
    told: list[str] = []
    with run.writer("responses") as responses:
        for name, model in (("a", "other"), ("a", "m"), ("b", "other"), ("c", "m")):
            responses.append(response(name, text=model).model_copy(update={"model": model}))
    opened = RunFolder.open(run.path, told.append)
    assert {str(found.key): found.model for found in opened.responses()} == {"t/a/0": "m", "t/c/0": "m"}
    assert [row.response.text for row in opened.rows() if row.response] == ["m", "m"]
    assert opened.answered() == {"t/a/0", "t/c/0"}, "b is asked again"
    line = f"{run.path}: 2 of its responses passed over: the first is by 'other', and this run asks 'm'"
    assert set(told) == {line}


@pytest.mark.parametrize("packed", [False, True])
def test_responses_of_a_run_that_asked_otherwise_never_count(run: RunFolder, packed: bool) -> None:
    told: list[str] = []
    other = spec(tasks=[task_spec(sampling=Sampling(max_tokens=5))]).identity
    with run.writer("responses") as responses:
        for name, identity in (("a", other), ("a", spec().identity), ("b", other), ("c", None)):
            responses.append(response(name).model_copy(update={"run": identity}))
    run.leave()
    if packed:
        compact(run.path)
    opened = RunFolder.open(run.path, told.append)
    assert {str(found.key): found.run for found in opened.responses()} == {"t/a/0": spec().identity, "t/c/0": None}
    assert opened.answered() == {"t/a/0", "t/c/0"}, "b is asked again"
    assert sum(row.response is not None for row in opened.rows(texts=False)) == 2
    assert set(told) == {
        f"{run.path}: 2 of its responses passed over: the first is of run {other!r}, asked otherwise,"
        f" and this is {spec().identity}"
    }


def test_judged_are_the_responses_with_a_verdict_on_this_very_text(run: RunFolder) -> None:
    run.amend(judges={"t": "j"})
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for name in "abc":
            responses.append(response(name))
        for judge, points in (("other", 2), ("j", 0), ("j", 4), ("older", 1)):
            verdicts.append(verdict("a", judge, points))
        verdicts.append(verdict("b", "other", 3))
        verdicts.append(verdict("c", "j", 4).model_copy(update={"response_sha256": "0" * 64}))
    found = {str(answer.key): (given.judge, given.points) for answer, given in run.judged()}
    assert found == {"t/a/0": ("j", 4), "t/b/0": ("other", 3)}
    among = {str(answer.key): given.judge for answer, given in run.judged(lambda given: given.judge == "older")}
    assert among == {"t/a/0": "older"}
    assert {key: given.points for key, given in run.verdicts().items()} == {"t/a/0": 4, "t/b/0": 3, "t/c/0": 4}
    assert [row.verdict.judge for row in run.rows() if row.verdict] == ["j", "other", "none"]


def test_who_marks_is_noted_in_the_order_of_coming(run: RunFolder) -> None:
    run.amend(judges={"t": "rules-5+aaaaaaaa count-1+bbbbbbbb audit1-1+cccccccc"})
    run.begin_marking({"t": "b"}, {"b": "B"}, 1)
    run.begin_marking({"t": "c"}, {"c": "C"}, 1)
    run.begin_marking({"t": "b"}, {"b": "B"}, 0)
    spec = run.spec()
    assert (spec.judges, spec.marking) == ({"t": "b"}, 1)
    assert list(spec.judged_by.values()) == ["rules 5 and judge models (count, audit)", "C", "B"]
