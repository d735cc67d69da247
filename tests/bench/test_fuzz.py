"""Texts that broke a reader of foreign text, and the fuzzing of all readers before a release."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livek12.core.compaction import compact
from livek12.core.features import schema, to_row
from livek12.core.packed import META
from livek12.core.records import Question
from tests.bench.fuzz import READERS, SUFFIXES
from tests.conftest import ROOT
from tests.evaluation.test_site import asked, simple

SECONDS = 600
"""Of each reader before a release."""
SEEDS = (
    rb"\frac{1}{2} So the answer is \boxed{B}. $x^2+1$",
    "因此，答案是 (B)，不选A。**Answer: C** <b>x</b>".encode(),
    rb'{"id": "a", "gold": "1", "response": "\\boxed{2}"}',
    b"PAR1\x15\x04PAR1",
    b"\xff\xfe\x00{[($\\left(",
)
LONGEST = {"logs": 40_002, "packed": 12_000, "table": 12_000}
"""Bytes of a text, where files are longer than the others."""
QUICK = ("latex", "claims", "markup", "rows", "packed")
"""Without those that load a library for minutes of other tests."""


def parquet(of: bytes, to: bytes) -> bytes:
    """A packed run with these bytes changed."""
    file = io.BytesIO()
    journals = json.dumps({"journals": {"verdicts-0.jsonl": [9, "0" * 64]}})
    columns = {"file": ["verdicts-0.jsonl"], "start": [0], "line": [b"{}"], "question_id": ["q-text"]}
    line = pa.schema({"file": pa.string(), "start": pa.int64(), "line": pa.large_binary(), "question_id": pa.string()})
    table = pa.table(columns, line).replace_schema_metadata({META: journals})
    pq.write_table(table, file, use_dictionary=False, compression="none", store_schema=True)
    return file.getvalue().replace(of, to)


BROKEN = (
    ("latex", rb"\frac{0}{2t{S1}{"),
    ("packed", parquet(b"question_id", b"question_\xff\xff")),
    ("packed", parquet(b"q-text", b"q-\xfft\xff\xff")),
    ("table", parquet(b"question_id", b"question_\xff\xff")),
)


@pytest.mark.parametrize(
    ("reader", "data"), [*BROKEN, *((name, seed) for name in READERS for seed in SEEDS if name in QUICK)]
)
def test_a_reader_takes_or_refuses_any_text(reader: str, data: bytes) -> None:
    READERS[reader](data)


def corpus(reader: str, folder: Path) -> list[bytes]:
    """Texts to begin with: real files, where random bytes would stay at the door."""
    question = asked(1)
    if reader == "packed":
        compact(simple(folder / "run", "m", [True], [question]))
        return [(folder / "run" / "verdicts.parquet").read_bytes()]
    if reader == "table":
        pq.write_table(pa.Table.from_pylist([to_row(question)], schema(Question)), folder / "a.parquet")
        return [json.dumps([to_row(question)]).encode(), (folder / "a.parquet").read_bytes()]
    if reader == "logs":
        files = [file for file in (ROOT / "tests" / "evaluation" / "logs").rglob("*.*") if file.suffix in SUFFIXES]
        return [
            bytes([source, SUFFIXES.index(file.suffix)]) + file.read_bytes()[:40_000]
            for file in files
            for source in range(7)
        ]
    return list(SEEDS)


@pytest.mark.release
@pytest.mark.parametrize("reader", READERS)
def test_no_text_breaks_a_reader(reader: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec("atheris"):
        pytest.skip("atheris is not installed")
    (tmp_path / "corpus").mkdir()
    for number, seed in enumerate(corpus(reader, tmp_path)):
        (tmp_path / "corpus" / str(number)).write_bytes(seed)
    run = [sys.executable, str(ROOT / "tests" / "bench" / "fuzz.py"), reader, str(tmp_path / "corpus")]
    limits = [f"-max_total_time={SECONDS}", "-timeout=20", f"-max_len={LONGEST.get(reader, 3000)}"]
    ended = subprocess.run([*run, *limits], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
