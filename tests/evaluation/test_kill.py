"""`kill -9` at random moments: nothing stored is lost, nothing is asked twice, the report is the same."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("LIVEK12_KILLS", "3"))
"""Of each kind; more before a release."""
TASKS = "livek12,kmmmu,cfe_text,mdk12"
pytestmark = pytest.mark.slow


def livek12(*args: object, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "livek12.scripts.cli", *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment}
    )


def finish(*args: object) -> None:
    child = livek12(*args)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors.decode()


def killed_often(*args: object, folder: Path, stem: str, total: int) -> int:
    """Starts the command again and again and kills it at random moments of its work.

    All kills but one fall when a random number of the records is stored, that one at a random time of the start-up.

    Returns:
        How often the command was still running.
    """
    hits = 0
    targets = [*sorted(random.sample(range(1, total - 1), KILLS - 1)), None]
    for target in targets:
        child = livek12(*args)
        if target is None:
            time.sleep(random.uniform(0.05, 0.6))
        else:
            while child.poll() is None and _stored(folder, stem) < target:
                time.sleep(0.001)
        hits += child.poll() is None
        child.kill()
        child.communicate()
    return hits


def _stored(folder: Path, stem: str) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob(f"{stem}-*.jsonl"))


def keys(folder: Path, stem: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for file in folder.glob(f"{stem}-*.jsonl"):
        for line in file.read_bytes().splitlines():
            key = json.loads(line)["key"]
            found[f"{key['task']}/{key['question_id']}/{key['trial']}"] += 1
    return found


def keys_so_far(folder: Path) -> set[str]:
    """The keys of all stored responses, whatever stands in an unfinished last line."""
    return {str(response.key) for response in RunFolder(folder).responses()}


def timeless(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    del report["run"]["started_at"]
    report.pop("usage", None)  # replayed answers have none
    return report


@pytest.mark.release  # kills at moments that are chosen are tried always: tests/evaluation/test_stages.py
def test_generation_survives_kills(data: Path, oracle: tuple[str, Path], tmp_path: Path) -> None:
    url, log = oracle
    asked = ["run", "--task", TASKS, "--data", data, "--trials", 2, "--model", "oracle", "--engine", "openai"]
    asked += ["--engine-args", f"base_url={url},concurrency=2"]
    calm = tmp_path / "calm"
    finish(*asked, "--out", calm)
    log.write_text("")
    rough = tmp_path / "rough"
    hits = killed_often(*asked, "--out", rough, folder=rough, stem="responses", total=len(keys(calm, "responses")))
    stored = keys_so_far(rough)
    before = len(log.read_text().split())
    finish(*asked, "--out", rough)

    spec = RunFolder.open(rough).spec()
    wanted = sum(task.questions for task in spec.tasks) * spec.trials
    responses = keys(rough, "responses")
    assert hits > KILLS // 2, "the kills came too late to prove anything"
    assert set(responses.values()) == {1}
    assert len(responses) == wanted
    assert stored <= responses.keys()
    assert len(log.read_text().split()) - before == wanted - len(stored), "asked again what was stored"
    assert timeless(rough) == timeless(calm)


@pytest.mark.parametrize("launched", [{}, {"RANK": "0", "WORLD_SIZE": "2"}], ids=["alone", "the first of launches"])
def test_two_processes_on_one_folder_share_the_work(
    launched: dict[str, str], data: Path, oracle: tuple[str, Path], tmp_path: Path
) -> None:
    """The first process of a launch waits for whoever is at work, and two that wait must not wait for each other."""
    url, log = oracle
    log.write_text("")
    out = tmp_path / "shared"
    asked = ("generate", "--task", TASKS, "--data", data, "--trials", 2, "--out", out)
    how = ("--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={url},concurrency=2")
    children = [livek12(*asked, *how, **launched) for _ in range(2)]
    try:
        for child in children:
            _, errors = child.communicate(timeout=120)
            assert child.returncode == 0, errors.decode()
    finally:
        for child in children:
            child.kill()
    spec = RunFolder.open(out).spec()
    wanted = sum(task.questions for task in spec.tasks) * spec.trials
    responses = keys(out, "responses")
    assert len(responses) == wanted and set(responses.values()) == {1}
    assert len(log.read_text().split()) == wanted
    assert len(list(out.glob("responses-*.jsonl"))) == 2
