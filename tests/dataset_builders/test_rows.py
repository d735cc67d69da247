"""Rows out of JSON, JSONL and Parquet, whole and broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.base import Log, UniqueIds
from livek12.dataset_builders.reading.rows import read_rows

ROWS = [{"id": "a", "text": "甲"}, {"id": "b", "text": "乙"}]


def ids(source: Path, log: Log | None = None) -> list[object]:
    return [row.data.get("id") for row in read_rows(source, log or Log())]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_list(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(ROWS, indent=indent, ensure_ascii=False), encoding="utf-8-sig")
    rows = list(read_rows(file, Log()))
    assert [row.data for row in rows] == ROWS
    assert [row.where for row in rows] == (["rows.json:2", "rows.json:6"] if indent else ["rows.json:1"] * 2)
    assert [row.number for row in rows] == [1, 2]


def test_folder_of_all_kinds_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.json").write_text("[]")
    pq.write_table(pa.Table.from_pylist([{"id": "c"}]), tmp_path / "b" / "d.parquet")
    (tmp_path / ".hidden.json").write_text('[{"id": "x"}]')
    (tmp_path / "readme.txt").write_text("x")
    log = Log()
    assert ids(tmp_path, log) == ["a", "b", "c"]
    assert (log.read, log.skipped) == (3, [])


def test_bad_lines_cost_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [
        b'{"id": "a"}',
        b"{broken",
        b'{"id": "u", "text": "\xff\xfe"}',
        rb'{"id": "s", "text": "\ud800"}',
        b"[1]",
        b"[" * 100_000,
        rb'{"id": "b", "text": "\ud83d\ude00"}',
    ]
    file.write_bytes(b"\n".join(lines))
    log = Log()
    assert ids(file, log) == ["a", "b"]
    assert [line.split(": ")[0] for line in log.skipped] == [
        "rows.jsonl:2",
        "rows.jsonl:3 (u)",
        "rows.jsonl:4 (s)",
        "rows.jsonl:5",
        "rows.jsonl:6",
    ]
    assert "UTF-8" in log.skipped[1]
    assert "UTF-8" in log.skipped[2]
    assert not any("\n" in line for line in log.skipped)


@pytest.mark.parametrize("rest", ["", ", ", ', {"id": ', "] x", ' {"id": "c"}]', ", {broken}]"])
def test_broken_json_gives_what_came_before(tmp_path: Path, rest: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text('[\n{"id": "a"},\n{"id": "b"}' + ("" if rest == "] x" else ',\n{"id": "b2"}') + rest)
    log = Log()
    found = ids(file, log)
    assert found[:2] == ["a", "b"]
    (line,) = log.skipped
    assert line.startswith("rows.json:3" if rest == "] x" else "rows.json:4") and "cannot be read" in line


def test_truncated_parquet(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), file)
    file.write_bytes(file.read_bytes()[:-20])
    log = Log()
    assert ids(file, log) == []
    (line,) = log.skipped
    assert line.startswith("rows.parquet:1: left out: damaged Parquet")


@pytest.mark.parametrize("name", ["none", "none.json"])
def test_no_such_source(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        ids(tmp_path / name)


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    code = "from livek12.dataset_builders.reading.rows import hub_snapshot as h; h('org/name')"
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        "livek12.core.errors.UserError: cannot fetch org/name from the Hub (http://127.0.0.1:9 cannot be reached, and"
        " no copy is in the cache); give --source a local copy"
    )


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for source in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(UserError, match=r"no rows to read.*\.jsonl"):
            ids(source)


def test_object_instead_of_a_list(tmp_path: Path) -> None:
    (tmp_path / "info.json").write_text('{"a": 1}')
    log = Log()
    assert ids(tmp_path, log) == []
    assert log.skipped == ["info.json: left out: not a list of rows"]


def test_ids_become_unique_in_order() -> None:
    unique = UniqueIds()
    assert [unique.claim(id) for id in ["x", "x", "x-2", "y", "x", "x-2"]] == ["x", "x-2", "x-2-2", "y", "x-3", "x-2-3"]


def test_files_that_cannot_be_read_cost_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a"}\n')
    (tmp_path / "gone.jsonl").symlink_to("nothing.jsonl")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "removed.csv").write_text("id\nx\n")
    (tmp_path / "z.jsonl").write_text('{"id": "z"}\n')
    log = Log()
    rows = read_rows(tmp_path, log)
    found = [next(rows).id]
    (tmp_path / "removed.csv").unlink()
    found += [row.id for row in rows]
    assert found == ["a", "z"]
    assert [line.partition(":")[0] for line in log.skipped] == ["gone.jsonl", "loop.json", "removed.csv"]
    assert all("cannot be read" in line for line in log.skipped)
