"""Diagnostics through the real commands: planted curves are recovered, in the run and in its report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.evaluation.studies.diagnostics import Diagnosed, diagnostics, read_diagnosed
from tests.engines.scripted_server import serving
from tests.evaluation.diagnosed import Asked, Planted, make
from tests.scripts.command import Ended, livek12_here

LENGTHS = [3] * 6 + [2] * 4
CONDITIONS = ("reasoning_prefix", "prefix_questions", "injection", "injection_question")
KEY = 2
Chance = Callable[[Asked], float]


def run(data: Path, out: Path, address: str, *more: object, task: str = "cfe_text:all") -> Ended:
    how = ("--model", "m", "--engine", "openai", "--engine-args", f"base_url={address},max_retries=0,concurrency=64")
    return livek12_here("run", "--task", task, "--data", data, *how, "--judge", "rules", "--out", out, "-q", *more)


def studied(*args: object) -> Any:
    ended = livek12_here("study", "diagnostics", *args, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def asked_and_studied(data: Path, place: Path, chance: Chance, trials: int) -> Any:
    with serving(Planted(chance)) as address:
        assert run(data, place / "run", address, "--trials", trials).code == 0
    return studied(place / "run")["run"]["cfe_text"]


def by_unit(told: Any, condition: str, of: str = "low") -> dict[int, float]:
    return {cell["unit"]: cell[of] for cell in told["conditions"][condition]["by_unit"]}


@pytest.mark.slow
def test_why_a_model_fails_from_the_exam_to_the_page(tmp_path: Path) -> None:
    """Right exactly when unit 2 is given: injection is 1 there and else 0, the prefix a step, questions alone 0."""
    data = make(tmp_path, LENGTHS)
    with serving(Planted(lambda asked: float(asked.own is not None or KEY in asked.given))) as address:
        assert run(data, tmp_path / "whole", address, task="cfe_text").code == 0
        ended = run(data, tmp_path / "why", address, "--questions", "failed-in", tmp_path / "whole", "--trials", 1)
        assert ended.code == 0, ended.err
    told = studied(tmp_path / "why", "--html", tmp_path / "why.html")["why"]["cfe_text"]
    assert by_unit(told, "injection") == by_unit(told, "injection", "high") == {1: 0, 2: 1, 3: 0}
    assert by_unit(told, "reasoning_prefix") == {1: 0, 2: 1, 3: 1}
    assert by_unit(told, "unit_execution") == {1: 1, 2: 1, 3: 1}
    assert (
        by_unit(told, "prefix_questions", "high") == by_unit(told, "injection_question", "high") == {1: 0, 2: 0, 3: 0}
    )
    assert [(cell["units"], cell["questions"]) for cell in told["conditions"]["injection"]["by_length"]] == [(3, 6)]
    assert told["conditions"]["injection"]["by_length"][0]["low"] == pytest.approx(1 / 3)
    assert (told["whole"]["questions"], told["whole"]["high"]) == (10, 0)
    injected = next(cell for cell in told["contrasts"] if cell["condition"] == "injection")
    assert injected["beside"] == "injection_question"
    # six questions gain a third of their units, four gain half; ten questions that all gain: 2 of 2^10 sign patterns
    assert injected["low"] == pytest.approx((6 / 3 + 4 / 2) / 10)
    assert injected["p"] == pytest.approx(2 / 2**10)
    page = (tmp_path / "why.html").read_text()
    assert page.count('<svg class="chart"') == 3
    assert "default-src 'none'" in page and "<script" not in page
    said = livek12_here("study", "diagnostics", tmp_path / "why").out
    assert "injection 40.0 % (" in said and "minus injection_question +40.0" in said


@pytest.mark.release
@pytest.mark.parametrize(
    "chance",
    [
        lambda asked: 0.9 if asked.own else 1.0 if 4 in asked.given else 0.1,
        lambda asked: 0.05 if asked.own == 3 else 0.95 if asked.own else 0.15 * len(asked.given),
        lambda asked: 0.8 - 0.1 * asked.own if asked.own else 0.9 if asked.given & {1, 5} else 0.02 * len(asked.named),
    ],
    ids=["one unit decides", "one unit fails", "a slope"],
)
def test_planted_curves_are_recovered_within_their_intervals(tmp_path: Path, chance: Chance) -> None:
    told = asked_and_studied(make(tmp_path, [6] * 25 + [4] * 15), tmp_path, chance, trials=8)
    missed, cells = 0, 0
    for condition, each in told["conditions"].items():
        for cell in each["by_unit"]:
            unit = cell["unit"]
            given = {"reasoning_prefix": range(1, unit + 1), "injection": [unit], "unit_execution": range(1, unit)}
            named = {"prefix_questions": range(1, unit + 1), "injection_question": [unit], "unit_execution": [unit]}
            own = unit if condition == "unit_execution" else None
            shown = (frozenset(side.get(condition, ())) for side in (given, named))
            planted = chance(Asked(0, *shown, own))
            cells += 1
            missed += not cell["interval"][0] - 1e-9 <= planted <= cell["interval"][1] + 1e-9
            assert abs(cell["low"] - planted) < 0.1
    assert cells == 30
    assert missed <= 5, "95 % intervals"


def test_a_run_without_derived_tasks_is_one_line(tmp_path: Path) -> None:
    data = make(tmp_path, [2])
    with serving(Planted(lambda asked: 1.0)) as address:
        assert run(data, tmp_path / "whole", address, task="cfe_text").code == 0
        for line, said in (
            (("study", "diagnostics", tmp_path / "whole"), "asks no questions unit by unit: `livek12 run --task"),
            (("study", "diagnostics", tmp_path / "nowhere"), "nowhere"),
        ):
            ended = livek12_here(*line)
            assert (ended.code, len(ended.errors)) == (2, 1) and said in ended.errors[0]
        ended = run(data, tmp_path / "why", address, "--questions", "failed-in", tmp_path / "whole")
        assert ended.code == 2 and "no question of cfe_text counts as failed" in ended.errors[0]


@pytest.mark.slow
def test_answers_without_text_and_those_that_never_came_are_told(tmp_path: Path) -> None:
    from livek12.core.run.folder import RunFolder

    data = make(tmp_path, [2])
    silent = Planted(lambda asked: 1.0)
    whole = silent.take

    def take(body: Any, headers: Any) -> Any:
        from tests.engines.scripted_server import error, good

        whole(body, headers)
        return error(500) if "Do the last step" in json.dumps(body) else good("")

    silent.take = take  # type: ignore[method-assign]
    with serving(silent) as address:
        ended = run(data, tmp_path / "why", address, "--trials", 1)
    assert ended.code == 1
    told = diagnostics(read_diagnosed(RunFolder.open(tmp_path / "why").rows()))["cfe_text"]
    assert (told["answers"], told["silent"], told["missing"]) == (10, 8, 2)
    assert told["conditions"]["injection"]["mean"]["high"] == 0
    assert (
        told["conditions"]["unit_execution"]["mean"]["low"],
        told["conditions"]["unit_execution"]["mean"]["high"],
    ) == (0, 1)


def test_a_picture_is_needed_where_the_units_are_not_all_answered_without_it() -> None:
    found = Diagnosed(lengths=dict.fromkeys(("blind", "seen", "open"), 2))
    found.conditions["unit_execution_text"] = {
        "blind": {1: (1.0, 1.0), 2: (0.5, 0.5)},
        "seen": {1: (1.0, 1.0), 2: (0.25, 0.375)},
        "open": {1: (1.0, 1.0), 2: (0.25, 0.75)},
    }
    told = diagnostics({"cfe_mm": found})["cfe_mm"]["pictures"]
    assert told == {"questions": 3, "needed": 1, "undecided": 1, "answered_without": ["blind"]}
