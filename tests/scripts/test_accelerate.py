"""`accelerate launch`: two processes share a run; one is killed in the middle, and the next launch ends it.

Without GPUs `--multi_gpu` starts the processes just as with them, each on the CPU; `--cpu` would start one only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run_folder import RunFolder
from livek12.core.sessions import read_sessions
from tests.scripts.command import ROOT, livek12_here

pytestmark = pytest.mark.slow
TASKS = "livek12_text_only,cfe_text"
TRIALS = 2
WAIT = 500


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """A command without its run folder: a tiny model sits the sample exam, greedily, one request at a time."""
    for module in ("torch", "transformers", "accelerate"):
        pytest.importorskip(module)
    from livek12.core.engines.torch_builds import mend_torch_builds
    from livek12.dataset_builders import build
    from livek12.scripts.bench_models import make_model

    mend_torch_builds()
    folder = tmp_path_factory.mktemp("asked")
    build("sample", "", folder / "data")
    model = make_model("tiny", folder / "model")
    how: list[object] = ["--task", TASKS, "--data", folder / "data", "--model", model, "--trials", TRIALS]
    how += ["--engine", "transformers", "--engine-args", "batch_size=1", "--temperature", 0, "--max-tokens", 16]
    return how


def launch(*command: object) -> subprocess.Popen[str]:
    """`accelerate launch` of two processes (the console script `accelerate` imports more than it needs)."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    how = ["--multi_gpu", "--num_processes", 2, "--num_machines", 1, "--mixed_precision", "no"]
    how += ["--dynamo_backend", "no", "--main_process_port", 0, "-m"]
    return subprocess.Popen(
        [sys.executable, "-m", "accelerate.commands.launch", *map(str, [*how, *command])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )


def answers(folder: Path) -> dict[str, str]:
    return {str(response.key): response.text for response in RunFolder.open(folder).responses()}


def stored(folder: Path) -> dict[str, list[str]]:
    """The keys in each file of responses."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob("responses-*.jsonl")):
        whole = file.read_bytes().rpartition(b"\n")[0].splitlines()
        found[file.name] = [json.dumps(json.loads(line)["key"]) for line in whole]
    return found


def pid_of(folder: Path, rank: int) -> int:
    """The process of that number in the running launch."""
    for session in read_sessions(folder):
        with contextlib.suppress(OSError):
            if f"RANK={rank}" in Path(f"/proc/{session.pid}/environ").read_text().split("\0"):
                return session.pid
    raise AssertionError(f"no process {rank}")


def test_two_processes_share_a_run_and_a_killed_one_costs_nothing(asked: list[Any], tmp_path: Path) -> None:
    alone, out, line = tmp_path / "alone", tmp_path / "out", tmp_path / "line"
    line.mkdir()
    ended = livek12_here("run", *asked, "--out", alone)
    assert ended.code == 0, ended.err
    total = len(answers(alone))

    child = launch("tests.scripts.start_line", line, "run", *asked, "--out", out)
    until = time.monotonic() + WAIT
    while child.poll() is None and not (len(now := stored(out)) == 2 and all(map(len, now.values()))):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert child.poll() is None, child.communicate()[1]
    os.kill(pid_of(out, 1), signal.SIGKILL)
    said, errors = child.communicate(timeout=WAIT)
    before = stored(out)
    assert child.returncode == 1
    assert "process 0 was ended by its launcher" in errors
    assert "run the same command again to go on" in errors
    assert not (out / "report.json").exists()
    assert all(map(len, before.values())), "both have answered"
    assert sum(map(len, before.values())) < total, "the kill came too late to prove anything"

    child = launch("livek12.scripts.cli", "run", *asked, "--out", out)
    said, errors = child.communicate(timeout=WAIT)
    assert child.returncode == 0, errors
    after = stored(out)
    assert all(after[name][: len(keys)] == keys for name, keys in before.items()), "nothing stored is lost"
    assert set(Counter(key for keys in after.values() for key in keys).values()) == {1}
    assert answers(out) == answers(alone), "greedy answers do not depend on who asks"
    assert said.count("report:") == 1, "one process reports"
    assert errors.count("judging:") == 1, "one process judges"
    marks = [json.loads((folder / "report.json").read_text())["tasks"] for folder in (alone, out)]
    assert marks[0] == marks[1]


def test_where_no_launcher_ends_the_others_the_first_does_what_a_killed_one_left(
    asked: list[Any], tmp_path: Path
) -> None:
    out, line = tmp_path / "out", tmp_path / "line"
    line.mkdir()
    command = [sys.executable, "-m", "tests.scripts.start_line", *map(str, [line, "run", *asked, "--out", out])]
    ranks = [
        subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "RANK": str(number), "WORLD_SIZE": "2"},
        )
        for number in range(2)
    ]
    until = time.monotonic() + WAIT
    while ranks[1].poll() is None and not (len(now := stored(out)) == 2 and all(map(len, now.values()))):
        assert time.monotonic() < until
        time.sleep(0.01)
    ranks[1].kill()
    ranks[1].communicate()
    before = stored(out)
    _, errors = ranks[0].communicate(timeout=WAIT)
    assert ranks[0].returncode == 0, errors
    after = [key for keys in stored(out).values() for key in keys]
    assert sum(map(len, before.values())) < len(after), "the kill came too late to prove anything"
    assert len(set(after)) == len(after) == json.loads((out / "run.json").read_text())["trials"] * 26
