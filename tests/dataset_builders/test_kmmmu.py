"""kmmmu rows: the published table, rows with more labels, Korean choice sets."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import kmmmu
from livek12.dataset_builders.builder import read as read_source
from tests.dataset_builders.pictures import HTML, picture

FIVE = "\n① 가속도\n② 속력\n③ 12 kg\n④ 힘\n⑤ 일"
ROW: dict[str, Any] = {
    "question": "다음 중 옳은 것은?" + FIVE,
    "answer": "4",
    "question_type": "객관식(단일정답)",
    "image_link": "[]",
}


def read(folder: Path, *rows: dict[str, Any], log: Log | None = None, name: str = "kmmmu.csv") -> list[Question]:
    with (folder / name).open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    return [record for record in read_source(kmmmu.BUILDER, folder, log or Log()) if isinstance(record, Question)]


def one(folder: Path, log: Log | None = None, **changes: Any) -> Question:
    log = log or Log()
    found = read(folder, {**ROW, **changes}, log=log)
    assert not log.skipped
    return found[0]


def test_the_published_table(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "b.png").write_bytes(picture(1))
    log = Log()
    question = one(tmp_path, log, image_link="['https://h.test/img/a.png', 'https://h.test/img/b.png']")
    assert question.question == f"다음 중 옳은 것은?\n{IMAGE_MARK}\n{IMAGE_MARK}"
    assert [(o.label, o.text) for o in question.options][:3] == [("1", "가속도"), ("2", "속력"), ("3", "12 kg")]
    assert (question.question_type, question.answer) == ("single_choice", ["4"])
    assert [image.bytes for image in question.images] == [picture(), picture(1)]
    assert question.flags.is_korean_specific is None
    assert (question.id, question.language, question.year, question.subsets) == ("kmmmu_0001", "ko", None, [])
    assert log.notes == [f"{tmp_path.name}: 2 images were taken from files beside the rows, not fetched"]


@pytest.mark.parametrize(
    ("raw", "answer", "kind"),
    [
        ("객관식(단일정답)", "4", "single_choice"),
        ("객관식 (단일 정답)", "4", "single_choice"),
        ("객관식(복수정답)", "1, 4", "multiple_choice"),
        ("객관식(복수정답)", "4", "multiple_choice"),
        ("객관식", "1, 4", "multiple_choice"),
        ("객관식", "4", "single_choice"),
        ("주관식(단답형 텍스트)", "힘", "short_answer"),
        ("주관식(단답형 수치)", "12", "short_answer"),
        ("주관식(단답형 텍스트/수치)", "12", "short_answer"),
        ("서술형", "설명", "open_ended"),
        ("O/X", "O", "true_false"),
        ("참/거짓", "참", "true_false"),
        ("빈칸 채우기", "12", "fill_in_blank"),
        ("증명", "", "proof"),
        ("Multiple Choice", "4", "single_choice"),
        ("short answer", "12", "short_answer"),
        ("", "4", "single_choice"),
    ],
)
def test_types(tmp_path: Path, raw: str, answer: str, kind: str) -> None:
    assert one(tmp_path, question_type=raw, answer=answer).question_type == kind


@pytest.mark.parametrize(
    ("text", "answer", "stem", "labels", "key"),
    [
        ("Q" + FIVE, "4", "Q", "12345", "4"),
        ("Q" + FIVE, "④", "Q", "12345", "4"),
        ("Q" + FIVE, "(4)", "Q", "12345", "4"),
        ("Q" + FIVE, "4번", "Q", "12345", "4"),
        ("Q" + FIVE, "④ 힘", "Q", "12345", "4"),
        ("Q" + FIVE, "4. 힘", "Q", "12345", "4"),
        ("Q" + FIVE, "힘", "Q", "12345", "4"),
        ("Q" + FIVE, "12kg", "Q", "12345", "3"),
        ("Q\n① 2 ② 3 ③ 1", "3", "Q", "123", "3"),  # a label goes before a text
        ("Q\n(1) 가\n(2) 나\n(3) 다\n(4) 라", "2", "Q", "1234", "2"),
        ("Q\n⑴ 가 ⑵ 나 ⑶ 다 ⑷ 라", "2", "Q", "1234", "2"),
        ("Q\n1) 가\n2) 나\n3) 다\n4) 라", "3", "Q", "1234", "3"),
        ("Q\n1. 1.5\n2. 2.5\n3. 3.5", "3", "Q", "123", "3"),
        ("Q\nA. 가\nB. 나\nC. 다", "B", "Q", "ABC", "B"),
        ("Q\nㄱ. 가\nㄴ. 나\nㄷ. 다", "ㄴ", "Q", "ㄱㄴㄷ", "ㄴ"),
        ("Q\n가. 하나\n나. 둘\n다. 셋", "다", "Q", "가나다", "다"),
        # statements are no options
        ("<보기>\nㄱ. p\nㄴ. q\nㄷ. r\n① ㄱ ② ㄴ ③ ㄱ, ㄷ", "3", "<보기>\nㄱ. p\nㄴ. q\nㄷ. r", "123", "3"),
        ("<보기>\nㄱ. p\nㄴ. q\nㄷ. r\n① ㄱ ② ㄴ ③ ㄱ, ㄷ", "ㄱ, ㄷ", "<보기>\nㄱ. p\nㄴ. q\nㄷ. r", "123", "3"),
        ("<보기>\nㄱ. p\nㄴ. q\nㄷ. r\n1) ㄱ\n2) ㄴ\n3) ㄱ, ㄷ", "3", "<보기>\nㄱ. p\nㄴ. q\nㄷ. r", "123", "3"),
        ("<보기> 글\n(1) p\n(2) q\n(3) r", "3", "<보기> 글", "123", "3"),
        ("① s\n② t\n③ u\n1) p\n2) q\n3) r", "3", "① s\n② t\n③ u", "123", "3"),
        ("① s ② t ③ u (1) ①② (2) ②③ (3) ①③", "3", "① s ② t ③ u", "123", "3"),
        ("〈보 기〉에서 고르면?\nㄱ. p\nㄴ. q\nㄷ. r", "ㄱ, ㄷ", None, "", "ㄱ, ㄷ"),
        ("[보기]\n1) p\n2) q\n3) r", "2", None, "", "2"),
        # what is not certain stays
        ("Q" + FIVE, "6", None, "", "6"),
        ("Q" + FIVE, "14", None, "", "14"),
        ("Q" + FIVE, "질량", None, "", "질량"),
        ("Q" + FIVE, "② 힘", None, "", "② 힘"),
        ("그림에서 고르면?", "4", None, "", "4"),
        ("Q\n① p ② p ③ q", "p", None, "", "p"),
    ],
)
def test_options_and_keys(tmp_path: Path, text: str, answer: str, stem: str | None, labels: str, key: str) -> None:
    question = one(tmp_path, question=text, answer=answer)
    assert question.question == (text if stem is None else stem)
    assert "".join(option.label for option in question.options) == labels
    assert question.answer == [key]


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("①, ③", "13"),
        ("③, ①", "13"),
        ("1,3", "13"),
        ("1 및 3", "13"),
        ("['1', '3']", "13"),
        ("135", "135"),
        ("①③⑤", "135"),
        ("1, 1", "1, 1"),
        ("1, 9", "1, 9"),
    ],
)
def test_keys_of_several_options(tmp_path: Path, answer: str, key: str) -> None:
    question = one(tmp_path, answer=answer, question_type="객관식(복수정답)")
    assert (question.question_type, question.answer) == ("multiple_choice", [key])


@pytest.mark.parametrize(
    ("text", "answer", "key"),
    [
        ("빈칸 (A)와 (B)를 쓰시오.", "(A): 산소, (B): 수소", ["산소", "수소"]),
        ("빈칸 (가), (나)를 쓰시오.", "(가) 산소 (나) 수소", ["산소", "수소"]),
        ("㉠과 ㉡은?", "㉠: 산소, ㉡: 수소", ["산소", "수소"]),
        ("무엇인가?", "(A): 산소, (B): 수소", ["(A): 산소, (B): 수소"]),  # the question has no such parts
        ("무엇인가?", "['(1) 산소', '(2) 수소']", ["산소", "수소"]),
        ("무엇인가?", "12 kg", ["12 kg"]),
    ],
)
def test_keys_of_several_parts(tmp_path: Path, text: str, answer: str, key: list[str]) -> None:
    assert one(tmp_path, question=text, answer=answer, question_type="주관식(단답형 텍스트/수치)").answer == key


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        *((value, True) for value in ("True", "true", "TRUE", "1", "1.0", "Y", "yes", "예", "O")),
        *((value, False) for value in ("False", "false", "FALSE", "0", "N", "no", "아니오", "X")),
        ("", None),
        ("maybe", None),
    ],
)
@pytest.mark.parametrize("column", ["is_korean_specific", "Korean-Specific"])
def test_korean_specific(tmp_path: Path, value: str, truth: bool | None, column: str) -> None:
    log = Log()
    assert one(tmp_path, log, **{column: value}).flags.is_korean_specific is truth
    assert bool([note for note in log.notes if "neither yes nor no" in note]) == (value == "maybe")


def test_further_columns(tmp_path: Path) -> None:
    more = {
        "id": "q7",
        "Subject": "Civil Engineering",
        "Macro Subject": "Engineering",
        "Task": "Recall",
        "Visual Modality": "Diagram",
        "year": "2023년",
        "exam": "토목기사",
        "is_hard": "True",
        "points": "3점",
        "unit": "kg",
        "license": "KOGL",
        "review": '{"state": "accepted", "by": "kim", "at": "2026-01-01"}',
        "mood": "x",
    }
    log = Log()
    question = one(tmp_path, log, **more)
    assert (question.id, question.subject, question.year, question.exam) == (
        "q7",
        "Civil Engineering",
        2023,
        "토목기사",
    )
    assert question.attributes.model_dump() == {
        "macro_subject": "Engineering",
        "task": "Recall",
        "visual_modality": "Diagram",
        "topic": None,
    }
    pictured = one(tmp_path, **more, **{"Image Sub-Category": "diagram_circuit", "text_in_image": "Y"})
    assert (pictured.attributes.visual_subcategory, pictured.flags.has_text_in_image) == ("diagram_circuit", True)
    assert "has_text_in_image" not in question.flags.model_dump(), "an older record stays as it was"
    assert (question.subsets, question.points, question.part_units) == (["hard"], 3.0, ["kg"])
    assert (question.source.licence, question.review.state, question.review.by) == ("KOGL", "accepted", "kim")
    assert log.notes == [f"{tmp_path.name}: columns with no place in a question: mood"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"image_link": "['https://h.test/none.png']"}, "on another host"),
        ({"image_link": "['../secret.png']"}, "outside"),
        ({"image_link": "page.png"}, "HTML page"),
        ({"image_link": "[__import__('os').getcwd()]"}, "missing"),
        ({"question": ""}, "no question"),
        ({"year": "MMXX"}, "year 'MMXX'"),
        ({"points": "many"}, "points 'many'"),
        ({"language": "fr"}, "language 'fr'"),
        ({"review": '{"state": "perhaps"}'}, "review"),
    ],
)
def test_bad_row_costs_one_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "page.png").write_bytes(HTML)
    log = Log()
    found = read(folder, {"id": "first", **ROW}, {**ROW, "id": "bad", **changes}, {**ROW, "id": "last"}, log=log)
    assert [question.id for question in found] == ["first", "last"]
    (line,) = log.skipped
    assert " (bad): left out: " in line
    assert said in line


@pytest.mark.parametrize(
    ("options", "answer", "labels", "key"),
    [
        (["산", "강", "들"], "강", "123", "2"),
        (["산", "강", "들"], "②", "123", "2"),
        (["산", "강", "들"], "2", "123", "2"),  # from 0 or from 1: it stays as it is
        (["3", "1", "2"], "2", "123", "3"),
        (["① 산", "② 강", "③ 들"], "2", "123", "2"),
        (["(1) 3", "(2) 1", "(3) 2"], "2", "123", "2"),
        ('["산", "강"]', "산", "12", "1"),
        ({"A": "산", "B": "강"}, "B", "AB", "B"),
        ("{'A': '산', 'B': '강'}", "강", "AB", "B"),
        ([{"label": "①", "text": "산"}, {"label": "②", "text": "강"}], "2", "12", "2"),
    ],
)
def test_options_in_a_column(tmp_path: Path, options: Any, answer: str, labels: str, key: str) -> None:
    row = {"question": "Q\n① a ② b ③ c", "answer": answer, "options": options, "question_type": "객관식"}
    (tmp_path / "r.json").write_text(json.dumps([row]))
    log = Log()
    (question,) = read_source(kmmmu.BUILDER, tmp_path, log)
    assert isinstance(question, Question)
    assert question.question == row["question"]
    assert ("".join(option.label for option in question.options), question.answer) == (labels, [key])
    assert bool(log.notes) == (options == ["산", "강", "들"] and answer == "2")


def test_rows_of_ones_own_are_unreviewed(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"question": "Q?", "answer": "1", "question_type": "short answer"}]))
    (question,) = read_source(kmmmu.BUILDER, tmp_path, Log())
    assert isinstance(question, Question)
    assert (question.review.state, question.review.by, question.source.licence) == ("unreviewed", None, None)


def test_korean_choice_sets(shared_data: Path) -> None:
    folder = shared_data / "click_korean"
    log = Log()
    found = [record for record in read_source(kmmmu.BUILDER, folder, log) if isinstance(record, Question)]
    assert (log.read, len(found), log.skipped, len(log.notes)) == (
        1995,
        1995,
        [],
        8 + 6,
    )  # ids that are there twice, absences
    rows = [row for file in sorted(folder.rglob("*.json")) for row in json.loads(file.read_text())]
    for row, question in zip(rows, found, strict=True):
        assert [option.text for option in question.options] == [choice.strip() for choice in row["choices"]] or (
            [option.text for option in question.options] == row["choices"]
        )
        assert question.question.endswith(row["question"].strip())
        assert question.question.startswith(row["paragraph"].strip())
        (key,) = question.answer
        assert row["choices"][int(key) - 1].strip() == row["answer"].strip()
    assert {(q.question_type, q.language) for q in found} == {("single_choice", "ko")}
    assert {(q.review.state, q.review.by, q.source.licence) for q in found} == {
        ("upstream", "rladmstn1714/CLIcK", None)
    }
    assert {q.flags.is_korean_specific for q in found} == {None}
