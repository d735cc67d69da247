"""A question type is one row: a registered one is asked, extracted, judged and reported with no other edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from livek12.core import question_types
from livek12.core.question_types import CHOICE_TYPES, READER_TYPES, TypeRow, kind_of, register, type_names
from livek12.core.records import Key, Question, Request, Response
from livek12.evaluation.pairs import read_pair, rule_verdict
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.report.site.pages import words
from livek12.tasks.extraction import extract
from livek12.tasks.prompting import build_request
from livek12.tasks.registry import get_task
from livek12.tasks.scorer import mark_response
from tests.evaluation.test_site import TASK, asked, run_of
from tests.scripts.command import livek12_here

CASES = {
    "yes_or_no": ("truth", "True", "So the statement is false.\n\nThe answer is: true.", "The answer is: false."),
    "assertion_reason": ("labels", "B", "Hence the answer is (B).", "Hence the answer is (C)."),
    "multiple_response": ("labels", "AC", "The correct options are A and C.", "The correct options are A and D."),
    "numerical_entry": ("values", "0.5", r"\boxed{1/2}", r"\boxed{1/3}"),
}


@pytest.fixture
def registered() -> Iterator[None]:
    for name, (answer, *_) in CASES.items():
        register(TypeRow(name, name.replace("_", ""), answer, several=name == "multiple_response"))
    register(TypeRow("essay", "에세이", "text"))
    yield
    for name in (*CASES, "essay"):
        for names in (question_types._TYPES, question_types._CHOICES, question_types._READ):
            names.pop(name, None) if isinstance(names, dict) else names.discard(name)
    kind_of.cache_clear()
    question_types._source_names.cache_clear()


def question(kind: str, key: str) -> Question:
    options = [{"label": label, "text": f"text {label}"} for label in "ABCD"] if CASES[kind][0] == "labels" else []
    return asked(1, question_type=kind, answer=[key], question="Decide.", options=options)


@pytest.mark.parametrize("kind", CASES)
def test_it_is_asked_extracted_and_judged(registered: None, kind: str) -> None:
    shape, key, right, wrong = CASES[kind]
    made = question(kind, key)
    assert (kind in CHOICE_TYPES, kind in READER_TYPES) == (shape == "labels", False)
    task, cascade = get_task("livek12_text_only_en"), default_cascade()
    request = build_request(task, made, Key(task=task.name, question_id=made.id), task.sampling, {})
    assert isinstance(request, Request)
    for text, expected in ((right, True), (wrong, False)):
        assert extract(text, made, "stop").answers
        response = Response(key=Key(task="t", question_id=made.id), text=text, engine="replay", model="m")
        verdict = mark_response(made, response, GradingConfig(), cascade)
        assert verdict.correct is expected, verdict.reason
        row = {"id": "a", "gold": key, "response": text, "question_type": kind, "options": made.model_dump()["options"]}
        assert rule_verdict(read_pair(json.dumps(row).encode(), None), cascade).correct is expected


def test_it_is_reported(registered: None, tmp_path: Path) -> None:
    cascade, answers, questions = default_cascade(), [], []
    for number, (kind, (_, key, right, _)) in enumerate(CASES.items()):
        made = question(kind, key).model_copy(update={"id": f"q{number}"})
        key_of = Key(task=TASK, question_id=made.id)
        response = Response(key=key_of, text=right, engine="openai", model="m", finish_reason="stop")
        questions.append(made)
        answers.append((response, mark_response(made, response, GradingConfig(), cascade)))
    run = run_of(tmp_path / "run", questions, answers)
    assert livek12_here("report", run).code == 0
    report = json.loads((run / "report.json").read_text())
    assert set(report["tasks"][TASK]["groups"]["question_type"]) == set(CASES)
    assert "assertion reason" in (run / "report.html").read_text()
    register(TypeRow("essay", "에세이", "text", labels={"en": "essay", "ko": "에세이"}))
    assert '"essay": {"en": "essay", "ko": "에세이"}' in words()


def test_one_that_is_read_waits_for_a_reader(registered: None) -> None:
    made = asked(1, question_type="essay", answer=["an essay"])
    assert extract("A long text.\n\nAnd more.", made, "stop").method == "whole"
    assert kind_of("에세이형") == "essay"


def test_one_that_is_not_registered_is_refused() -> None:
    with pytest.raises(ValidationError, match=f"Input should be {type_names()[0]!r}, .* or {type_names()[-1]!r}"):
        asked(1, question_type="essay")
    assert kind_of("에세이형") is None
