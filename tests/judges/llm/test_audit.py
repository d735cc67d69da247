"""The process audit, with recorded critiques put through the replay engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Key, Question, Verdict
from livek12.core.replies import Unreadable
from livek12.core.scoring import Row
from livek12.engines.asking import ATTEMPTS
from livek12.judges.llm.audit import PROMPT, Auditor, Critique, is_quoted
from livek12.judges.llm.client import JudgeModel, JudgeSpec
from livek12.judges.llm.panel import Panel
from livek12.judges.llm.prompts import Case
from livek12.judges.llm.spec import PanelSpec
from tests.scored import score

RESPONSE = r"因为 $a=2$，所以 $x^2 = 4$。假设三角形是等腰三角形，则面积为 6。答案 \boxed{6}"
QUESTION = Question(
    id="q1",
    benchmark="livek12",
    language="zh",
    subject="math",
    question_type="short_answer",
    question="求面积。",
    answer=["6"],
    solution="面积为 6。",
    points=10,
)
VERDICT = Verdict(
    key=Key(task="t", question_id="q1"),
    state="graded",
    points=10,
    low=10,
    high=10,
    max_points=10,
    correct=True,
    judge="j",
)


def error(kind: str, step: str = "假设三角形是等腰三角形") -> dict[str, str]:
    return {"type": kind, "step": step, "reason": "the question does not say so"}


def reply(*errors: dict[str, str]) -> str:
    return json.dumps({"errors": list(errors)}, ensure_ascii=False)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def auditor(folder: Path, threads: ThreadPoolExecutor, replies: dict[str, list[str]], **panel: Any) -> Auditor:
    """Critics that give these replies, one an attempt."""
    judges = []
    for name, texts in replies.items():
        file = folder / f"{name}.jsonl"
        rows = [{"task": PROMPT, "question_id": "q1", "trial": i, "response": text} for i, text in enumerate(texts)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        judges.append(JudgeModel(JudgeSpec(model=str(file), engine="replay")))
    spec = PanelSpec(judges=tuple(judge.spec for judge in judges), **panel)
    return Auditor(Panel(spec, judges, threads))


def audited(folder: Path, threads: ThreadPoolExecutor, replies: dict[str, list[str]], **panel: Any) -> Verdict:
    return auditor(folder, threads, replies, **panel).audit(VERDICT, Case("q1", QUESTION, RESPONSE))


def test_presence_is_the_mean_over_the_critics(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    replies = {
        "gpt": [reply(error("LAE"), error("LAE", r"x^2 = 4"))],
        "claude": [reply(error("LAE"))],
        "qwen": [reply(error("DRE", "面积为 6"))],
    }
    verdict = audited(tmp_path, threads, replies)
    process = verdict.process
    assert process is not None
    assert (process.cie, process.lae, process.dre) == (0, pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert sorted((e.judge, e.type) for e in process.errors) == [
        ("claude", "LAE"),
        ("gpt", "LAE"),
        ("gpt", "LAE"),
        ("qwen", "DRE"),
    ]
    assert sorted(process.critics) == ["claude", "gpt", "qwen"]
    assert (verdict.points, verdict.correct, verdict.process_ungraded) == (10, True, None)
    assert len(verdict.calls) == 3


def test_both_profiles_read_the_audit(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    """V = 10, O = 10, LAE seen by two of three critics and DRE by one: P = 10 - 3·(2/3 + 1/3) = 7."""
    replies = {"gpt": [reply(error("LAE"))], "claude": [reply(error("LAE"), error("DRE"))], "qwen": [reply()]}
    verdict = audited(tmp_path, threads, replies)
    row = Row("t", QUESTION, 0, "graded", None, verdict)
    paper = score([row])["tasks"]["t"]["metrics"]
    assert paper["PES"]["value"] == pytest.approx(70)
    assert paper["OES"]["value"] == pytest.approx(85)
    release = score([row], profile="release")["tasks"]["t"]["metrics"]
    # 1, 2 and 0 erroneous steps: the process half of one critic in three, the outcome half of two
    assert (release["PES"]["value"], release["OES"]["value"]) == pytest.approx((100 / 3, 50))


def test_an_unreadable_critique_is_asked_for_again(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    verdict = audited(tmp_path, threads, {"gpt": ["no errors, I think", reply(error("CIE"))]})
    assert verdict.process is not None
    assert verdict.process.cie == 1
    assert [bool(call.problem) for call in verdict.calls] == [True, False]


def test_without_a_readable_critique_the_process_is_ungraded(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    verdict = audited(tmp_path, threads, {"gpt": ["{}"] * ATTEMPTS, "claude": [reply()], "qwen": ["[]"] * ATTEMPTS})
    assert verdict.process is None
    assert verdict.process_ungraded is not None
    assert verdict.process_ungraded.startswith("1 of 3 critiques, 2 needed")
    assert (verdict.state, verdict.points) == ("graded", 10)
    both = audited(tmp_path, threads, {"gpt": ["{}"] * ATTEMPTS, "claude": [reply()], "qwen": [reply(error("CIE"))]})
    assert both.process is not None
    assert both.process.cie == 0.5


def test_no_response_is_not_audited_but_bears_the_version(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    critics = auditor(tmp_path, threads, {"gpt": [reply(error("CIE"))]})
    verdict = critics.audit(VERDICT, Case("q1", QUESTION, "  "))
    assert (verdict.process, verdict.process_ungraded, verdict.calls) == (None, None, [])
    assert verdict.judge == f"j {critics.version}"


def test_the_author_is_no_critic(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    critics = auditor(tmp_path, threads, {"gpt": [reply(error("CIE"))], "claude": [reply()]})
    verdict = critics.audit(VERDICT, Case("q1", QUESTION, RESPONSE), {"gpt"})
    assert verdict.process is not None
    assert (verdict.process.critics, verdict.process.cie) == (["claude"], 0)
    alone = auditor(tmp_path, threads, {"gpt": [reply()]}).audit(VERDICT, Case("q1", QUESTION, RESPONSE), {"gpt"})
    assert alone.process is None
    assert alone.process_ungraded == "no judge may audit this response"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"errors": [{"type": "XYZ", "step": "x^2 = 4", "reason": "r"}]}', "of type 'XYZ'"),
        ('{"errors": [{"type": "CIE", "step": "never said", "reason": "r"}]}', "does not say"),
        ('{"errors": [{"type": "CIE", "step": "…", "reason": "r"}]}', "does not say"),
        ('{"errors": [{"type": ["CIE"], "step": "x^2 = 4", "reason": "r"}]}', "of type"),
        ('{"errors": [{"type": "CIE", "step": "x^2 = 4"}]}', "has the fields"),
        ('{"errors": "none"}', "no list"),
        ('{"errors": [], "note": "fine"}', "has the fields"),
        ("[]", "no object"),
        ('{"errors": []} {"errors": []}', "not one JSON object"),
    ],
)
def test_what_is_no_critique(text: str, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        Critique(RESPONSE).read(text)


@pytest.mark.parametrize(
    ("quotation", "there"),
    [
        ("假设三角形是等腰三角形", True),
        ("因为 a = 2 , 所以 x^2=4", True),
        ("因为 $a=2$ … 面积为 6", True),
        ("面积为 6 … 因为 $a=2$", False),
        ("x^2 = 5", False),
        ("x^2 = -4", False),
        ("", False),
    ],
)
def test_quotations(quotation: str, there: bool) -> None:
    assert is_quoted(quotation, RESPONSE) is there
