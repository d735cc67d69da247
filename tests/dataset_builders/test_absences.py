"""What a question refers to and does not have is told by a build and is a problem of `validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Image, Question
from livek12.dataset_builders import build, validate
from livek12.dataset_builders.reading.soundness import absences, refers_to_passage
from tests.dataset_builders.pictures import picture

LONG = "A long passage goes on about the sea and what the people by the sea did in the old days. " * 8


def asked(text: str, pictures: int = 0) -> Question:
    images = [Image(bytes=picture(number), path=f"{number}.png") for number in range(pictures)]
    fixed: dict[str, Any] = {"id": "q", "benchmark": "livek12", "language": "en", "subject": ""}
    return Question(question=text, images=images, question_type="short_answer", **fixed)


@pytest.mark.parametrize(
    ("text", "pictures", "said"),
    [
        ("In [figure1], what is $x$?", 0, ["it names 1 pictures and has 0"]),
        ("In <image 1> and <image 2>, what is $x$?", 1, ["it names 2 pictures and has 1"]),
        ("In [image], what is $x$?", 0, ["its text has a place for a picture that it does not have ([image])"]),
        ("In [figure1], what is $x$?", 1, []),
        ("In Figure 1, what is $x$?", 0, []),
        ("Let $[a, b]$ and [1] be given.", 0, []),
        ("According to the passage, why did they leave?", 0, ["it refers to a passage that it does not have"]),
        ("According to the passage, why did they leave?", 1, []),
        (f"{LONG}\n\nAccording to the passage, why did they leave?", 0, []),
        ("What does the author of the theory of relativity say of mass?", 0, []),
    ],
)
def test_what_is_absent(text: str, pictures: int, said: list[str]) -> None:
    assert list(absences(asked(text, pictures))) == said


@pytest.mark.parametrize(
    ("text", "refers"),
    [
        ("阅读下面的文字，完成1～3题。下列说法不正确的一项是", True),
        ("下列对原文内容的理解，不正确的一项是", True),
        ("윗글의 내용과 일치하지 않는 것은?", True),
        ("㉠에 대한 이해로 가장 적절한 것은?", True),
        ("다음 글에서 알 수 있는 섬은?\n우리나라 동쪽 끝에 있는 이 섬은 1900년에 우리 영토가 되었다.", False),
        ("다음 중 한글을 만든 왕은?", False),
        ("已知集合 $A$，则 $A$ 的子集有几个？", False),
        ("Read the number line. Which number is greatest?", False),
    ],
)
def test_words_for_a_passage(text: str, refers: bool) -> None:
    assert refers_to_passage(text) == refers


def test_a_number_that_is_no_option(tmp_path: Path) -> None:
    row = {"question": "2 + 2?", "choices": ["3", "4", "5"]}
    (tmp_path / "rows.json").write_text(json.dumps([{**row, "answer": 1}, {**row, "answer": 4}]))
    assert [
        note for note in build("livek12", str(tmp_path / "rows.json"), tmp_path / "data").notes if "key" in note
    ] == ["rows.json:1 (rows_0001): its key 1 is none of its options A, B, C"]


def test_a_mark_without_a_picture_is_told_and_found(tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "question": "Look at <image>. What is $x$?", "answer": "1"},
        {"id": "q2", "question": "2 + 2?"},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    report = build("livek12", str(tmp_path / "rows.json"), tmp_path / "data")
    (said,) = [note for note in report.notes if "place for a picture" in note]
    assert said.startswith("rows.json:1 (q1): ")
    (problem,) = validate(tmp_path / "data")
    assert "does not have ([image])" in problem and "q1" in problem


def test_real_passages_that_are_taken_away_are_missed(shared_data: Path) -> None:
    rows = [
        row for file in sorted((shared_data / "click_korean").rglob("*.json")) for row in json.loads(file.read_text())
    ]
    passages = [row for row in rows if row["paragraph"].strip()]
    whole = [row for row in passages if refers_to_passage(f"{row['paragraph']}\n\n{row['question']}")]
    without = [row for row in passages if refers_to_passage(row["question"])]
    assert (len(passages), len(whole)) == (353, 0)
    assert len(without) > 200, "where only marked places are named, most go unseen"
    assert sum(refers_to_passage(row["question"]) for row in rows if not row["paragraph"].strip()) <= 2
