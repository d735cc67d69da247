"""Texts that broke a reader of foreign text, and the fuzzing of all readers before a release."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.scripts.bench.fuzz import READERS
from tests.conftest import ROOT

SECONDS = 600
"""Of each reader before a release."""
SEEDS = (
    rb"\frac{1}{2} So the answer is \boxed{B}. $x^2+1$",
    "因此，答案是 (B)，不选A。**Answer: C** <b>x</b>".encode(),
    rb'{"id": "a", "gold": "1", "response": "\\boxed{2}"}',
    b"PAR1\x15\x04PAR1",
    b"\xff\xfe\x00{[($\\left(",
)
QUICK = ("latex", "claims", "markup", "rows", "packed")
"""Without those that load a library for minutes of other tests."""
BROKEN = (("latex", rb"\frac{0}{2t{S1}{"),)


@pytest.mark.parametrize(
    ("reader", "data"), [*BROKEN, *((name, seed) for name in READERS for seed in SEEDS if name in QUICK)]
)
def test_a_reader_takes_or_refuses_any_text(reader: str, data: bytes) -> None:
    READERS[reader](data)


@pytest.mark.release
@pytest.mark.parametrize("reader", READERS)
def test_no_text_breaks_a_reader(reader: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec("atheris"):
        pytest.skip("atheris is not installed")
    (tmp_path / "corpus").mkdir()
    for number, seed in enumerate(SEEDS):
        (tmp_path / "corpus" / str(number)).write_bytes(seed)
    run = [sys.executable, str(ROOT / "scripts" / "bench" / "fuzz.py"), reader, str(tmp_path / "corpus")]
    limits = [f"-max_total_time={SECONDS}", "-timeout=20", "-max_len=3000"]
    ended = subprocess.run([*run, *limits], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
