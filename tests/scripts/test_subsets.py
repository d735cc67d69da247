"""`livek12 subsets` as a person uses it: propose, review, build, and what runs decide."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import load_questions
from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.proposals.subsets import sheet as sheets
from livek12.dataset_builders.proposals.subsets.criteria import SUBSETS
from livek12.dataset_builders.writing.listings import read_members
from tests.dataset_builders.subset_questions import make_run
from tests.scripts.command import Ended, livek12_here


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subsets") / "sample"
    assert livek12_here("build", "sample", "--out", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def korean(sample: Path) -> list[Question]:
    return load_questions(sample, ["kmmmu_default"], "kmmmu")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def by_state(file: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in rows(file):
        found.setdefault(row["state"], set()).add(row["id"])
    return found


def decide(file: Path, decisions: dict[str, str], by: str = "Kim") -> None:
    """Reviews a sheet the way a spreadsheet saves it: with semicolons, and a column of the reviewer's own."""
    written = rows(file)
    for row in written:
        row["mine"] = "looked"
        if decision := decisions.get(row["id"]):
            row |= {"decision": decision, "by": by, "at": "2026-11-22"}
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(written[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(written)


def propose(name: str, sample: Path, out: Path, *more: object) -> Ended:
    return livek12_here("subsets", "propose", name, "--data", sample, "--out", out, *more)


def test_list_names_every_subset_and_criterion() -> None:
    shown = livek12_here("subsets", "list").out
    assert all(name in shown for name in SUBSETS)
    assert all(criterion.name in shown for subset in SUBSETS.values() for criterion in subset.criteria)


@pytest.mark.parametrize("name", ["complex_layout", "rigorous_process", "long_horizon", "korean_specific"])
def test_proposals_are_deterministic_and_carry_their_evidence(name: str, sample: Path, tmp_path: Path) -> None:
    ended = propose(name, sample, tmp_path / "a.csv", "--per-subject", 2)
    assert ended.code == 0, ended.err
    first = (tmp_path / "a.csv").read_bytes()
    assert propose(name, sample, tmp_path / "a.csv", "--per-subject", 2).code == 0
    assert (tmp_path / "a.csv").read_bytes() == first
    written = rows(tmp_path / "a.csv")
    assert written
    for row in written:
        assert row["criteria"]
        assert row["evidence"]
        assert 0 < float(row["score"]) <= 1
        assert json.loads(row["features"])["question_length"] > 0
        assert (row["decision"], row["by"], row["at"], row["reason"]) == ("", "", "", "")
    counted: dict[tuple[str, str], int] = {}
    for row in written:
        if row["state"] == "proposed":
            counted[row["language"], row["subject"]] = counted.get((row["language"], row["subject"]), 0) + 1
    assert name == "korean_specific" or max(counted.values()) <= 2


def test_from_proposal_over_review_to_members(sample: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert propose("complex_layout", sample, sheet, "--per-subject", 50).code == 0
    assert propose("long_horizon", sample, sheet).code == 0, "a sheet holds several subsets"
    layout = [row["id"] for row in rows(sheet) if row["subset"] == "complex_layout"]
    decide(sheet, {layout[0]: "accept", layout[1]: "reject"})
    before = {(r["subset"], r["id"]): r["decision"] for r in rows_of_any_separator(sheet)}
    assert propose("complex_layout", sample, sheet, "--per-subject", 1).code == 0
    after = {(r["subset"], r["id"]): r["decision"] for r in rows(sheet)}
    assert after == before, "no review is lost, and nothing proposed before goes missing"
    assert {r["mine"] for r in rows(sheet)} == {"looked"}
    questions = [q.model_copy(update={"subsets": []}) for q in load_questions(sample, ["default"], "livek12")]
    log = Log()
    marked = {q.id: q for q in sheets.apply(iter(questions), [sheet], log) if isinstance(q, Question)}
    assert {id for id, question in marked.items() if question.subsets} == {layout[0]}
    accepted = {row["subset"] for row in rows(sheet) if row["decision"] == "accept"}
    assert set(marked[layout[0]].subsets) == accepted
    assert [note.split(" (")[0] for note in log.notes] == ["waiting for a person: 19 proposals"]


def test_a_build_takes_reviewed_members_only(tmp_path: Path) -> None:
    source, sheet = tmp_path / "exam.jsonl", tmp_path / "sheet.csv"
    figures = "".join(f"<table><tr><td>{n}</td></tr><tr><td>x</td></tr></table>" for n in range(2))
    exam = [
        {
            "id": f"zh_2611_math_{n}",
            "question": f"第 {n} 题，如图1和图2，由表可知 {figures}",
            "answer": ["1"],
            "question_type": "填空题",
        }
        for n in range(3)
    ]
    source.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in exam))
    assert livek12_here("build", "livek12", "--source", source, "--out", tmp_path / "plain").code == 0
    assert propose("complex_layout", tmp_path / "plain", sheet).code == 0
    ids = [row["id"] for row in rows(sheet)]
    assert sorted(ids) == [row["id"] for row in exam]
    decide(sheet, {ids[0]: "accept", ids[1]: "reject"})
    built = livek12_here("build", "livek12", "--source", source, "--subsets", sheet, "--out", tmp_path / "reviewed")
    assert built.code == 0, built.err
    assert "waiting for a person: 1 proposal (1 complex_layout)" in built.out
    members = load_questions(tmp_path / "reviewed", ["complex_layout"], "livek12")
    assert [question.id for question in members] == [ids[0]]


def test_pictures_stand_beside_the_sheet(sample: Path, tmp_path: Path) -> None:
    ended = propose("complex_layout", sample, tmp_path / "s.csv", "--pictures")
    assert ended.code == 0, ended.err
    questions = {q.id: q for q in load_questions(sample, ["default"], "livek12")}
    for row in rows(tmp_path / "s.csv"):
        files = [tmp_path / name for name in row["pictures"].split()]
        assert [file.read_bytes() for file in files] == [image.bytes for image in questions[row["id"]].images]


def rows_of_any_separator(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream, delimiter=";"))


def test_two_reviewers(sample: Path, tmp_path: Path) -> None:
    for name in ("kim", "lee"):
        assert propose("complex_layout", sample, tmp_path / f"{name}.csv").code == 0
    ids = [row["id"] for row in rows(tmp_path / "kim.csv")][:4]
    decide(tmp_path / "kim.csv", dict(zip(ids, ["accept", "accept", "reject", "reject"], strict=True)))
    decide(tmp_path / "lee.csv", dict(zip(ids, ["accept", "reject", "reject", "reject"], strict=True)), by="Lee")
    shown = livek12_here("subsets", "status", tmp_path / "kim.csv", tmp_path / "lee.csv")
    assert "both decided 4, alike 3, both accepted 1, only one decided 0; Cohen's kappa 0.500" in shown.out
    assert f"disputed: {ids[1]}" in shown.out
    read = json.loads(livek12_here("subsets", "status", tmp_path / "kim.csv", "--json").out)
    assert (read["counts"]["complex_layout"]["accepted"], read["counts"]["complex_layout"]["rejected"]) == (2, 2)


def test_an_annotator_adds_what_features_cannot_see(sample: Path, tmp_path: Path) -> None:
    names = [criterion.name for criterion in SUBSETS["korean_specific"].criteria]
    asked = [row["id"] for row in rows_all(sample, tmp_path, "korean_specific")]
    answers = {id: json.dumps({"criteria": dict.fromkeys(names, False), "why": "no"}) for id in asked}
    answers[asked[0]] = json.dumps({"criteria": dict.fromkeys(names, True), "why": "=it is 太極"})
    answers[asked[1]] = "true"
    del answers[asked[2]]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps({"id": id, "response": text}) + "\n" for id, text in answers.items()))
    sheet = tmp_path / "sheet.csv"
    ended = propose("korean_specific", sample, sheet, "--all", "--model", file)
    assert ended.code == 1, "one request failed: the work is not whole"
    assert "7 annotated, 2 not" in ended.out
    found = {row["id"]: row for row in rows(sheet)}
    assert found[asked[0]]["state"] == "proposed"
    assert "annotator" in found[asked[0]]["criteria"]
    assert found[asked[0]]["annotator"] == "'=it is 太極"
    assert found[asked[1]]["annotator"].startswith("not annotated: the reply is no object")
    assert found[asked[2]]["annotator"].startswith("not annotated: failed")
    assert "prompt 1 " in found[asked[0]]["made_by"]


def rows_all(sample: Path, tmp_path: Path, name: str) -> list[dict[str, str]]:
    assert propose(name, sample, tmp_path / "all.csv", "--all").code == 0
    return sorted(rows(tmp_path / "all.csv"), key=lambda row: row["id"])


def answers_of(questions: Sequence[Question], kinds: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    return {question.id: kind for question, kind in zip(questions, kinds, strict=True)}


WRONG, RIGHT = ["wrong", "none"], ["right", "right"]


def test_hard_is_wrong_by_all_and_what_is_open_is_undecided(
    sample: Path, korean: list[Question], tmp_path: Path
) -> None:
    q = [question.id for question in korean]
    kinds = [
        WRONG,
        WRONG,
        ["wrong", "right"],
        ["wrong", "ungraded"],
        ["wrong", "failed"],
        ["wrong", "missing"],
        WRONG,
        ["unjudged", "wrong"],
        RIGHT,
    ]
    a = make_run(tmp_path / "a", korean, answers_of(korean, kinds), "gemma")
    b_questions = [*korean[:6], korean[6].model_copy(update={"question": "another text"})]
    b_kinds = [WRONG, RIGHT, WRONG, WRONG, RIGHT, WRONG, WRONG]
    b = make_run(tmp_path / "b", b_questions, answers_of(b_questions, b_kinds), "gemini")
    ended = propose("hard", sample, tmp_path / "hard.csv", "--runs", f"{a},{b}", "--all")
    assert ended.code == 0, ended.err
    assert by_state(tmp_path / "hard.csv") == {
        "proposed": {q[0]},
        "undecided": {q[3], q[5], q[6], q[7]},
        "out": {q[1], q[2], q[4], q[8]},
    }
    why = {row["id"]: row["evidence"] for row in rows(tmp_path / "hard.csv")}
    assert "(gemma): right 0 of 2; " in why[q[0]]
    assert "open 1: ungraded" in why[q[3]]
    assert "another text was asked" in why[q[6]]
    assert "not asked" in why[q[7]]


def test_hard_from_recorded_answers(sample: Path, korean: list[Question], tmp_path: Path) -> None:
    """Through the real judge: what two recordings answer wrongly, and nothing that one of them left out."""
    single = [question for question in korean if question.question_type == "single_choice"]
    assert len(single) >= 3
    runs = []
    for name, skipped, right in (("one", 0, {1}), ("two", None, set())):
        file = tmp_path / f"{name}.jsonl"
        lines = []
        for n, question in enumerate(single):
            key = question.answer[0]
            other = next(option.label for option in question.options if option.label != key)
            if n != skipped:
                lines.append({"id": question.id, "response": f"\\boxed{{{key if n in right else other}}}"})
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        how = ("--from", "jsonl", "--task", "kmmmu", "--data", sample, "--out", tmp_path / name)
        livek12_here("import-responses", file, *how)
        runs.append(str(tmp_path / name))
    ended = propose("hard", sample, tmp_path / "hard.csv", "--runs", ",".join(runs))
    assert ended.code == 0, ended.err
    states = by_state(tmp_path / "hard.csv")
    ids = [question.id for question in single]
    assert states["proposed"] == set(ids[2:])
    assert states["undecided"] == {q.id for q in korean} - set(ids[1:])


def test_adversarial_filtering_takes_out_what_a_model_solves_with_confidence(
    sample: Path, korean: list[Question], tmp_path: Path
) -> None:
    q = [question.id for question in korean]
    kinds = [WRONG, ["right", "wrong"], RIGHT, ["right", "failed"], *[WRONG] * 5]
    first = make_run(tmp_path / "first", korean, answers_of(korean, kinds))
    left = [question for question in korean if question.id != q[2]]
    second = make_run(tmp_path / "second", left, answers_of(left, [WRONG] * 4 + [RIGHT] + [WRONG] * 3))
    for confidence, out, undecided in (("1.0", {q[2], q[5]}, {q[3]}), ("0.5", {q[1], q[2], q[3], q[5]}, set())):
        sheet = tmp_path / f"{confidence}.csv"
        ended = propose(
            "adversarial", sample, sheet, "--runs", f"{first},{second}", "--confidence", confidence, "--all"
        )
        assert ended.code == 0, ended.err
        states = by_state(sheet)
        assert (states["out"], states.get("undecided", set())) == (out, undecided)
        assert q[2] in states["out"], "taken out before the second stage was asked"


def test_image_dependence_compares_runs_with_and_without_images(
    sample: Path, korean: list[Question], tmp_path: Path
) -> None:
    pictured = [question for question in korean if question.images]
    blind = [q.model_copy(update={"images": [], "question": q.question.replace(IMAGE_MARK, "")}) for q in pictured]
    kinds = [RIGHT, RIGHT, WRONG, RIGHT, WRONG]
    assert len(pictured) >= len(kinds)
    pictured, blind = pictured[: len(kinds)], blind[: len(kinds)]
    seeing = make_run(tmp_path / "seeing", pictured, answers_of(pictured, kinds), "flash")
    kinds = [WRONG, RIGHT, WRONG, ["failed", "right"], RIGHT]
    without = make_run(tmp_path / "blind", blind, answers_of(blind, kinds), "flash")
    sheet = tmp_path / "image.csv"
    arguments = ("--benchmark", "kmmmu", "--runs", seeing, "--without-images", without, "--all")
    ended = propose("image_dependent", sample, sheet, *arguments)
    assert ended.code == 0, ended.err
    q = [question.id for question in pictured]
    states = by_state(sheet)
    assert states["proposed"] == {q[0]}
    assert states["undecided"] >= {q[2], q[3]}
    assert states["out"] >= {q[1], q[4]}
    why = {row["id"]: row["evidence"] for row in rows(sheet)}
    assert why[q[1]].startswith("answered without its images")
    assert why[q[2]].startswith("no model is right with its images")
    assert all(why[question.id] == "it has no image" for question in korean if not question.images)
    assert "flash: with " in ended.out


def test_runs_tell_what_traps_models_and_where_they_are_lucky(sample: Path, tmp_path: Path) -> None:
    questions = load_questions(sample, ["default"], "livek12", "en")
    answers = {q.id: ["lucky" if n % 2 else "right"] for n, q in enumerate(questions)}
    answers[questions[0].id] = ["failed"]
    run = make_run(tmp_path / "run", questions, answers)
    for subset, criterion in (("long_horizon", "traps_models"), ("rigorous_process", "lucky_in_runs")):
        assert propose(subset, sample, tmp_path / f"{subset}.csv", "--all", "--runs", run).code == 0
        told = {r["id"]: r for r in rows(tmp_path / f"{subset}.csv")}
        met = {id for id, row in told.items() if criterion in row["criteria"]}
        assert met
        assert met < set(answers)
        untold = {*(told.keys() - answers.keys()), questions[0].id}
        assert all(criterion in told[id]["unknown"] for id in untold)
        assert all(criterion not in told[id]["unknown"] for id in told.keys() - untold)
        if criterion == "lucky_in_runs":
            assert met == {id for id, kinds in answers.items() if kinds == ["lucky"]}


def test_mini_is_drawn_and_covers(sample: Path, tmp_path: Path) -> None:
    ended = propose("mini", sample, tmp_path / "mini.csv", "--share", 0.5, "--seed", 3)
    assert ended.code == 0, ended.err
    full = load_questions(sample, ["mdk12_full"], "mdk12")
    drawn = {row["id"] for row in rows(tmp_path / "mini.csv")}
    points = {point for question in full for point in question.knowledge_points}
    assert {point for q in full if q.id in drawn for point in q.knowledge_points} == points
    assert "seed 3" in rows(tmp_path / "mini.csv")[0]["made_by"]
    again = ("build", "sample", "--subsets", tmp_path / "mini.csv", "--out", tmp_path / "with")
    assert livek12_here(*again).code == 0
    members = load_questions(tmp_path / "with", ["mdk12_mini"], "mdk12")
    assert {question.id for question in members} >= drawn, "a draw needs nobody's word"
    told = [member for member in read_members(tmp_path / "with") if member.subset == "mini"]
    assert {member.how for member in told} == {"proposed"}
    assert all("share 0.5, seed 3" in member.made_by for member in told)
    assert livek12_here("validate", tmp_path / "with").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "there is no subset 'nonsense'"),
        (["hard"], "name them with --runs"),
        (["image_dependent", "--runs", "r"], "say which with --benchmark"),
        (["image_dependent", "--benchmark", "cfe", "--runs", "r"], "--without-images"),
        (["hard", "--runs", "nowhere"], "nowhere: not a run folder"),
        (["hard", "--runs", "r,r"], "a run is named twice"),
        (["hard", "--runs", "r", "--benchmark", "cfe"], "hard is a subset of kmmmu, not of cfe"),
        (["mini", "--share", "0"], "above 0 and at most 1"),
        (["long_horizon", "--without-images", "r"], "--without-images"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(
    arguments: list[Any], says: str, sample: Path, tmp_path: Path
) -> None:
    ended = propose(arguments[0], sample, tmp_path / "s.csv", *arguments[1:])
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert says in ended.errors[0]
    assert not (tmp_path / "s.csv").exists()


def test_a_file_that_is_no_sheet_is_never_overwritten(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("my,own\ntable,1\n")
    ended = propose("long_horizon", sample, tmp_path / "s.csv")
    assert ended.code == 2
    assert "no sheet of `livek12 subsets propose`" in ended.errors[0]
    assert (tmp_path / "s.csv").read_text() == "my,own\ntable,1\n"


def test_a_data_set_without_the_benchmark_is_one_line(tmp_path: Path) -> None:
    ended = propose("hard", tmp_path, tmp_path / "s.csv", "--runs", "r")
    assert ended.code == 2
    assert "not a data set" in ended.errors[0]
