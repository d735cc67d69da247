"""Engines in processes of their own: killed, poisoned, left by their parent; and a real model in two of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.process import ending
from livek12.engines import make_engine
from livek12.engines.base import Engine
from livek12.engines.child import Child, core_shares
from livek12.engines.device_turns import own_turn
from livek12.engines.pool import Pool
from livek12.engines.replicas import Plan, _devices, _shares
from tests.conftest import ROOT
from tests.engines.helpers import ask, by_question, failure, gone, response, wait_until
from tests.engines.scripted_engine import answered, check_once, loading, refusing, scripted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="children are POSIX processes")


def children(*builds: Callable[[], Engine]) -> Pool:
    return Pool([partial(Child, build) for build in builds])


def processes(pool: Pool) -> list[int]:
    return [slot.member._process.pid for slot in pool._slots if isinstance(slot.member, Child)]


@pytest.mark.slow
def test_killed_processes_lose_nothing_and_nothing_is_done_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """One is killed, later all; what comes after is done by processes built anew."""
    log = tmp_path / "asked"
    both = children(*[scripted(log)] * 2)
    outcomes, before = [], Counter[str]()
    for outcome in both.generate(ask(f"q{number}") for number in range(600)):
        outcomes.append(response(outcome))
        if len(outcomes) in (100, 300):
            for process in processes(both)[: len(outcomes) // 150 + 1]:
                with suppress(ProcessLookupError):  # just died
                    os.kill(process, signal.SIGKILL)
            before |= answered(log, outcomes)
    check_once(log, outcomes, before)
    assert len(outcomes) == 600
    assert "died: its process was killed (SIGKILL: by somebody, or by the system when memory ran out)" in caplog.text
    last = processes(both)
    both.close()
    assert all(map(gone, last))
    assert capfd.readouterr().err.count("noise") == 0


@pytest.mark.slow
def test_a_request_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    both = children(*[scripted(tmp_path / "asked")] * 2)
    outcomes = by_question(list(both.generate(ask(f"q{n}", "die" if n == 20 else "live") for n in range(60))))
    both.close()
    assert "times with this request, and alone: its process was killed" in failure(outcomes["q20"]).reason
    assert all(response(outcome) for question, outcome in outcomes.items() if question != "q20")
    assert len(outcomes) == 60


def test_what_the_child_refuses_is_told_as_it_stands() -> None:
    with pytest.raises(UserError, match=r"^nobody: no such model; give a folder$"):
        children(refusing, refusing)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "its process was killed (SIGKILL: by somebody, or by the system when memory ran out)"),
        (-11, "its process ended by SIGSEGV: the last line"),
        (3, "its process ended with exit code 3: the last line"),
    ],
)
def test_an_ending_is_told_in_words(code: int, words: str) -> None:
    assert ending(code, "the last line") == words


PARENT = """
import sys, time
from functools import partial
from pathlib import Path
from livek12.engines.child import Child
from livek12.engines.pool import Pool
from tests.engines.helpers import ask
from tests.engines.scripted_engine import scripted

pool = Pool([partial(Child, scripted(Path(sys.argv[1]), seconds=0.05))] * 2)
for outcome in pool.generate(ask(f"q{number}") for number in range(100_000)):
    print([slot.member._process.pid for slot in pool._slots], flush=True)
"""


def test_children_do_not_outlive_their_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path / "asked")]
    parent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    left = [int(one) for one in parent.stdout.readline().strip(" []\n").split(",")]
    assert len(left) == 2
    assert not any(map(gone, left))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: all(map(gone, left)))


def test_each_has_its_own_cores() -> None:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    shares = core_shares(len(cores) or 1)
    assert {environment["OMP_NUM_THREADS"] for environment, _ in shares} == {"1"}
    assert set().union(*(own or () for _, own in shares)) == cores
    assert [environment["OMP_NUM_THREADS"] for environment, _ in core_shares(50)] == ["1"] * 50


@pytest.mark.parametrize(
    ("plan", "spread", "slices"),
    [
        (Plan(replicas=2), 2, ["4,5", "GPU-a,GPU-b"]),
        (Plan(replicas=3), 1, ["4", "5", "GPU-a"]),
        (Plan(replicas=4, gpus=0.5), 1, ["4", "4", "5", "5"]),
        (Plan(replicas=3, gpus=0.7), 1, ["4", "5", "GPU-a"]),
        (Plan(replicas=4, gpus=1 / 3), 1, ["4", "4", "4", "5"]),
        (Plan(replicas=2, gpus=0), 1, ["", ""]),
    ],
)
def test_each_has_its_own_gpus(plan: Plan, spread: int, slices: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,GPU-a,GPU-b")
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment, _ in _shares(plan, spread)] == slices


def test_an_amd_gpu_is_named_by_both_of_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """ROCm takes its own before CUDA_VISIBLE_DEVICES, and vLLM refuses to start where they differ."""
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "4,5")
    for cuda in ("4,5", None):
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if cuda:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", cuda)
        both = [environment for environment, _ in _shares(Plan(replicas=2), 1)]
        assert both == [{"CUDA_VISIBLE_DEVICES": one, "HIP_VISIBLE_DEVICES": one} for one in "45"]


@pytest.mark.parametrize(
    ("visible", "devices"),
    [("", []), ("-1", []), ("NoDevFiles", []), ("2, 0", ["2", "0"]), ("1,-1,0", ["1"]), ("MIG-a,x", ["MIG-a"])],
)
def test_what_is_no_gpu_is_not_counted(visible: str, devices: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert _devices() == devices


def test_those_that_share_a_gpu_are_loaded_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two on each of two devices: vLLM would count the weights of its neighbour; on another device nobody waits."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    log = tmp_path / "loads"
    four = Pool([partial(Child, partial(loading, log, 1), *share) for share in _shares(Plan(replicas=4, gpus=0.5), 1)])
    wait_until(lambda: four.ready() == 4)
    four.close()
    for device in ("GPU-a", "GPU-b"):
        words = [line.split()[0] for line in log.read_text().splitlines() if line.endswith(device)]
        assert words == ["begin", "end"] * 2


def test_a_turn_ends_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    holds = "from livek12.engines.device_turns import own_turn\nwith own_turn(): print(flush=True); input()"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f"GPU-{os.getpid()}")
    taken = threading.Event()

    def take() -> None:
        with own_turn():
            taken.set()

    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        waiting = threading.Thread(target=take, daemon=True)
        waiting.start()
        assert not taken.wait(0.5)
        process.kill()
    assert taken.wait(60)


@pytest.mark.slow
@pytest.mark.release
def test_a_real_model_answers_as_it_does_alone(tiny_text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    requests = [ask(f"q{number}", f"What is {number}?") for number in range(20)]
    alone = make_engine("transformers", str(tiny_text))
    expected = by_question(list(alone.generate(requests)))
    capfd.readouterr()
    both = make_engine("transformers", str(tiny_text), {"replicas": "2"})
    assert (both.name, both.model, both.versions()) == (alone.name, alone.model, alone.versions())
    found = by_question(list(both.generate(requests)))
    assert {q: response(o).text for q, o in found.items()} == {q: response(o).text for q, o in expected.items()}
    both.close()
    alone.close()
    assert not [line for line in capfd.readouterr().err.splitlines() if not line.startswith("loading ")]
