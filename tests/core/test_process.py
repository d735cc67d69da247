"""Child processes: who may start them, what ends them, and what a request beyond the limits costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from livek12.core.process import ChildProcess, Closed, Ended, Link, NotStarted, ProcessPool, limit_time, requests
from tests.conftest import ROOT
from tests.engines.helpers import gone, wait_until


def obey(link: Link, seconds: float = 1.0) -> None:
    """A child that does as it is told."""
    for request in requests(link):
        limit_time(seconds)
        word, _, rest = request.decode().partition(" ")
        if word == "spin":
            7**10**9  # which Python cannot interrupt
        elif word == "eat":
            bytearray(1 << 40)
        elif word == "sleep":
            time.sleep(60)
        elif word == "crash":
            print("the last word", flush=True)
            os._exit(3)
        elif word == "stop":  # in the middle of a message
            os.write(link.fileno(), b"\0\0\0\x40half")
            os.kill(os.getpid(), signal.SIGSTOP)
        elif word == "start":
            rest = str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
        elif word == "fork":
            if (other := os.fork()) == 0:
                time.sleep(60)
            rest = str(other)
        limit_time(0)
        link.send_bytes(rest.encode())


def never(link: Link) -> None:
    """A child that is gone before it is ready."""
    raise ValueError("not on this machine")


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with ProcessPool(obey, size=1, quiet=True, wall_seconds=30, memory_bytes=1 << 30) as pool:
        yield pool


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("spin", "by SIGPROF"),
        ("eat", "with exit code 1: MemoryError"),
        ("crash", "with exit code 3: the last word"),
    ],
)
def test_what_breaks_a_limit_or_crashes_costs_its_request(request_: str, words: str, pool: ProcessPool) -> None:
    assert pool.ask(b"say a") == b"a"
    first = pool.pids()
    with pytest.raises(Ended, match=f"its process ended {words}$"):
        pool.ask(request_.encode())
    assert all(map(gone, first))
    assert [pool.ask(b"say b"), pool.ask(b"say c")] == [b"b", b"c"]
    assert len(pool.pids()) == 1


def test_limits_hold_though_the_thread_that_starts_a_child_blocks_signals() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with (
            ProcessPool(obey, size=1, quiet=True, wall_seconds=30) as pool,
            pytest.raises(Ended, match="by SIGPROF"),
        ):
            pool.ask(b"spin")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.parametrize("request_", ["sleep", "stop"])
def test_a_silent_child_costs_its_request(request_: str, pool: ProcessPool) -> None:
    assert pool.ask(b"say a") == b"a"
    pool.wall_seconds = 0.5
    with pytest.raises(Ended):
        pool.ask(request_.encode())
    pool.wall_seconds = 30
    assert pool.ask(b"say b") == b"b"


def test_a_child_killed_while_it_waits_costs_nothing(pool: ProcessPool) -> None:
    pool.ask(b"say a")
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: gone(pid))
    assert pool.ask(b"say b") == b"b"


def test_a_child_that_does_not_start_is_told_apart() -> None:
    with (
        ProcessPool(never, size=1, quiet=True) as pool,
        pytest.raises(NotStarted, match="exit code 1: ValueError: not on"),
    ):
        pool.ask(b"say a")


def test_children_are_as_many_as_allowed_and_serve_all_threads() -> None:
    with ProcessPool(obey, size=3, quiet=True) as pool, ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda number: pool.ask(b"say %d" % number), range(200)))
        assert said == [b"%d" % number for number in range(200)]
        assert 1 <= len(pool.pids()) <= 3


@pytest.mark.parametrize("word", ["start", "fork"])
def test_what_a_child_has_started_ends_with_it(word: str) -> None:
    with ProcessPool(obey, size=1, quiet=True) as pool:
        other = int(pool.ask(word.encode()))
        assert not gone(other)
    wait_until(lambda: gone(other))


def test_large_messages_go_both_ways() -> None:
    with ProcessPool(obey, size=1, quiet=True, wall_seconds=30) as pool:
        large = os.urandom(5 << 20).hex().encode()
        assert pool.ask(b"say " + large) == large


def report(link: Link) -> None:
    """Says what a child has of its parent."""
    found = [os.environ.get("LIVEK12_TEST", ""), str(os.getsid(0) == os.getpid()), str(os.umask(0))]
    print("noise", flush=True)
    link.send_bytes(" ".join([*found, *(file.name for file in Path("/proc/self/fd").iterdir())]).encode())


def test_a_child_inherits_nothing_open(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "file").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        child = ChildProcess(report, quiet=False, environment={"LIVEK12_TEST": "here"})
        variable, leads, umask, *descriptors = child.receive(30).decode().split()
    assert (variable, leads, int(umask)) == ("here", "True", os.umask(int(umask)))
    assert len(descriptors) <= 5  # the three, the link, and the listing itself
    child.wait(30)
    child.kill()
    assert capfd.readouterr() == ("", "noise\n")


CALLER = """
import sys, threading, time
from livek12.core.process import ProcessPool
from tests.core.test_process import obey
pool = ProcessPool(obey, 60.0, size=1, quiet=True)
asking = threading.Thread(target=pool.ask, args=(b"say a",))
asking.start(); asking.join()
time.sleep(0.3)  # the thread that started it is gone, and the child is not
assert pool.ask(b"say b") == b"b"
print(*pool.pids(), pool.ask(b"start").decode(), pool.ask(b"fork").decode(), flush=True)
threading.Thread(target=pool.ask, args=(b"sleep",), daemon=True).start()
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["script", "stdin", "command"])
def test_any_script_may_start_children_which_end_when_it_is_killed(how: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CALLER)
    command = {"script": [str(script)], "stdin": ["-"], "command": ["-c", CALLER]}[how]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with script.open() as source:
        caller = subprocess.Popen(
            [sys.executable, *command], stdin=source, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
        )
    assert caller.stdout is not None
    left = [int(pid) for pid in caller.stdout.readline().split()]
    assert len(left) == 3
    assert not any(map(gone, left))
    caller.kill()
    caller.wait()
    caller.stdout.close()
    wait_until(lambda: all(map(gone, left)), 10)


def test_a_pool_that_is_closed_over_a_request_starts_nothing_for_it() -> None:
    with ProcessPool(obey, size=2, quiet=True, wall_seconds=30) as pool, ThreadPoolExecutor(4) as threads:
        pool.ask(b"say a")
        asked = [threads.submit(pool.ask_again, b"sleep") for _ in range(4)]
        wait_until(lambda: len(pool.pids()) == 2)
        pool.close()
        for future in asked:
            with pytest.raises(Closed):
                future.result(20)
        assert pool.pids() == []
        assert pool.ask(b"say b") == b"b"


def test_a_child_that_takes_nothing_costs_its_request(pool: ProcessPool) -> None:
    pool.ask(b"say a")
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGSTOP)
    pool.wall_seconds = 0.5
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(pool.ask, b"say " + bytes(8 << 20))
        try:
            with pytest.raises(Ended, match="it was silent"):
                asked.result(20)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    pool.wall_seconds = 30
    assert pool.ask(b"say b") == b"b"


def slow(link: Link, seen: str) -> None:
    """A child that is killed while it starts, the first four times."""
    with Path(seen).open("a") as marks:
        marks.write("x")
    if Path(seen).stat().st_size <= 4:
        os.kill(os.getpid(), signal.SIGKILL)
    obey(link)


def test_kills_while_children_start_cost_no_request(tmp_path: Path) -> None:
    with ProcessPool(slow, str(tmp_path / "seen"), size=1, quiet=True, wall_seconds=30) as pool:
        assert pool.ask_again(b"say a") == b"a"


def test_what_the_system_refuses_is_a_child_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with ProcessPool(obey, size=1, quiet=True) as pool, pytest.raises(NotStarted, match="the system says"):
        pool.ask(b"say a")


ODD_PARENTS = {
    "a low limit of memory": "import resource as r; r.setrlimit(r.RLIMIT_AS, (2 << 30, 2 << 30))",
    "no standard streams": "import os; out = os.dup(1); os.closerange(0, 3)",
}
ASKS = """
from livek12.core.process import ProcessPool
from tests.core.test_process import obey
{}
with ProcessPool(obey, size=1, quiet=True, wall_seconds=30, memory_bytes=4 << 30) as pool:
    os.write(globals().get("out", 1), pool.ask(b"say a"))
"""


@pytest.mark.parametrize("odd", ODD_PARENTS)
def test_children_of_odd_parents(odd: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", "import os" + ASKS.format(ODD_PARENTS[odd])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60, cwd=ROOT, env=environment)
    assert done.stdout == b"a"
