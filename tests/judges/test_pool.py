"""The pool of workers: limits, replacement, threads, clean ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.judges.latex import parse
from livek12.judges.pool import Pool

EASY = {"gold": parse("(x+1)^2"), "answer": parse("x^2+2x+1")}


@pytest.fixture
def pool() -> Pool:
    pool = Pool(size=2, seconds=1.0)
    yield pool
    pool.close()


def test_answers_and_reuses_one_worker(pool: Pool) -> None:
    assert [pool.ask(EASY)["decision"] for _ in range(5)] == ["accept"] * 5
    assert len(pool._all) == 1


def test_a_request_beyond_the_limits_costs_one_undecided_and_the_worker_is_replaced(pool: Pool) -> None:
    assert pool.ask(EASY)["decision"] == "accept"
    first = next(iter(pool._all)).process.pid
    os.kill(first, signal.SIGSTOP)
    stopped = pool.ask(EASY)
    assert (stopped["decision"], stopped["limit"]) == ("undecided", True)
    assert pool.killed == 1
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert pool.ask(EASY)["decision"] == "accept"


def test_memory_is_limited_inside_the_worker() -> None:
    pool = Pool(size=1, seconds=20.0, memory_bytes=400 << 20)
    assert pool.ask(EASY)["decision"] == "accept"
    pid = next(iter(pool._all)).process.pid
    limits = Path(f"/proc/{pid}/limits").read_text()
    line = next(line for line in limits.splitlines() if line.startswith("Max address space"))
    assert str(400 << 20) in line
    pool.close()


def test_a_worker_killed_from_outside_costs_at_most_one_answer(pool: Pool) -> None:
    assert pool.ask(EASY)["decision"] == "accept"
    os.kill(next(iter(pool._all)).process.pid, signal.SIGKILL)
    answers = [pool.ask(EASY)["decision"] for _ in range(3)]
    assert answers.count("accept") >= 2


def test_threads_share_the_workers(pool: Pool) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert [reply["decision"] for reply in threads.map(pool.ask, [EASY] * 8)] == ["accept"] * 8
        os.kill(min(worker.process.pid for worker in pool._all), signal.SIGSTOP)
        decisions = [reply["decision"] for reply in threads.map(pool.ask, [EASY] * 20)]
    assert sorted(decisions) == ["accept"] * 19 + ["undecided"]
    assert len(pool._all) <= 2


def test_closed_pools_leave_no_process_and_start_again(pool: Pool) -> None:
    pool.ask(EASY)
    pid = next(iter(pool._all)).process.pid
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert pool.ask(EASY)["decision"] == "accept"


def test_a_request_too_big_for_a_pipe_is_undecided_without_a_worker(pool: Pool) -> None:
    assert pool.ask({"gold": ["num", "1"] * 20_000, "answer": ["num", "1"]})["reason"] == "too big"
    assert not pool._all


def test_workers_that_cannot_start_are_an_error_and_no_quiet_undecided() -> None:
    pool = Pool(size=1, memory_bytes=20 << 20)
    with pytest.raises(UserError, match="does not start"):
        pool.ask(EASY)


SCRIPT = """
import sys, threading
from livek12.judges.base import Comparison
from livek12.judges.symbolic import SymbolicStage
said = []
comparison = Comparison("(x+1)^2", "x^2+2x+1", "short_answer")
thread = threading.Thread(target=lambda: said.append(SymbolicStage().decide(comparison).decision))
thread.start(); thread.join()
from livek12.judges.pool import shared_pool
print(said[0], next(iter(shared_pool()._all)).process.pid, "sympy" in sys.modules)
if "kill" in sys.argv:
    import os, signal
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_script_without_a_main_guard_works_and_leaves_nothing_behind(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(script), end], capture_output=True, check=False, text=True, env=path)
    decision, pid, sympy_imported = done.stdout.split()
    assert (decision, sympy_imported) == ("accept", "False"), done.stderr
    for _ in range(100):
        try:
            os.kill(int(pid), 0)
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.1)
    raise AssertionError(f"worker {pid} is still there")
