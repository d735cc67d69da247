"""Corrected marks: planted judges are corrected, plans reach every stratum, and what cannot be used is one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.evaluation.studies.corrected import corrected, corrected_study, said, sentences
from livek12.evaluation.studies.labels import (
    MODELS,
    NOTHING,
    RIGHT,
    RULES,
    UNDECIDED,
    WRONG,
    Judged,
    Label,
    allocate,
    draw,
    judged,
    label_plan,
    planned_strata,
    rules_record,
)
from livek12.scripts.bench.judge_card import record
from tests.evaluation.test_study import row
from tests.scripts.command import livek12_here

ROOT = Path(__file__).resolve().parents[2]


PAPER = 10


def exam(
    rng: np.random.Generator, questions: int, rho: float
) -> tuple[list[Judged], dict[tuple[str, str, int], float], float]:
    """Judged answers, the truth of each, and the share right that was planted."""
    p, ruled = rng.uniform(0.2, 0.9), rng.uniform(0.3, 0.9)
    accepts, rejects, slips = rng.uniform(0, 0.3), rng.uniform(0, 0.3), rng.uniform(0, 0.01)
    papers = -(-questions // PAPER)
    chance = rng.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, papers) if rho else np.full(papers, p)
    answers, truth = [], {}
    for number in range(questions):
        right = rng.random() < chance[number // PAPER]
        by_rules = rng.random() < ruled
        wrongly = rng.random() < (slips if by_rules else rejects if right else accepts)
        said = float(right != wrongly)
        key = ("task", f"q{number:05}", 0)
        stratum = RULES if by_rules else RIGHT if said else WRONG
        answers.append(Judged(key, f"paper {number // PAPER}", True, 1.0, said, said, stratum))
        truth[key] = float(right)
    return answers, truth, p


def interval_holds(rng: np.random.Generator, budget: int, seed: int) -> bool | None:
    """If the corrected interval of a planted judge holds the truth; None where a stratum is too small to correct."""
    answers, truth, p = exam(rng, 400, 0.0)
    strata = {("task", name): [a for a in answers if a.stratum == name] for name in (RULES, RIGHT, WRONG)}
    strata = {place: own for place, own in strata.items() if own}
    counts = allocate(strata, budget)
    labels = {a.key: truth[a.key] for place in strata for a in draw(strata[place], counts[place], seed)}
    try:
        low, high = corrected(answers, labels)["interval"]
    except UserError:
        return None
    return bool(low <= p <= high)


def by_models(id: str, correct: bool) -> Row:
    """An answer that models decided."""
    return row(id, correct, votes={"m": "accept" if correct else "reject"})


def run() -> list[Row]:
    """60 answers: 30 by rules, 20 that models called right and 8 that they called wrong, 2 undecided."""
    rows = [row(f"r{n:02}", n % 3 > 0) for n in range(30)]
    rows += [by_models(f"a{n:02}", True) for n in range(20)] + [by_models(f"b{n:02}", False) for n in range(8)]
    return [*rows, row("u0", None), row("u1", None)]


def label(id: str, correct: bool, rater: str = "ann") -> Label:
    return Label(id, correct, None, "t", 0, rater)


def pairs(labels: list[Label], rows: list[Row]) -> tuple[list[tuple[Label, Row]], list[Any]]:
    by_id = {one.question.id: one for one in rows}
    return [(each, by_id[each.question_id]) for each in labels], []


def test_strata_are_by_who_decided_and_how() -> None:
    (answers,) = judged(run(), "accuracy").values()
    sizes = {name: sum(a.stratum == name for a in answers) for name in (RULES, *MODELS, UNDECIDED, NOTHING)}
    assert list(sizes.values()) == [30, 20, 8, 0, 2, 0]


def test_a_correction_by_hand() -> None:
    rows = run()
    labels = [label(f"a{n:02}", n >= 2) for n in range(10)] + [label(f"b{n:02}", n == 0) for n in range(4)]
    found = corrected_study(rows, pairs(labels, rows))["tasks"]["t"]
    # Rules 20 of 30, accepted 20 less a fifth, rejected 8 and a quarter of them right; 2 of 60 are open.
    least = (20 + 20 * 0.8 + 8 * 0.25) / 60
    assert found["corrected"] == pytest.approx([least, least + 2 / 60])
    assert found["interval"][0] < least and least + 2 / 60 < found["interval"][1]
    assert found["strata"][RULES]["labels"] == 0 and found["strata"][RULES]["deviation"] > 0
    assert "(14 labels)" in said(found)
    study = {"metric": "accuracy", "labels_left_out": 0, "labels_of_open_answers": 0, "tasks": {"t": found}}
    assert any("the judge card bounds" in line for line in sentences({"run": study}))


def test_labels_that_all_agree_leave_a_doubt() -> None:
    rows = run()
    labels = [label(f"a{n:02}", True) for n in range(20)] + [label(f"b{n:02}", False) for n in range(8)]
    found = corrected_study(rows, pairs(labels, rows))["tasks"]["t"]
    assert found["corrected"] == pytest.approx(found["judge"])
    assert found["judge_alone"] > 0


def test_one_label_of_rules_counts_and_labels_of_open_answers_are_told() -> None:
    rows = run()
    labels = [label(f"{kind}{n:02}", kind == "a") for kind in "ab" for n in range(4)]
    study = corrected_study(rows, pairs([*labels, label("r01", False), label("u0", True)], rows))
    found = study["tasks"]["t"]
    assert found["strata"][RULES]["labels"] == 1 and found["strata"][RULES]["person_minus_judge"] == -1
    assert study["labels_of_open_answers"] == 1 and found["labels"] == 9
    with pytest.raises(UserError, match="nothing to correct"):
        corrected_study(rows, pairs([label("u0", True)], rows))


def test_two_people_count_as_their_mean() -> None:
    rows = run()
    labels = [label(f"{kind}{n:02}", kind == "a", rater) for kind in "ab" for n in range(4) for rater in ("ann", "bo")]
    labels[0] = label("a00", False, "ann")
    found = corrected_study(rows, pairs(labels, rows))["tasks"]["t"]
    assert found["strata"][RIGHT]["person_minus_judge"] == pytest.approx(-0.5 / 4)


def test_rogan_and_gladen_on_a_judge_without_rules() -> None:
    rows = [by_models(f"q{n:03}", n < 60) for n in range(100)]
    # Of ten accepted two are wrong, of ten rejected one is right.
    labels = [label(f"q{n:03}", n >= 2) for n in range(10)] + [label(f"q{n:03}", n == 60) for n in range(60, 70)]
    found = corrected_study(rows, pairs(labels, rows))["tasks"]["t"]["rogan_gladen"]
    sensitivity, specificity = 48 / 52, 36 / 48
    assert found["sensitivity"] == pytest.approx(sensitivity) and found["specificity"] == pytest.approx(specificity)
    assert found["value"] == pytest.approx((0.6 + specificity - 1) / (sensitivity + specificity - 1))
    assert found["interval"][0] < found["value"] < found["interval"][1]
    turned = [label(f"q{n:03}", n < 2) for n in range(10)] + [label(f"q{n:03}", n != 60) for n in range(60, 70)]
    assert corrected_study(rows, pairs(turned, rows))["tasks"]["t"]["rogan_gladen"]["value"] is None


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ([], "no label says of an answer"),
        ([label("a00", True), label("a01", True)], "“models, wrong” has 0 labels for its 8 answers"),
        ([label("a00", True), label("b00", True), label("b01", True)], "“models, right” has 1 label for its 20"),
    ],
)
def test_labels_that_are_too_few_are_one_line(labels: list[Label], line: str) -> None:
    rows = run()
    with pytest.raises(UserError, match=line):
        corrected_study(rows, pairs(labels, rows))


def test_labels_outside_the_plan_do_not_count_and_an_old_plan_is_refused() -> None:
    rows = run()
    plan = {("t", f"{kind}{n:02}", 0): stratum for kind, stratum in (("a", RIGHT), ("b", WRONG)) for n in range(4)}
    labels = [label(f"{kind}{n:02}", kind == "a") for kind in "ab" for n in range(6)]
    found = corrected_study(rows, pairs(labels, rows), plan)
    assert found["labels_left_out"] == 4 and found["tasks"]["t"]["labels"] == 8
    with pytest.raises(UserError, match="was judged again since"):
        corrected_study(rows, pairs(labels, rows), {**plan, ("t", "a00", 0): WRONG})


def test_a_plan_shares_the_budget_and_reaches_every_stratum() -> None:
    rows = run()
    plan = label_plan(rows, 24)
    assert len(plan) == 24 and len({each["question_id"] for each in plan}) == 24
    counts = {each["stratum"]: each["planned"] for each in plan}
    assert counts[RIGHT] > counts[WRONG] >= 5 and counts[RIGHT] > counts.get(RULES, 0)
    assert label_plan(rows, 24) == plan != label_plan(rows, 24, seed=1)
    assert len(label_plan(rows, 500)) == 58, "all that is decided, and no more"
    with pytest.raises(UserError, match="alone need 10 labels"):
        label_plan(rows, 9)
    with pytest.raises(UserError, match="nothing of this run is decided"):
        label_plan([row("u", None)], 9)


def test_a_draw_spreads_over_the_papers() -> None:
    answers = [Judged(("t", f"q{n}", 0), f"paper {n // 10}", True, 1.0, 1.0, 1.0, RIGHT) for n in range(100)]
    for seed in range(5):
        assert len({answer.cluster for answer in draw(answers, 10, seed)}) == 10


def test_more_labels_go_where_more_is_unsure() -> None:
    def some(count: int, stratum: str) -> list[Judged]:
        return [Judged(("t", f"{stratum}{n}", 0), "p", True, 1.0, 1.0, 1.0, stratum) for n in range(count)]

    sizes = {RULES: 300, RIGHT: 300, WRONG: 10}
    counts = allocate({("t", name): some(count, name) for name, count in sizes.items()}, 60)
    assert sum(counts.values()) == 60 and counts["t", RIGHT] > 2 * counts["t", RULES] and counts["t", WRONG] == 5


def test_planted_judges_are_corrected() -> None:
    rng = np.random.default_rng(3)
    errors, alone = [], []
    for seed in range(40):
        answers, truth, p = exam(rng, 400, 0.0)
        strata = {("t", name): [a for a in answers if a.stratum == name] for name in (RULES, RIGHT, WRONG)}
        counts = allocate(strata, 120)
        known = {a.key: truth[a.key] for place in strata for a in draw(strata[place], counts[place], seed)}
        found = corrected(answers, known)
        errors.append(found["corrected"][0] - p)
        alone.append(abs(found["judge"][0] - p))
    assert abs(np.mean(errors)) < 3 * np.std(errors) / 40**0.5, "no bias"
    assert np.mean(np.abs(errors)) < np.mean(alone)


@pytest.mark.release
def test_the_interval_holds_what_was_planted() -> None:
    rng = np.random.default_rng(0)
    judges = [holds for seed in range(1000) if (holds := interval_holds(rng, 60, seed)) is not None]
    assert len(judges) > 950
    assert 0.93 <= float(np.mean(judges)) <= 0.985


def test_what_is_said_of_rules_is_on_the_judge_card() -> None:
    card = json.loads((ROOT / "docs" / "judge-card.json").read_text("utf-8"))
    found = record(card)
    assert rules_record() == (found["decided"], found["wrong"])


@pytest.mark.slow
def test_plan_label_correct_on_recorded_answers(shared_data: Path, tmp_path: Path) -> None:
    """The nine-model paper: rules decided all that is decided, so their labels or the card speak for them."""
    paper = shared_data / "gaokao2026_math"
    source = paper / "reviewed" / "2026-national-i-math.jsonl"
    assert livek12_here("build", "livek12", "--source", source, "--out", tmp_path / "data").code == 0
    folder = tmp_path / "run"
    file = paper / "responses" / "GPT-5.5.2026-national-i-math.jsonl"
    how = ("--from", "jsonl", "--task", "livek12_text_only", "--data", tmp_path / "data", "--out", folder)
    assert livek12_here("import-responses", file, *how).code == 0
    planned = livek12_here("label-plan", folder, "--budget", "6")
    assert planned.code == 0 and "rules: 6 of 15 answers" in planned.err and f"livek12 review {folder}" in planned.err
    assert set(planned_strata(folder / "label-plan.jsonl").values()) == {RULES}
    for id in [json.loads(line)["question_id"] for line in (folder / "label-plan.jsonl").open(encoding="utf-8")]:
        said_by_ann = {"question_id": id, "correct": True, "rater": "ann"}
        with (folder / "labels-ann.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(said_by_ann) + "\n")
    assert "corrected by people's labels: accuracy" in livek12_here("score", folder).out
    assert livek12_here("report", folder).code == 0
    assert "As people would have marked" in (folder / "report.html").read_text("utf-8")
    grades = paper / "grades" / "GPT-5.5.2026-national-i-math.jsonl"
    ended = livek12_here("study", "corrected", folder, "--labels", grades)
    assert ended.code == 0, ended.err
    assert "of which the judge ±" in ended.out and "(6 labels)" in ended.out
    assert "were not planned" in ended.out
    (folder / "label-plan.jsonl").unlink()
    found = json.loads(livek12_here("study", "corrected", folder, "--labels", grades, "--json").out)["run"]["tasks"]
    assert found["livek12_text_only"]["labels"] == 15
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert livek12_here("label-plan", copy, "--budget", "6").code == 0
    compared = livek12_here("compare", folder, copy)
    assert compared.code == 0 and "copy: livek12_text_only, corrected by people's labels" in compared.out
    assert livek12_here("study", "corrected", folder, copy, "--labels", grades).code == 0
