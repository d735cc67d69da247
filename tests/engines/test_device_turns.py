"""Engines that share a device are loaded one after another."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.engines import devices as device_turns
from livek12.engines.devices import own_turn
from tests.conftest import ROOT

LOADS = """
import sys, time
from livek12.engines.devices import own_turn
with own_turn():
    print("in", flush=True)
    time.sleep(float(sys.argv[1]))
"""


def loads(devices: str, seconds: float, folder: Path) -> subprocess.Popen[str]:
    """A process that has those devices and loads for so long."""
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": devices, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", LOADS, str(seconds)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def its_turn(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether it has begun to load within so many seconds."""
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], seconds)[0]) and process.stdout.readline() == "in\n"


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("0", "0", True),
        ("0,1", "1,2", True),
        ("GPU-5e/7", "GPU-5e/7", True),
        ("0", "1", False),
        ("", "", False),
        ("-1", "-1", False),
    ],
)
def test_those_with_a_device_in_common_wait(first: str, second: str, waits: bool, tmp_path: Path) -> None:
    """Until the first is done, or is killed."""
    loading = loads(first, 600, tmp_path)
    try:
        assert its_turn(loading, 120)
        follows = loads(second, 0, tmp_path)
        assert its_turn(follows, 2 if waits else 120) is not waits
    finally:
        loading.kill()
        loading.communicate()
    assert its_turn(follows, 120) is waits
    assert follows.wait(120) == 0
    assert follows.stdout is not None
    follows.stdout.close()


@pytest.mark.parametrize(
    ("named", "width", "locked"),
    [
        (None, None, []),
        (None, 2, ["0", "1"]),
        ("3,5,7", 2, ["3", "5"]),
        ("3,5,7", None, ["3", "5", "7"]),
        ("3", 4, ["3"]),
        ("", 4, []),
    ],
)
def test_a_turn_is_of_the_first_devices(
    named: str | None, width: int | None, locked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one within another waits for nobody: this process has it already."""
    monkeypatch.setattr(device_turns.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    with own_turn(width), own_turn(width):
        assert sorted(file.stem for file in tmp_path.rglob("*.lock")) == locked


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that another user has laid there leads nowhere: nobody waits, and nothing is written behind it."""
    behind = tmp_path / "behind"
    behind.mkdir()
    monkeypatch.setattr(device_turns.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    own = tmp_path / f"livek12-devices-{os.getuid()}"
    own.symlink_to(behind)
    with own_turn():
        assert list(behind.iterdir()) == []
    own.unlink()
    with own_turn():
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
        assert [file.name for file in own.iterdir()] == ["0.lock"]


def test_a_folder_that_cannot_be_made_keeps_no_engine_from_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_turns.tempfile, "gettempdir", lambda: "/nonexistent")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with own_turn():
        pass
