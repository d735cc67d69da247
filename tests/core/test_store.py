"""The store on disk: shared by processes, bounded, and worth nothing more than its contents when it is damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.core.store import VOTES, Store

PUT = """
import sys, os, signal
from pathlib import Path
from livek12.core.store import Store
store = Store("votes", Path(sys.argv[1]))
for n in range(int(sys.argv[2]), int(sys.argv[3])):
    store.put(f"k{n}", f"v{n}")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_share_it_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", PUT, str(tmp_path), str(start), str(start + 150)])
        for start in (0, 100, 200)
    ]
    assert [child.wait() for child in children] == [-signal.SIGKILL] * 3
    store = Store(VOTES, tmp_path)
    assert [store.get(f"k{n}") for n in range(350)] == [f"v{n}" for n in range(350)]
    assert store.get("k350") is None


@pytest.mark.parametrize("damage", ["rubbish", "empty", "torn", "other layout", "cut", "page"])
def test_damage_costs_only_what_was_remembered(tmp_path: Path, damage: str) -> None:
    store = Store(VOTES, tmp_path)
    for n in range(500):
        store.put(f"k{n}", "v" * 200)
    store.close()
    content = store.path.read_bytes()
    if damage == "other layout":
        import sqlite3

        store.path.unlink()
        with sqlite3.connect(store.path) as db:
            db.execute("CREATE TABLE known (other TEXT)")
        db.close()
    else:
        torn = {"rubbish": b"rubbish" * 1000, "empty": b"", "torn": content[: len(content) // 2 + 7],
                "cut": content[:50], "page": content[:8192] + os.urandom(8192) + content[16384:]}  # fmt: skip
        store.path.write_bytes(torn[damage])
    again = Store(VOTES, tmp_path)
    assert again.get("k3") in (None, "v" * 200)
    for n in range(500):
        again.put(f"n{n}", str(n))
    assert again.get("n7") == "7"
    again.close()
    assert Store(VOTES, tmp_path).get("n499") == "499"


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    store = Store(VOTES, file)
    store.put("k", "v")
    assert store.get("k") is None


def test_a_full_disk_is_done_without(small_disk: Path) -> None:
    store = Store(VOTES, small_disk)
    for n in range(40):
        store.put(f"k{n}", "v" * 50_000)
    assert store.get("nothing") is None


def test_it_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    store = Store(VOTES, tmp_path, limit=100)
    for n in range(1000):
        store.put(f"k{n}", "v")
    assert len(store) <= 106
    assert store.get("k999") == "v"
    assert store.get("k0") is None
