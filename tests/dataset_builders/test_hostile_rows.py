"""Rows with values that no exam has: each costs one line with its id, and the rest is built and sound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import load_questions
from livek12.core.records import Question
from livek12.dataset_builders import build, validate
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks.livek12 import BUILDER
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.reading.images import ImageLoader
from livek12.dataset_builders.reading.making import to_questions
from livek12.dataset_builders.reading.rows import SourceRow
from tests.dataset_builders.pictures import picture

GOOD = {"id": "good", "set": "en_2603", "subject": "math", "question": "What is 1 + 1?", "answer": ["2"]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "not-a-number": ({"point_value": float("nan")}, "points nan is not a number of points"),
    "infinite": ({"point_value": float("-inf")}, "is not a number of points"),
    "negative": ({"point_value": -3}, "points -3 is not a number of points"),
    "beyond-any-float": ({"point_value": 10**400}, "is not a number of points"),
    "part-nan": ({"part_points": [float("nan")]}, "part_points holds what is not a number of points"),
    "part-negative": ({"part_points": [-1]}, "part_points holds what is not a number of points"),
    "page-zero": ({"paper_id": "p", "page_numbers": [0]}, "page_numbers is out of range"),
    "page-huge": ({"paper_id": "p", "page_numbers": [10**9]}, "page_numbers is out of range"),
    "year": ({"year": 10**12}, "year or page_numbers is out of range"),
    "answer-object": ({"answer": {"A": 1}}, "answer holds something that is not a text"),
    "ten-million-letters": ({"question": "x " * 5_000_000}, "its text has more than 1000000 characters"),
    "nul-in-text": ({"question": "Find the pressure \x00 of the gas."}, "holds the control character U+0000"),
    "bell-in-key": ({"answer": "7\x07"}, "holds the control character U+0007"),
    "long-solution": ({"solution": "x " * 600_000}, "its text has more than 1000000 characters"),
    "break\nin it": ({}, "cannot be printed"),
    "i" * 201: ({}, "its id is longer than 200 characters"),
}


def source(folder: Path, *rows: dict[str, Any]) -> Path:
    (folder / "source").mkdir()
    (folder / "source" / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder / "source"


def test_each_costs_a_line_with_its_id(tmp_path: Path) -> None:
    rows = source(tmp_path, GOOD, *({**GOOD, "id": id, **fields} for id, (fields, _) in BAD.items()))
    report = build("livek12", str(rows), tmp_path / "out")
    assert len(report.skipped) == len(BAD)
    for number, (line, (id, (_, said))) in enumerate(zip(report.skipped, BAD.items(), strict=True), start=2):
        assert line.startswith(f"rows.jsonl:{number} ({' '.join(id.split())}")
        assert said in line
    assert report.written == 1
    assert validate(tmp_path / "out") == []


def test_points_of_other_parts_than_the_answers_are_left_empty(tmp_path: Path) -> None:
    rows = source(tmp_path, {**GOOD, "part_points": [1, 2, 3], "part_units": ["m", "s"]}, {**GOOD, "id": "b"})
    log = Log()
    first, second = (record for record in read(BUILDER, rows, log) if isinstance(record, Question))
    assert (first.part_points, first.part_units, second.part_points) == ([], [], [])
    assert "rows.jsonl:1 (good): part_points has 3 entries for 1 answers: left empty" in log.notes
    assert "rows.jsonl:1 (good): part_units has 2 entries for 1 answers: left empty" in log.notes


@pytest.mark.parametrize("error", [OverflowError("too large"), RecursionError("too deep"), KeyError("x"), TypeError()])
def test_what_nobody_foresaw_costs_a_line_too(tmp_path: Path, error: Exception) -> None:
    class Fails:
        loader = ImageLoader(tmp_path)

        def __call__(self, row: SourceRow, log: Log) -> Question:
            raise error

    log = Log()
    assert list(to_questions(source(tmp_path, GOOD), Fails(), log)) == []
    (line,) = log.skipped
    assert line.startswith(f"rows.jsonl:1 (good): left out: it cannot be read ({type(error).__name__}")


def test_a_question_that_only_its_pages_ask_is_in_no_config_of_texts(tmp_path: Path) -> None:
    on_page = {"paper_id": "p", "page_numbers": [1], "number": "7"}
    rows = source(tmp_path, {**GOOD, **on_page}, {**GOOD, **on_page, "id": "bare", "question": ""})
    (rows / "pages").mkdir()
    (rows / "pages" / "p_1.png").write_bytes(picture())
    out = tmp_path / "out"
    configs = build("livek12", str(rows), out).configs
    assert {name: configs[name] for name in ("default", "text_only", "image_only")} == {
        "default": {"en_2603": 1},
        "text_only": {"en_2603": 1},
        "image_only": {"en_2603": 2},
    }
    assert [question.id for question in load_questions(out, ["default"], "livek12")] == ["good"]
    assert validate(out) == []


def test_a_key_that_names_no_option_costs_its_row_and_not_the_set(tmp_path: Path) -> None:
    """The key of upstream's four columns may be a letter beyond them."""
    file = tmp_path / "HSMA_single_answer_choice_single_modal.tsv"
    rows = [("1", "Which?", "B"), ("2", "Which one?", "E")]
    head = "index\tquestion\tcategory\tanswer\tA\tB\n"
    file.write_text(head + "".join(f"{i}\t{q}\tsingle\t{key}\tone\ttwo\n" for i, q, key in rows), encoding="utf-8")
    report = build("mdk12", str(file), tmp_path / "out")
    assert (report.written, len(report.skipped)) == (1, 1)
    assert "answer 'E' names no option" in report.skipped[0]
    assert validate(tmp_path / "out") == []
