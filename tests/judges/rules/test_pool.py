"""The processes that compare trees: limits, replacement, threads, clean ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.process import Link, ProcessPool, limit_time, requests
from livek12.judges.rules import pool as pools
from livek12.judges.rules.latex import parse
from livek12.judges.rules.pool import Reply, SymbolicPool
from livek12.judges.rules.units import conversion


def request(gold: str, answer: str) -> Reply:
    return {"gold": parse(gold), "answer": parse(answer)}


EASY = request("(x+1)^2", "x^2+2x+1")
DEAR = request("x<" * 300 + "x+1", "x<" * 300 + "1")
"""About a quarter of a second, fifty times as long as most."""


@pytest.fixture
def pool() -> Iterator[SymbolicPool]:
    pool = SymbolicPool(size=2)
    yield pool
    pool.close()


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """This thread, and what it starts, shares one core with so many endless loops."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    loop = [sys.executable, "-c", "while True: pass"]
    # Of their own sessions, as workers are: the kernel may share the core among sessions.
    children = [subprocess.Popen(loop, start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for child in children:
            child.kill()
            child.wait()


def processor_seconds(asked: Reply) -> float:
    from livek12.judges.rules.algebra import Comparer

    Comparer().compare(EASY["gold"], EASY["answer"])
    began = time.process_time()
    Comparer().compare(asked["gold"], asked["answer"])
    return time.process_time() - began


@pytest.mark.release
@pytest.mark.parametrize(("share", "decided"), [(2.5, True), (0.5, False)])
def test_a_busy_machine_changes_no_decision(share: float, decided: bool) -> None:
    forms = [("|x-1| \\le 3", "[-2,4]"), ("x^2+y^2=1", "y^2=1-x^2"), (r"\sin(2x)", r"2\sin x\cos x"), ("x+1", "x+2")]
    limit = share * processor_seconds(DEAR)
    said = []
    for loops in (0, 2):
        pool = SymbolicPool(size=1, seconds=limit)
        with busy(loops):
            said.append([pool.compare(asked) for asked in (EASY, *(request(*form) for form in forms), DEAR)])
        assert pool.killed == (0 if decided else 1)
        pool.close()
    assert said[0] == said[1]
    assert [reply["decision"] for reply in said[0]] == ["accept"] * 4 + ["reject", "undecided"]
    assert said[0][-1].get("limit", False) is not decided


def test_what_loads_at_the_first_comparison_does_not_count() -> None:
    with SymbolicPool(size=1, seconds=0.1) as pool:
        assert pool.compare(EASY)["decision"] == "accept"


def convert(link: Link, seconds: float) -> None:
    for _ in requests(link):
        limit_time(seconds)
        said = conversion("km^1", "m^1")[0]
        limit_time(0)
        link.send_bytes(said.encode())


def test_the_library_of_units_loads_outside_the_limit() -> None:
    with ProcessPool(convert, 0.5, size=1, quiet=True) as pool:
        assert pool.ask(b"") == b"convertible"


def compare_without_end(link: Link, seconds: float) -> None:
    from livek12.judges.rules.algebra import Comparer

    def asked(link: Link) -> Iterator[bytes]:
        Comparer.compare = lambda *_: 7**10**9
        yield from requests(link)

    pools.requests = asked
    pools._compare_trees(link, seconds)


def test_what_python_cannot_interrupt_is_ended_by_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_compare_trees", compare_without_end)
    pool = SymbolicPool(size=1, seconds=0.3)
    said = pool.compare(EASY)
    assert (said["decision"], said["limit"]) == ("undecided", True)
    assert "0.3 s of a processor" in said["reason"]
    pool.close()


def test_answers_and_reuses_one_worker(pool: SymbolicPool) -> None:
    assert [pool.compare(EASY)["decision"] for _ in range(5)] == ["accept"] * 5
    assert len(pool.pids()) == 1


def test_a_request_beyond_the_limits_costs_one_undecided_and_the_worker_is_replaced(pool: SymbolicPool) -> None:
    assert pool.compare(EASY)["decision"] == "accept"
    first = pool.pids()[0]
    os.kill(first, signal.SIGSTOP)
    pool.wall_seconds = 0.5  # nothing but the stopped worker is asked meanwhile
    stopped = pool.compare(EASY)
    pool.wall_seconds = pools.WALL_SECONDS
    assert (stopped["decision"], stopped["limit"]) == ("undecided", True)
    assert pool.killed == 1
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert pool.compare(EASY)["decision"] == "accept"


def test_memory_is_limited_inside_the_worker() -> None:
    pool = SymbolicPool(size=1, seconds=20.0, memory_bytes=400 << 20)
    assert pool.compare(EASY)["decision"] == "accept"
    pid = pool.pids()[0]
    limits = Path(f"/proc/{pid}/limits").read_text()
    line = next(line for line in limits.splitlines() if line.startswith("Max address space"))
    assert str(400 << 20) in line
    pool.close()


def test_a_worker_killed_from_outside_costs_no_answer() -> None:
    with SymbolicPool(size=2, seconds=60) as pool:  # a time limit would decide, too, on a busy machine
        _kill_from_outside(pool)


def _kill_from_outside(pool: SymbolicPool) -> None:
    assert pool.compare(EASY)["decision"] == "accept"
    dear = pool.compare(DEAR)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(pool.compare, DEAR)
        for pid in pool.pids():
            os.kill(pid, signal.SIGKILL)
        assert answer.result() == dear
    assert pool.compare(EASY)["decision"] == "accept"
    assert pool.killed == 0


@pytest.mark.slow
def test_threads_share_the_workers(pool: SymbolicPool) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert [reply["decision"] for reply in threads.map(pool.compare, [EASY] * 8)] == ["accept"] * 8
        pool.wall_seconds = 8.0
        os.kill(min(pool.pids()), signal.SIGSTOP)
        decisions = [reply["decision"] for reply in threads.map(pool.compare, [EASY] * 20)]
    assert sorted(decisions) == ["accept"] * 19 + ["undecided"]
    assert len(pool.pids()) <= 2


def test_closed_pools_leave_no_process_and_start_again(pool: SymbolicPool) -> None:
    pool.compare(EASY)
    pid = pool.pids()[0]
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert pool.compare(EASY)["decision"] == "accept"


def test_a_request_too_big_for_a_pipe_is_undecided_without_a_worker(pool: SymbolicPool) -> None:
    assert pool.compare({"gold": ["num", "1"] * 20_000, "answer": ["num", "1"]})["reason"] == "too big"
    assert not pool.pids()


def test_workers_that_cannot_start_are_an_error_and_no_quiet_undecided() -> None:
    pool = SymbolicPool(size=1, memory_bytes=20 << 20)
    with pytest.raises(UserError, match="does not start"):
        pool.compare(EASY)


SCRIPT = """
import sys, threading
from livek12.judges.base import AnswerComparison
from livek12.judges.rules.symbolic import SymbolicStage
said = []
comparison = AnswerComparison("(x+1)^2", "x^2+2x+1", "short_answer")
thread = threading.Thread(target=lambda: said.append(SymbolicStage().decide(comparison).decision))
thread.start(); thread.join()
from livek12.judges.rules.pool import shared_pool
print(said[0], shared_pool().pids()[0], "sympy" in sys.modules)
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
