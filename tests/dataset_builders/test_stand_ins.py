"""Collected exam papers as livek12 rows: every row of the real files, and made-up rows of their form."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12
from livek12.dataset_builders.builder import read as read_source
from livek12.dataset_builders.reading.publishers import stated_licence
from tests.dataset_builders.pictures import picture

GROUPS_APART, PARTS = 250, 1398
"""Passages that are taken apart, of 255, and the questions they come to."""


def read(source: Path, log: Log | None = None) -> list[Question]:
    return [record for record in read_source(livek12.BUILDER, source, log or Log()) if isinstance(record, Question)]


def entries(folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of the real files by the id they get."""
    files = [json.loads(file.read_text()) for file in sorted(folder.rglob("*.json"))]
    return {f"{data['keywords']}_{entry['index']}": entry for data in files for entry in data["example"]}


@pytest.mark.parametrize("below", ["", "Data"])
def test_papers_with_pictures(shared_data: Path, below: str) -> None:
    log = Log()
    found = read(shared_data / "gaokao_mm" / below, log)
    assert (log.read, len(found), log.skipped, log.notes) == (342, 342, [], [])
    assert sum(len(question.images) for question in found) == 519
    assert Counter(q.subject for q in found) == {"math": 80, "physics": 174, "chemistry": 67, "biology": 21}
    rows = entries(shared_data / "gaokao_mm")
    for question in found:
        row = rows[question.id]
        files = [shared_data / "gaokao_mm" / path.removeprefix("../") for path in row["picture"]]
        assert [image.bytes for image in question.images] == [file.read_bytes() for file in files]
        assert (question.points, question.answer, question.year) == (row["score"], row["answer"], int(row["year"]))
        assert question.exam == row["category"].strip(" ()（）")
        assert (question.release, question.language) == (row["year"], "zh")
        texts = [question.question, *(option.text for option in question.options)]
        assert sum(text.count(IMAGE_MARK) for text in texts) == len(question.images)
        assert all("".join(o.text.split()) in "".join(row["question"].split()) for o in question.options)
        assert not question.options or len(question.options) == 4
    # Where the options are pictures there are none: their letters stand in the pictures, in any order.
    pictured = [question for question in found if len(question.images) > 3 and not question.options]
    assert len(pictured) == 49
    assert not any(IMAGE_MARK in option.text for question in found for option in question.options)
    assert {(q.review.state, q.review.by) for q in found} == {("upstream", "OpenMOSS/GAOKAO-MM")}
    assert {question.source.licence for question in found} == {"Apache-2.0"}


@pytest.mark.release
def test_papers_without_pictures(shared_data: Path) -> None:
    log = Log()
    found = read(shared_data / "gaokao_bench", log)
    assert (log.read, len(log.skipped), log.notes) == (2811, 6, [])
    assert all("an address on another host" in line for line in log.skipped)  # pictures that the texts link to
    assert {question.source.licence for question in found} == {"Apache-2.0"}
    assert {question.review.by for question in found} == {"OpenLMLab/GAOKAO-Bench"}
    rows = entries(shared_data / "gaokao_bench")
    groups = {id: row for id, row in rows.items() if isinstance(row["answer"], list) and len(row["answer"]) > 1}
    assert len(groups) == 12 + 29 + 30 + 124 + 34 + 26
    parts = [question for question in found if question.id not in rows]
    assert len(found) - len(parts) == 2805 - GROUPS_APART and len(parts) == PARTS
    for id, own in groupby(parts, key=lambda part: part.source.upstream_id):
        row, asked = groups[str(id)], list(own)
        assert [part.answer for part in asked] == [[letter] for letter in row["answer"]]
        assert {part.points for part in asked} == {row["score"]} and {len(part.part_points) for part in asked} == {0}
        assert {part.question_type for part in asked} == {"single_choice"}
        assert sum(not part.options for part in asked) <= 1
        numbers = [int(part.number or 0) for part in asked]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        printed = "".join(row["question"].split())
        assert all("".join(option.text.split()) in printed for part in asked for option in part.options)
        assert all(printed.startswith("".join(part.question.split())[:12]) for part in asked)
    subjects = Counter(question.subject for question in found)
    assert subjects.keys() == set("math physics chemistry biology chinese english history geography politics".split())
    for question in found:
        if not (row := rows.get(question.id)):
            continue
        if isinstance(row["answer"], str):
            assert question.question_type in ("short_answer", "fill_in_blank")
            assert (question.points, question.part_points) == (row["score"], [])
            assert all("".join(part.split()) in "".join(row["answer"].split()) for part in question.answer)
        else:
            assert question.question_type in CHOICE_TYPES
            assert question.answer == row["answer"]
            assert question.points == row["score"] * len(row["answer"])
            assert question.part_points == ([row["score"]] * len(row["answer"]) if len(row["answer"]) > 1 else [])
    cloze = [question for question in found if "Cloze Test" in (question.question_type_raw or "")]
    assert {len(question.options) for question in cloze} <= {0, 7, 8}
    written = [question for question in found if "Cloze Passage" in (question.question_type_raw or "")]
    assert Counter(len(question.answer) for question in written) == {10: 17, 1: 6}


ROW = {
    "year": "2021",
    "category": "（甲卷）",
    "question": "Which?\nA. 1\nB. 2\nC. 3\nD. 4",
    "picture": ["../Data/x/a.png"],
    "answer": ["B"],
    "analysis": "so",
    "index": 0,
    "score": 6,
}


def papers(folder: Path, *rows: dict[str, Any], keywords: str = "2020-2022_Physics_MCQs") -> Path:
    (folder / "Data" / "x").mkdir(parents=True)
    (folder / "Data" / "x" / "a.png").write_bytes(picture())
    (folder / "Data" / "any_name.json").write_text(json.dumps({"keywords": keywords, "example": rows}))
    return folder


@pytest.mark.parametrize(
    ("keywords", "answer", "subject", "kind"),
    [
        ("2020-2022_Physics_MCQs", ["B"], "physics", "single_choice"),
        ("2020-2022_Physics_MCQs", ["AC"], "physics", "multiple_choice"),
        ("2020-2022_Political_Science_MCQs", ["B"], "politics", "single_choice"),
        ("2020-2022_English_Reading_Comp", ["A", "B"], "english", "single_choice"),
        ("2020-2022_Chinese_Lang_and_Usage_MCQs", ["A", "BC"], "chinese", "multiple_choice"),
        ("2020-2022_Math_I_Fill-in-the-Blank", "3", "math", "fill_in_blank"),
        ("2020-2022_Math_I_Open-ended_Questions", "3", "math", "short_answer"),
        ("2020-2022_Math_I_Open-ended_Questions", "", "math", "open_ended"),
        ("2020_Astronomy_MCQs", ["B"], "", "single_choice"),
    ],
)
def test_what_a_row_is(tmp_path: Path, keywords: str, answer: Any, subject: str, kind: str) -> None:
    (question,) = read(papers(tmp_path, {**ROW, "answer": answer}, keywords=keywords))
    assert (question.id, question.subject, question.question_type) == (f"{keywords}_0", subject, kind)
    assert question.question_type_raw == keywords.split("_", 1)[1].replace("_", " ")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"picture": ["../Data/x/none.png"]}, "missing"),
        ({"picture": ["../../../etc/passwd"]}, "outside"),
        ({"question": "", "picture": []}, "no question"),
        ({"score": "many"}, "points 'many'"),
        ({"year": "MMXX"}, "year"),
        ({"question": "![](https://h.test/a.png)"}, "another host"),
    ],
)
def test_bad_row_costs_one_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    log = Log()
    rows = [{**ROW, "index": 1}, {**ROW, "index": 2, **changes}, {**ROW, "index": 3}]
    assert [question.id[-1] for question in read(papers(tmp_path / "s", *rows), log)] == ["1", "3"]
    (line,) = log.skipped
    assert line.startswith("Data/any_name.json:1 (2020-2022_Physics_MCQs_2): left out: ")
    assert said in line


def test_a_copy_of_the_files_alone(shared_data: Path, tmp_path: Path) -> None:
    shutil.copytree(
        shared_data / "gaokao_mm" / "Data" / "2010-2023_Biology_MCQs", tmp_path / "Data" / "2010-2023_Biology_MCQs"
    )
    shutil.copy(shared_data / "gaokao_mm" / "Data" / "2010-2023_Biology_MCQs.json", tmp_path / "Data" / "renamed.json")
    log = Log()
    assert (len(read(tmp_path / "Data" / "renamed.json", log)), log.skipped) == (21, [])


@pytest.mark.parametrize(
    ("name", "text", "licence"),
    [
        ("README.md", "---\nlicense: apache-2.0\n---\n", "Apache-2.0"),
        ("README.txt", "Licence: Apache-2.0 (repo LICENSE)\n", "Apache-2.0"),
        ("LICENSE", "                 Apache License\n           Version 2.0, January 2004\n", "Apache-2.0"),
        ("LICENSE.txt", "MIT License\n\nCopyright", "MIT"),
        ("README.md", "**License:** CC BY-NC-SA 4.0\n", "CC BY-NC-SA 4.0"),
        ("README.md", "license: cc-by-4.0\n", "CC BY 4.0"),
        ("README.txt", "Licence: NO LICENSE FILE in repo\n", None),
        ("README.txt", "We like Apache-2.0.\n", None),
        ("README.txt", "License: MIT\nLicense: Apache-2.0\n", None),
        ("notes.txt", "License: MIT\n", None),
    ],
)
def test_licence_of_a_fetched_folder(tmp_path: Path, name: str, text: str, licence: str | None) -> None:
    (papers(tmp_path, ROW) / name).write_text(text)
    assert stated_licence(tmp_path) == licence
    (question,) = read(tmp_path)
    assert question.source.licence is None, "the licence of a folder is none of the rows that lie in it"
