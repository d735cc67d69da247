"""Studies on real run folders: recorded answers to a 2026 paper, with the grades recorded for them."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Key, PartVerdict, Process, ProcessError, Question, Response, Verdict, Vote
from livek12.core.scoring import Row
from livek12.evaluation.studies import first_error
from livek12.evaluation.studies.agreement import (
    SENSITIVITY,
    between_judges,
    between_runs,
    human_agreement,
    judges_sentences,
    runs_sentences,
    sensitivity,
)
from livek12.evaluation.studies.labels import Label, fit_labels
from livek12.evaluation.studies.stability import sentences as ranking
from livek12.evaluation.studies.stability import stability
from tests.scored import outcomes_of
from tests.scripts.command import livek12_here

MODELS = ("GLM 5.1", "GPT-5.5")


@pytest.fixture(scope="module")
def runs(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    paper, folder = shared_data / "gaokao2026_math", tmp_path_factory.mktemp("study")
    questions = paper / "reviewed" / "2026-national-i-math.jsonl"
    assert livek12_here("build", "livek12", "--source", questions, "--out", folder / "data").code == 0
    found = {}
    for model in MODELS:
        found[model] = folder / model.replace(" ", "_")
        file = paper / "responses" / f"{model}.2026-national-i-math.jsonl"
        how = ("--from", "jsonl", "--task", "livek12_text_only", "--data", folder / "data", "--out", found[model])
        assert livek12_here("import-responses", file, *how).code == 0
    return found


def study(*args: object) -> Any:
    ended = livek12_here("study", *args, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


@pytest.mark.slow
def test_agreement_with_recorded_grades_and_with_two_of_them_turned(
    runs: dict[str, Path], shared_data: Path, tmp_path: Path
) -> None:
    file = shared_data / "gaokao2026_math" / "grades" / "GPT-5.5.2026-national-i-math.jsonl"
    found = study("agreement", runs["GPT-5.5"], "--labels", file)["GPT-5.5"]["raters"]["(unnamed)"]
    assert (found["labelled"], found["decided"], found["undecided"]) == (19, 15, 4)
    assert found["accuracy"] == 1
    assert (found["accuracy_low"], found["accuracy_high"]) == (15 / 19, 1)
    said = livek12_here("study", "agreement", runs["GPT-5.5"], "--labels", file).out.splitlines()
    assert said[0].startswith(
        "GPT-5.5 beside the labels: of 19 labelled answers the run decided 15, 15 of them as the person did (100.0 %,"
    )
    assert not [line for line in said if "_" in line or "{" in line], "no names of fields"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows[:2]:
        row.update(score=0.0, verdict="incorrect")
    turned = tmp_path / "labels.jsonl"
    turned.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    found = study("agreement", runs["GPT-5.5"], "--labels", turned)["GPT-5.5"]["raters"]["(unnamed)"]
    assert (found["false_accepts"], found["false_rejects"], found["accuracy"]) == (2, 0, 13 / 15)
    assert found["by_stage"]["choice"]["false_accepts"] == 2
    assert [example["question_id"] for example in found["examples"]["false_accepts"]] == [
        r["item_id"] for r in rows[:2]
    ]
    assert found["marks"]["n"] == 15
    assert found["marks"]["mean_difference"] == pytest.approx(2 / 15)


@pytest.mark.slow
def test_ranking_and_intra_judge_on_real_runs(runs: dict[str, Path], tmp_path: Path) -> None:
    found = study("stability", *runs.values(), "--metric", "mark", "--profile", "release")
    assert found["profile"] == "release"
    taus = [one["tau"] for one in found["low"]["groups"]["question_type"].values() if one["tau"] is not None]
    assert found["low"]["partitions"]["question_type"]["n"] == len(taus)
    assert found["questions"] == 19
    assert set(found["low"]["scores"]) == {"GLM_5.1", "GPT-5.5"}
    assert found["low"]["halves"]["n"] + found["low"]["halves"]["tied"] == 100
    copy = shutil.copytree(runs["GPT-5.5"], tmp_path / "copy")
    again = study("intra-judge", runs["GPT-5.5"], copy)
    assert again["identical"] == 1
    assert again["range"] == {"low": 0, "high": 0}
    assert again["accuracy"]["copy"] == {"low": 15 / 19, "high": 1}


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("agreement", "RUN"), "Missing option '--labels'"),
        (("inter-judge", "RUN"), "votes of two judges"),
        (("sensitivity", "RUN", "RUN"), "give two run folders or more"),
        (("stability", "RUN"), "two runs or more"),
        (("nonsense", "RUN"), "No such command 'nonsense'"),
    ],
)
def test_wrong_use_is_one_line(runs: dict[str, Path], args: tuple[str, ...], line: str) -> None:
    ended = livek12_here("study", *(runs["GPT-5.5"] if arg == "RUN" else arg for arg in args))
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert line in ended.errors[0]


def row(
    id: str,
    correct: bool | None,
    *,
    judge: str = "j",
    text: str = "a",
    answer: str = "1",
    votes: dict[str, str] | None = None,
) -> Row:
    key = Key(task="t", question_id=id)
    question = Question(
        id=id, benchmark="livek12", language="zh", subject="math", question_type="short_answer", question="?"
    )
    response = Response(key=key, text=text, engine="replay", model="m")
    points = None if correct is None else float(correct)
    decision = "undecided" if correct is None else "accept" if correct else "reject"
    part = PartVerdict(
        answer=answer,
        gold="1",
        decision=decision,
        score=points,
        decided_by="panel",
        votes=[Vote(judge=name, decision=vote, score=float(vote == "accept")) for name, vote in (votes or {}).items()],  # type: ignore[arg-type]
    )
    state = "ungraded" if correct is None else "graded"
    low, high = (0.0, 1.0) if points is None else (points, points)
    verdict = Verdict(
        key=key,
        response_sha256=response.sha256,
        state=state,  # type: ignore[arg-type]
        parts=[part],
        points=points,
        low=low,
        high=high,
        max_points=1,
        correct=correct,
        judge=judge,
    )
    return Row("t", question, 0, state, response, verdict)  # type: ignore[arg-type]


def test_undecided_answers_are_in_the_bounds_only() -> None:
    labels = [
        Label(id, human, None, None, 0, "a") for id, human in (("1", True), ("2", True), ("3", False), ("9", True))
    ]
    found = human_agreement(*fit_labels(labels, [row("1", True), row("2", None), row("3", True)]))
    assert found["not_in_this_run"] == 1
    beside = found["raters"]["a"]
    assert (beside["decided"], beside["undecided"], beside["accuracy"]) == (2, 1, 0.5)
    assert (beside["accuracy_low"], beside["accuracy_high"]) == (1 / 3, 2 / 3)


def test_raters_beside_each_other() -> None:
    marks = {"a": (True, True, False, False), "b": (True, False, False, False)}
    labels = [Label(str(i), m, None, None, 0, rater) for rater, ms in marks.items() for i, m in enumerate(ms)]
    found = human_agreement(*fit_labels(labels, [row(str(i), True) for i in range(4)]))
    assert found["between_raters"] == {"a / b": {"n": 4, "kappa": 0.5}}


def test_inter_judge_counts_pairs_of_votes() -> None:
    votes = [
        {"x": "accept", "y": "accept", "z": "undecided"},
        {"x": "reject", "y": "reject", "z": "accept"},
        {"x": "accept"},
    ]
    found = between_judges([row(str(i), True, votes=vote) for i, vote in enumerate(votes)])
    assert found["parts"] == 2
    assert found["unanimous"] == 0.5
    assert found["pairs"]["x / y"] == {"n": 2, "agreed": 1.0, "kappa": 1.0}
    assert found["pairs"]["x / z"]["n"] == 1


def test_sensitivity_over_prompts() -> None:
    runs = {
        "P1": [row("1", True, judge="p1"), row("2", True, judge="p1"), row("3", None, judge="p1")],
        "P2": [row("1", True, judge="p2"), row("2", False, judge="p2"), row("3", False, judge="p2")],
    }
    found = between_runs(runs, "different")
    assert found["accuracy"] == {"P1": {"low": 2 / 3, "high": 1.0}, "P2": {"low": 1 / 3, "high": pytest.approx(1 / 3)}}
    assert found["range"]["low"] == pytest.approx(1 / 3)
    assert (found["decided_by_all"], found["identical"], found["changed"]) == (2, 0.5, 1)
    assert found["examples"] == ["t/2/0"]
    assert found["flips"] == [{"answer": "t/2/0", "P1": "right", "P2": "wrong"}]


@pytest.mark.parametrize(
    ("other", "judges", "message"),
    [
        ([row("1", True, text="another")], "same", "other responses"),
        ([row("1", True, judge="k")], "same", "marked by 2 judges"),
        ([row("1", True)], "different", "by one judge"),
    ],
)
def test_runs_that_cannot_be_compared(other: list[Row], judges: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        between_runs({"a": [row("1", True)], "b": other}, judges)


def test_a_ranking_that_holds_and_one_that_turns() -> None:
    def run(right: str) -> list[Row]:
        return [row(str(i), str(i) in right) for i in range(4)]

    found = stability(outcomes_of({"weak": run("0"), "middle": run("01"), "strong": run("0123")}), halves=20)
    assert found["low"] == found["high"]
    assert found["low"]["groups"]["subject"]["math"] == {"questions": 4, "tau": 1.0}
    assert found["low"]["halves"]["min"] >= 0 and found["low"]["between_slices"]["subject"]["n"] == 0
    turned = stability(outcomes_of({"a": run("01"), "b": run("23")}), halves=20)
    assert turned["low"]["groups"]["subject"]["math"]["tau"] is None
    assert turned["low"]["halves"]["min"] in (-1.0, None)


def test_critics_beside_each_other() -> None:
    """Two critics on two answers: they agree on the first, and only one sees an error in the second."""
    first = Process(cie=1, lae=0, dre=0, errors=[_error("x"), _error("y")], critics=["x", "y"])
    second = Process(cie=0.5, lae=0, dre=0, errors=[_error("x")], critics=["x", "y"])
    rows = [row(str(i), True) for i in range(2)]
    audited = [
        dataclasses.replace(r, verdict=r.verdict.model_copy(update={"process": process}))
        for r, process in zip(rows, (first, second), strict=True)
        if r.verdict
    ]
    found = between_judges(audited)
    assert found["audits"] == 2
    assert (found["process"]["CIE"]["unanimous"], found["process"]["CIE"]["present"]) == (0.5, 2)
    assert found["process"]["LAE"] == {"alpha": None, "unanimous": 1, "present": 0}


def _error(judge: str) -> ProcessError:
    return ProcessError(type="CIE", step="s", reason="r", judge=judge)


def test_every_study_says_in_a_sentence_what_it_found() -> None:
    votes = [{"x": "accept", "y": "accept"}, {"x": "reject", "y": "accept"}]
    panel = {"r": between_judges([row(str(i), True, votes=vote) for i, vote in enumerate(votes)])}
    assert list(judges_sentences(panel)) == [
        "r: x and y voted on 2 parts, all alike on 50.0 % of them. Krippendorff's α 0.00."
    ]
    runs = {
        name: [row("1", True, judge=name), row("2", right, judge=name)] for name, right in (("p", True), ("q", None))
    }
    assert list(runs_sentences(between_runs(runs, "different"))) == [
        "The 2 runs hold 2 answers with a verdict; 1 are decided in all of them, and 100.0 % of these alike. 0 verdicts"
        " differ. Krippendorff's α –.",
        "Between the runs the accuracy moves by 50.0 points where what is undecided counts as wrong, by 0.0 where it"
        " counts as right.",
    ]
    ranked = {name: [row(str(i), str(i) in right) for i in range(4)] for name, right in (("a", "0"), ("b", "0123"))}
    first, *slices, second = ranking(stability(outcomes_of(ranked), halves=20))
    assert first == "2 runs on 4 shared questions, by accuracy: b 100.0 %; a 25.0 %."
    assert slices == [
        f"Slice against whole, by {axis}: Kendall's τ 1.00 over 1." for axis in ("subject", "question type")
    ]
    assert second.startswith("Two random halves of the questions rank the runs with Kendall's τ 1.00 on average")
    seen = {
        "decided": 3, "errors_seen": 1, "errors_missed": 1, "false_alarms": 0,
        "step_accuracy_low": 0.5, "step_accuracy_high": 0.5,
    }  # fmt: skip
    assert list(first_error.sentences({"solutions": 3, "with_errors": 2, "panel": seen, "critics": {"c": seen}})) == [
        "2 of 3 solutions have a first wrong step that experts marked.",
        *(
            f"{who} decided 3: saw 1 wrong solutions, missed 1, raised 0 false alarms, and named the very step of"
            " 50.0 % of the wrong ones."
            for who in ("The panel", "c")
        ),
    ]


def test_ranking_by_process_scores_needs_audits() -> None:
    runs = {"a": [row("1", True), row("2", True)], "b": [row("1", True), row("2", False)]}
    with pytest.raises(UserError, match="PES"):
        stability(outcomes_of(runs), "PES")


def test_a_ranking_of_slices_beside_the_whole_and_beside_each_other() -> None:
    """In mathematics a is first, in physics b, and over both a: each slice is named by what it is compared with."""

    def run(right: dict[str, int]) -> list[Row]:
        rows = []
        for subject, count in right.items():
            for n in range(10):
                one = row(f"{subject}{n}", n < count)
                rows.append(dataclasses.replace(one, question=one.question.model_copy(update={"subject": subject})))
        return rows

    runs = {
        "a": run({"math": 9, "physics": 3}),
        "b": run({"math": 2, "physics": 6}),
        "c": run({"math": 1, "physics": 1}),
    }
    found = stability(outcomes_of(runs), halves=5)["low"]
    whole, between = (found[part]["subject"] for part in ("partitions", "between_slices"))
    assert (whole["n"], whole["mean"], between["n"]) == (
        2,
        pytest.approx(2 / 3),
        1,
    )  # math as the whole, physics turns a, b
    assert between["mean"] == pytest.approx(1 / 3)
    lines = list(ranking(stability(outcomes_of(runs), halves=5)))
    assert "Slice against whole, by subject: Kendall's τ 0.67 over 2." in lines
    assert "Slice against slice, by subject: Kendall's τ 0.33 over 1." in lines


def test_two_models_marked_by_two_judges_with_three_prompts() -> None:
    """Planted: of 10 answers, judge x accepts 2, 5 and 7 of the first model by p1 to p3; judge y all alike."""
    accepts = {"one": {"x": (2, 5, 7), "y": (4, 4, 4)}, "two": {"x": (9, 9, 8), "y": (1, 2, 3)}}
    runs = {
        f"{model}-{judge}-p{n}": [
            row(str(i), i < count, text=model, judge=f"rules-1+0 p{n}-7-abc+{judge}+all",
                votes={judge: "accept" if i < count else "reject"})
            for i in range(10)
        ]
        for model, judges in accepts.items() for judge, counts in judges.items() for n, count in enumerate(counts, 1)
    }  # fmt: skip
    found = sensitivity(runs)
    table, *_, prompts = SENSITIVITY.tables(found) if SENSITIVITY.tables else ()
    assert table.heads == ["", "x: p1", "x: p2", "x: p3", "x: range", "y: p1", "y: p2", "y: p3", "y: range"]
    assert table.rows[0] == ["one-x-p1", "20.0 %", "50.0 %", "70.0 %", "50.0", "40.0 %", "40.0 %", "40.0 %", "0.0"]
    assert table.rows[1] == ["two-x-p1", "90.0 %", "90.0 %", "80.0 %", "10.0", "10.0 %", "20.0 %", "30.0 %", "20.0"]
    assert [line[0] for line in prompts.rows] == ["p1", "p2", "p3"]
    assert "[TRUE] or [FALSE]" in SENSITIVITY.written(found, "html")
    assert len(list(SENSITIVITY.sentences(found))) == 4
