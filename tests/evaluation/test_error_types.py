"""Kinds of errors by scripted judges and people: planted rates come back, through the real command."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.error_types import error_types
from livek12.dataset_builders import build
from livek12.evaluation.studies.error_kinds import stratum_of
from tests.engines.scripted_server import serving
from tests.evaluation.diagnosed import drawn
from tests.judges.llm.judge_server import JudgeScript, says, text_of
from tests.scripts.command import livek12_here

KINDS = [kind.name for kind in error_types("kmmmu") or ()]
PICTURES = ("Tables", "Diagrams")
PLANTED = {"knowledge_shortage": 0.4, "reasoning_error": 0.3, "visual_perception_error": 0.2, "hallucination": 0.1}
QUESTIONS = 240


def planted_kind(number: int, run: str) -> str:
    """Perception errors with diagrams alone."""
    left = drawn(number, run, "kind")
    for kind, share in PLANTED.items():
        if left < share:
            return "reasoning_error" if kind == "visual_perception_error" and number % 2 == 0 else kind
        left -= share
    return "knowledge_shortage"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models that are wrong on half and on three quarters of the questions; one response has no text."""
    place = tmp_path_factory.mktemp("errors")
    rows = [
        {
            "id": f"k{n:03}",
            "question": f"«k{n:03}» 문제 {n}: 어느 것인가?",
            "options": ["하나", "둘", "셋", "넷"],
            "answer": "1",
            "question_type": "객관식(단일정답)",
            "subject": ("law", "history", "biology")[n % 3],
            "visual_modality": PICTURES[n % 2],
        }
        for n in range(QUESTIONS)
    ]
    (place / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    build("kmmmu", str(place / "rows.jsonl"), place / "data")
    found = {}
    for name, right in (("strong", 2), ("weak", 4)):
        answers = [
            {
                "question_id": f"k{n:03}",
                "model": name,
                "response": ""
                if n == 1
                else rf"\boxed{{1}} by {name}"
                if n % right == 0
                else rf"\boxed{{2}} by {name}, {planted_kind(n, name)}",
            }
            for n in range(QUESTIONS)
        ]
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
        how = ("--from", "jsonl", "--task", "kmmmu", "--data", place / "data")
        found[name] = place / f"run-{name}"
        ended = livek12_here("import-responses", place / f"{name}.jsonl", *how, "--out", found[name])
        assert ended.code == 0, ended.err
    return found


def seen_kind(body: Any) -> tuple[int, str, str]:
    text = text_of(body)
    number, said = re.search(r"«k(\d+)»", text), re.search(r"by (strong|weak), (\w+)", text)
    assert number and said
    return int(number[1]), said[1], said[2]


def judging(confused: Callable[[int, str], str]) -> JudgeScript:
    def answer(name: str, before: int, body: Any) -> Any:
        number, _, kind = seen_kind(body)
        return says({"reason": "so it is", "kind": confused(number, kind)})

    return JudgeScript(answer)


def typed(runs: dict[str, Path], script: JudgeScript | None, *more: object, judges: str = "alpha") -> Any:
    with serving(script or judging(lambda number, kind: kind)) as address:
        given = [f"{judge}@openai:base_url={address},max_retries=0" for judge in judges.split()]
        judge = ("--judge", ",".join(given)) if script else ()
        ended = livek12_here("study", "error-types", *runs.values(), *judge, "--no-cache", "--json", *more)
    assert ended.code == 0, ended.err
    return json.loads(ended.out) if ended.out else None


@pytest.mark.release
def test_planted_rates_of_a_judge_that_errs_in_nothing(runs: dict[str, Path], tmp_path: Path) -> None:
    script = judging(lambda number, kind: kind)
    told = typed(runs, script, "--sample", 500, "--html", tmp_path / "errors.html")["kmmmu"]
    for name, right in (("strong", 2), ("weak", 4)):
        wrong = [n for n in range(QUESTIONS) if n % right]
        truth = Counter(planted_kind(n, name) for n in wrong if n != 1) + Counter(["incomplete_response"])
        one = told["runs"][f"run-{name}"]
        assert (one["wrong"], one["looked_at"], one["without_kind"]) == (len(wrong), len(wrong), 0)
        assert {kind: cell["answers"] for kind, cell in one["kinds"].items()} == {kind: truth[kind] for kind in KINDS}
        rates = sum(cell["rate"] for cell in one["kinds"].values())
        assert rates == pytest.approx(1 - one["accuracy"])
    assert len(script.seen) == 120 + 180 - 2, "nobody is asked of a response without text"
    pictures = told["by_visual_modality"]
    assert list(pictures) == ["Diagrams", "Tables"]
    assert pictures["Tables"]["kinds"]["visual_perception_error"]["answers"] == 0
    assert pictures["Diagrams"]["kinds"]["visual_perception_error"]["answers"] > 20
    assert set(told["by_subject"]) == {"law", "history", "biology"}
    for place, name in enumerate(PICTURES):  # of both models: even numbers have tables, and all of one model are right
        own = [n for n in range(QUESTIONS) if n % 2 == place]
        wrong = sum(bool(n % 2) + bool(n % 4) for n in own)
        assert (pictures[name]["decided"], pictures[name]["wrong"]) == (2 * len(own), wrong)
        seen = pictures[name]["kinds"]["reasoning_error"]
        assert seen["rate"] == pytest.approx(seen["share"] * wrong / (2 * len(own)))
    assert (
        "5 kinds need" in told["regressions"]["all runs"]["why_not"]
        or "need" in told["regressions"]["all runs"]["why_not"]
    )
    page = (tmp_path / "errors.html").read_text()
    assert "visual perception error" in page and "<script" not in page


@pytest.mark.release
def test_a_confused_judge_shows_what_its_confusion_makes_of_the_rates(runs: dict[str, Path]) -> None:
    def confused(number: int, kind: str) -> str:
        return "hallucination" if kind == "knowledge_shortage" and drawn(number, "confused") < 0.25 else kind

    whole = typed(runs, judging(confused), "--sample", 500)["kmmmu"]["runs"]["run-weak"]
    assert (whole["looked_at"], whole["without_kind"]) == (180, 0)
    told = whole["kinds"]
    expected = {"knowledge_shortage": 0.75 * 0.4, "hallucination": 0.1 + 0.25 * 0.4}
    for kind, share in expected.items():
        low, high = told[kind]["interval"]
        assert low < share < high
    told = typed(runs, judging(confused), "--sample", 60, "--seed", 3)["kmmmu"]["runs"]["run-weak"]
    assert told["looked_at"] == 60


def test_the_majority_of_three_judges_and_people_beside_it(runs: dict[str, Path], tmp_path: Path) -> None:
    """One of three judges always says hallucination; Ann says the planted kind, Bob errs on every fourth."""

    def answer(name: str, before: int, body: Any) -> Any:
        _, _, kind = seen_kind(body)
        return says({"reason": "", "kind": "hallucination" if body["model"] == "gamma" else kind})

    labels = [
        {"task": "kmmmu", "question_id": f"k{n:03}", "model": "strong", "rater": rater, "error_type": kind}
        for n in range(3, QUESTIONS, 2)
        for rater, kind in (
            ("ann", planted_kind(n, "strong")),
            ("bob", "incomplete_response" if n % 8 == 3 else planted_kind(n, "strong")),
        )
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    one = {"strong": runs["strong"]}
    script = JudgeScript(answer)
    told = typed(one, script, "--labels", tmp_path / "labels.jsonl", judges="alpha beta gamma")["kmmmu"]
    pairs = told["agreement"]["run-strong"]
    assert pairs["(the judges) / ann"]["agreed"] == 1
    assert pairs["(the judges) / ann"]["kappa"] == 1
    assert pairs["ann / bob"]["agreed"] == pytest.approx(0.75, abs=0.02)
    assert pairs["gamma / ann"]["kappa"] < 0.1
    people = typed(one, None, "--labels", tmp_path / "labels.jsonl")["kmmmu"]["runs"]["run-strong"]
    assert people["looked_at"] == len(labels) / 2
    assert people["without_kind"] == sum(n % 8 == 3 for n in range(3, QUESTIONS, 2)), "what two say differently"


def test_the_sample_is_stratified_repeatable_and_a_plan_for_people(runs: dict[str, Path]) -> None:
    from livek12.core.run.folder import RunFolder

    plan = runs["weak"] / "label-plan.jsonl"
    one = {"weak": runs["weak"]}
    assert typed(one, None, "--sample", 30, "--plan") is None
    first = plan.read_text()
    rows = [json.loads(line) for line in first.splitlines()]
    assert len(rows) == 30
    asked = {row.question.id: stratum_of(row) for row in RunFolder.open(runs["weak"]).rows()}
    counts = Counter(asked[row["question_id"]] for row in rows)
    assert len(counts) == 6 and max(counts.values()) - min(counts.values()) <= 6
    assert typed(one, None, "--sample", 30, "--plan") is None
    assert plan.read_text() == first
    ended = livek12_here("study", "error-types", runs["weak"], "--sample", 20, "--plan")
    assert ended.code == 2 and "is another plan" in ended.errors[0]
    assert livek12_here("review", runs["weak"], "--rater", "ann", "--status").code == 0
    plan.unlink()


def test_wrong_use_is_one_line(runs: dict[str, Path], tmp_path: Path) -> None:
    strong = runs["strong"]
    (tmp_path / "labels.jsonl").write_text(
        '{"question_id": "k003", "model": "strong", "rater": "a", "correct": false}\n'
    )
    for line, said in (
        ((strong,), "error-types needs somebody who tells the kinds"),
        ((strong, "--labels", tmp_path / "labels.jsonl"), "no label says of a wrong answer of what kind it is"),
        ((strong, "--plan", "--group", "x"), "--group 'x': write NAME=RUN,RUN"),
        ((strong, "--plan", "--group", "x=weak"), "'weak' is none of the runs run-strong"),
        ((strong, "--judge", "rules"), "error-types needs judges"),
    ):
        ended = livek12_here("study", "error-types", *line)
        assert (ended.code, len(ended.errors)) == (2, 1) and said in ended.errors[0], ended.err


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"reason": "", "kind": "laziness"}, "names the kind 'laziness'"),
        ({"kind": "hallucination"}, "has the fields"),
        ("hallucination", "is not one JSON object"),
    ],
)
def test_a_reply_that_names_no_kind_is_told(runs: dict[str, Path], reply: Any, said: str) -> None:
    one = {"strong": runs["strong"]}
    told = typed(one, JudgeScript(lambda name, before, body: says(reply)), "--sample", 2)["kmmmu"]["runs"]["run-strong"]
    assert told["without_kind"] == 2
    assert any(said in problem for problem in told["problems"])


def test_the_regression_of_accuracy_on_the_rates() -> None:
    """Where every wrong answer has a kind it is an identity, and says so; where some have none it is a fit."""
    from livek12.evaluation.studies.error_kinds import TypedRun, Wrong, error_types_study
    from tests.evaluation.test_study import row

    def run(number: int, typed: float) -> TypedRun:
        wrong = 40 + 5 * number
        sample = [
            Wrong(row(str(n), False), frozenset([KINDS[int(5 * drawn(n, number) ** (1 + number / 4))]]))
            if drawn(n, "typed") < typed
            else Wrong(row(str(n), False))
            for n in range(wrong)
        ]
        return TypedRun(right=100 - wrong, wrong=wrong, sample=sample)

    runs = {f"m{n}": run(n, 1.0) for n in range(9)}
    groups = {"all": list(runs), "few": ["m0", "m1"]}
    fits = error_types_study({"kmmmu": runs}, groups)["kmmmu"]["regressions"]
    assert fits["all"]["identity"] and fits["all"]["runs"] == 9
    betas = {kind: cell["beta"] for kind, cell in fits["all"]["coefficients"].items() if kind != "(constant)"}
    told = error_types_study({"kmmmu": runs}, {})["kmmmu"]["runs"]
    for kind, beta in betas.items():
        rates = [one["kinds"][kind]["rate"] for one in told.values()]
        mean = sum(rates) / len(rates)
        assert beta == pytest.approx(-((sum((rate - mean) ** 2 for rate in rates) / len(rates)) ** 0.5))
    assert "need" in fits["few"]["why_not"]


def test_of_livek12_an_answer_may_have_several_kinds_or_none() -> None:
    """Of each kind what more than half of the judges say; where they are even on one, the answer has no kind."""
    from livek12.evaluation.studies.error_kinds import TypedRun, Wrong, error_types_study, most
    from tests.evaluation.test_study import row

    said = [frozenset({"CIE", "DRE"}), frozenset({"CIE"}), frozenset({"LAE"})]
    one = row("a", False)
    assert one.question.benchmark == "livek12"
    assert most(one, said) == {"CIE"}
    assert most(one, [frozenset(), frozenset(), *said[:1]]) == frozenset()
    assert most(one, said[:2]) is None
    kinds = [{"CIE", "DRE"}, {"CIE"}, set(), None]
    sample = [Wrong(row(str(n), False), None if each is None else frozenset(each)) for n, each in enumerate(kinds)]
    told = error_types_study({"livek12": {"m": TypedRun(right=4, wrong=4, sample=sample)}}, {})["livek12"]
    assert told["kinds"] == ["CIE", "LAE", "DRE"] and not told["one_each"]
    seen = told["runs"]["m"]
    assert (seen["looked_at"], seen["without_kind"]) == (4, 1)
    assert {kind: cell["answers"] for kind, cell in seen["kinds"].items()} == {"CIE": 2, "LAE": 0, "DRE": 1}
    assert seen["kinds"]["CIE"]["rate"] == pytest.approx(2 / 3 / 2)
