"""A Git LFS pointer in place of a file is called what it is, by whoever meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.files import pointer_note
from livek12.core.packed import PackedLines
from livek12.core.questions import read_records
from livek12.core.records import Question
from livek12.core.run.journal import journal_lines
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.ingest.keys import entries
from livek12.dataset_builders.ingest.pages import pdf
from livek12.dataset_builders.reading.images import check_image
from livek12.dataset_builders.reading.rows import read_rows
from livek12.engines import replay
from livek12.evaluation import pair_file
from livek12.evaluation.logs import objects
from livek12.evaluation.studies import labels

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 123456\n"


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "paper": ("x.pdf", pdf.checked),
    "key": ("x.csv", entries.entries_of_csv),
    "picture": ("x.png", lambda file: check_image(file.read_bytes(), file.name)),
    "data set": ("x.parquet", lambda file: list(read_records(Question, file))),
    "packed run": ("x.parquet", PackedLines),
    "journal": ("responses-0.jsonl", lambda file: list(journal_lines(file.parent, "responses"))),
    "recorded responses": ("x.jsonl", lambda file: list(replay._lines(file))),
    "pairs": ("x.jsonl", lambda file: list(pair_file.numbered_lines(file))),
    "log": ("x.jsonl", lambda file: list(objects(file))),
    "labels": ("x.jsonl", lambda file: list(labels.read_rows(file))),
}


@pytest.mark.parametrize("name", list(READERS))
def test_a_pointer_is_told_from_a_damaged_file(tmp_path: Path, name: str) -> None:
    file, reader = READERS[name]
    path = tmp_path / file
    path.write_bytes(POINTER)
    with pytest.raises((UserError, BadRow)) as error:
        reader(path)
    line = str(error.value)
    assert "Git LFS pointer" in line and "123,456 bytes" in line and "git lfs pull" in line and file in line
    assert "damaged" not in line and "\n" not in line


@pytest.mark.parametrize("file", ["x.jsonl", "x.json", "x.csv", "x.parquet"])
def test_a_source_of_pointers_says_so(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(POINTER)
    log = Log()
    assert not list(read_rows(tmp_path / file, log))
    assert any("Git LFS pointer" in line for line in log.skipped)


@pytest.mark.parametrize("data", [b"", b"version 1", b"%PDF-1.4", b'{"version": "https://git-lfs.github.com/spec/v1"}'])
def test_anything_else_is_no_pointer(data: bytes) -> None:
    assert not pointer_note(data)
