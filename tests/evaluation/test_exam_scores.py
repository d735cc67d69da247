"""Scores of exams by answers alone, and by the better of answer and steps, from recorded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Key, Question, Response, Sampling
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.schemes import read_scheme
from livek12.evaluation.marking import judge
from tests.scripts.command import livek12_here

SCHEME = [
    {"points": 1, "text": "energy is kept", "expression": "m g h = \\frac{1}{2} m v^2"},
    {"points": 2, "text": "solves for the speed", "kind": "method"},
]
ROWS: list[dict[str, Any]] = [
    {"id": "a1", "exam": "A_2025", "answer": ["14"], "points": 3, "scheme": SCHEME, "question_type_raw": "解答题"},
    {"id": "a2", "exam": "A_2025", "answer": ["5"], "points": 2},
    {"id": "a3", "exam": "A_2025", "answer": ["7"], "points": 3, "scheme": SCHEME, "question_type_raw": "解答题"},
    {"id": "b1", "exam": "B_2025", "answer": ["2"], "points": 4},
]
ANSWERS = {
    "a1": "So $m g h = \\frac{1}{2} m v^2$ and \\boxed{15}.",
    "a2": "\\boxed{5}",
    "a3": "\\boxed{7}",
    "b1": "\\boxed{3}",
}


TASK = "livek12_text_only"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded answers, marked by the rules."""
    common = {"benchmark": "livek12", "language": "en", "subject": "physics", "question_type": "short_answer"}
    text = "How fast is ball {}?"
    asked = [
        Question(**{**common, **row, "question": text.format(row["id"]), "scheme": read_scheme(row.get("scheme", []))})
        for row in ROWS
    ]
    task = TaskSpec(
        name=TASK, version=1, modality="text_only", prompt_sha256="p" * 64, data="nowhere", data_sha256="d" * 64,
        questions=len(asked), sampling=Sampling(),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("exams") / "run"
    folder = RunFolder.create_or_resume(path, RunSpec(model="m", engine="replay", tasks=[task]), {TASK: asked})
    with folder.writer("responses") as responses:
        for id, said in ANSWERS.items():
            key = Key(task=TASK, question_id=id)
            responses.append(Response(key=key, text=said, finish_reason="stop", engine="replay", model="m"))
    judge(folder)
    folder.leave()
    return path


def scores(run: Path, *more: str) -> Any:
    ended = livek12_here("study", "exam-scores", run, "--json", *more)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["run"]


def test_the_better_of_answer_and_steps(run: Path) -> None:
    """By the rules alone the steps of a1 are open; a judge's recorded marks settle them."""
    medals = ("--medals", "A_2025:gold=6,silver=5.5", "--medals", "B_2025: gold=1")
    exams = scores(run, *medals)
    assert exams["A_2025"] == {
        "questions": 3, "with_scheme": 2, "full": 8, "coarse": [5, 5], "fine": [6, 8],
        "by_type": {
            "short_answer": {"questions": 1, "full": 2, "coarse": [2, 2], "fine": [2, 2]},
            "解答题": {"questions": 2, "full": 6, "coarse": [3, 3], "fine": [4, 6]},
        }, "medal": ["gold", "gold"],
    }  # fmt: skip
    assert (exams["B_2025"]["coarse"], exams["B_2025"]["medal"]) == ([0, 0], ["none", "none"])
    marks = run.parent / "marks.jsonl"
    rows = [{"id": "a1", "criteria": [1, 0.5]}, {"id": "a3", "score": 1, "max_score": 3}]
    marks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert livek12_here("import-judgements", run, marks, "--judge", "teacher").code == 0
    exams = scores(run, "--medals", "A_2025:gold=7,silver=6.5")
    assert (exams["A_2025"]["coarse"], exams["A_2025"]["fine"]) == ([5, 5], [6.5, 6.5])
    said = livek12_here("study", "exam-scores", run, "--medals", "A_2025:gold=7,silver=6.5").out
    assert "run, A_2025: 6.5 of 8 points by answer or steps, 5 by answers alone; medal: silver." in said


@pytest.mark.parametrize(
    ("medals", "problem"),
    [
        ("gold=3", "write EXAM:gold=POINTS"),
        ("A_2025:gold", "write EXAM:gold=POINTS"),
        ("A_2025:gold=nan", "write EXAM:gold=POINTS"),
        ("C:gold=3", "--medals: C is no exam of the run; it has A_2025, B_2025"),
    ],
)
def test_bad_limits_are_one_line(run: Path, medals: str, problem: str) -> None:
    ended = livek12_here("study", "exam-scores", run, "--medals", medals)
    assert (ended.code, len(ended.errors)) == (2, 1) and problem in ended.err
