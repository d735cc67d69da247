"""Processes of one launch share a run; one that is killed costs nothing, whether a launcher ends the others or not.

`accelerate launch` runs a tiny model. Without GPUs `--multi_gpu` starts the processes just as with them, each on the
CPU; `--cpu` would start one only. Where there is no launcher, processes with a launched one's environment ask an
endpoint that holds answers back, so that one has claimed work when the others have done all the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.claims import at_work
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import read_sessions
from tests.endpoint import Oracle, oracle_at
from tests.scripts.command import COMMAND, ROOT, livek12_here
from tests.scripts.start_line import ENOUGH

pytestmark = pytest.mark.slow
TASKS = "livek12_text_only,cfe_text"
STEM = "responses"
WAIT = 500


@pytest.fixture
def asked(data: Path, tmp_path: Path) -> list[object]:
    """A command without its run folder: a tiny model sits the sample exam, greedily, one request at a time."""
    for module in ("torch", "transformers", "accelerate"):
        pytest.importorskip(module)
    from livek12.engines.torch_builds import mend_torch_builds
    from livek12.scripts.bench.models import make_model

    mend_torch_builds()
    model = make_model("tiny", tmp_path / "model")
    how: list[object] = ["--task", TASKS, "--data", data, "--model", model, "--engine", "transformers"]
    return [*how, "--engine-args", "batch_size=1", "--temperature", 0, "--max-tokens", 6]


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


def until(ready: Callable[[], bool], *children: subprocess.Popen[str]) -> None:
    """Waits; fails when one of the children ends first."""
    limit = time.monotonic() + WAIT
    while not ready():
        assert time.monotonic() < limit
        for child in children:
            assert child.poll() is None, child.communicate()[1]
        time.sleep(0.01)


def answers(folder: Path) -> dict[str, str]:
    return {str(response.key): response.text for response in RunFolder.open(folder).responses()}


def stored(folder: Path) -> dict[str, list[str]]:
    """The keys in each file of responses."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob(f"{STEM}-*.jsonl")):
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


@pytest.mark.release
def test_two_processes_share_a_run_and_a_killed_one_costs_nothing(asked: list[Any], tmp_path: Path) -> None:
    alone, out, line = tmp_path / "alone", tmp_path / "out", tmp_path / "line"
    line.mkdir()
    ended = livek12_here("run", *asked, "--out", alone)
    assert ended.code == 0, ended.err

    child = launch("tests.scripts.start_line", line, "run", *asked, "--out", out)
    until(lambda: [len(keys) for keys in stored(out).values()] == [ENOUGH] * 2, child)
    os.kill(pid_of(out, 1), signal.SIGKILL)
    _, errors = child.communicate(timeout=WAIT)
    before = stored(out)
    assert child.returncode == 1
    assert "process 0 was ended by its launcher" in errors
    assert "run the same command again to go on" in errors
    assert not (out / "report.json").exists()

    ended = livek12_here("run", *asked, "--out", out)
    assert ended.code == 0, ended.err
    after = stored(out)
    assert all(after[name][: len(keys)] == keys for name, keys in before.items()), "nothing stored is lost"
    assert set(Counter(key for keys in after.values() for key in keys).values()) == {1}
    assert answers(out) == answers(alone), "greedy answers do not depend on who asks"
    marks = [json.loads((folder / "report.json").read_text())["tasks"] for folder in (alone, out)]
    assert marks[0] == marks[1]


@pytest.mark.release
def test_the_first_of_a_launch_waits_for_the_others_does_what_they_left_and_reports(data: Path, tmp_path: Path) -> None:
    once, stuck, over = threading.Event(), threading.Event(), threading.Event()

    class Holding(Oracle):
        """The last process gets one answer and no second one until it is over; the others wait for the first."""

        def do_POST(self) -> None:
            if self.headers["Authorization"] != "Bearer 2":
                stuck.wait(WAIT)
            elif once.is_set():
                stuck.set()
                over.wait(WAIT)
            once.set()
            with contextlib.suppress(ConnectionError):  # of the killed one
                super().do_POST()

    def first_waits() -> bool:
        return ranks[1].poll() is not None and any(stored(out).values()) and len(at_work(out, STEM)) == 1

    out = tmp_path / "out"
    with oracle_at(tmp_path / "log", Holding) as url:
        how = ["--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={url},concurrency=1"]
        ranks = [
            subprocess.Popen(
                [*COMMAND, "run", "--task", TASKS, "--data", str(data), *how, "--trials", "2", "--out", str(out)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "OPENAI_API_KEY": str(number), "RANK": str(number), "WORLD_SIZE": "3"},
            )
            for number in range(3)
        ]
        until(first_waits, ranks[0], ranks[2])
        before = Counter(key for keys in stored(out).values() for key in keys)
        ranks[2].kill()
        over.set()
        said = [rank.communicate(timeout=WAIT) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, -signal.SIGKILL], said
    after = Counter(key for keys in stored(out).values() for key in keys)
    spec = RunFolder.open(out).spec()
    assert len(before) < len(after) == sum(task.questions for task in spec.tasks) * spec.trials
    assert set(after.values()) == {1}
    assert [outputs.count("report:") for outputs, _ in said] == [1, 0, 0], "one process reports"
    assert [errors.count("judging:") for _, errors in said] == [1, 0, 0], "one process judges"
