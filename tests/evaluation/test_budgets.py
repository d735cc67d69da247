"""Token budgets from the command line on: one run folder, asked, marked, reported, compared, imported again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from tests.endpoint import Rambler, oracle_at
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only"
LIMITS = {f"{TASK}@0.1": 3276, f"{TASK}@0.25": 8192, f"{TASK}@1": 32_768}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "sample"
    assert livek12_here("build", "sample", "--out", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def rambler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    log = tmp_path_factory.mktemp("rambler") / "log"
    log.touch()
    with oracle_at(log, Rambler) as address:
        yield address, log


def command(name: str, address: str, data: Path, out: Path, *more: object, at_once: int = 16) -> Ended:
    how = ("--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={address},concurrency={at_once}")
    return livek12_here(name, "--task", TASK, "--data", data, *how, "--trials", 2, "--limit", 8, "--out", out, *more)


@pytest.fixture(scope="module")
def run(rambler: tuple[str, Path], sample: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run under three budgets, and what its command printed."""
    out = tmp_path_factory.mktemp("runs") / "run"
    ended = command("run", rambler[0], sample, out, "--budgets", "1,0.1,0.25", at_once=1)
    assert ended.code == 0, ended.err
    return out, ended.out


def report_of(out: Path) -> Any:
    return json.loads((out / "report.json").read_text())


def by_hand(out: Path, task: str, limit: int) -> tuple[float, float]:
    """Acc≤r of the answers to a task, at worst and at best, one answer after the other."""
    rows = [row for row in RunFolder.open(out).rows() if row.task == task]
    low = high = 0
    for row in rows:
        assert row.response is not None
        assert row.verdict is not None
        assert row.response.completion_tokens is not None
        if row.response.completion_tokens <= limit:
            low += row.verdict.correct is True
            high += row.verdict.correct is not False
    return low / len(rows), high / len(rows)


def test_each_question_is_asked_once_a_budget_and_its_prompts_follow_each_other(
    run: tuple[Path, str], rambler: tuple[str, Path]
) -> None:
    asked = [line.split() for line in rambler[1].read_text().splitlines()]
    responses = list(RunFolder.open(run[0]).responses())
    assert len(asked) == len(responses) == len({str(response.key) for response in responses})
    assert {response.key.task for response in responses} == set(LIMITS)
    # one at a time: two trials under each of three limits, then the next question
    for start in range(0, len(asked), 6):
        group = asked[start : start + 6]
        assert [int(limit) for _, limit in group] == [3276, 3276, 8192, 8192, 32_768, 32_768]
        assert len({prompt for prompt, _ in group}) == 2, "the same two prompts with their seeds"


def test_answers_are_cut_at_the_limit_and_marked_on_what_they_hold(run: tuple[Path, str]) -> None:
    rows = list(RunFolder.open(run[0]).rows())
    cut = 0
    for row in rows:
        assert row.response is not None
        tokens, limit = row.response.completion_tokens, LIMITS[row.task]
        assert tokens is not None
        assert tokens <= limit
        if row.response.finish_reason == "length":
            cut += 1
            assert tokens == limit
            if not row.response.text:
                assert row.state == "no_answer"
    assert 0 < cut < len(rows)
    assert {bool(row.response.text) for row in rows if row.response and row.response.finish_reason == "length"} == {
        True,
        False,
    }


def test_both_readings_are_those_of_the_records(run: tuple[Path, str]) -> None:
    out, printed = run
    report = report_of(out)
    assert list(report["budgets"]) == [TASK]
    curve = report["budgets"][TASK]
    assert curve["longest"] == f"{TASK}@1"
    found = {point["tokens"]: point for point in curve["points"]}
    assert len(found) == 11
    for task, limit in LIMITS.items():
        true, cut = found[limit]["true"], found[limit]["counterfactual"]
        assert found[limit]["true_task"] == task
        assert (true["low"], true["high"]) == pytest.approx(by_hand(out, task, limit))
        assert (cut["low"], cut["high"]) == pytest.approx(by_hand(out, f"{TASK}@1", limit))
        assert true["n"] == cut["n"] == report["tasks"][task]["counts"]["questions"]
    assert found[3276]["true"]["high"] > found[3276]["counterfactual"]["high"], "some had said it before the cut"
    assert f"{TASK} within a token budget" in printed
    assert "true: answers drawn under the limit" in " ".join(printed.split())
    page = (out / "report.html").read_text()
    assert '<svg class="curve"' in page
    assert f"counterfactual</b>: answers of {TASK}@1, cut after the fact" in page


def test_done_again_nothing_is_asked_and_the_report_stays(
    run: tuple[Path, str], rambler: tuple[str, Path], sample: Path
) -> None:
    out, _ = run
    asked, report = rambler[1].read_text(), report_of(out)
    assert command("run", rambler[0], sample, out, "--budgets", "0.1,0.25,1").code == 0
    assert livek12_here("judge", out, "--again").code == 0
    assert livek12_here("score", out).code == 0
    assert report_of(out)["budgets"] == report["budgets"]
    assert livek12_here("report", out).code == 0
    assert report_of(out)["tasks"] == report["tasks"]
    assert rambler[1].read_text() == asked


def test_a_run_that_broke_off_goes_on_and_is_compared_budget_by_budget(
    run: tuple[Path, str], rambler: tuple[str, Path], sample: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = command("generate", rambler[0], sample, out, "--budgets", "0.1,0.25,1")
    assert done.code == 0, done.err
    (file,) = out.glob("responses-*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:40])
    before = len(rambler[1].read_text().splitlines())
    assert command("run", rambler[0], sample, out, "--budgets", "0.1,0.25,1").code == 0
    assert len(rambler[1].read_text().splitlines()) - before == len(lines) - len(lines) // 2
    assert report_of(out)["budgets"] == report_of(run[0])["budgets"]
    ended = livek12_here("compare", run[0], out, "--json")
    assert ended.code == 0, ended.err
    compared = json.loads(ended.out)["tasks"]
    assert set(compared) == set(LIMITS)
    assert all(task["pairs"][0]["metrics"]["accuracy"]["difference"]["n"] == 8 for task in compared.values())


def test_recorded_answers_come_in_under_their_budgets(run: tuple[Path, str], sample: Path, tmp_path: Path) -> None:
    (file,) = run[0].glob("responses-*.jsonl")
    out = tmp_path / "imported"
    args = ("--task", ",".join(LIMITS), "--data", sample, "--trials", 2, "--limit", 8, "--out", out)
    ended = livek12_here("import-responses", file, *args)
    assert ended.code == 0, ended.err
    assert report_of(out)["budgets"] == report_of(run[0])["budgets"]


def test_a_long_run_alone_has_the_cut_and_its_own_limit(
    rambler: tuple[str, Path], run: tuple[Path, str], sample: Path, tmp_path: Path
) -> None:
    assert command("run", rambler[0], sample, tmp_path / "run").code == 0
    curve, budgeted = (report_of(out)["budgets"][TASK] for out in (tmp_path / "run", run[0]))
    tenths = [point for point in budgeted["points"] if point["share"] != 0.25]
    cuts = [[point["counterfactual"] for point in points] for points in (curve["points"], tenths)]
    assert cuts[0] == cuts[1]
    assert [point["true_task"] for point in curve["points"]] == [*[None] * 9, TASK]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--budgets", "0.1,2"), "budget 2: give shares of 32768 tokens"),
        (("--budgets", "a tenth"), "'a tenth' is no number"),
        (("--budgets", "0.1", "--max-tokens", "99"), "two limits of one answer"),
        (("--budgets", "0.1", "--task", "kmmmu"), "task kmmmu has no token budgets"),
        (("--budgets", "0.1"), "holds another run: tasks was"),
        (("--budgets", "0.1,0.25,1", "--thinking-budget", "9"), "thinking_budget=9"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    run: tuple[Path, str], rambler: tuple[str, Path], sample: Path, more: tuple[str, ...], said: str
) -> None:
    asked = rambler[1].read_text()
    ended = command("run", rambler[0], sample, run[0], *more)
    assert ended.code == 2, ended.err
    (error,) = ended.errors
    assert said in error
    assert rambler[1].read_text() == asked


def test_recorded_answers_take_no_thinking_budget(run: tuple[Path, str], sample: Path, tmp_path: Path) -> None:
    args = ("--task", TASK, "--data", sample, "--model", run[0], "--thinking-budget", 9, "--out", tmp_path / "run")
    ended = livek12_here("run", *args)
    assert ended.code == 2
    assert "recorded answers are not drawn again" in ended.errors[0]


def test_a_thinking_budget_is_asked_for_and_its_keeping_reported(
    rambler: tuple[str, Path], sample: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    ended = command("run", rambler[0], sample, out, "--thinking-budget", 512, "--limit", 2)
    assert ended.code == 0, ended.err
    assert all(task.sampling.thinking_budget == 512 for task in RunFolder.open(out).spec().tasks)
    thinking = report_of(out)["tasks"][TASK]["thinking"]
    assert thinking == {"budget": 512, "over": 0, "unknown": 4, "most": None}, "the endpoint counts no thinking"
    assert "thinking budget of 512 tokens: no answer records its thinking tokens" in " ".join(ended.out.split())
