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
    "coverage_corrected": "--judges 2",
    "coverage": "--repetitions 4 --only pass --json {tmp}/coverage.json",
    "exam_papers": "{tmp}/papers --seeds 0 --layouts en_ap_columns --born-digital",
    "exports": "{run} --out {tmp}/exported",
    "dedup": "--stems 200 --small 100 --beside 50 --plant 2 --work {tmp} --data {stems}",
    "extraction": "{labelled} --out {tmp}/card",
    "ingest": "{root}/dataset_builders/sample/papers/cfe.pdf",
    "judges": "--data {labelled}/judge --json {tmp}/figures.json",
    "marking": "{labelled} --workers 1 --json {tmp}/marking.json",
    "panel": "{run} --json {tmp}/costs.json",
    "reliability": "{labelled}/judge {tmp}/runs",
    "runs": "--answers 16,32 --trials 4 --kb 0.1 --runs 2,3 --each 20 --json {tmp}/runs.json",
    "site": "{tmp}/sites --runs 2 --questions 3",
    "startup": "--rounds 2",
    "verify": "--rows 64 --workers 1 --speed-rows 16 --json {tmp}/figures.json",
    "wrong_keys": "--draws 1 --models 6",
    "workers": "--workers 1 --requests 4 --seconds 0.01 --width 2 --overhead-requests 4 --ray none",
}
ELSEWHERE = {"attacks": "test_attacks.py", "endpoint": "test_bench_endpoint.py", "pages": "test_bench.py"}
ELSEWHERE |= {"trainers": "test_trainers.py", "results": "test_results.py", "paper_card": "test_exam_papers.py"}
ELSEWHERE |= dict.fromkeys(("steps", "prefixes", "data_parallel"), "test_bench_counts.py")
PARTS = {
    "common",
    "counting",
    "models",
    "sides",
    "watch",
    "labelled",
    "run_folders",
    "verifiers",
    "verify_rows",
    "answer_kinds",
    "__init__",
}
PARTS |= {path.stem for path in SCRIPTS.glob("attack_*.py")}
NO_BENCHMARKS = {"harness_marks", "judge_card", "pictures", "train_tagger"}


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
def stems(shared_data: Path, tmp_path: Path) -> Path:
    """One small published set, in a folder of its own."""
    (folder := tmp_path / "sets").mkdir()
    (folder / "hipho").symlink_to(shared_data / "hipho")
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


DEAR = {"exports", "judges", "reliability", "verify"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [pytest.param(name, marks=[pytest.mark.release] * (name in DEAR)) for name in sorted(CALLS)]
)
def test_it_starts_and_prints_figures(script: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = CALLS[script]
    fixtures = ("labelled", "run", "stems")
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
