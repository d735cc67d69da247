"""The reader of labels: what its rows may say, and the one line that each bad row costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.error_types import error_types, one_each
from livek12.core.errors import UserError
from livek12.core.records import Key, Question, Response
from livek12.core.scoring import Row
from livek12.evaluation.studies.labels import COLUMNS, Label, fit_labels, read_labels, refuse_strangers


def write(folder: Path, *rows: object, name: str = "labels.jsonl") -> Path:
    file = folder / name
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


def read(folder: Path, *rows: object, model: str | None = "m", name: str = "labels.jsonl") -> list[Label]:
    told: list[str] = []
    labels = read_labels(write(folder, *rows, name=name), model, told.append)
    assert told == []
    return labels


def row(id: str, benchmark: str = "livek12", task: str = "t", trial: int = 0, text: str = "a") -> Row:
    question = Question(
        id=id, benchmark=benchmark, language="zh", subject="math", question_type="short_answer", question="?"
    )
    key = Key(task=task, question_id=id, trial=trial)
    return Row(task, question, trial, "ungraded", Response(key=key, text=text, engine="replay", model="m"), None)


def test_every_column_is_read(tmp_path: Path) -> None:
    whole = {
        "task": "t", "question_id": "题", "trial": 2, "model": "m", "rater": "ann", "score": 2, "max_score": 4,
        "correct": False, "criteria": {"1": 2}, "CIE": True, "LAE": 0, "DRE": "no", "error_type": "CIE", "note": "n",
        "response_sha256": "ab", "at": "2026-11-23T10:00:00+00:00",
    }  # fmt: skip
    [label] = read(tmp_path, whole)
    assert (label.task, label.question_id, label.trial, label.model, label.rater) == ("t", "题", 2, "m", "ann")
    assert (label.correct, label.share, label.error_type, label.note) == (False, 0.5, "CIE", "n")
    assert label.errors == {"CIE": True, "LAE": False, "DRE": False}
    assert (label.response_sha256, label.at, label.place) == ("ab", whole["at"], "labels.jsonl:1")
    assert {*whole, "withdrawn"} == {*COLUMNS}
    cells = [",".join(COLUMNS), 't,题,2,m,ann,false,2,4,yes,0,no,"{""1"": 2}",CIE,n,ab,2026-11-23T10:00:00+00:00,']
    [typed] = read(tmp_path, *cells, name="labels.csv")
    assert typed.said == label.said
    assert typed.place == "labels.csv:2"


@pytest.mark.parametrize(
    ("given", "correct", "share", "errors"),
    [
        ({"correct": "Wrong"}, False, None, {}),
        ({"verdict": "correct"}, True, None, {}),
        ({"score": 3, "max_score": 3}, True, 1.0, {}),
        ({"score": "1.5", "max_score": "3"}, False, 0.5, {}),
        ({"score": 1}, True, 1.0, {}),
        ({"verdict": "partial", "score": 1, "max_score": 2}, False, 0.5, {}),
        ({"DRE": 1}, None, None, {"DRE": True}),
        ({"correct": True, "CIE": False}, True, None, {"CIE": False}),
    ],
)
def test_what_a_row_may_say(
    tmp_path: Path, given: dict[str, Any], correct: bool | None, share: float | None, errors: dict[str, bool]
) -> None:
    [label] = read(tmp_path, {"item_id": "q", **given})
    assert (label.correct, label.share, label.errors) == (correct, share, errors)


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        ("not json", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ({"correct": True}, "no question_id"),
        ({"question_id": "q"}, "q: says nothing"),
        ({"question_id": "q", "correct": "perhaps"}, "q: correct is 'perhaps': write true or false"),
        ({"question_id": "q", "correct": [1]}, "q: correct is '[1]'"),
        ({"question_id": "q", "CIE": 2}, "q: CIE is '2': write true or false"),
        ({"question_id": "q", "score": 5, "max_score": 4}, "q: score '5' of '4' is no mark"),
        ({"question_id": "q", "score": "many"}, "q: score 'many' of '1' is no mark"),
        ({"question_id": "q", "score": "nan"}, "is no mark"),
        ({"question_id": "q", "score": 0, "max_score": 0}, "is no mark"),
        ({"question_id": "q", "max_score": 4}, "max_score without score"),
        ({"question_id": "q", "correct": True, "score": 1, "max_score": 4}, "correct is True, but score is 1 of 4"),
        ({"question_id": "q", "correct": True, "trial": -1}, "trial is '-1': write a number from 0"),
        ({"question_id": "q", "correct": True, "trial": "first"}, "trial is 'first'"),
        ({"question_id": "q", "correct": True, "rater": ["a"]}, "q: rater is no text"),
        ({"question_id": "q", "Correct": True}, "unknown column 'Correct': write 'correct'"),
        ({"question_id": "q", "correct": True, "cie": True}, "unknown column 'cie': write 'CIE'"),
        ({"question_id": "q", "correct": True, "error_typ": "x"}, "unknown column 'error_typ': write 'error_type'"),
    ],
)
def test_each_bad_row_is_one_line_with_its_place(tmp_path: Path, bad: object, line: str) -> None:
    told: list[str] = []
    file = write(tmp_path, {"question_id": "a", "correct": True}, bad)
    with pytest.raises(UserError, match="1 row cannot be used"):
        read_labels(file, "m", told.append)
    assert len(told) == 1
    assert told[0].startswith("labels.jsonl:2: ")
    assert line in told[0]


def test_a_csv_row_with_too_many_cells_is_refused(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(UserError, match="1 row cannot"):
        read_labels(write(tmp_path, "question_id,correct", "q,true,false", name="l.csv"), "m", told.append)
    assert told == ["l.csv:2: more cells than columns"]


def test_other_columns_are_told_and_not_read(tmp_path: Path) -> None:
    told: list[str] = []
    file = write(tmp_path, {"question_id": "q", "correct": True, "rationale": "x", "standard_answer": "B"})
    assert len(read_labels(file, "m", told.append)) == 1
    assert told == ["labels.jsonl: columns that are not read: rationale, standard_answer"]


def test_a_rater_who_says_two_things_is_refused_unless_one_was_later(tmp_path: Path) -> None:
    first, second = (
        {"question_id": "q", "correct": True, "rater": "a"},
        {"question_id": "q", "correct": 0, "rater": "a"},
    )
    with pytest.raises(
        UserError, match=r"labels.jsonl:2: a says something else of q \(trial 0\) than in labels.jsonl:1"
    ):
        read(tmp_path, first, second)
    assert len(read(tmp_path, first, {**second, "rater": "b"})) == 2
    assert len(read(tmp_path, first, {**second, "trial": 1})) == 2
    assert len(read(tmp_path, first, first)) == 1
    early, late = {**first, "at": "2026-11-23T09:00"}, {**second, "at": "2026-11-23T10:00"}
    for rows in ((early, late), (late, early)):
        [label] = read(tmp_path, *rows)
        assert label.correct is False
    back = {"question_id": "q", "rater": "a", "at": "2026-11-23T11:00", "withdrawn": True}
    assert read(tmp_path, early, late, back) == []


def test_labels_of_several_models(tmp_path: Path) -> None:
    rows = [{"question_id": "q", "model": model, "correct": True} for model in ("m", "n")]
    assert [label.model for label in read(tmp_path, *rows)] == ["m"]
    assert len(read(tmp_path, *rows, model=None)) == 2
    with pytest.raises(UserError, match="labels of m, n, none of x"):
        read(tmp_path, *rows, model="x")
    assert len(read(tmp_path, rows[0], model="another name")) == 1, "one model, under whatever name"


def test_labels_find_their_answers(tmp_path: Path) -> None:
    rows = [row("q"), row("q", trial=1), row("p", task="u")]
    labels = read(tmp_path, {"question_id": "q", "trial": 1, "correct": True}, {"question_id": "p", "correct": False})
    pairs, strangers = fit_labels(labels, rows)
    assert [(label.task, answer.task, answer.trial) for label, answer in pairs] == [("t", "t", 1), ("u", "u", 0)]
    assert strangers == []


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ({"question_id": "x"}, "labels.jsonl:1: x: is no question of the run"),
        ({"question_id": "q", "task": "v"}, "labels.jsonl:1: q: v is no task of the run; it has t"),
        ({"question_id": "q", "trial": 3}, "labels.jsonl:1: q: the run has no trial 3 of it"),
        ({"question_id": "q", "response_sha256": "ab"}, "labels.jsonl:1: q: the label is of another response"),
    ],
)
def test_labels_of_no_answer_are_refused(tmp_path: Path, label: dict[str, Any], line: str) -> None:
    pairs, strangers = fit_labels(read(tmp_path, {**label, "correct": True}), [row("q")])
    assert pairs == []
    with pytest.raises(UserError, match=line):
        refuse_strangers([strangers])
    refuse_strangers([strangers, []])  # it is of the other run


def test_kinds_of_errors_are_those_of_the_benchmark(tmp_path: Path) -> None:
    def fit(kind: str, benchmark: str) -> None:
        fit_labels(read(tmp_path, {"question_id": "q", "correct": 0, "error_type": kind}), [row("q", benchmark)])

    for benchmark in ("livek12", "kmmmu", "mdk12"):
        for kind in error_types(benchmark) or ():
            fit(kind.name, benchmark)
        with pytest.raises(UserError, match=f"'none' is no kind of error of {benchmark}, which has "):
            fit("none", benchmark)
    with pytest.raises(UserError, match="of cfe, which has none"):
        fit("CIE", "cfe")
    fit("whatever", "elsewhere")
    assert [len(one_each(name)) for name in ("livek12", "kmmmu", "mdk12", "cfe")] == [0, 5, 5, 0]


def test_a_label_without_a_task_that_fits_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name the task in the label"):
        fit_labels(read(tmp_path, {"question_id": "q", "correct": True}), [row("q"), row("q", task="u")])


def test_the_recorded_grades_of_nine_models_are_read_whole(shared_data: Path) -> None:
    files = sorted((shared_data / "gaokao2026_math" / "grades").glob("*.jsonl"))
    told: list[str] = []
    assert [len(read_labels(file, None, told.append)) for file in files] == [19] * 9
    assert {line.partition(": ")[2].partition(":")[0] for line in told} == {"columns that are not read"}
