"""Every Δ between two ways of asking the same questions: in a run, between runs, by axis, with test and interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Attributes, Question, Variant, Verdict
from livek12.core.scoring import Row
from livek12.core.scoring.comparison import Counterpart, delta
from livek12.core.scoring.outcomes import Slim
from livek12.core.scoring.schema import parameters_of
from livek12.core.statistics import mcnemar_exact
from livek12.evaluation.asking import ask_and_mark
from livek12.evaluation.comparing import compare_runs
from livek12.evaluation.options import RunOptions
from livek12.judges.jury import JudgeOptions
from tests.endpoint import oracle_at
from tests.scored import score
from tests.scripts.command import livek12_here

NAMES = "kmmmu,kmmmu_text_only,mdk12,mdk12_kprag,livek12,livek12_image_only"


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One run of tasks and their variants; and two more, of which one asks a variant of what the other asks."""
    place = tmp_path_factory.mktemp("runs")
    (place / "log").touch()
    with oracle_at(place / "log") as address:
        for name, tasks in (("all", NAMES), ("with", "kmmmu,mdk12"), ("without", "kmmmu_text_only,mdk12")):
            run = RunOptions(tasks, "oracle", place / name, str(data), "openai", {"base_url": address}, trials=1)
            ask_and_mark(run, {}, JudgeOptions())
    return [place / name for name in ("all", "with", "without")]


def report(run: Path) -> Any:
    ended = livek12_here("score", run, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_run_of_tasks_and_their_variants_has_every_difference(runs: list[Path]) -> None:
    found = report(runs[0])
    said = {(each["task"], each["base"]): each for each in found["variants"]}
    assert {("kmmmu_text_only", "kmmmu"), ("mdk12_kprag", "mdk12"), ("livek12_image_only", "livek12")} <= set(said)
    for (task, base), each in said.items():
        assert each["shared"] > 0
        assert each["differs"]
        if task in found["tasks"]:
            assert each["shared"] + each["only_task"] == found["tasks"][task]["counts"]["questions"]
            assert f"{task}/accuracy/variant/{task}-{base}" in found["deltas"]
        for values in each["groups"].values():
            assert sum(group["questions"] for group in values.values()) >= each["shared"]
    ended = livek12_here("score", runs[0])
    assert "kmmmu_text_only minus kmmmu: without pictures" in ended.out


def test_translations_are_paired_by_the_question_they_translate(runs: list[Path]) -> None:
    found = [each for each in report(runs[0])["variants"] if each["differs"] == "en instead of zh"]
    assert [each["task"] for each in found] == ["livek12 in en", "livek12_image_only in en"]
    assert all(each["shared"] for each in found)


def test_runs_are_compared_axis_by_axis_and_across_variants(runs: list[Path]) -> None:
    found = compare_runs(runs[1:])["variants"]
    assert {(each["task"], each["base"], each["differs"]) for each in found} == {
        ("without/mdk12", "with/mdk12", "the run"),
        ("without/kmmmu_text_only", "with/kmmmu", "without pictures"),
    }
    assert found[0]["groups"]["subject"]
    for how in ((), ("--md",)):
        ended = livek12_here("compare", *runs[1:], *how)
        assert "without/kmmmu" in ended.out.replace("\\", "")
        assert "without pictures" in ended.out


def row(task: str, question: Question, right: bool | None, trial: int = 0) -> Row:
    verdict = Verdict(
        **{"key": {"task": task, "question_id": question.id, "trial": trial}, "max_points": 1.0, "judge": "x"},
        **{"state": "ungraded" if right is None else "graded", "correct": right, "reason": ""},
        **{
            "points": None if right is None else float(right),
            "low": float(right or 0),
            "high": float(right is not False),
        },
    )
    return Row(task, question, trial, verdict.state, None, verdict)


def question(id: str, of: str = "", subject: str = "physics") -> Question:
    fields = {"id": id, "benchmark": "cfe", "language": "en", "subject": subject, "question_type": "short_answer"}
    variant = Variant(of=of, kind="x") if of else None
    return Question.model_validate({**fields, "question": "?", "answer": ["1"], "variant": variant})


def paired(variant: list[Row], base: list[Row]) -> Any:
    slim = Slim()
    return delta("v", map(slim, variant), "b", map(slim, base), "x", "article", parameters_of("article"))


def test_the_image_ablation_by_kind_of_pictures() -> None:
    """Without its picture every diagram is failed and no table: the gap of KMMMU's section 7.1, by visual modality."""
    kinds = ("Diagrams", "Tables")
    asked = [
        question(f"q{n}").model_copy(update={"attributes": Attributes(visual_modality=kinds[n % 2])}) for n in range(12)
    ]
    base = [row("kmmmu", each, True) for each in asked]
    without = [row("kmmmu_text_only", each, n % 2 == 1) for n, each in enumerate(asked)]
    groups = paired(without, base)["groups"]["visual_modality"]
    gaps = {kind: group["metrics"]["accuracy"]["difference"]["value"] for kind, group in groups.items()}
    assert gaps == {"Diagrams": -1.0, "Tables": 0.0}
    assert groups["Diagrams"]["metrics"]["accuracy"]["test"]["p"] == pytest.approx(2 / 2**6)


def test_the_test_is_the_exact_one_of_the_questions() -> None:
    """12 questions right in the base alone, 3 in the variant alone, 5 in both: exact McNemar, by hand."""
    base = [row("b", question(f"q{n}"), n < 12 or n >= 15) for n in range(20)]
    variant = [row("v", question(f"q{n}"), n >= 12) for n in range(20)]
    accuracy = paired(variant, base)["metrics"]["accuracy"]
    assert accuracy["difference"]["value"] == pytest.approx((3 - 12) / 20)
    assert accuracy["test"]["name"] == "mcnemar_exact"
    assert accuracy["test"]["p"] == pytest.approx(mcnemar_exact(12, 3)) == pytest.approx(0.03515625)


def test_what_was_made_from_a_question_is_paired_with_it_and_the_rest_is_counted() -> None:
    base = [row("b", question(f"q{n}", subject="math" if n % 2 else "physics"), False) for n in range(6)]
    derived = [question(f"q{n}:{unit}", of=f"q{n}") for n in range(1, 5) for unit in range(3)]
    variant = [row("v", each, True, trial) for each in derived for trial in range(2)]
    variant.append(row("v", question("elsewhere"), True))
    found = paired(variant, base)
    assert (found["shared"], found["only_task"], found["only_base"]) == (4, 1, 2)
    accuracy = found["metrics"]["accuracy"]
    assert accuracy["difference"]["value"] == 1.0
    assert (accuracy["test"]["name"], accuracy["test"]["questions"]) == ("sign_flip", 4)
    assert {value: group["questions"] for value, group in found["groups"]["subject"].items()} == {
        "math": 2,
        "physics": 2,
    }


def test_what_is_undecided_stays_in_the_interval_and_out_of_the_test() -> None:
    base = [row("b", question(f"q{n}"), n < 5) for n in range(10)]
    variant = [row("v", question(f"q{n}"), None if n == 9 else True) for n in range(10)]
    accuracy = paired(variant, base)["metrics"]["accuracy"]
    assert (accuracy["difference"]["low"], accuracy["difference"]["high"]) == pytest.approx((0.4, 0.5))
    assert (accuracy["test"]["questions"], accuracy["test"]["undecided"]) == (9, 1)


def test_nothing_shared_is_no_difference() -> None:
    assert paired([row("v", question("a"), True)], [row("b", question("b"), True)]) is None


def test_all_that_comes_from_one_question_is_one_cluster() -> None:
    """Intervals over derived questions are by their sources: 10 units of each of 8 questions are 8 observations."""
    rows = [
        row("v", question(f"q{n}:{unit}", of=f"q{n}"), n % 2 == 0, trial)
        for n in range(8)
        for unit in range(10)
        for trial in range(2)
    ]
    whole = score(rows)["tasks"]["v"]["metrics"]["accuracy"]
    apart = score([row("v", question(f"q{n}"), n % 2 == 0) for n in range(8)])["tasks"]["v"]["metrics"]["accuracy"]
    assert (whole["clusters"], whole["unit"]) == (8, "question")
    assert whole["ci"] == pytest.approx(apart["ci"])


def test_a_report_without_variants_has_none() -> None:
    rows = [row("b", question(f"q{n}"), True) for n in range(3)]
    assert score(rows)["variants"] == []
    assert score(rows, beside={"b": [Counterpart("gone", ("gone",), "x")]})["variants"] == []
