"""When engines were up: one session an engine, its last line counts, also where the process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.sessions import GIB, DeviceMemory, Memory, Session, read_sessions, usage_of
from livek12.engines import sessions
from livek12.engines.sessions import SessionWriter, devices_of
from tests.nvml import FakeNvml


def on_device(*used: float) -> Memory:
    return Memory(
        devices=[DeviceMemory(index=n, name="x", used=int(u * GIB), total=80 * GIB) for n, u in enumerate(used)]
    )


def test_a_session_tells_load_use_and_close(tmp_path: Path) -> None:
    with SessionWriter(tmp_path, "generate", "transformers", "m", {"api_key": "secret"}) as sitting:
        held = bytearray(200 << 20)
        held[::4096] = b"x" * len(held[::4096])
        sitting.loaded()
        del held
    with SessionWriter(tmp_path, "judge", "openai", "j") as sitting:
        sitting.loaded()
    first, second = read_sessions(tmp_path)
    assert (first.stage, first.engine, first.model, first.ended) == ("generate", "transformers", "m", True)
    assert first.loaded is not None and first.started <= first.loaded <= first.at <= second.started
    figures = [memory.rss for memory in (first.before_load, first.after_load, first.after_close) if memory]
    before, during, after = (figure or 0 for figure in figures)
    assert during - before > 150 << 20 > after - before
    assert second.after_load is None, "an endpoint's memory is not ours to measure"
    assert b"secret" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("jump", [72 * 3600, -72 * 3600])
def test_a_clock_that_jumps_books_no_time(jump: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_before = time.time()
    with SessionWriter(tmp_path, "generate", "vllm", "m", {"gpus": "8"}) as sitting:
        monkeypatch.setattr(sessions.time, "time", lambda: set_before + jump)
        sitting.loaded()
    (session,) = read_sessions(tmp_path)
    assert session.loaded is not None and session.started <= session.loaded <= session.at
    assert 0 < session.seconds < 3600 and session.started >= set_before


def test_an_engine_that_knows_better_says_how_many_devices_it_has(tmp_path: Path) -> None:
    class Pool:
        gpus, replicas = 2.5, 5

    with SessionWriter(tmp_path, "generate", "vllm", "m", {"replicas": "3"}) as sitting:
        assert sitting.session.replicas == 3
        sitting.loaded(Pool())
    (session,) = read_sessions(tmp_path)
    assert (session.gpus, session.replicas) == (2.5, 5)
    assert session.gpu_seconds == pytest.approx(2.5 * session.seconds)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """What the driver will say, one moment after the other; the last moment stays."""
    moments: list[Memory] = []
    monkeypatch.setattr(sessions, "measure", lambda: moments.pop(0) if len(moments) > 1 else moments[0])
    monkeypatch.setattr(sessions.time, "sleep", lambda seconds: None)
    return moments


def test_only_the_devices_of_the_engine_are_looked_at(tmp_path: Path, devices: list[Memory]) -> None:
    """Somebody else's job on the second one grows meanwhile."""
    devices += [on_device(0, 10), on_device(30, 40), on_device(0, 70)]
    with SessionWriter(tmp_path, "generate", "vllm", "m") as sitting:
        sitting.loaded()
    (session,) = read_sessions(tmp_path)
    assert session.after_load is not None
    assert session.after_load.on_devices == 30 * GIB
    assert not session.stuck


def test_memory_that_comes_back_late_is_not_stuck(tmp_path: Path, devices: list[Memory]) -> None:
    devices += [on_device(0)] + [on_device(30)] * 3 + [on_device(0)]
    with SessionWriter(tmp_path, "generate", "vllm", "m") as sitting:
        sitting.loaded()
    assert not read_sessions(tmp_path)[0].stuck


def test_memory_that_stays_is_told(tmp_path: Path, devices: list[Memory]) -> None:
    devices += [on_device(0), on_device(30)]
    with SessionWriter(tmp_path, "generate", "vllm", "m") as sitting:
        sitting.loaded()
    assert read_sessions(tmp_path)[0].stuck


def test_replicas_that_come_up_later_are_counted(
    tmp_path: Path, devices: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "BEAT_SECONDS", 0.01)
    devices += [on_device(0, 0), on_device(30, 2), on_device(30, 30)]
    with SessionWriter(tmp_path, "generate", "vllm", "m", {"replicas": "2", "gpus": "1"}) as sitting:
        sitting.loaded()
        end = time.monotonic() + 60
        while time.monotonic() < end and (sitting.session.after_load or Memory()).on_devices < 60 * GIB:
            pass
        devices[:] = [on_device(0, 0)]
    (session,) = read_sessions(tmp_path)
    assert session.after_load is not None
    assert session.after_load.on_devices == 60 * GIB


def test_the_time_of_a_killed_process_counts_to_its_last_beat(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from livek12.engines import sessions\n"
        "sessions.BEAT_SECONDS = 0.02\n"
        "with sessions.SessionWriter(Path(sys.argv[1]), 'judge', 'openai', 'm') as sitting:\n"
        "    sitting.loaded()\n"
        "    print(flush=True)\n"
        "    time.sleep(600)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    seen = [session.at for session in read_sessions(tmp_path)]
    while read_sessions(tmp_path)[0].at <= seen[0]:
        assert child.poll() is None
        time.sleep(0.01)
    child.kill()
    child.communicate()
    (session,) = read_sessions(tmp_path)
    assert not session.ended and session.seconds > 0
    with SessionWriter(tmp_path, "judge", "openai", "m"):
        pass
    assert [one.ended for one in read_sessions(tmp_path)] == [False, True]


def test_an_engine_that_does_not_start_ends_its_session(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), SessionWriter(tmp_path, "generate", "vllm", "m"):
        raise RuntimeError
    (session,) = read_sessions(tmp_path)
    assert session.ended and session.loaded is None


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SessionWriter(None, "judge", "transformers", "m") as sitting:
        sitting.loaded()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "args, here, whole, expected",
    [
        ({}, 8, False, (1, 1)),
        ({"tensor_parallel_size": "4", "pipeline_parallel_size": "2"}, 8, False, (8, 1)),
        ({"replicas": "4", "gpus": "0.5"}, 2, False, (2, 4)),
        ({"replicas": "2", "tensor_parallel_size": 2}, 4, False, (4, 2)),
        ({}, 8, True, (8, 1)),
        ({"gpus": "0", "replicas": "3"}, 8, False, (0, 3)),
        ({}, 0, False, (0, 1)),
        ({"ray": "auto", "replicas": "16", "gpus": "1"}, 0, False, (16, 16)),
        ({"gpus": "many"}, 1, False, (1, 1)),
    ],
)
def test_devices_by_arguments(args: dict[str, Any], here: int, whole: bool, expected: tuple[float, int]) -> None:
    assert devices_of(args, on_device(*[1.0] * here), whole) == expected


def test_processes_of_one_launch_share_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert devices_of({}, on_device(1, 1, 1, 1), whole=True) == (1, 1)


@pytest.mark.parametrize(
    "before, up, closed, stuck",
    [(0.5, 70, 0.6, False), (0.5, 70, 6.0, False), (0.5, 70, 9.0, True), (0.5, 1.5, 1.0, False), (3, 3, 3, False)],
)
def test_memory_that_does_not_come_back_is_noticed(before: float, up: float, closed: float, stuck: bool) -> None:
    session = Session(
        id="x",
        stage="generate",
        engine="vllm",
        model="m",
        host="h",
        pid=1,
        started=0.0,
        at=1.0,
        before_load=on_device(before),
        after_load=on_device(up),
        after_close=on_device(closed),
    )
    assert session.stuck is stuck and session.seconds == 1
    assert session.model_copy(update={"at": -1.0}).seconds == 0
    assert sessions.Session.model_validate_json(session.model_dump_json()) == session


def test_a_session_counts_its_requests_and_what_they_took(tmp_path: Path) -> None:
    with SessionWriter(tmp_path, "generate", "replay", "m") as sitting:
        sitting.loaded()
        for _ in range(3):
            sitting.count()
        with (tmp_path / "written").open("wb") as file:
            file.write(b"x" * (1 << 20))
            file.flush()
            os.fsync(file.fileno())
    (session,) = read_sessions(tmp_path)
    assert session.requests == 3
    assert session.requests_a_second is not None
    assert session.requests_a_second > 0
    assert session.peak_rss is not None
    assert 10 << 20 < session.peak_rss < 1 << 40
    assert session.written is None or session.written >= 0


def test_energy_and_busy_share_count_from_the_load_to_the_last_beat(
    tmp_path: Path, devices: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    monkeypatch.setattr(sessions, "BEAT_SECONDS", 0.01)
    devices += [on_device(0, 0)]
    with SessionWriter(tmp_path, "generate", "vllm", "m") as sitting:
        driver.millijoules[1] = 25_000_000  # while it loads
        sitting.loaded()
        driver.millijoules[:] = [99_000_000, 28_600_000]
        sitting.count(2, 300)
        end = time.monotonic() + 60
        beats: list[Session] = []
        while time.monotonic() < end and not (beats and beats[0].busy and beats[0].joules == 3600):
            beats = read_sessions(tmp_path)  # what is left of a process that is killed now
        assert not beats[0].ended and beats[0].busy == 0.5, "of the one device of the engine, the first that CUDA shows"
        driver.millijoules[1] = driver.percent[1] = None  # a driver that says no more
        sitting.count(1, 60)
    (session,) = read_sessions(tmp_path)
    assert session.ended and session.joules == 3600 and session.busy == 0.5
    assert session.completion_tokens == 360 and session.tokens_a_second is not None
    assert driver.users == 0


@pytest.mark.parametrize(
    ("engine", "args"),
    [("vllm", {"tensor_parallel_size": "2"}), ("vllm", {"ray": "auto", "gpus": "1"}), ("openai", {})],
)
def test_devices_that_are_not_all_here_are_not_measured(
    engine: str, args: dict[str, str], tmp_path: Path, devices: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(gpus=1))
    devices += [on_device(0)]
    with SessionWriter(tmp_path, "generate", engine, "m", args) as sitting:
        sitting.loaded()
    (session,) = read_sessions(tmp_path)
    assert session.joules is None and session.busy is None


def test_tokens_that_one_answer_does_not_state_are_not_counted(tmp_path: Path) -> None:
    with SessionWriter(tmp_path, "generate", "openai", "m") as sitting:
        sitting.loaded()
        for tokens in (5, None, 7):
            sitting.count(1, tokens)
    (session,) = read_sessions(tmp_path)
    assert session.requests == 3 and session.completion_tokens is None


def used(began: float, ended: float, *counters: tuple[str, float, float], **more: Any) -> Session:
    known = {"id": str(began), "stage": "generate", "engine": "vllm", "model": "m", "host": "h", "pid": 1, "gpus": 1}
    energy = [{"device": device, "first": first, "last": last} for device, first, last in counters] or None
    return Session.model_validate({**known, "started": began, "loaded": began, "at": ended, "energy": energy, **more})


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([used(0, 10, ("a", 100, 150), busy=0.5), used(20, 50, ("a", 160, 200), busy=0.9)], (90, 0.8)),
        ([used(0, 10, ("a", 100, 150)), used(5, 15, ("a", 120, 190))], (90, None)),  # two processes on one GPU
        ([used(0, 10, ("a", 100, 150)), used(20, 30, ("a", 0, 50))], (100, None)),  # the driver was loaded anew
        ([used(0, 10, ("a", 100, 150), ("b", 100, 150), gpus=2)], (100, None)),
        ([used(0, 10, ("a", 100, 150)), used(20, 30)], (None, None)),
        ([used(0, 10, ("a", 100, 150)), used(20, 30, loaded=None), used(20, 30, stage="judge")], (50, None)),
        ([used(0, 10, gpus=0)], (None, None)),
    ],
)
def test_sessions_add_up(made: list[Session], expected: tuple[float | None, float | None]) -> None:
    usage = usage_of(made, "generate")
    assert usage is not None
    joules, busy = expected
    assert usage["watt_hours"] == (None if joules is None else pytest.approx(joules / 3600))
    assert usage["busy"] == (None if busy is None else pytest.approx(busy))


def test_tokens_a_second_of_several_engines_are_over_the_time_in_which_any_was_up() -> None:
    tokens = [used(0, 10, completion_tokens=100), used(5, 20, completion_tokens=300)]
    usage = usage_of(tokens, "generate")
    assert usage is not None and usage["tokens_a_second"] == 20
    assert usage_of([*tokens, used(30, 40)], "generate") == {"busy": None, "tokens_a_second": None, "watt_hours": None}
    assert usage_of([used(0, 10, engine="replay")], "generate") is None
