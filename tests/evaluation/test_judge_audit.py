"""The process audit and judges that refuse, through the command: from recorded critiques to the scores and the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from livek12.core import progress
from livek12.core.run.folder import RunFolder
from tests.engines.scripted_server import error, serving
from tests.judges.llm.judge_server import JudgeScript
from tests.scripts.command import livek12_here

STEP = "Suppose that <b>x</b> is even."
LAE = {"type": "LAE", "step": STEP, "reason": "<script>alert(1)</script> nobody said so"}
DRE = {"type": "DRE", "step": "so it is 4", "reason": "2 + 3 is 5"}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "sample"
    assert livek12_here("build", "sample", "--out", folder).code == 0
    return folder


@pytest.fixture
def run(sample: Path, tmp_path: Path) -> Path:
    """One question, answered rightly with a slip on the way."""
    from livek12.core.questions import load_questions
    from livek12.tasks.prompting import asking_order
    from livek12.tasks.registry import get_task

    task = get_task("livek12")
    asked = asking_order(task, load_questions(str(sample), task.configs, task.benchmark))[0]
    answers = " ".join(f"\\boxed{{{answer}}}" for answer in asked.answer)
    row = {"question_id": asked.id, "model": "qwen3-8b", "response": f"{STEP} Then so it is 4. {answers}"}
    (tmp_path / "recorded.jsonl").write_text(json.dumps(row))
    how = ("--engine", "replay", "--task", "livek12", "--data", sample, "--limit", 1, "--out", tmp_path / "run")
    assert livek12_here("generate", "--model", tmp_path / "recorded.jsonl", *how).code == 0
    return tmp_path / "run"


def panel(run: Path, **critiques: Sequence[Any]) -> Path:
    """A panel of recorded critics; what each replies to the first, second, … time it is asked."""
    (question,) = RunFolder.open(run).questions()["livek12"]
    for name, replies in critiques.items():
        rows = [
            {"task": "livek12_audit", "question_id": question.id, "trial": n, "model": name, "response": reply}
            | {"prompt_tokens": 1000, "completion_tokens": 10}
            for n, reply in enumerate(one if isinstance(one, str) else json.dumps({"errors": one}) for one in replies)
        ]
        (run.parent / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judges = [
        {"model": str(run.parent / f"{name}.jsonl"), "engine": "replay", "price": {"prompt": 1, "completion": 10}}
        for name in critiques
    ]
    file = run.parent / "panel.yaml"
    file.write_text(json.dumps({"judges": judges}))  # JSON is YAML
    return file


def metrics(run: Path, profile: str) -> dict[str, Any]:
    ended = livek12_here("score", run, "--profile", profile, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)["tasks"]["livek12"]["metrics"]
    return {name: metric["value"] for name, metric in found.items()}


def test_recorded_critiques_reach_the_scores_of_both_profiles_and_the_page(run: Path) -> None:
    critics = panel(run, gpt=[[LAE]], claude=[[LAE, DRE]], kimi=["hm", []], qwen=[[DRE]])
    ended = livek12_here("judge", run, "--judge", critics)
    assert ended.code == 0, ended.err
    assert "4 requests, 4,000 tokens in, 40 out, cost 0.0044" in ended.err
    (row,) = RunFolder.open(run).rows()
    assert row.verdict and row.verdict.correct and row.verdict.process
    assert sorted(row.verdict.process.critics) == ["claude", "gpt", "kimi"], "qwen is of the family under test"
    full = row.question.points or 1.0
    share = max(0.0, full - 3 * (2 / 3 + 1 / 3)) / full * 100
    assert metrics(run, "paper") == metrics(run, "article")  # the old name
    paper = metrics(run, "article")
    assert (paper["PES"], paper["OES"]) == (pytest.approx(share), pytest.approx((100 + share) / 2))
    release = metrics(run, "release")
    # Steps listed: one, two, none. A third keeps the process half, two thirds keep the outcome half.
    assert (release["PES"], release["OES"]) == (pytest.approx(100 / 3), pytest.approx(50))
    assert livek12_here("report", run).code == 0
    page = (run / "report.html").read_text()
    assert "unfounded assumption (LAE) 0.67, step that does not follow (DRE) 0.33" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; nobody said so" in page
    assert "Suppose that &lt;b&gt;x&lt;/b&gt; is even." in page
    assert livek12_here("judge", run, "--again", "--no-audit", "--judge", critics).code == 0
    assert metrics(run, "article")["PES"] is None


def test_a_panel_that_loses_a_judge_says_so_and_one_suspicion_of_two_is_no_error(run: Path) -> None:
    critics = panel(run, gpt=[[LAE, DRE]], claude=[[DRE]], qwen=[[LAE]])
    progress._said.clear()
    ended = livek12_here("judge", run, "--judge", critics)
    assert ended.code == 0, ended.err
    told = [line for line in ended.warnings if "judges mark each answer" in line]
    assert len(told) == 1 and "qwen: not asked about qwen3-8b" in told[0]
    assert "2 judges mark each answer, not 3" in told[0]
    assert livek12_here("report", run).code == 0
    report = json.loads((run / "report.json").read_text())
    ((who,),) = [[one["who"] for one in report["marked_by"]]]
    assert "gpt, claude" in who and "qwen" not in who
    errors = report["tasks"]["livek12"]["process_errors"]
    assert {kind: errors[kind]["answers"] for kind in ("CIE", "LAE", "DRE")} == {"CIE": 0, "LAE": 0, "DRE": 1}


def test_too_few_critiques_leave_the_reasoning_unaudited_and_nobody_is_asked_again(run: Path) -> None:
    critics = panel(run, gpt=["no"] * 3, claude=["{}"], kimi=[[]])
    ended = livek12_here("judge", run, "--judge", critics)
    assert ended.code == 0, "all have had their say"
    assert any("1 of 3 critiques, 2 needed" in line for line in ended.warnings)
    (row,) = RunFolder.open(run).rows()
    assert row.verdict and row.verdict.correct and row.verdict.process is None
    assert "claude: no readable reply in 1" in str(row.verdict.process_ungraded)
    assert livek12_here("report", run).code == 0
    assert "Reasoning not audited: 1 of 3 critiques, 2 needed" in (run / "report.html").read_text()
    assert "0 requests" in livek12_here("judge", run, "--judge", critics).err


def test_a_request_that_a_judge_refuses_is_final_and_one_that_it_loses_is_not(run: Path) -> None:
    for status, code in ((400, 0), (500, 1)):
        refusal = error(status, "context too long")
        script = JudgeScript(lambda name, before, body, refusal=refusal: refusal)  # type: ignore[misc]
        with serving(script) as address:
            how = ("--judge-engine", "openai", "--judge-engine-args", f"base_url={address},max_retries=0")
            first = livek12_here("judge", run, "--again", "--judge", f"zz-{status}", *how)
            asked = len(script.seen)
            second = livek12_here("judge", run, "--judge", f"zz-{status}", *how)
        assert (first.code, second.code) == (code, code), first.err
        assert any(f"answered {status}: context too long" in line for line in first.warnings)
        assert sum(f"family of zz-{status} is not known" in line for line in first.warnings) == 1
        assert len(script.seen) - asked == (asked if code else 0)
        (row,) = RunFolder.open(run).rows()
        assert row.verdict and "context too long" in (row.verdict.process_ungraded or "")
