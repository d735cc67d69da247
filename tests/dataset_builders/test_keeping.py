"""What a publish would drop of what the heads hold: rows, keys, and entries of any other column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Option, Question
from livek12.dataset_builders.publishing.keeping import Content, _compared
from livek12.dataset_builders.writing.withheld import without_answers
from tests.dataset_builders.publishing_sets import image, make_set, page, question


def content(folder: Path, questions: list[Question], pages: int = 0) -> Content:
    """What a data set of these questions holds."""
    built = make_set(folder, questions, [page(number) for number in range(1, pages + 1)])
    found = Content()
    for file in built.rglob("*.parquet"):
        found.add(file, file.parent.name)
    return found


CHOICE: dict[str, Any] = {
    "question_type": "single_choice",
    "options": [Option(label="A", text="one"), Option(label="B", text="two")],
    "answer": ["A"],
    "part_points": [],
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"points": 7.0, "subject": "physics"}, ""),
        ({"question": "What is the number, spelled better? ____ and ____"}, ""),
        ({"answer": ["other", "2"]}, "the answers of 1 question (a)"),
        ({"answer": []}, "the answers of 1 question (a)"),
        ({"solution": None}, "the answers of 1 question (a)"),
        ({"solution_images": []}, "the answers of 1 question (a)"),
        ({"reasoning_flow": []}, "the answers of 1 question (a)"),
        ({"scheme": []}, "the answers of 1 question (a)"),
        ({"variables": []}, "the answers of 1 question (a)"),
        ({"points": None}, "points of 1 question (a)"),
        ({"knowledge_points": ["one"]}, "knowledge_points of 1 question (a)"),
        ({"question": "Something else?", "answer": ["another"], "part_points": []}, "1 row (a)"),
    ],
)
def test_what_a_row_has_lost(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    known = {"knowledge_points": ["one", "two"]}
    had = content(tmp_path / "had", [question("a", **known)])
    has = content(tmp_path / "has", [question("a", **{**known, **changed})])
    assert str(_compared(had, has)) == said


def test_pictures_and_pages_count_too(tmp_path: Path) -> None:
    pictured = {"question": "Which? <image> <image> ____", "images": [image(1), image(2)], "answer": ["1"]}
    had = content(tmp_path / "had", [question("a", part_points=[], **pictured)], pages=2)
    has = content(tmp_path / "has", [question("a", part_points=[], **{**pictured, "images": [image(1)]})], pages=1)
    assert str(_compared(had, has)) == "1 row (page 2 of paper_2605), images of 1 question (a)"


def test_an_answer_may_stand_in_either_head(tmp_path: Path) -> None:
    whole = question("a", **CHOICE)
    public = content(tmp_path / "public", [without_answers(whole)])
    had = content(tmp_path / "whole", [whole])
    assert str(_compared(had, public)) == "the answers of 1 question (a)"
    for file in (tmp_path / "whole").rglob("*.parquet"):
        public.add(file, file.parent.name)
    assert not _compared(had, public)
