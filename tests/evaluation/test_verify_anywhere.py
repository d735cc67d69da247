"""`Verifier` in threads, event loops, forks, spawned processes and Ray, and when processes are killed: one answer."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path

import pytest

from livek12 import UserError, Verifier
from livek12.core.process import ChildProcess, Link
from livek12.evaluation.workers import judge_rows, pair_pool
from livek12.judges.rules import pool
from tests.engines.conftest import needs
from tests.engines.helpers import children, gone, wait_until
from tests.evaluation.verify_rows import calm, step

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(workers=2) as verifier:
        yield verifier


def test_batches_say_what_a_calm_process_says() -> None:
    rows = step()
    with Verifier(workers=2) as verifier:
        assert verifier.batch(rows) == calm()
        assert verifier.batch(rows[::-1])[::-1] == calm()
    assert {found.decision for found in calm()} == {"accept", "reject", "undecided"}


def test_sixty_four_threads(verifier: Verifier) -> None:
    rows = step()
    with ThreadPoolExecutor(64) as threads:
        shares = list(threads.map(lambda number: verifier.batch(rows[number % 5 :: 5]), range(64)))
    assert all(said == calm()[number % 5 :: 5] for number, said in enumerate(shares))


def test_event_loops(verifier: Verifier) -> None:
    rows = step()

    async def together() -> list[object]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        said = await asyncio.gather(*(verifier.abatch(rows[number::8]) for number in range(8)))
        ticking.cancel()
        return [*said, ticks > 1]

    for _ in range(2):
        *said, went_on = asyncio.run(together())
        assert said == [calm()[number::8] for number in range(8)]
        assert went_on


def test_what_is_given_up_stops_nobody_else(verifier: Verifier) -> None:
    rows = step()

    async def given_up() -> None:
        task = asyncio.create_task(verifier.abatch(rows * 20))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert verifier.batch(rows[:9]) == calm()[:9]


def _in_a_process(verifier: Verifier, _: int) -> object:
    return verifier.batch(step()[::6])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method: str, verifier: Verifier) -> None:
    verifier.batch(step()[:2])
    with multiprocessing.get_context(method).Pool(2) as processes:
        assert isinstance(processes, Pool)
        assert processes.map(partial(_in_a_process, verifier), range(2)) == [calm()[::6]] * 2
    assert verifier.batch(step()[:9]) == calm()[:9], "the parent goes on"


def test_a_fork_of_many_threads_that_are_at_work(verifier: Verifier) -> None:
    rows = step()
    with ThreadPoolExecutor(8) as threads:
        busy = [threads.submit(verifier.batch, rows) for _ in range(4)]
        wait_until(lambda: any(future.done() for future in busy))
        if (fork := os.fork()) == 0:
            os._exit(verifier.batch(rows[::7]) != calm()[::7])
        _, status = os.waitpid(fork, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert all(future.result() == calm() for future in busy)


def test_a_forked_data_loader(verifier: Verifier) -> None:
    needs("torch")
    from torch.utils.data import DataLoader

    assert verifier.batch(step()[:2]) == calm()[:2]
    loader: DataLoader[object] = DataLoader(
        step(), batch_size=16, num_workers=2, collate_fn=verifier.batch, multiprocessing_context="fork"
    )
    assert [found for batch in loader for found in batch] == calm()  # type: ignore[attr-defined]


@pytest.mark.release
def test_ray_tasks(verifier: Verifier) -> None:
    needs("ray")
    import ray

    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": path})
    try:
        task = ray.remote(num_cpus=1)(_in_a_process)
        assert ray.get([task.remote(verifier, number) for number in range(2)]) == [calm()[::6]] * 2
    finally:
        ray.shutdown()


def test_settings_travel_and_processes_do_not(verifier: Verifier) -> None:
    said = pickle.loads(pickle.dumps(Verifier(3, undecided=-1.0)))
    assert (said.workers, said.undecided, said.judge) == (3, -1.0, None)
    assert said._rules.pids() == []


@pytest.mark.release
def test_killed_workers_change_nothing(verifier: Verifier) -> None:
    rows = step()
    verifier.batch(rows)
    with ThreadPoolExecutor(1) as threads:
        judged = threads.submit(verifier.batch, rows * 3)
        for pid in verifier._rules.pids():
            for comparer in children(pid):
                os.kill(comparer, signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
        assert judged.result() == calm() * 3


def test_a_row_beyond_the_limits_costs_itself() -> None:
    line = b'{"id": 1, "gold": "12", "response": "\\\\boxed{12}"}'
    endless = b'{"id": 2, "gold": "12", "response": "%s"}' % (b"\\\\boxed{%s}" % (b"\\\\x" * 12_000_000))
    with pair_pool(1, seconds=0.25) as rows:
        said = [reply["row"] for reply in rows.stream([line, line, endless, line])]
    assert [row["decision"] for row in said] == ["accept", "accept", "undecided", "accept"]
    assert said[2]["reason"] == "no result: its process ended by SIGPROF"
    assert (said[2]["id"], said[2]["score"], said[2]["judge"]) == (2, None, said[0]["judge"])


def hurried(link: Link) -> None:
    """A worker whose symbolic comparisons have a third of a second: dear ones take longer by far."""
    pool._shared = pool.SymbolicPool(size=1, seconds=0.3)
    judge_rows(link, None, False, False, 60.0)


def test_a_comparison_beyond_the_limits_costs_itself() -> None:
    terms = [(f"|x^{{{n}}}-y^{{{n}}}|", f"|y^{{{n}}}-x^{{{n}}}|") for n in range(1, 45)]
    gold, answer = ("+".join(one) for one in zip(*terms, strict=True))
    easy = {"gold": "x+1", "response": "1+x"}
    with Verifier(1) as verifier:
        verifier._rules._start = partial(ChildProcess, hurried, quiet=True)
        said = verifier.batch([easy, {"gold": f"(x+1)^2+{gold}", "response": f"{answer}+x^2+2x+1"}, easy])
    assert [found.decision for found in said] == ["accept", "undecided", "accept"]
    assert said[1].reason.startswith("symbolic: no result within 0.3 s of a processor")


def test_workers_that_do_not_start_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Verifier(1) as verifier, pytest.raises(UserError, match=r"^a process that judges does not start: "):
        verifier.batch([{"gold": "1", "response": "1"}])


def starved(link: Link) -> None:
    """A worker whose symbolic comparisons have no memory to start in."""
    pool._shared = pool.SymbolicPool(size=1, memory_bytes=20 << 20)
    judge_rows(link, None, False, False, 60.0)


def test_nor_are_those_for_symbolic_comparisons_a_quiet_undecided() -> None:
    with Verifier(1) as verifier:
        verifier._rules._start = partial(ChildProcess, starved, quiet=True)
        assert verifier.verify("1", "1").decision == "accept"
        with pytest.raises(UserError, match=r"^the process for symbolic checks does not start: "):
            verifier.verify("(x+1)^2", "x^2+2x+1")


def test_a_closed_verifier_ends_what_it_does_and_starts_again() -> None:
    with Verifier(2) as verifier:
        (first,) = verifier.batch([step()[1]])
        pids = verifier._rules.pids()
        verifier.close()
        assert all(map(gone, pids))
        assert verifier.batch([step()[1]]) == [first]


def test_one_that_is_closed_over_a_batch_starts_nothing_more() -> None:
    verifier = Verifier(2)
    with ThreadPoolExecutor(1) as threads:
        judged = threads.submit(verifier.batch, step() * 500)
        wait_until(lambda: len(verifier._rules.pids()) == 2)
        verifier.close()
        with pytest.raises(CancelledError):
            judged.result(60)
    assert verifier._rules.pids() == []


def test_at_the_end_of_the_interpreter_it_says_so() -> None:
    said = "import atexit; from livek12 import verify; atexit.register(verify, '1', '1')"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", said], check=False, stderr=subprocess.PIPE, text=True, env=path)
    assert "UserError: nothing can be judged any more: the interpreter is ending" in done.stderr


def test_one_that_is_no_longer_used_leaves_no_process() -> None:
    verifier = Verifier(1)
    verifier.batch([step()[1]])
    pids = verifier._rules.pids()
    del verifier
    wait_until(lambda: all(map(gone, pids)))


SCRIPT = """
import sys, threading, time
from livek12 import Verifier, verify
said = []
thread = threading.Thread(target=lambda: said.append(verify("(x+1)^2", "x^2+2x+1").decision))
thread.start(); thread.join()
verifier = Verifier(workers=2)
said += [found.decision for found in verifier.batch([{"gold": "(x+2)^2", "response": "x^2+4x+4"}] * 2)]
heavy = {"torch", "datasets", "sympy", "transformers", "pint", "numpy", "pydantic", "livek12.tasks"} & set(sys.modules)
print(*said, sorted(heavy), *verifier._rules.pids(), flush=True)
time.sleep(600 if "wait" in sys.argv else 0)
"""


@pytest.mark.parametrize("end", ["exit", "wait"])
def test_a_script_without_a_guard_imports_little_and_leaves_nothing_behind(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script), end], stdout=subprocess.PIPE, text=True, env=path) as running:
        assert running.stdout is not None
        said, _, pids = running.stdout.readline().partition(" [] ")
        assert said == "accept accept accept"
        workers = list(map(int, pids.split()))
        theirs = [pid for worker in workers for pid in children(worker)]
        assert len(workers) >= 1
        if end == "wait":
            assert len(theirs) >= 1
            running.kill()
    wait_until(lambda: all(map(gone, [*workers, *theirs])))
