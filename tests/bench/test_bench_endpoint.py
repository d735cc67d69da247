"""The endpoint benchmark measures the real command against a real server, and asks what it says it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "endpoint.py"


@pytest.mark.slow
def test_it_asks_the_numbers_it_was_given(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--requests", "30,60", "--questions", "10", "--bound-requests", "40"]
    done = subprocess.run(
        [*command, "--concurrency", "4", "--json", "--work", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    asked = [(line["who"], line["requests"]) for line in told["figures"]]
    assert asked[:4] == [("livek12", 30), ("livek12", 60), ("sockets", 40), ("aiohttp", 40)]
    assert all(line["rate"] > 0 and line["seconds"] > 0 and line["mib"] > 1 for line in told["figures"])
    assert {"seconds a request, 60 / 30", "peak memory, 60 / 30", "livek12 rate / aiohttp rate"} <= told[
        "ratios"
    ].keys()
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"
