"""livek12 rows in both key languages and from a reviewed paper."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Page, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12
from livek12.dataset_builders.builder import read as read_source
from tests.dataset_builders.pictures import HTML, picture

ROW: dict[str, Any] = {
    "id": "en_2603_math_0001",
    "set": "2603",
    "subject": "math",
    "question_type": "Multiple Choice",
    "point_value": 6,
    "question": r"Which hold?\nA. $x \neq 1$\nB. $x = 2$\nC. $x < 3$\nD. none",
    "answer": ["ACD"],
    "solution": r"Since $\nu$...\nso ACD.",
    "knowledge_points": "sets; inequalities ;",
    "images": [],
    "subset": ["complex_layout", "long_reason"],
}
CHINESE = {
    "question_type": "题型",
    "point_value": "分值",
    "question": "题目",
    "answer": "答案",
    "solution": "解答",
    "images": "图像",
    "knowledge_points": "考点",
}


def read(folder: Path, *rows: Any, name: str = "rows.json", log: Log | None = None) -> list[Question]:
    (folder / name).write_text(json.dumps(rows, ensure_ascii=False))
    return [record for record in read_source(livek12.BUILDER, folder, log or Log()) if isinstance(record, Question)]


def one(folder: Path, **changes: Any) -> Question:
    row = {key: value for key, value in {**ROW, **changes}.items() if value != "ABSENT"}
    log = Log()
    found = read(folder, row, log=log)
    assert not log.skipped
    return found[0]


def test_row_with_english_keys(tmp_path: Path) -> None:
    question = one(tmp_path)
    assert question.question == "Which hold?"
    assert [(o.label, o.text) for o in question.options] == [
        ("A", r"$x \neq 1$"),
        ("B", "$x = 2$"),
        ("C", "$x < 3$"),
        ("D", "none"),
    ]
    assert (question.language, question.release, question.subject) == ("en", "2603", "math")
    assert (question.question_type, question.question_type_raw) == ("multiple_choice", "Multiple Choice")
    assert (question.answer, question.points) == (["ACD"], 6.0)
    assert question.solution == "Since $\\nu$...\nso ACD."
    assert question.knowledge_points == ["sets", "inequalities"]
    assert question.subsets == ["complex_layout", "long_horizon"]
    assert question.source.upstream_id == question.id == ROW["id"]


def test_row_with_chinese_keys(tmp_path: Path) -> None:
    row = {CHINESE.get(key, key): value for key, value in ROW.items()}
    row |= {"id": "zh_2506_math_0007", "set": "zh_2506", "题型": "选择题", "答案": "B", "考点": "集合；不等式"}
    del row["subject"]
    (question,) = read(tmp_path, row)
    assert (question.language, question.release, question.subject) == ("zh", "2506", "math")
    assert (question.question_type, question.answer) == ("single_choice", ["B"])
    assert question.knowledge_points == ["集合", "不等式"]


@pytest.mark.parametrize(
    ("raw", "answer", "kind", "key"),
    [
        ("选择题", ["B"], "single_choice", ["B"]),
        ("选择题", ["BD"], "multiple_choice", ["BD"]),
        ("选择题", "A, C", "multiple_choice", ["AC"]),
        ("选择题", "['C']", "single_choice", ["C"]),
        ("选择题", ["A", "C"], "multiple_choice", ["AC"]),  # one set of options
        ("Multiple Choice", ["A", "C", "D"], "multiple_choice", ["ACD"]),
        ("Multiple Choice", ["Ａ", "（Ｃ）"], "multiple_choice", ["AC"]),
        ("Multiple Choice", ["A", "A"], "single_choice", ["A", "A"]),  # no set holds a letter twice
        ("单选题", ["A", "C"], "single_choice", ["A", "C"]),
        ("多选题", ["A", "C"], "multiple_choice", ["AC"]),
        ("多选题", ["B"], "multiple_choice", ["B"]),
        ("单选题", ["(b)"], "single_choice", ["B"]),
        ("multiple_choice", ["B"], "multiple_choice", ["B"]),
        ("Multiple Choice Questions", ["B"], "single_choice", ["B"]),
        ("multiple-choice question", "D", "single_choice", ["D"]),
        ("填空题", ["3", "5"], "fill_in_blank", ["3", "5"]),
        ("Fill in the Blank", "7", "fill_in_blank", ["7"]),
        ("解答题", ["$x=1$"], "short_answer", ["$x=1$"]),
        ("解答题", [], "open_ended", []),
        ("Free Response", None, "open_ended", []),
        ("证明题", [], "proof", []),
        ("判断题", ["对"], "true_false", ["对"]),
        ("True/False", ["False"], "true_false", ["False"]),
    ],
)
def test_types(tmp_path: Path, raw: str, answer: Any, kind: str, key: list[str]) -> None:
    question = one(tmp_path, question_type=raw, answer=answer)
    assert (question.question_type, question.answer, question.question_type_raw) == (kind, key, raw)
    assert bool(question.options) == (kind in CHOICE_TYPES)


@pytest.mark.parametrize(
    ("text", "answer", "kind", "key"),
    [
        ("Which hold?", ["A", "C", "D"], "multiple_choice", ["ACD"]),
        ("(1) first (2) second", ["A", "C"], "single_choice", ["A", "C"]),
        ("(1) first (2) second", ["A", "C", "D"], "multiple_choice", ["ACD"]),
        ("(1) first (2) second", ["AB", "C"], "multiple_choice", ["AB", "C"]),
        ("1. p?\nA. 1 B. 2 C. 3\n2. q?\nA. 4 B. 5 C. 6", ["A", "C"], "single_choice", ["A", "C"]),
        ("p?\nA. 1 B. 2 C. 3\nq?\nA. 4 B. 5 C. 6", ["A", "C"], "single_choice", ["A", "C"]),
        ("Read.\n21. p?\n22. q?\nA. 1 B. 2 C. 3", ["C", "A"], "single_choice", ["C", "A"]),
        ("（1）甲为（ ）（2）乙为（ ）\nA．1 B．2 C．3", ["C", "A"], "single_choice", ["C", "A"]),
        ("①加酸 ②加热 ③冷却，正确的是\nA．1 B．2 C．3 D．4", ["A", "C", "D"], "multiple_choice", ["ACD"]),
        ("(1) heat (2) cool. Which hold?\nA. 1\nB. 2\nC. 3", ["A", "C"], "multiple_choice", ["AC"]),
    ],
)
def test_several_letters_are_one_answer_unless_several_things_are_asked(
    tmp_path: Path, text: str, answer: list[str], kind: str, key: list[str]
) -> None:
    question = one(tmp_path, question=text, answer=answer)
    assert (question.question_type, question.answer) == (kind, key)


@pytest.mark.parametrize(
    ("text", "answer", "key"),
    [
        ("（1）求a；（2）求b", ["(1) 2；(2) 3"], ["2", "3"]),
        ("（1）求a；（2）求b", ["2；", "3。"], ["2", "3"]),
        ("（1）求a；（2）求b", ["（１）2，（２）3"], ["2", "3"]),
        ("Find a.", ["so a. b;"], ["so a. b;"]),  # one answer is as it was
    ],
)
def test_keys_of_parts_keep_no_separators(tmp_path: Path, text: str, answer: list[str], key: list[str]) -> None:
    assert one(tmp_path, question_type="解答题", question=text, answer=answer).answer == key


@pytest.mark.parametrize("form", ["{}. ", "{}) ", "({}) ", "( {} ) ", "（{}）", "{}．", "{}、", "{}: "])
@pytest.mark.parametrize("letters", ["ABCD", "ＡＢＣＤ"])
@pytest.mark.parametrize("between", ["\n", "  "])
def test_every_usual_form_of_options(tmp_path: Path, form: str, letters: str, between: str) -> None:
    texts = ["walks home", "has walked", "$f(A)$ holds", "none of them"]
    options = between.join(form.format(letter) + text for letter, text in zip(letters, texts, strict=True))
    question = one(tmp_path, subject="english", question=f"Mary ____ every day.\n{options}", answer=letters[1])
    assert question.question == "Mary ____ every day."
    assert [(option.label, option.text) for option in question.options] == list(zip("ABCD", texts, strict=True))
    assert (question.question_type, question.answer) == ("single_choice", ["B"])


@pytest.mark.parametrize(
    ("text", "answer", "kind"),
    [("q\nA. 1\nB. 2\nC. 3", "B", "single_choice"), ("q", "3 m", "short_answer"), ("q", [], "open_ended")],
)
@pytest.mark.parametrize("raw", ["听力题", None, "ABSENT"])
def test_unknown_types_are_said(tmp_path: Path, raw: Any, text: str, answer: Any, kind: str) -> None:
    log = Log()
    row = {**ROW, "question_type": raw, "question": text, "answer": answer}
    if raw == "ABSENT":
        del row["question_type"]
    (question,) = read(tmp_path, row, log=log)
    assert question.question_type == kind
    (note,) = log.notes
    assert "is not known" in note


@pytest.mark.parametrize(
    ("points", "expected"),
    [(5, 5.0), (2.5, 2.5), ("5分", 5.0), ("6 points", 6.0), (0, 0.0), (None, None), ("", None), ("ABSENT", None)],
)
def test_points(tmp_path: Path, points: Any, expected: float | None) -> None:
    assert one(tmp_path, point_value=points).points == expected


@pytest.mark.parametrize(
    ("changes", "name", "language", "release"),
    [
        ({"id": "zh_2605_math_0001", "set": "2605"}, "rows.json", "zh", "2605"),
        ({"id": "q1", "set": "en_2605"}, "rows.json", "en", "2605"),
        ({"id": "q1", "set": None}, "zh_2603_math.json", "zh", "2603"),
        ({"id": "q1", "set": None, "question": "已知"}, "rows.json", "zh", None),
        ({"id": "q1", "set": None, "question": "다음"}, "rows.json", "ko", None),
        ({"id": "q1", "set": "spring", "question": "Find"}, "rows.json", "en", "spring"),
        ({"id": "q1", "set": None, "language": "zh", "question": "$x$"}, "rows.json", "zh", None),
    ],
)
def test_language_and_release(
    tmp_path: Path, changes: dict[str, Any], name: str, language: str, release: str | None
) -> None:
    (question,) = read(tmp_path, {**ROW, **changes}, name=name)
    assert (question.language, question.release) == (language, release)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("unreviewed", None, None)),
        ({"licence": "KOGL"}, ("unreviewed", None, "KOGL")),
        ({"license": "KOGL", "id": "q"}, ("unreviewed", None, "KOGL")),
        ({"review": {"state": "accepted", "by": "li", "at": "2026-01-01"}}, ("accepted", "li", None)),
        ({"review": {"state": "rejected", "by": None, "at": None}}, ("rejected", None, None)),
        ({"review": "upstream", "licence": "KOGL"}, ("upstream", None, "KOGL")),
    ],
)
def test_who_reviewed_and_which_licence(
    tmp_path: Path, changes: dict[str, Any], expected: tuple[str | None, ...]
) -> None:
    question = one(tmp_path, **changes)
    assert (question.review.state, question.review.by, question.source.licence) == expected


@pytest.mark.parametrize(
    ("changes", "units"),
    [({"unit": "m/s"}, ["m/s"]), ({"part_units": ["m", "", None]}, ["m", "", ""]), ({"unit": "['m', '']"}, ["m", ""])],
)
def test_units(tmp_path: Path, changes: dict[str, Any], units: list[str]) -> None:
    answers = [str(number) for number in range(len(units))]
    assert one(tmp_path, question_type="Free Response", answer=answers, **changes).part_units == units


def test_numbers_as_a_table_spells_them(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        "id,question,page_numbers,part_points,year,number,taxonomy\nq,Find x.,\"[1, 2]\",2;3.5,2024,7,\"['a', 'b']\"\n"
    )
    (question,) = read_source(livek12.BUILDER, tmp_path, Log())
    assert isinstance(question, Question)
    assert (question.page_numbers, question.part_points, question.year) == ([1, 2], [2.0, 3.5], 2024)
    assert (question.number, question.taxonomy) == ("7", ["a", "b"])


def test_a_question_that_is_only_on_its_pages(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "p_1.png").write_bytes(picture())
    place = {"question": "", "paper_id": "p", "number": 3}
    rows = [{**ROW, **place, "id": id, "page_numbers": pages} for id, pages in (("on", [1]), ("off", [1, 2]))]
    log = Log()
    (question,) = read(tmp_path, *rows, log=log)
    assert (question.id, question.question, question.page_numbers) == ("on", "", [1])
    (line,) = log.skipped
    assert line == "rows.json:1 (off): left out: it has no question: no text, no images, and no image of page 2 of p"


def test_pictures_written_into_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    question = one(tmp_path, question="See ![](a.png):\nA. 1\nB. 2\nC. ![](a.png)", answer="C")
    assert question.question == f"See {IMAGE_MARK}:"
    assert (question.options[2].text, len(question.images)) == (IMAGE_MARK, 2)


def test_images_in_order_with_marks(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(picture(number))
    text = "q <image>\nA. <image>\nB. 2\nC. 3"
    question = one(tmp_path, question=text, answer="A", images="['0.png', '1.png', '2.png']")
    assert question.question == f"q {IMAGE_MARK}\n{IMAGE_MARK}"
    assert [image.bytes for image in question.images] == [picture(0), picture(2), picture(1)]


def test_sub_questions_and_blanks(tmp_path: Path) -> None:
    blanks = one(tmp_path, question_type="填空题", question="a=____, b=____", answer="3, 5")
    assert blanks.answer == ["3", "5"]
    parts = one(tmp_path, question_type="解答题", question="(1) a? (2) b?", answer=["(1) 3 (2) 5"])
    assert parts.answer == ["3", "5"]


def test_what_a_row_lacks_stays_empty(tmp_path: Path) -> None:
    log = Log()
    (question,) = read(tmp_path, {"question": "Find x."}, log=log)
    expected = {"id": "rows_0001", "benchmark": "livek12", "language": "en", "subject": "", "question": "Find x."}
    assert question.model_dump(exclude_defaults=True) == {**expected, "question_type": "open_ended"}
    assert not log.skipped


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": None}, "no question"),
        ({"question": "  "}, "no question"),
        ({"question": "", "paper_id": "p", "page_numbers": [1]}, "no question"),
        ({"question": ["a"]}, "question is list"),
        ({"point_value": "many"}, "points 'many'"),
        ({"point_value": True}, "points True"),
        ({"point_value": float("nan")}, "points nan"),
        ({"answer": [{"a": 1}]}, "answer holds"),
        ({"images": ["none.png"]}, "none.png is missing"),
        ({"images": ["../secret.png"]}, "outside"),
        ({"images": ["page.png"]}, "HTML page"),
        ({"images": ["https://example.org/a.png"]}, "an address"),
        ({"year": "MMXX"}, "year"),
        ({"year": 10**30}, "no whole number"),
        ({"page_numbers": "x"}, "page_numbers"),
        ({"language": "fr"}, "language 'fr'"),
        ({"set": "s" * 99}, "set"),
        ({"id": ["x"]}, "id is list"),
        ({"taxonomy": [["x"]]}, "taxonomy"),
    ],
)
def test_bad_row_costs_one_line_and_the_rest_goes_on(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "page.png").write_bytes(HTML)
    log = Log()
    rows = [{**ROW, "id": "first"}, {**ROW, "id": "bad", **changes}, {**ROW, "id": "last"}]
    found = read(folder, *rows, log=log)
    assert [question.id for question in found] == ["first", "last"]
    (line,) = log.skipped
    place = "rows.json:1" if isinstance(changes.get("id"), list) else "rows.json:1 (bad)"
    assert line.startswith(f"{place}: left out: ")
    assert said in line


def test_same_id_twice_keeps_both(tmp_path: Path) -> None:
    log = Log()
    found = read(tmp_path, ROW, {**ROW, "question": "Another\nA. 1\nB. 2\nC. 3\nD. 4"}, log=log)
    assert [question.id for question in found] == [ROW["id"], f"{ROW['id']}-2"]
    assert {question.source.upstream_id for question in found} == {ROW["id"]}
    (note,) = log.notes
    assert f"named {ROW['id']}-2" in note


def test_keys_without_a_place_are_said_once(tmp_path: Path) -> None:
    log = Log()
    read(tmp_path, {**ROW, "mood": 1}, {**ROW, "id": "b", "mood": 2}, log=log)
    assert [note for note in log.notes if "mood" in note] == log.notes[-1:]


def test_pages_beside_the_rows(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    for number in (1, 2, 10):
        (tmp_path / "pages" / f"p_1_{number}.png").write_bytes(picture(number))
    (tmp_path / "pages" / "p_1_3.png").write_bytes(HTML)
    (tmp_path / "pages" / "notes.txt").write_text("x")
    row = {**ROW, "paper_id": "p_1", "page_numbers": [1, 2], "number": 13}
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    log = Log()
    *pages, question = read_source(livek12.BUILDER, tmp_path, log)
    assert [(p.paper_id, p.page_number) for p in pages if isinstance(p, Page)] == [("p_1", 1), ("p_1", 2), ("p_1", 10)]
    assert {(p.language, p.release) for p in pages if isinstance(p, Page)} == {("en", "2603")}
    assert isinstance(question, Question)
    assert (question.paper_id, question.page_numbers, question.number) == ("p_1", [1, 2], "13")
    (line,) = log.skipped
    assert line.startswith("pages/p_1_3.png: left out:")


def test_reviewed_paper(shared_data: Path) -> None:
    log = Log()
    source = shared_data / "gaokao2026_math" / "reviewed" / "2026-national-i-math.jsonl"
    found = [record for record in read_source(livek12.BUILDER, source, log) if isinstance(record, Question)]
    assert (log.read, log.skipped, log.notes) == (19, [], [])
    assert sum(question.points or 0 for question in found) == 150
    assert [question.number for question in found] == [str(number) for number in range(1, 20)]
    assert not any(question.question.startswith(f"{question.number}.") for question in found)
    assert {(q.language, q.release, q.subject, q.paper_id) for q in found} == {
        ("zh", "2026", "math", "2026-national-i-math")
    }
    by_number = {question.number: question for question in found}
    choices = [question for question in found if question.question_type in CHOICE_TYPES]
    assert [len(question.options) for question in choices] == [4] * 11
    assert [q.number for q in choices if q.question_type == "multiple_choice"] == ["9", "10", "11"]
    assert by_number["9"].answer == ["ACD"]
    assert by_number["13"].answer == [r"3\pi/2", "1"]
    assert [len(by_number[number].answer) for number in ("12", "14", "16", "17", "19")] == [1, 1, 2, 2, 3]
    assert by_number["16"].solution


def upstream_rows(data: Path) -> list[dict[str, Any]]:
    """Real exam questions with figures, in upstream's shape; image paths relative to a file in `data/Data`."""
    return [
        {
            "id": f"zh_{entry['year']}_{subject.lower()}_{entry['index']:04d}",
            "题型": "选择题",
            "分值": entry["score"],
            "题目": entry["question"],
            "答案": entry["answer"],
            "解答": entry["analysis"],
            "图像": [path.removeprefix("../") for path in entry["picture"]],
        }
        for subject in ("Math", "Physics", "Chemistry", "Biology")
        for entry in json.loads((data / "Data" / f"2010-2023_{subject}_MCQs.json").read_text())["example"]
    ]


def test_real_questions_with_figures(shared_data: Path, tmp_path: Path) -> None:
    data = shared_data / "gaokao_mm"
    (tmp_path / "Data").symlink_to(data / "Data")
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in upstream_rows(data)))
    log = Log()
    outside = list(read_source(livek12.BUILDER, tmp_path / "rows.jsonl", log))
    assert (outside, len(log.skipped)) == ([], 342)  # the link leads out of the folder
    (tmp_path / "Data").unlink()
    shutil.copytree(data / "Data", tmp_path / "Data")
    log = Log()
    found = [q for q in read_source(livek12.BUILDER, tmp_path / "rows.jsonl", log) if isinstance(q, Question)]
    assert (len(found), log.skipped, log.notes) == (342, [], [])
    assert sum(len(question.images) for question in found) == 519
    assert sum(question.points or 0 for question in found) == 400 + 1044 + 402 + 126
    assert sum(question.question_type == "multiple_choice" for question in found) == 73
    assert all(question.answer[0] for question in found)
    for question in found:
        texts = [question.question, *(option.text for option in question.options)]
        assert sum(text.count(IMAGE_MARK) for text in texts) == len(question.images)
        assert not question.options or {*question.answer[0]} <= {option.label for option in question.options}
    assert sum(bool(question.options) for question in found) > 250
