"""mdk12 rows: the published tables, and rows of their columns in other files."""

from __future__ import annotations

import base64
import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import mdk12
from livek12.dataset_builders.builder import read as read_source
from tests.dataset_builders.pictures import BAD, HTML, picture

NAME = "MSPH_single_answer_choice_multi_modal.tsv"
ROW: dict[str, Any] = {
    "index": 12,
    "question": "如图，浮力最大的是（　）",
    "category": "physics",
    "answer": "B",
    "A": "甲",
    "B": "乙",
    "C": "丙",
    "D": "",
    "image": base64.b64encode(picture()).decode(),
    "knowledge": "浮力; 阿基米德原理",
    "analysis": r"因为 $x\neq 1$",
    "year": "2023",
    "grade_level": "八年级",
    "difficulty_level": "中等",
}


def read(folder: Path, *rows: dict[str, Any], name: str = NAME, log: Log | None = None) -> list[Question]:
    file = folder / name
    if name.endswith((".tsv", ".csv")):
        with file.open("w", encoding="utf-8", newline="") as stream:
            columns = list(dict.fromkeys(key for row in rows for key in row))
            writer = csv.DictWriter(stream, columns, delimiter="\t" if name.endswith("tsv") else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
    else:
        file.write_text(json.dumps(rows, ensure_ascii=False))
    return [record for record in read_source(mdk12.BUILDER, folder, log or Log()) if isinstance(record, Question)]


def one(folder: Path, name: str = NAME, log: Log | None = None, **changes: Any) -> Question:
    log = log or Log()
    row = {key: value for key, value in {**ROW, **changes}.items() if value != "ABSENT"}
    found = read(folder, row, name=name, log=log)
    assert not log.skipped
    return found[0]


@pytest.mark.parametrize("suffix", ["tsv", "csv", "json", "parquet"])
def test_the_published_table(tmp_path: Path, suffix: str) -> None:
    question = one(tmp_path, NAME.replace("tsv", suffix))
    assert question.id == "MSPH_single_answer_choice_multi_modal_12"
    assert question.source.upstream_id == "12"
    assert question.question == f"如图，浮力最大的是（　）\n{IMAGE_MARK}"
    assert [(option.label, option.text) for option in question.options] == [("A", "甲"), ("B", "乙"), ("C", "丙")]
    assert (question.question_type, question.question_type_raw) == ("single_choice", "single_answer_choice")
    assert (question.answer, question.subject, question.language, question.year) == (["B"], "physics", "zh", 2023)
    assert [image.bytes for image in question.images] == [picture()]
    assert question.knowledge_points == ["浮力", "阿基米德原理"]
    assert question.taxonomy == ["physics", "八年级"]
    assert (question.difficulty, question.solution, question.points) == ("medium", r"因为 $x\neq 1$", None)


@pytest.mark.parametrize(
    ("name", "form", "subject", "stage"),
    [
        ("GSMA_fill_in_the_blank_single_modal.tsv", "fill_in_blank", "math", "primary school"),
        ("MSCH_calculation_multi_modal.tsv", "short_answer", "chemistry", "middle school"),
        ("HSBI_multiple_answer_choice_multi_modal.tsv", "multiple_choice", "biology", "high school"),
        ("HSGE_single_answer_choice_single_modal.tsv", "single_choice", "geography", "high school"),
        ("MSPH_true_false_multi_modal.tsv", "true_false", "physics", "middle school"),
    ],
)
def test_what_the_name_of_the_file_says(tmp_path: Path, name: str, form: str, subject: str, stage: str) -> None:
    question = one(tmp_path, name, category="x", grade_level="")
    assert (question.question_type, question.subject, question.taxonomy) == (form, subject, [subject, stage])


def test_columns_go_before_the_name_of_the_file(tmp_path: Path) -> None:
    changes = {"question_type": "true_false", "subject": "Chemistry", "grade_level": "Grade 9", "category": "x"}
    question = one(tmp_path, **changes, answer="True")
    assert (question.question_type, question.subject, question.answer) == ("true_false", "chemistry", ["True"])
    assert question.taxonomy == ["Chemistry", "Grade 9"]


@pytest.mark.parametrize("answer", ["True", "对", "√", "A", "maybe", "1", "", "F (see above)"])
def test_no_row_is_left_out_for_its_key(tmp_path: Path, answer: str) -> None:
    log = Log()
    question = one(tmp_path, "MSPH_true_false_multi_modal.tsv", log, answer=answer)
    assert (question.question_type, question.answer) == ("true_false", [answer] if answer else [])


@pytest.mark.parametrize(
    ("form", "text", "answer", "key"),
    [
        ("multiple_answer_choice", "q", "ACB", ["ABC"]),
        ("multiple_answer_choice", "q", "A, C", ["AC"]),
        ("multiple_answer_choice", "q", "['A', 'C']", ["AC"]),
        ("multiple_answer_choice", "q", "乙", ["乙"]),
        ("single_answer_choice", "q", "(b)", ["B"]),
        ("fill_in_the_blank", "a____ b____", "3; 5", ["3", "5"]),
        ("fill_in_the_blank", "a____ b____", "['3', '5']", ["3", "5"]),
        ("fill_in_the_blank", "a____", "3; 5", ["3; 5"]),
        ("calculation", "(1) a (2) b", "(1) 2 (2) 3", ["2", "3"]),
        ("calculation", "find a", "['(1) 2', '(2) 3']", ["2", "3"]),
    ],
)
def test_keys(tmp_path: Path, form: str, text: str, answer: str, key: list[str]) -> None:
    name = f"MSPH_{form}_multi_modal.tsv"
    assert one(tmp_path, name, question=text, answer=answer).answer == key


@pytest.mark.parametrize(
    ("given", "difficulty"),
    [
        *((word, "easy") for word in ("easy", "Easy", "EASY", "简单", "容易")),
        *((word, "medium") for word in ("medium", "Moderate", "中等", "一般")),
        *((word, "hard") for word in ("hard", "difficult", "困难", "较难")),
        ("0.65", "0.65"),
        ("", None),
    ],
)
def test_difficulty(tmp_path: Path, given: str, difficulty: str | None) -> None:
    assert one(tmp_path, difficulty_level=given).difficulty == difficulty


@pytest.mark.parametrize(
    ("changes", "taxonomy", "points"),
    [
        (
            {"knowledge": "物理 > 八年级 > 力学 > 浮力 > 阿基米德原理 > 计算"},
            "物理 八年级 力学 浮力 阿基米德原理 计算",
            ["计算"],
        ),
        ({"knowledge": "['浮力', '密度']"}, "physics 八年级", ["浮力", "密度"]),
        ({"subfield": "m", "curriculum": "c", "topic": "t", "knowledge": "k"}, "physics 八年级 m c t k", ["k"]),
        ({"topic": "t", "knowledge": "k"}, "physics 八年级", ["k"]),  # a path has no gaps
        ({"knowledge": ""}, "physics 八年级", []),
        ({"knowledge": "km/h"}, "physics 八年级", ["km/h"]),
    ],
)
def test_taxonomy(tmp_path: Path, changes: dict[str, str], taxonomy: str, points: list[str]) -> None:
    question = one(tmp_path, **changes)
    assert (" ".join(question.taxonomy), question.knowledge_points) == (taxonomy, points)


@pytest.mark.parametrize(
    ("text", "options", "language"),
    [("求 x", "1", "zh"), ("Find x", "1", "en"), ("$x=$", "甲", "zh"), ("$x=$", "1", "en")],
)
def test_language_of_each_row(tmp_path: Path, text: str, options: str, language: str) -> None:
    question = one(tmp_path, question=text, A=options, B="2", C="3", analysis="")
    assert question.language == language


@pytest.mark.parametrize("form", ["{}", "['{}', '{}']", '["{}", "{}"]', "data:image/png;base64,{}"])
def test_images(tmp_path: Path, form: str) -> None:
    coded = [base64.b64encode(picture(number)).decode() for number in range(form.count("{}"))]
    question = one(tmp_path, image=form.format(*coded), question="q <image>")
    assert [image.bytes for image in question.images] == [picture(number) for number in range(len(coded))]
    assert question.question.count(IMAGE_MARK) == len(coded)


@pytest.mark.parametrize("name", [NAME, NAME.replace("multi_modal", "single_modal")])
def test_a_picture_that_should_be_there(tmp_path: Path, name: str) -> None:
    log = Log()
    assert one(tmp_path, name, log, image="").images == []
    assert bool(log.notes) == (name == NAME)


def test_year_and_subsets(tmp_path: Path) -> None:
    log = Log()
    question = one(tmp_path, "mini_" + NAME, log, year="2019-2020", subset="dynamic", category="x")
    assert (question.year, question.subsets, question.subject) == (None, ["dynamic", "mini"], "physics")
    assert any("year '2019-2020'" in note for note in log.notes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": "", "image": ""}, "no question"),
        ({"image": base64.b64encode(BAD["truncated PNG"][0]).decode()}, "damaged"),
        ({"image": base64.b64encode(BAD["huge"][0] * 2).decode()}, "too large"),
        ({"image": "data:image/png;base64," + base64.b64encode(HTML).decode()}, "HTML page"),
        ({"image": "../secret.png"}, "outside"),
        ({"image": "https://h.test/a.png"}, "on another host"),
        ({"points": "x"}, "points 'x'"),
    ],
)
def test_bad_row_costs_one_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    log = Log()
    found = read(folder, {**ROW, "index": 1}, {**ROW, "index": 2, **changes}, {**ROW, "index": 3}, log=log)
    assert [question.source.upstream_id for question in found] == ["1", "3"]
    (line,) = log.skipped
    assert line.startswith(f"{NAME}:3 ({NAME[:-4]}_2): left out: ")
    assert said in line


def test_an_index_counts_within_its_file(tmp_path: Path) -> None:
    names = [NAME, NAME.replace("PH", "CH")]
    for name in names:
        read(tmp_path, ROW, name=name)
    found = list(read_source(mdk12.BUILDER, tmp_path, log := Log()))
    assert sorted(q.id for q in found if isinstance(q, Question)) == sorted(f"{name[:-4]}_12" for name in names)
    assert log.notes == []


def test_rows_of_ones_own_are_unreviewed(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"question": "Find x.", "answer": "1", "form": "calculation"}]))
    (question,) = read_source(mdk12.BUILDER, tmp_path, Log())
    assert isinstance(question, Question)
    assert (question.review.state, question.id, question.taxonomy) == ("unreviewed", "r_0001", [])
