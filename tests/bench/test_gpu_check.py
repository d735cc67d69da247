"""The GPU check as far as a CPU goes: its plan, its table, and that nothing of it outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from livek12.engines.reaper import family, processes
from livek12.scripts.bench.counting import FOLDER, counted, counting_in
from livek12.scripts.bench.gpu import sharing, starting
from livek12.scripts.bench.gpu.work import STATIONS, stages_in
from tests.conftest import ROOT
from tests.engines.conftest import needs

CHECK = ["bash", str(ROOT / "scripts" / "gpu_check.sh")]
ENVIRONMENT = {**os.environ, "PYTHON": sys.executable}


def test_the_plan_names_each_point_once_with_its_seconds() -> None:
    done = subprocess.run([*CHECK, "--plan"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    names = [name for station in STATIONS for name in station.points]
    assert sorted(names) == sorted({**sharing.POINTS, **starting.POINTS})
    for station in STATIONS:
        if station.gpus < 2:
            assert all(f"    {name} " in done.stdout for name in station.points)


def test_an_unknown_point_is_refused() -> None:
    done = subprocess.run([*CHECK, "nothing"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 2
    assert "no point 'nothing'" in done.stderr


def test_stages_are_read_off_the_log_of_vllm() -> None:
    log = (
        "(EngineCore pid=7) INFO 11-27 03:19:58 [x.py:1] Model loading took 15.27 GiB memory and 3.25 seconds\n"
        "(EngineCore pid=7) INFO 11-27 03:20:30 [x.py:2] Graph capturing finished in 12 secs, took 0.60 GiB\n"
    )
    assert stages_in(log) == {"weights": 3.25, "graphs": 12.0}


def test_counts_of_all_processes_of_vllm_are_read_once(tmp_path: Path) -> None:
    environment = counting_in(tmp_path / "counts")
    code = "import importlib.metadata as m; print(*[e.load().__name__ for e in m.entry_points(group=GROUP, name=NAME)])"
    loaded = subprocess.run(
        [sys.executable, "-c", code.replace("GROUP", "'vllm.general_plugins'").replace("NAME", "'livek12_counts'")],
        env={**ENVIRONMENT, **environment, "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == ["plugged_in"]
    for process, requests in ((7, 1), (8, 3)):
        (Path(environment[FOLDER]) / f"{process}.json").write_text(json.dumps({"requests": requests}))
    assert counted(Path(environment[FOLDER])) == [{"requests": 3}, {"requests": 1}]
    assert counted(Path(environment[FOLDER])) == []


@pytest.mark.release
@pytest.mark.slow
def test_points_of_one_engine_are_told_as_they_end(tmp_path: Path) -> None:
    needs("vllm")
    figures = tmp_path / "figures.json"
    words = ["--cpu", "--scale", "0.005", "--work", tmp_path / "work", "--json", figures, "auto", "cancel", "budgets"]
    done = subprocess.run([*CHECK, *map(str, words)], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["point"]: row for row in json.loads(figures.read_text())["results"] if row["judged"]}
    assert list(rows) == ["start", "auto", "cancel", "budgets"]
    assert all(row["ok"] for row in rows.values())
    assert rows["cancel"]["figures"] == {"stored": 1, "asked": 3}


@pytest.mark.release
@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_what_it_started_ends_with_it(tmp_path: Path, way: signal.Signals) -> None:
    needs("vllm")
    log = tmp_path / "work" / "transformers-text.log"
    words = ["--cpu", "--work", tmp_path / "work", "transformers"]
    check = subprocess.Popen([*CHECK, *map(str, words)], stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        wait_for(log.exists)
        started = family([check.pid], processes())
        check.send_signal(way)
        assert check.wait(60) != 0
        wait_for(lambda: not set(started) & processes().keys())
    finally:
        check.kill()
        check.wait()


def wait_for(condition: Callable[[], object], seconds: float = 240.0) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)
