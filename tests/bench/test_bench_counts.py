"""The benchmarks that count what vLLM's scheduler does: steps, prefixes, and engines beside each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livek12.scripts.bench import prefixes, steps
from livek12.scripts.bench.common import Timed
from livek12.scripts.bench.counting import FOLDER, counted, counting_in
from livek12.scripts.bench.sides import Side
from tests.engines.conftest import needs

SCRIPTS = Path(steps.__file__).parent


def side(planned: list[tuple[int, int, int]], answers: int, **counts: int) -> Side:
    texts: dict[str, dict[str, Any]] = {str(number): {"text": "x"} for number in range(answers)}
    told = {"slots": 4, "tokens of a step": 100, "in hand at the first step": answers, **counts}
    return Side("ours", Timed(1.0, 1.0, 0.5, 0), 1.0, texts, told, steps=planned)


def test_a_place_is_idle_while_somebody_waits_and_tokens_are_left() -> None:
    waited = side([(2, 60, 2), (4, 62, 2), (4, 4, 0), (2, 32, 2)], 6)
    assert steps.idle(waited) == 2  # two of four places in the first step; at the end nobody waits
    assert steps.idle(side([(2, 100, 2), (4, 62, 2), (4, 4, 0), (2, 32, 2)], 6)) == 0  # no token was left
    bare = side([(4, 100, 4), (4, 4, 0), (2, 32, 2)], 6)
    row = steps.counted(waited, bare)
    assert (row["steps"], row["ours / bare"], row["tokens/step"], row["sequences/step"]) == (4, 4 / 3, 158 / 4, 3)
    assert row["same as ours"] == 6


def test_what_several_processes_counted_is_added_up(tmp_path: Path) -> None:
    environment = counting_in(tmp_path / "counts")
    assert environment["PYTHONPATH"].startswith(str(tmp_path / "counts"))
    found = "import importlib.metadata as m; print(*[one.load().__name__ for one in m.entry_points(group=GROUP)])"
    said = subprocess.run(
        [sys.executable, "-c", found.replace("GROUP", "'vllm.general_plugins'")],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "plugged_in" in said.stdout.split()
    for process, many in ((7, 1), (8, 3)):
        told = {"requests": many, "prompt tokens": 10 * many, "prompt tokens computed": 5 * many}
        (Path(environment[FOLDER]) / f"{process}.json").write_text(json.dumps(told))
    counts = counted(Path(environment[FOLDER]))
    row = prefixes.row("replicas", counts)
    assert (row["requests"], row["by replica"], row["computed"]) == (4, "3 + 1", 0.5)
    assert counted(Path(environment[FOLDER])) == []


def run(script: str, tmp_path: Path, *words: str) -> dict[str, Any]:
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(SCRIPTS / f"{script}.py"), "--work", str(tmp_path), "--json", str(figures), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(figures.read_text())
    return found


@pytest.mark.release
@pytest.mark.slow
def test_ours_takes_the_steps_of_the_bare_engine(tmp_path: Path) -> None:
    needs("vllm")
    words = ("--questions", "80", "--max-tokens", "8", "--data", str(tmp_path / "nothing here"))
    found = run("steps", tmp_path, *words, "--engine-args", "max_num_batched_tokens=16384")
    bare, ours = found["runs"]
    assert (ours["steps"], ours["idle"], ours["tokens/step"]) == (bare["steps"], 0, bare["tokens/step"])
    assert ours["same as bare"] == 80


@pytest.mark.release
@pytest.mark.slow
def test_the_conditions_of_a_question_are_computed_once_on_two_replicas_as_well(
    tmp_path: Path, shared_data: Path
) -> None:
    needs("vllm")
    found = run("prefixes", tmp_path, "--questions", "4", "--data", str(shared_data / "cfe_bench"))
    by_task, ours, replicas = found["sides"]
    assert by_task["requests"] == ours["requests"] == replicas["requests"]
    assert ours["computed tokens"] < by_task["computed tokens"]
    assert "+" in replicas["by replica"]
    assert replicas["computed tokens"] < 1.1 * ours["computed tokens"]


@pytest.mark.release
@pytest.mark.slow
def test_a_page_is_encoded_by_one_replica_and_by_each_engine_of_vllms_server(tmp_path: Path) -> None:
    needs("vllm", "torchvision", "openai")
    found = run("data_parallel", tmp_path, "--papers", "4", "--questions", "4", "--pages", "2", "--max-tokens", "4")
    ours, served = found["sides"]
    assert (ours["answers"], ours["encoded a page"]) == (16, 1.0)
    assert served["answers"] == 16
    assert served["encoded a page"] > 1.0
