"""Result matrices as runs without responses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import livek12.core.run_answers as run_answers
from livek12.core.run.folder import RunFolder
from livek12.evaluation.reporting import score
from livek12.evaluation.results import folder_names
from livek12.evaluation.task_data import load_task_data
from livek12.tasks.registry import get_task
from tests.scripts.command import livek12_here

WIDE = """question_id,category,key,options,strong,weak,quiet
q1,law,B,4,B,A,B
q2,law,C,10,C,J,-
q3,math,A,4,A,A,
"""
LONG = "model,question,score,tokens\nm,q1,1,120\nm,q2,0,80\nn,q1,1,\nn,q2,1,\n"


def imported(place: Path, name: str, content: str, *args: str) -> dict[str, RunFolder]:
    file = place / name
    file.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    ended = livek12_here("import-results", file, "--out", place / "runs", *args)
    assert ended.code == 0, ended
    return {path.name: RunFolder.open(path) for path in (place / "runs").iterdir()}


def outcomes(run: RunFolder) -> dict[str, tuple[str, bool | None]]:
    return {row.question.id: (row.state, row.verdict.correct if row.verdict else None) for row in run.rows()}


def test_letters_are_marked_and_a_missing_cell_stays_open(tmp_path: Path) -> None:
    runs = imported(tmp_path, "wide.csv.gz", WIDE, "--licence", "MIT")
    assert outcomes(runs["strong"]) == dict.fromkeys(("q1", "q2", "q3"), ("graded", True))
    assert outcomes(runs["weak"])["q2"] == ("graded", False)
    assert outcomes(runs["quiet"]) == {"q1": ("graded", True), "q2": ("no_answer", False), "q3": ("failed", None)}
    tasks = score(runs["quiet"])["tasks"]["log.wide"]
    assert tasks["tokens"]["completion"]["missing"] == 2 and tasks["tokens"]["completion"]["mean"] is None
    assert tasks["groups"]["subject"].keys() == {"law", "math"}
    told = livek12_here("report", runs["quiet"].path).out + livek12_here("status", runs["quiet"].path).out
    assert "1 not recorded.\n" in told and "has no answer there" in told and "asks" not in told
    assert "failed" not in told and told.endswith("2 of 3 answered, 1 not recorded\n")


@pytest.mark.parametrize("name", ["strong", "weak", "quiet"])
def test_reading_by_kind_scores_as_reading_each_row(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = imported(tmp_path, "wide.csv", WIDE)[name]
    by_kind = score(run)
    monkeypatch.setattr(run_answers, "read_alike", lambda run: None)
    assert json.dumps(by_kind) == json.dumps(score(RunFolder(run.path)))


def test_the_same_command_again_adds_nothing(tmp_path: Path) -> None:
    imported(tmp_path, "wide.csv", WIDE)
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*.jsonl")}
    runs = imported(tmp_path, "wide.csv", WIDE)
    assert before == {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*.jsonl")}
    verdicts = next(runs["weak"].path.glob("verdicts-*.jsonl"))
    whole = verdicts.read_bytes()
    verdicts.write_bytes(whole[: len(whole) // 2])  # a kill
    assert outcomes(imported(tmp_path, "wide.csv", WIDE)["weak"])["q3"] == ("graded", True)
    (tmp_path / "wide.csv").write_text(WIDE.replace("C,10,C,J", "C,10,C,C"))
    ended = livek12_here("import-results", tmp_path / "wide.csv", "--out", tmp_path / "runs")
    assert ended.code == 2 and "holds another run" in ended.err


def test_marks_are_taken_as_given_and_cannot_be_judged(tmp_path: Path) -> None:
    runs = imported(tmp_path, "long.csv", LONG)
    assert outcomes(runs["m"]) == {"q1": ("graded", True), "q2": ("graded", False)}
    assert score(runs["m"])["tasks"]["log.long"]["tokens"]["completion"]["sum"] == 200
    ended = livek12_here("judge", runs["m"].path)
    assert ended.code == 2 and "nothing to judge" in ended.err


def test_forms_of_tables(tmp_path: Path) -> None:
    by_model = '{"model": "m", "q1": 0.25, "q2": 1}\n{"model": "n", "q1": 0, "q2": 0.5}\n'
    shares = imported(tmp_path, "by_model.jsonl", by_model)["m"]
    assert [row.verdict.points for row in shares.rows() if row.verdict] == [0.25, 1.0]
    pq.write_table(pa.table({"id": ["q1", "q2"], "points": [4, 5], "m": [4.0, 2.5]}), tmp_path / "points.parquet")
    ended = livek12_here("import-results", tmp_path / "points.parquet", "--out", tmp_path / "points")
    assert ended.code == 0, ended
    points = RunFolder.open(tmp_path / "points" / "m")
    assert [(row.verdict.points, row.verdict.max_points) for row in points.rows() if row.verdict] == [(4, 4), (2.5, 5)]
    (tmp_path / "items.csv").write_text("id,answer\nq1,3/4\nq2,sqrt(2)\n")
    answers = imported(tmp_path, "answers.csv", "id,k\nq1,0.75\nq2,1.5\n", "--items", str(tmp_path / "items.csv"))
    assert outcomes(answers["k"]) == {"q1": ("graded", True), "q2": ("graded", False)}


def test_letters_of_a_data_set_are_marked_by_its_keys(data: Path, tmp_path: Path) -> None:
    task = "livek12_text_only_en"
    exam = load_task_data(str(data), [get_task(task)], None)
    posed = {question.id: question for question in exam.questions[task]}
    lettered = {id: q for id, q in posed.items() if q.options and all(key.isalpha() for key in q.answer)}
    right = {id: "".join(question.answer) for id, question in lettered.items()}
    wrong = {
        id: next(option.label for option in question.options if option.label not in question.answer)
        for id, question in lettered.items()
    }
    assert len(right) > 1
    rows = "".join(f"{id},{key},{wrong[id]}\n" for id, key in right.items())
    runs = imported(tmp_path, "letters.csv", "id,good,bad\n" + rows, "--data", str(data), "--task", task)
    assert outcomes(runs["good"]) == dict.fromkeys(right, ("graded", True))
    assert outcomes(runs["bad"]) == dict.fromkeys(right, ("graded", False))
    (tmp_path / "other.csv").write_text("id,m\nnowhere,A\n")
    where = ("--data", data, "--task", task, "--out", tmp_path / "other")
    ended = livek12_here("import-results", tmp_path / "other.csv", *where)
    assert ended.code == 2 and f"{task} has no question nowhere" in ended.err


def test_dates_and_costs_are_taken(tmp_path: Path) -> None:
    rows = ("m,q1,1,0.5,2026-05-01", "m,q2,0,1.25,2026-05-02", "n,q1,1,2,", "n,q2,1,,")
    runs = imported(tmp_path, "long.csv", "\n".join(("model,question,score,cost,date", *rows, "")))
    assert runs["m"].spec().started_at == "2026-05-02"
    assert runs["m"].spec().stated_cost == 1.75 and runs["n"].spec().stated_cost is None, "of one answer it is unknown"
    assert livek12_here("site", *(tmp_path / "runs").iterdir(), "--out", tmp_path / "site").code == 0
    costs = {row["run"]: row for row in json.loads((tmp_path / "site" / "cost.json").read_text()) if row["task"]}
    assert (costs["m"]["cost"], costs["m"]["currency"]) == (1.75, "USD")
    assert (costs["n"]["cost"], costs["n"]["currency"]) == (None, None)


BAD = {
    "mixed cells": (
        WIDE.replace("weak", "w").replace("q2,law,C,10,C,J", "q2,law,C,10,C,0.5"),
        "question q2: '0.5' is no",
    ),
    "a key beyond the options": (WIDE.replace("A,4,A,A", "F,4,A,A"), "the key F is none of its 4 options"),
    "a cell twice": ("model,question,value\nm,q,1\nm,q,1\n", "question q of m is there twice"),
    "no column of questions": ("a,b\n1,2\n", "--column question=NAME"),
    "letters without keys": ("id,m\nq,A\n", "answers need keys"),
    "more than one": ("id,m\nq,1.5\n", "'1.5' is no cell of"),
    "no cell": ("id,key,m\nq,A,\n", "holds no cell"),
    "a long name": ("id,m\n" + "q" * 201 + ",1\n", "no name of 1 to 200"),
    "a broken row": ("id,m\nq,1,2\n", "row 2"),
    "tokens": (LONG.replace("120", "many"), "tokens 'many' are no whole number"),
    "a cost": (LONG.replace("tokens", "cost").replace("120", "-1"), "cost '-1' is no number"),
    "another key": ("model,question,value,key\nm,q,A,A\nn,q,A,B\n", "has another key than before"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, why = BAD[case]
    (tmp_path / "bad.csv").write_text(content)
    ended = livek12_here("import-results", tmp_path / "bad.csv", "--out", tmp_path / "runs")
    assert ended.code == 2 and why in ended.err and ended.err.count("\n") == 1, ended
    assert not (tmp_path / "runs").exists()


def test_names_of_folders_are_safe_and_different() -> None:
    names = folder_names(["../../etc", "a/b", "a:b", "A-B", "…", "."])
    assert list(names.values()) == ["etc", "a-b", "a-b~2", "A-B~3", "model", "model~2"]


def test_a_site_of_them_says_what_is_not_recorded(tmp_path: Path) -> None:
    imported(tmp_path, "wide.csv", WIDE, "--licence", "MIT")
    runs = sorted((tmp_path / "runs").iterdir())
    assert livek12_here("site", *runs, "--out", tmp_path / "site").code == 0
    pages = "".join(path.read_text("utf-8") for path in (tmp_path / "site" / "data").rglob("*.js"))
    assert "letters without responses" in pages and "text of this question is not here" in pages
    assert not list((tmp_path / "site" / "data").glob("answers/*"))
    assert livek12_here("report", runs[0]).code == 0
    assert "the response itself is not recorded" in (runs[0] / "report.html").read_text("utf-8")
