"""CFE-Bench: the real release, and rows with the same form that go wrong."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import IMAGE_MARK, FlowStep, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import cfe
from livek12.dataset_builders.builder import read as read_source
from tests.dataset_builders.pictures import HTML, huge_png, picture

ROW: dict[str, Any] = {
    "id": "q",
    "question": {"text": "Find v. <image>", "images": ["images/a.png"]},
    "answer": {"text": "v = 3", "images": []},
    "short_answer_value": ["3", "x+1"],
    "short_answer_variable": ["v", "f"],
    "short_answer_description": ["the speed", "the law"],
    "short_answer_type": ["numeric", "formula"],
    "reasoning_flow": [
        {"step_id": 1, "step": "a?", "verifiable_answer": 0.008},
        {"step_id": 1, "step": "b?", "verifiable_answer": True},
    ],
}


def read(folder: Path, *rows: Any) -> tuple[list[Question], Log]:
    (folder / "images").mkdir(exist_ok=True)
    (folder / "images" / "a.png").write_bytes(picture())
    (folder / "images" / "html.png").write_bytes(HTML)
    (folder / "images" / "huge.png").write_bytes(huge_png())
    (folder / "images" / "torn.png").write_bytes(picture()[:-30])
    (folder.parent / "secret.png").write_bytes(picture())
    (folder / "CFE_mm.json").write_text(json.dumps(rows))
    log = Log()
    return [record for record in read_source(cfe.BUILDER, folder, log) if isinstance(record, Question)], log


def test_the_release(shared_data: Path) -> None:
    log = Log()
    found = [
        record for record in read_source(cfe.BUILDER, shared_data / "cfe_bench", log) if isinstance(record, Question)
    ]
    text = [question for question in found if not question.images]
    multimodal = [question for question in found if question.images]
    assert (log.read, len(text), len(multimodal), log.skipped) == (449, 305, 144, [])
    assert sum(len(question.images) for question in found) == 178
    assert len({question.id for question in found}) == 449
    renamed = [question for question in found if question.id != question.source.upstream_id]
    assert sorted(question.id for question in renamed) == sorted(f"{q.source.upstream_id}-2" for q in renamed)
    assert len(renamed) == 5
    assert len(log.notes) == 6  # five ids and one step_id

    lengths = [len(question.reasoning_flow) for question in text]
    assert (round(statistics.mean(lengths), 2), round(statistics.pstdev(lengths), 2)) == (10.73, 4.07)
    assert round(statistics.mean(len(question.reasoning_flow) for question in multimodal), 2) == 11.74
    counts = [len(question.variables) for question in found]
    assert (min(counts), max(counts)) == (1, 10)
    assert all(question.answer == [v.value for v in question.variables] for question in found)
    assert all(question.question.count(IMAGE_MARK) == len(question.images) for question in found)
    assert {question.question_type for question in found} == {"short_answer"}

    with (shared_data / "cfe_bench" / "PROVENANCE.csv").open(encoding="utf-8-sig") as lines:
        origins = {entry["id"]: entry for entry in csv.DictReader(lines)}
    for question in found:
        origin = origins[question.source.upstream_id or ""]
        assert (question.source.url, question.attributes.topic) == (origin["source_url"], origin["topic"])
        assert question.subject == origin["topic"].lower()
        assert question.question_type_raw == origin["question_type"]
        assert question.source.licence == (origin["license"] if origin["license"].startswith("CC") else None)


def test_answers_keep_their_spelling_and_steps_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (question,), log = read(folder, ROW)
    assert question.reasoning_flow == [FlowStep(step="a?", answer="0.008"), FlowStep(step="b?", answer="true")]
    assert [(v.name, v.type, v.value) for v in question.variables] == [("v", "numeric", "3"), ("f", "formula", "x+1")]
    assert any("step_id 1 is repeated" in note for note in log.notes)
    assert any("PROVENANCE.csv" in note for note in log.notes)
    assert (question.subject, question.attributes.topic, question.source.licence) == ("", None, None)


@pytest.mark.parametrize(
    ("text", "images", "expected", "said"),
    [
        ("q", ["images/a.png"], f"q\n{IMAGE_MARK}", None),
        ("q <image>", ["images/a.png"] * 2, f"q {IMAGE_MARK}\n{IMAGE_MARK}", "put at the end"),
        ("q <image> <image>", ["images/a.png"], f"q {IMAGE_MARK} [image]", "the last 1 left as [image]"),
    ],
)
def test_marks(tmp_path: Path, text: str, images: list[str], expected: str, said: str | None) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (question,), log = read(folder, {**ROW, "question": {"text": text, "images": images}})
    assert (question.question, len(question.images)) == (expected, len(images))
    notes = [note for note in log.notes if "pictures that no question has" not in note]
    assert any(said in note for note in notes) if said else not any("image" in note for note in notes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": {"text": "q", "images": ["../secret.png"]}}, "outside"),
        ({"question": {"text": "q", "images": ["/etc/passwd"]}}, "outside"),
        ({"question": {"text": "q", "images": ["images/none.png"]}}, "missing"),
        ({"question": {"text": "q", "images": ["images/html.png"]}}, "HTML page"),
        ({"question": {"text": "q", "images": ["images/huge.png"]}}, "too large"),
        ({"question": {"text": "q", "images": ["images/torn.png"]}}, "damaged"),
        ({"question": {"text": "", "images": []}}, "no question"),
        ({"question": "q"}, "question is not {text, images}"),
        ({"question": None}, "no question"),
        ({"short_answer_type": ["numeric"]}, "1 entries for 2 values"),
        ({"reasoning_flow": "x"}, "reasoning_flow"),
    ],
)
def test_bad_rows_cost_one_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    found, log = read(folder, {**ROW, "id": "first"}, {**ROW, "id": "bad", **changes}, {**ROW, "id": "last"})
    assert [question.id for question in found] == ["first", "last"]
    (line,) = log.skipped
    assert line.startswith("CFE_mm.json:1 (bad): left out: ")
    assert said in line


def test_row_without_variables_is_kept_without_a_key(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    row = {key: value for key, value in ROW.items() if not key.startswith("short_answer")}
    (question,), log = read(folder, row)
    assert (question.answer, question.variables, log.skipped) == ([], [], [])


def test_types_of_variables_in_any_case(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (question,), log = read(folder, {**ROW, "short_answer_type": ["Numeric ", "equation"]})
    assert [variable.type for variable in question.variables] == ["numeric", "other"]
    assert [note for note in log.notes if "is not known" in note] == [
        "CFE_mm.json:1 (q): short_answer_type equation is not known: taken as other"
    ]
