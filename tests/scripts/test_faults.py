"""A fault at every call of a command, and all reading commands on hostile input: a sample, the rest before releases."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.scripts.hostile import KINDS

SECONDS = 300
"""Of each command before a release; what it did not reach is said."""
COMMANDS = (
    "run",
    "judge",
    "report",
    "compact",
    "undo",
    "push",
    "site",
    "build",
    "ingest",
    "review",
    "sweep",
    "publish",
)


def attacked(folder: Path, seconds: float, *names: str) -> list[dict[str, Any]]:
    """Trials of commands under faults."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a compiler of C on Linux")
    shim = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
    run = [sys.executable, "-m", "tests.scripts.faults", str(folder / "room"), str(seconds), *names]
    ended = subprocess.run(
        run, env={**os.environ, "LD_PRELOAD": str(shim)}, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def test_a_fault_at_any_call_ends_in_a_line_and_loses_nothing(tmp_path: Path) -> None:
    for tried in attacked(tmp_path, 0, "undo", "compact", "kill"):
        assert tried["failures"] == []
        assert tried["trials"] and min(tried["calls"].values()) > 20


@pytest.mark.release
@pytest.mark.parametrize("command", COMMANDS)
def test_faults_before_a_release(command: str, tmp_path: Path) -> None:
    (tried,) = attacked(tmp_path, SECONDS, command)
    print(tried)
    assert tried["failures"] == [] and tried["trials"]


def tried_on(folder: Path, *words: str) -> tuple[list[str], int]:
    """Problems of commands on hostile input, and the number of trials."""
    run = [sys.executable, "-m", "tests.scripts.hostile", str(folder / "room"), *words]
    ended = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    *problems, count = ended.stdout.splitlines()
    return [line for line in problems if line.startswith("{")], int(count)


def test_hostile_input_costs_a_line(tmp_path: Path) -> None:
    problems, count = tried_on(tmp_path, "3", "archives")
    assert problems == []
    assert count >= 3


@pytest.mark.release
@pytest.mark.parametrize("kind", KINDS)
def test_all_hostile_input_before_a_release(kind: str, tmp_path: Path) -> None:
    problems, count = tried_on(tmp_path, kind)
    assert problems == []
    assert count >= 5
