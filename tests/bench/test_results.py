"""`scripts/bench/results.py` on the recorded answers: the page of results that ships is what it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.release
def test_the_page_of_results_is_what_the_script_writes(shared_data: Path, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    subprocess.run([sys.executable, ROOT / "scripts/bench/results.py", shared_data, "--out", page], check=True)
    assert page.read_text("utf-8") == (ROOT / "docs/results.md").read_text("utf-8")
