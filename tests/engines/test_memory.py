"""What memory is held: the driver's figures through a real command, the processes', and that it comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from livek12.core.run.sessions import GIB
from livek12.engines.memory import give_back, measure, visible

DEVICES = """\
0, GPU-aaaa-1, NVIDIA H100, 1024, 81920
1, GPU-bbbb-2, NVIDIA H100, 4096, 81920
2, GPU-cccc-3, NVIDIA H100, [N/A], 81920
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver's command that knows three devices; the last does not say what it holds."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{DEVICES}END\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return command


def test_devices_are_those_of_the_driver(driver: Path) -> None:
    memory = measure()
    assert [(d.index, d.used, d.total) for d in memory.devices] == [(0, GIB, 80 * GIB), (1, 4 * GIB, 80 * GIB)]
    assert memory.on_devices == 5 * GIB
    assert "torch" not in sys.modules or memory.devices[0].allocated is None


@pytest.mark.parametrize(
    "named, seen",
    [
        (None, "012"),
        ("1", "1"),
        ("2,0", "20"),
        ("GPU-bb", "1"),
        ("", ""),
        ("0,7,1", "0"),
        ("-1", ""),
        ("NoDevFiles", ""),
    ],
)
def test_only_devices_that_cuda_shows_count(named: str | None, seen: str) -> None:
    rows = [[cell.strip() for cell in line.split(",")] for line in DEVICES.splitlines()]
    assert "".join(row[0] for row in visible(rows, named)) == seen


@pytest.mark.parametrize("said", ["exit 9", "echo 'Failed to initialize NVML'", "echo '0, GPU-x, name, much, more'"])
def test_a_driver_that_does_not_answer_is_no_device(said: str, driver: Path) -> None:
    driver.write_text(f"#!/bin/sh\n{said}\n")
    assert measure().devices == []


def test_children_count_and_memory_comes_back() -> None:
    size = 300 << 20
    code = f"import sys; held = bytearray({size}); held[::4096] = b'x' * len(held[::4096]); print(); sys.stdin.read()"
    before = measure().rss
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        held = measure().rss
        child.stdin.close()
    after = measure().rss
    assert before is not None and held is not None and after is not None
    assert held - before > size
    assert abs(after - before) < size // 4


def test_freed_small_blocks_go_back_to_the_system() -> None:
    """A C library keeps the pages of many small freed blocks until it is asked for them."""
    code = (
        "import ctypes\n"
        "from livek12.engines.memory import give_back, measure\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]\n"
        "blocks = [libc.malloc(100_000) for _ in range(3000)]\n"
        "[ctypes.memset(block, 1, 100_000) for block in blocks]\n"
        "last = libc.malloc(100_000)\n"  # keeps the end of the heap in use
        "held = measure().rss\n"
        "[libc.free(block) for block in blocks]\n"
        "kept = measure().rss\n"
        "give_back()\n"
        "print(held, kept, measure().rss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    held, kept, left = map(int, done.stdout.split())
    assert kept > held - (100 << 20), "the blocks went back by themselves: this shows nothing"
    assert left < held - (200 << 20)
    give_back()
