"""First wrong steps: real labelled solutions, with critics whose replies are recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Process, ProcessError
from livek12.engines.asking import ATTEMPTS
from livek12.evaluation.studies.first_error import Solution, first_errors, first_wrong_step, read_solutions
from livek12.judges.llm.audit import PROMPT, Auditor
from livek12.judges.llm.client import JudgeModel, JudgeSpec
from livek12.judges.llm.panel import Panel
from livek12.judges.llm.spec import PanelSpec

Critic = Callable[[Solution], str]


@pytest.fixture(scope="module")
def solutions(shared_data: Path) -> list[Solution]:
    warnings: list[str] = []
    found = read_solutions(shared_data / "judge" / "mr_ben_physics.json", warnings.append)
    assert len(found) + len(warnings) == 667
    assert sum(solution.first_error is None for solution in found) == 319
    return found[:120]


def study(folder: Path, solutions: Sequence[Solution], critics: dict[str, Critic]) -> dict[str, Any]:
    judges = []
    for name, critic in critics.items():
        file = folder / f"{name}.jsonl"
        rows = [
            {"task": PROMPT, "question_id": s.question.id, "trial": trial, "response": critic(s)}
            for s in solutions
            for trial in range(ATTEMPTS)
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        judges.append(JudgeModel(JudgeSpec(model=str(file), engine="replay", family=name)))
    with ThreadPoolExecutor(2) as threads:
        auditor = Auditor(Panel(PanelSpec(judges=tuple(judge.spec for judge in judges)), judges, threads))
        return first_errors(solutions, auditor, 2, lambda: None)


def knows(solution: Solution) -> str:
    """Quotes the step that the experts name."""
    if solution.first_error is None:
        return '{"errors": []}'
    step = solution.steps[solution.first_error - 1]
    return json.dumps({"errors": [{"type": "DRE", "step": step, "reason": "r"}]})


def silent(solution: Solution) -> str:
    return '{"errors": []}'


def broken(solution: Solution) -> str:
    return "all fine"


def test_critics_are_measured_against_the_experts(solutions: list[Solution], tmp_path: Path) -> None:
    found = study(tmp_path, solutions, {"knows": knows, "silent": silent, "broken": broken})
    wrong = sum(solution.first_error is not None for solution in solutions)
    assert (found["solutions"], found["with_errors"]) == (120, wrong)
    best = found["critics"]["knows"]
    assert (best["accuracy"], best["matthews"], best["errors_missed"], best["false_alarms"]) == (1, 1, 0, 0)
    # A step that repeats an earlier one word for word is found at the earlier place.
    assert best["step_accuracy_low"] == best["step_accuracy_high"] >= 0.97
    quiet = found["critics"]["silent"]
    assert (quiet["errors_seen"], quiet["errors_missed"], quiet["matthews"]) == (0, wrong, None)
    assert "broken" not in found["critics"]
    # One of two usable critics sees the error: the panel cannot say.
    assert found["panel"]["undecided"] == wrong
    assert (found["panel"]["step_accuracy_low"], found["panel"]["step_accuracy_high"]) == (0, 1)


def test_no_usable_critique_is_undecided(solutions: list[Solution], tmp_path: Path) -> None:
    found = study(tmp_path, solutions[:5], {"broken": broken})
    assert found["panel"]["decided"] == 0
    assert found["panel"]["accuracy"] is None
    assert found["critics"] == {}


@pytest.mark.parametrize(
    ("quotations", "first"),
    [
        ([], None),
        (["so x = 2"], 2),
        (["area is 6", "so x = 2"], 2),
        (["x squared is 4 … so x = 2"], 1),
        (["the same words"], 3),
    ],
)
def test_the_step_of_a_quotation(quotations: list[str], first: int | None) -> None:
    steps = [
        "Step 1: x squared is 4.",
        "Step 2: so x = 2.",
        "Step 3: the same words",
        "Step 4: the same words, area is 6",
    ]
    errors = [ProcessError(type="CIE", step=text, reason="r", judge="a") for text in quotations]
    other = ProcessError(type="CIE", step="x squared is 4", reason="r", judge="b")
    process = Process(cie=1, lae=0, dre=0, errors=[*errors, other], critics=["a", "b"])
    assert first_wrong_step(process, "a", steps) == first


def test_bad_rows_cost_one_line_each(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    good = {
        "Question": "?",
        "Model_Solution_Steps": ["Step 1: a"],
        "Model_Solution_Correctness": "incorrect",
        "Model_Solution_First_Error_Step": "1",
    }
    rows = [good, {**good, "Model_Solution_First_Error_Step": "2"}, {**good, "Model_Solution_Steps": "a"}, 7]
    file.write_text("\n".join(map(json.dumps, rows)) + "\nnot json\n", encoding="utf-8")
    warnings: list[str] = []
    assert len(read_solutions(file, warnings.append)) == 1
    assert len(warnings) == 4
    (tmp_path / "empty.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match="no labelled solution"):
        read_solutions(tmp_path / "empty.json", warnings.append)
