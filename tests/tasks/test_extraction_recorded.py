"""Extraction and marking on recorded runs of a real 2026 exam: nine frontier models and small open ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from livek12.core.question_types import QuestionType
from livek12.core.records import Option, Question
from livek12.tasks.extraction import extract
from tests.judges.helpers import mark

TYPES: dict[str, QuestionType] = {
    "single_choice": "single_choice",
    "multiple_choice": "multiple_choice",
    "fill_blank": "fill_in_blank",
}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "gaokao2026_math"


@pytest.fixture(scope="module")
def paper(folder: Path) -> dict[str, Question]:
    rows = lines(folder / "reviewed" / "2026-national-i-math.jsonl")
    return {
        row["id"]: Question(
            id=row["id"],
            benchmark="livek12",
            language="zh",
            subject="math",
            question_type=TYPES[row["question_type"]],
            question=row["question"]["content"],
            answer=[row["answer"]["standard"]],
            points=row["score"],
        )
        for row in rows
        if row["question_type"] in TYPES
    }


@pytest.fixture(scope="module")
def responses(folder: Path, paper: dict[str, Question]) -> list[tuple[str, str]]:
    rows = [row for path in sorted((folder / "responses").glob("*.jsonl")) for row in lines(path)]
    return [(row["item_id"], row["final_response_text"]) for row in rows if row["item_id"] in paper]


def test_every_recorded_right_answer_is_accepted(paper: dict[str, Question], responses: list[tuple[str, str]]) -> None:
    assert len(responses) == 126
    wrong = []
    for name, text in responses:
        asked = paper[name]
        verdict = mark(asked, *extract(text, asked, "stop").answers)
        if verdict.correct is not True or verdict.points != asked.points:
            wrong.append((name, text[-80:], verdict.reason))
    assert wrong == []


def test_no_response_is_accepted_for_another_questions_key(
    paper: dict[str, Question], responses: list[tuple[str, str]]
) -> None:
    accepted = []
    for name, text in responses:
        for other in paper.values():
            if other.answer == paper[name].answer:
                continue
            for asked in (other, other.model_copy(update={"question": paper[name].question})):
                verdict = mark(asked, *extract(text, asked, "stop").answers)
                if verdict.correct:
                    accepted.append((name, other.id, verdict.parts))
    assert accepted == []


# Recorded as wrong by a text comparison, and right: the same value in another notation, or both blanks in two boxes.
RECORDED_WRONG_BUT_RIGHT = {
    r"\frac{\sqrt[3]{12}}{2}",
    r"\sqrt{\frac{11}{6}}",
    r"\frac{3\pi}{2}, 1",
    r"\frac{3\pi}{2}; 1",
}


def test_boxed_runs_agree_with_the_recorded_extraction_and_grades(folder: Path) -> None:
    compared, differing = 0, []
    for path in sorted((folder / "boxed_runs").glob("*.json")):
        for name, case in json.loads(path.read_text(encoding="utf-8"))["task_states"]["cases"].items():
            asked = _asked(name, case)
            found = extract(case["response"] or "", asked, "length" if "length" in case["status"] else "stop")
            verdict = mark(asked, *found.answers)
            compared += 1
            if not case["response"]:
                assert verdict.state == "no_answer"
                assert found.truncated == ("length" in case["status"])
            elif bool(case["correct"]) != verdict.correct and found.answers[0] not in RECORDED_WRONG_BUT_RIGHT:
                differing.append((path.name, name, case["answer"], found.answers, verdict.state, verdict.reason))
    assert compared == 210
    assert differing == []


def _asked(name: str, case: dict[str, object]) -> Question:
    number = int(name[-3:])
    kind: QuestionType = "single_choice" if number < 8 else "multiple_choice" if number < 11 else "fill_in_blank"
    text = str(case["prompt"])
    found = re.findall(r"^([A-D])\.\s*(.+)$", text, re.MULTILINE) if number < 11 else []
    return Question(
        id=name,
        benchmark="livek12",
        language="zh",
        subject="math",
        question_type=kind,
        question=text,
        options=[Option(label=label, text=option.strip()) for label, option in found],
        answer=[str(case["expected"])],
    )
