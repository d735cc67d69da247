"""Recorded answers of nine models to a real 2026 paper: the marks they get, and the marks they must not get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.tasks.scorer import mark_response
from tests.scripts.command import livek12, livek12_here

pytestmark = pytest.mark.slow

OBJECTIVE = {"single_choice", "multiple_choice", "fill_in_blank"}


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> Path:
    return shared_data / "gaokao2026_math"


@pytest.fixture(scope="module")
def runs(paper: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("import")
    built = livek12_here(
        "build", "livek12", "--source", paper / "reviewed" / "2026-national-i-math.jsonl", "--out", folder / "data"
    )
    assert built.code == 0, built.err
    found = {}
    for file in sorted((paper / "responses").glob("*.jsonl")):
        model = file.name.removesuffix(".2026-national-i-math.jsonl")
        out = folder / model.replace(" ", "_")
        how = ("--from", "jsonl", "--task", "livek12_text_only", "--data", folder / "data", "--out", out)
        ended = livek12_here("import-responses", file, *how)
        assert ended.code == 0, ended.err
        found[model] = out
    return found


def test_verdicts_agree_with_the_recorded_grades_on_every_objective_item(paper: Path, runs: dict[str, Path]) -> None:
    assert len(runs) == 9
    judged = 0
    for model, folder in runs.items():
        grades = _grades(paper / "grades" / f"{model}.2026-national-i-math.jsonl")
        for row in RunFolder.open(folder).rows():
            if row.question.question_type in OBJECTIVE:
                assert row.verdict is not None
                grade = grades[row.question.id]
                assert row.verdict.points == grade["score"], (model, row.question.id, row.verdict)
                assert row.verdict.correct == (grade["verdict"] == "correct")
                judged += 1
    assert judged == 9 * 14


def test_no_answer_is_accepted_for_another_questions_key(runs: dict[str, Path]) -> None:
    """All recorded answers are right, so each must fail every other objective question with a different key."""
    cascade, config = default_cascade(), GradingConfig()
    pairs = 0
    for folder in runs.values():
        rows = [row for row in RunFolder.open(folder).rows() if row.question.question_type in OBJECTIVE]
        for row in rows:
            assert row.response is not None
            for other in rows:
                if other.question.answer != row.question.answer:
                    verdict = mark_response(other.question, row.response, config, cascade)
                    assert verdict.correct is not True, (row.question.id, other.question.id, verdict.parts)
                    pairs += 1
    assert pairs > 1000


def test_token_counts_are_those_recorded_or_missing(paper: Path, runs: dict[str, Path]) -> None:
    for model, folder in runs.items():
        recorded = _rows(paper / "responses" / f"{model}.2026-national-i-math.jsonl")
        stored = {row.question.id: row.response for row in RunFolder.open(folder).rows()}
        for row in recorded:
            schedule = [turn.get("payload") or {} for turn in row["raw_responses"].values()]
            counts = [(turn.get("usage") or {}).get("completion_tokens") for turn in schedule]
            expected = None if None in counts else sum(counts)
            response = stored[row["item_id"]]
            assert response is not None and response.completion_tokens == expected
            assert response.text == row["final_response_text"].strip() or row["final_response_text"] in response.text


def test_compare_prints_a_table_and_a_program_can_read_it(runs: dict[str, Path]) -> None:
    folders = list(runs.values())
    only = ("--where", "question_type=single_choice,multiple_choice,fill_in_blank")
    shown = livek12("compare", *folders, *only, COLUMNS="200")
    assert shown.code == 0
    assert all(folder.name[:20] in shown.out for folder in folders)
    read = json.loads(livek12_here("compare", *folders, *only, "--json").out)
    marks = read["tasks"]["livek12_text_only"]["metrics"]["mark"]
    assert {name: mark["value"] for name, mark in marks.items()} == {folder.name: 100.0 for folder in folders}
    assert len(read["tasks"]["livek12_text_only"]["pairs"]) == 36


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _grades(file: Path) -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in _rows(file)}
