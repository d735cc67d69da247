"""Every benchmark starts by the command that its page or its own text documents, here with its smallest size."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.engines.conftest import needs
from tests.scripts.command import livek12_here

SCRIPTS = ROOT / "scripts" / "bench"
CALLS = {
    "build": "--rows 12 --images 6 --small 6 --work {tmp}",
    "exam_papers": "{tmp}/papers --seeds 0 --layouts en_ap_columns --born-digital",
    "extraction": "{labelled} --out {tmp}/card",
    "judges": "--data {labelled}/judge --json {tmp}/figures.json",
    "marking": "{labelled} --workers 1 --json {tmp}/marking.json",
    "panel": "{run} --json {tmp}/costs.json",
    "runs": "--answers 16,32 --trials 4 --kb 0.1 --runs 2,3 --each 20 --json {tmp}/runs.json",
    "verify": "--rows 64 --workers 1 --speed-rows 16 --json {tmp}/figures.json",
}
ELSEWHERE = {"attacks": "test_attacks.py", "results": "test_results.py", "paper_card": "test_exam_papers.py"}
PARTS = {
    "common",
    "counting",
    "models",
    "sides",
    "watch",
    "labelled",
    "verifiers",
    "__init__",
}
NO_BENCHMARKS = {"judge_card", "train_tagger"}


def start(script: str, *words: str) -> str:
    """Runs a script to its end; returns what it printed."""
    command = [sys.executable, str(SCRIPTS / f"{script}.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def labelled(shared_data: Path, tmp_path: Path) -> Path:
    """One small labelled set, in the folders that the benchmarks look in."""
    folder = tmp_path / "labelled"
    (folder / "judge").mkdir(parents=True)
    for name in ("olympiadbench_scoring_examples.jsonl", "gaokao2024_teacher_scored.jsonl"):
        lines = (shared_data / "judge" / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "judge" / name).write_text("".join(lines[:200:4]), encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Path:
    """A run folder with one answer that the rules leave open."""
    answers, folder = tmp_path / "answers.jsonl", tmp_path / "run"
    answers.write_text('{"id": "cfe_sample_0001", "response": "It depends."}\n', encoding="utf-8")
    assert livek12_here("import-responses", answers, "--task", "cfe_text", "--data", data, "--out", folder).code in (
        0,
        1,
    )
    return folder


@pytest.mark.release
@pytest.mark.parametrize("script", sorted(CALLS))
def test_it_starts_and_prints_figures(script: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = CALLS[script]
    fixtures = ("labelled", "run")
    given = {name: str(request.getfixturevalue(name)) for name in fixtures if f"{{{name}}}" in words}
    said = start(script, *words.format(tmp=tmp_path, root=ROOT, **given).split())
    assert re.search(r"\d", said)


@pytest.mark.release
@pytest.mark.slow
def test_both_sides_of_the_generation_benchmark_start(tmp_path: Path) -> None:
    needs("vllm")
    words = "--dummy tiny --pairs 0 --full 0 --max-tokens 2 --work"  # nothing but the warm-up
    said = start("generation", *words.split(), str(tmp_path))
    assert '"livek12"' in said


def test_no_benchmark_is_left_out() -> None:
    there = {path.stem for path in SCRIPTS.glob("*.py")}
    assert there == {*CALLS, *ELSEWHERE, *PARTS, *NO_BENCHMARKS, "generation"}
    assert all(name in (ROOT / "tests" / "bench" / file).read_text() for name, file in ELSEWHERE.items())
