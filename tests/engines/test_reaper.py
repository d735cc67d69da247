"""What a killed process has started ends with it, whenever it is killed; what it had before or begins later stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.engines.reaper import family, processes
from tests.engines.helpers import gone, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are seen in /proc")

# A core with two workers, started as vLLM does; a process from before, and one from after the load.
KILLED = """
import multiprocessing, os, signal, subprocess, sys, time
from livek12.engines.reaper import Reaper

nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

def core(pipe):
    workers = [subprocess.Popen(SLEEP, **nothing) for _ in range(2)]
    pipe.send([os.getpid(), *(worker.pid for worker in workers)])
    time.sleep(600)

if __name__ == "__main__":
    method, settled = sys.argv[1], sys.argv[2] == "settled"
    before = subprocess.Popen(SLEEP, **nothing)
    reaper = Reaper()
    context = multiprocessing.get_context(method)
    near, far = context.Pipe()
    process = context.Process(target=core, args=(far,))
    process.start()
    charges = near.recv()
    after = 0
    if settled:
        reaper.settle()
        time.sleep(1)  # it looks once more
        after = subprocess.Popen(SLEEP, **nothing).pid
    else:
        time.sleep(1)  # it looks five times a second
    print(before.pid, after, *charges, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.parametrize("moment", ["loading", "settled"])
def test_what_a_killed_process_has_started_is_killed_with_it(method: str, moment: str, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    started = subprocess.Popen(
        [sys.executable, str(script), method, moment], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdin is not None and started.stdout is not None
    before, after, *charges = map(int, started.stdout.readline().split())
    try:
        assert len(charges) == 3
        assert not any(map(gone, charges))
        started.kill()
        started.wait()
        wait_until(lambda: all(map(gone, charges)))
        assert not gone(before)
        assert after == 0 or not gone(after)
    finally:
        started.stdin.close()
        started.stdout.close()
        for process in (before, after):
            if process:
                os.kill(process, signal.SIGKILL)


CLOSED = """
import subprocess, sys
from livek12.engines.reaper import Reaper

reaper = Reaper()
nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **nothing).pid, reaper._process.pid)
reaper.settle()
reaper.close()
"""


def test_a_closed_one_lets_everything_be() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True, check=True)
    charge, reaper = map(int, done.stdout.split())
    wait_until(lambda: gone(reaper))
    assert not gone(charge)
    os.kill(charge, signal.SIGKILL)


def test_a_family_is_all_that_a_process_has_started() -> None:
    there = {10: (1, "a"), 11: (10, "b"), 12: (11, "c"), 13: (1, "d")}
    assert family([10], there) == [10, 11, 12]
    assert os.getpid() in family([os.getppid()], processes())
