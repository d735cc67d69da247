"""The `evaluate` modules, loaded offline by a process of its own, from another folder, also as folders for Spaces."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from livek12 import UserError, metric_path
from livek12.core.metrics import METRICS, space
from tests.scripts.command import livek12_here

pytestmark = pytest.mark.slow

EXAM = Path(metric_path("livek12_exam"))
PASS_AT_K = Path(metric_path("pass_at_k_unbiased")) / "pass_at_k_unbiased.py"
CFE = Path(metric_path("livek12_cfe"))
JUDGE = Path(metric_path("livek12_answer_judge"))

# evaluate works without transformers, and starts without it even where torchvision does not fit torch.
PROGRAM = """
import json, sys
sys.modules["transformers"] = None
import evaluate
del sys.modules["transformers"]
results = []
for path, calls in json.load(sys.stdin):
    metric = evaluate.load(path, cache_dir="cache")
    try:
        for name, arguments in calls:
            result = getattr(metric, name)(**arguments)
        results.append(result)
    except Exception as error:
        results.append(f"{type(error).__name__}: {error}")
print(json.dumps(results))
"""

POINTS = {"predictions": [10, 2.5, 4], "references": [10, 5, 4]}
LENGTHS = {"tokens": [4096, 50, 8192]}
PROCESS = {"cie": [1, 0, 1], "lae": [0, 1, 1], "dre": [2 / 3, 0, 0]}
CASES: dict[str, tuple[Path, list[tuple[str, dict[str, Any]]]]] = {
    "all": (EXAM, [("compute", {**POINTS, **LENGTHS, **PROCESS})]),
    "release": (EXAM, [("compute", {**POINTS, **LENGTHS, **PROCESS, "profile": "release"})]),
    "steps": (EXAM, [("compute", {**POINTS, **PROCESS, "steps": [[2], [1], [2]], "profile": "release"})]),
    "points": (EXAM, [("compute", POINTS)]),
    "undecided": (EXAM, [("compute", {"predictions": [10, None], "references": [10, 5], "cie": [0, 0]})]),
    "correct": (EXAM, [("compute", {**POINTS, "correct": [True, False, False]})]),
    "batches": (
        EXAM,
        [
            ("add", {"prediction": 10, "reference": 10}),
            ("add_batch", {"predictions": [2.5, 4], "references": [5, 4]}),
            ("compute", {}),
        ],
    ),
    "profile": (EXAM, [("compute", {**POINTS, "profile": "papers"})]),
    "too many points": (EXAM, [("compute", {"predictions": [6], "references": [5]})]),
    "pass": (PASS_AT_K, [("compute", {"predictions": [[True, True, False], [False, False, True]]})]),
    "pass@2": (PASS_AT_K, [("compute", {"predictions": [[1, 0], [0, 0, 1]], "k": [2]})]),
    "cfe": (CFE, [("compute", {"predictions": [[True, False], [True], []], "references": [2, 1, 4]})]),
    "cfe undecided": (CFE, [("compute", {"predictions": [[True, None], [False, None]], "references": [2, 2]})]),
    "cfe too many": (CFE, [("compute", {"predictions": [[True, True]], "references": [1]})]),
    "judge": (
        JUDGE,
        [
            (
                "compute",
                {
                    "predictions": ["So the answer is \\boxed{0.5}.", "x = 3", "B"],
                    "references": ["1/2", "4", "B"],
                    "question_types": [None, None, "single_choice"],
                },
            )
        ],
    ),
    "judge parts": (JUDGE, [("compute", {"predictions": ["(1) 3 (2) 5"], "references": [["3", "5"]]})]),
    "judge undecided": (
        JUDGE,
        [
            ("add", {"prediction": "because plants need light to grow", "reference": "light drives photosynthesis"}),
            ("add_batch", {"predictions": ["7"], "references": ["7"]}),
            ("compute", {}),
        ],
    ),
    "pass@3": (PASS_AT_K, [("compute", {"predictions": [[1, 0], [0, 0, 1]], "k": [3]})]),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("elsewhere")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([(str(path), calls) for path, calls in CASES.values()]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "USE_TORCH": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_all_columns_give_all_metrics(results: dict[str, Any]) -> None:
    found = results["all"]
    # ΣV = 19.  P: 10 - 5 = 5; 5 - 3 = 2; max(0, 4 - 6) = 0.  P·O/V: 5; 1; 0
    assert found["OCS"] == found["mark"] == pytest.approx(100 * 16.5 / 19)
    assert found["PES"] == pytest.approx(100 * 6 / 19)
    assert found["OES"] == pytest.approx(100 * (6 + 16.5) / 2 / 19)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["ARL"] == pytest.approx((1 + 1 - 0.15 * math.log(2)) / 3)
    assert [found[f"Acc≤{r}"] for r in ("0.1", "0.2", "0.3")] == pytest.approx([0, 1 / 3, 2 / 3])
    assert not [name for name in found if name.endswith(("_note", "_low", "_high"))]


def test_the_release_profile(results: dict[str, Any]) -> None:
    # steps: 2, 1, 2.  process halves 0; outcome halves 0, 1.25, 0
    assert results["steps"]["PES"] == 0
    assert results["steps"]["OES"] == pytest.approx(100 * 1.25 / 19)
    assert "compare" in results["release"]["ARL_note"]


def test_steps_that_are_not_given_leave_bounds(results: dict[str, Any]) -> None:
    found = results["release"]  # error types: 2 (one of them seen by most), 1, 2: at least so many steps
    assert (found["PES"], found["OES"]) == (0, None)
    assert (found["OES_low"], found["OES_high"]) == pytest.approx((0, 100 * (10 / 2 / 3 + 1.25) / 19))


def test_what_is_not_given_is_not_invented(results: dict[str, Any]) -> None:
    found = results["points"]
    assert found["OCS"] == pytest.approx(100 * 16.5 / 19)
    assert (found["PES"], found["PES_note"]) == (None, "no process verdicts")
    assert (found["ARL"], found["ARL_note"]) == (None, "not available (3 answers state no token count)")


def test_undecided_points_are_an_interval(results: dict[str, Any]) -> None:
    found = results["undecided"]
    assert (found["OCS"], found["OCS_low"], found["OCS_high"]) == (None, pytest.approx(100 * 10 / 15), 100)
    assert (found["accuracy_low"], found["accuracy_high"]) == (0.5, 1)
    assert found["PES_note"] == "no process verdicts"  # one column of three is no audit


def test_full_points_need_not_be_correct(results: dict[str, Any]) -> None:
    assert results["correct"]["accuracy"] == pytest.approx(1 / 3)


def test_answers_can_be_added_in_batches(results: dict[str, Any]) -> None:
    assert results["batches"] == results["points"]


def test_bad_input_is_refused(results: dict[str, Any]) -> None:
    assert results["profile"].startswith("UserError: unknown profile 'papers'")
    assert results["too many points"].startswith("UserError: answer 0 has 6.0 of 5.0 points")
    assert results["pass@3"].startswith("UserError: pass@k needs k from 1 to 2")


def test_unbiased_pass_at_k(results: dict[str, Any]) -> None:
    # pass@1: (2/3 + 1/3)/2; pass@2: (1 + 2/3)/2; pass@3: 1
    assert results["pass"] == pytest.approx({"pass@1": 1 / 2, "pass@2": 5 / 6, "pass@3": 1})
    assert results["pass@2"] == pytest.approx({"pass@2": (1 + 2 / 3) / 2})


def test_variables_and_questions(results: dict[str, Any]) -> None:
    # shares 1/2, 1 and 0 of 4 (a failed extraction); one question of three is whole
    assert results["cfe"] == pytest.approx({"variable_accuracy": 1 / 2, "question_accuracy": 1 / 3})


def test_undecided_variables_are_an_interval(results: dict[str, Any]) -> None:
    found = results["cfe undecided"]
    assert (found["variable_accuracy"], found["question_accuracy"]) == (None, None)
    assert (found["variable_accuracy_low"], found["variable_accuracy_high"]) == (0.25, 0.75)
    assert (found["question_accuracy_low"], found["question_accuracy_high"]) == (0, 0.5)
    assert results["cfe too many"].startswith("UserError: question 0 has 2 verdicts for 1 variables")


def test_the_answer_judge(results: dict[str, Any]) -> None:
    found = results["judge"]
    assert found["decisions"] == ["accept", "reject", "accept"]
    assert found["accuracy"] == found["accuracy_low"] == found["accuracy_high"] == pytest.approx(2 / 3)
    assert results["judge parts"]["decisions"] == ["accept"]


def test_what_the_answer_judge_leaves_open_is_neither_right_nor_wrong(results: dict[str, Any]) -> None:
    found = results["judge undecided"]
    assert found["decisions"] == ["undecided", "accept"]
    assert (found["accuracy"], found["accuracy_low"], found["accuracy_high"]) == (None, 0.5, 1)
    assert found["scores"][0] is None


def test_a_folder_for_a_space(tmp_path: Path) -> None:
    ended = livek12_here("metrics", "--out", tmp_path / "spaces")
    folders = [Path(line) for line in ended.out.splitlines()]
    assert [folder.name for folder in folders] == list(METRICS)
    for folder in folders:
        head, card = (folder / "README.md").read_text().removeprefix("---\n").split("\n---\n")
        said = yaml.safe_load(head)
        assert (said["sdk"], said["app_file"], said["description"]) == ("gradio", "app.py", METRICS[folder.name])
        assert "predictions:" in card
        assert "livek12==" in (folder / "requirements.txt").read_text()
        assert f'"{folder.name}.py"' in (folder / "app.py").read_text()
        assert (folder / f"{folder.name}.py").read_bytes() == (
            Path(metric_path(folder.name)) / f"{folder.name}.py"
        ).read_bytes()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    space("livek12_cfe", tmp_path)
    space("livek12_cfe", tmp_path)  # anew
    (tmp_path / "livek12_cfe" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds thesis\.txt"):
        space("livek12_cfe", tmp_path)
    with pytest.raises(UserError, match="METRIC"):
        metric_path("../scoring")
