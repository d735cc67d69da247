"""Short-to-short on university questions: extraction, rules, verification; failures stay open and are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from livek12.core.records import Question, Variable
from livek12.engines.asking import ATTEMPTS
from livek12.evaluation.studies.agreement import method_of
from livek12.judges.llm.client import JudgeModel, JudgeSpec
from livek12.judges.llm.panel import Panel
from livek12.judges.llm.spec import PanelSpec
from tests.engines.scripted_server import Reply, serving
from tests.judges.helpers import CASCADE, question
from tests.judges.llm.helpers import marked, panel_scorer
from tests.judges.llm.judge_server import JudgeScript, says, text_of

FALL: Question = question(
    "short_answer",
    id="fall",
    language="en",
    benchmark="cfe",
    question="«fall» How fast, how far, and why?",
    variables=[
        Variable(name="v", description="speed in m/s", type="numeric", value="19.6"),
        Variable(name="h", description="height", type="formula", value=r"\frac{1}{2} g t^2"),
        Variable(name="why", description="the cause", type="other", value="gravity pulls it down"),
    ],
)
PROSE = (
    "After two seconds it is quick.\n\nIts speed then is 19.6 and it has come down by g t squared over two.\n\nSo much."
)


def values(**found: str | None) -> dict[str, object]:
    return {"values": [{"name": name, "value": value} for name, value in found.items()]}


def checks(**right: bool) -> dict[str, object]:
    return {"variables": [{"name": name, "reason": "r", "correct": one} for name, one in right.items()]}


def scripted(extraction: object, verification: object = None) -> JudgeScript:
    def answer(name: str, before: int, body: dict[str, object]) -> Reply:
        return says(extraction if "copy values" in text_of(body) else verification, prompt=100, completion=10)

    return JudgeScript(answer)


def test_rules_decide_what_was_extracted_and_the_judge_verifies_the_rest() -> None:
    script = scripted(values(v="19.6", h=r"g t^2 / 2", why="the pull of the Earth"), checks(why=True))
    with serving(script) as address, panel_scorer(address, method="s2s") as panel:
        verdict = marked(FALL, PROSE, panel)
    assert [part.decision for part in verdict.parts] == ["accept"] * 3
    assert [part.answer for part in verdict.parts] == ["19.6", "g t^2 / 2", "the pull of the Earth"]
    assert ["number" in verdict.parts[0].reason, "symbolic" in verdict.parts[1].reason] == [True, True]
    assert [part.decided_by for part in verdict.parts] == ["number", "symbolic", "llm"]
    extraction, verification = (text_of(seen.body) for seen in script.seen)
    assert "speed in m/s" in extraction and '"19.6"' not in extraction.partition("<<<RESPONSE")[0]
    assert PROSE.split("\n", maxsplit=1)[0] not in verification
    assert '"why"' in verification and '"name": "v"' not in verification
    assert sum(call.prompt_tokens or 0 for call in verdict.calls) == 200


@pytest.mark.parametrize(
    ("method", "asked", "by"),
    [("s2s", {"v", "h", "why"}, ["llm"] * 3), ("s2s_rules", {"why"}, ["number", "symbolic", "llm"])],
)
def test_who_sees_every_answer_verifies_every_value(method: str, asked: set[str], by: list[str]) -> None:
    verification = checks(**{name: name != "v" for name in ("v", "h", "why") if name in asked})
    script = scripted(values(v="19.6", h=r"g t^2 / 2", why="the pull of the Earth"), verification)
    with serving(script) as address, panel_scorer(address, method=method, scope="all") as panel:
        verdict = marked(FALL, PROSE, panel)
        assert method_of(verdict) == method
    assert [part.decided_by for part in verdict.parts] == by
    assert [part.decision for part in verdict.parts] == ["reject" if "v" in asked else "accept", "accept", "accept"]
    shown = text_of(script.seen[1].body)
    assert {name for name in ("v", "h", "why") if f'"name": "{name}"' in shown} == asked


def test_a_value_that_is_not_there_is_wrong_and_one_that_differs_too() -> None:
    script = scripted(values(v="20.5", h=None, why=None))
    with serving(script) as address, panel_scorer(address, method="s2s") as panel:
        verdict = marked(FALL, PROSE, panel)
    assert [part.decision for part in verdict.parts] == ["reject"] * 3
    assert verdict.state == "graded"
    assert len(script.seen) == 1


@pytest.mark.parametrize(
    "extraction", [values(v="19.6"), values(h="1", v="2", who="3"), "v = 19.6", '{"values": [', {"values": []}]
)
def test_a_failed_extraction_is_ungraded_never_dropped_and_never_wrong(extraction: object) -> None:
    script = scripted(extraction)
    with serving(script) as address, panel_scorer(address, method="s2s") as panel:
        verdict = marked(FALL, PROSE, panel)
    assert (verdict.state, verdict.correct, verdict.low, verdict.high) == ("ungraded", None, 0.0, 1.0)
    assert [part.decision for part in verdict.parts] == ["undecided"] * 3
    assert len(script.seen) == len(verdict.calls) == ATTEMPTS
    assert "no readable reply" in verdict.reason


def test_a_failed_verification_leaves_only_its_variables_open() -> None:
    script = scripted(values(v="19.6", h=r"g t^2 / 2", why="the pull of the Earth"), "hm")
    with serving(script) as address, panel_scorer(address, method="s2s") as panel:
        verdict = marked(FALL, PROSE, panel)
    assert [part.decision for part in verdict.parts] == ["accept", "accept", "undecided"]
    assert (verdict.state, verdict.low) == ("ungraded", pytest.approx(2 / 3))
    assert len(script.seen) == 1 + ATTEMPTS


@pytest.mark.parametrize("method", ["l2s", "l2l", "p2", "marks"])
def test_the_other_protocols_mark_the_same_response(method: str) -> None:
    said = {
        "l2s": checks(v=True, h=True, why=True),
        "l2l": {"reason": "r", "correct": True},
        "p2": "[TRUE]",
        "marks": {"reason": "r", "correct": 1, "total": 1},
    }
    with (
        serving(JudgeScript(lambda name, before, body: says(said[method]))) as address,
        panel_scorer(address, method=method) as panel,
    ):
        verdict = marked(FALL, PROSE, panel)
    assert (verdict.state, verdict.correct) == ("graded", True)


def test_recorded_replies_judge_like_a_model(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from livek12.judges.base import NamedJudge
    from livek12.judges.grade import GradingConfig
    from livek12.judges.llm.panel import PanelScorer

    rows = [
        {"task": "cfe_extract", "question_id": "fall", "trial": 0, "response": "not JSON"},
        {"task": "cfe_extract", "question_id": "fall", "trial": 1, "completion_tokens": 30, "prompt_tokens": 500,
         "response": json.dumps(values(v="19.6", h=None, why="gravity"))},
        {"task": "cfe_verify", "question_id": "fall#3", "trial": 0, "response": json.dumps(checks(why=True))},
    ]  # fmt: skip
    file = tmp_path / "votes.jsonl"
    file.write_text("".join(json.dumps(row | {"model": "gpt-x"}) + "\n" for row in rows))
    spec = PanelSpec(judges=(JudgeSpec(str(file), "replay"),))
    with ThreadPoolExecutor(2) as threads:
        panel = Panel(spec, [JudgeModel(judge) for judge in spec.judges], threads)
        verdict = marked(FALL, PROSE, PanelScorer(panel, NamedJudge("s2s"), GradingConfig(), CASCADE))
    assert [part.decision for part in verdict.parts] == ["accept", "reject", "accept"]
    assert [call.problem != "" for call in verdict.calls] == [True, False, False]
    assert verdict.calls[1].completion_tokens == 30


@pytest.mark.slow
@pytest.mark.release
def test_a_genuine_small_model_goes_through_all_of_it(served: str, tmp_path: Path) -> None:
    """Its marks mean nothing; that every request is counted, remembered and either read or open does."""
    from livek12.core.store import VOTES, Store

    asked = FALL.model_copy(
        update={"question": "A ball falls for 2 s. How fast is it?", "variables": FALL.variables[:1]}
    )
    found = []
    for _ in range(2):
        with panel_scorer(served, "SmolLM2-135M-Instruct", "s2s", store=Store(VOTES, tmp_path), max_tokens=50) as panel:
            verdict = marked(
                asked, "It is falling.\n\nIts speed is near twenty, I should say, or so.\n\nThat is it.", panel
            )
        assert verdict.state in ("graded", "ungraded")
        assert verdict.calls
        assert all(call.prompt_tokens and call.completion_tokens for call in verdict.calls)
        assert verdict.state == "graded" or "no readable reply" in verdict.reason
        found.append(verdict)
    assert found[0].parts == found[1].parts
    assert all(call.remembered for call in found[1].calls)
