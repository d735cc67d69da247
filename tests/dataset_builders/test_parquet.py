"""Tables as they are written: columns, order, bounds, errors of the thread that writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.features import schema, to_row
from livek12.core.records import Image, Page, Question, Record
from livek12.dataset_builders.writing import parquet
from livek12.dataset_builders.writing.parquet import TableWriters, batch_of, columns_of, leaves
from tests.core.test_features import records


@given(st.sampled_from([Question, Page]).flatmap(lambda kind: st.lists(records(kind), max_size=4)))
@settings(max_examples=50)
def test_a_batch_is_what_pyarrow_makes_of_the_rows(found: list[Record]) -> None:
    columns = schema(type(found[0]) if found else Question)
    rows = [to_row(record) for record in found]
    batch = batch_of(columns_of(rows, columns.names), columns)
    batch.validate(full=True)
    assert batch.equals(pa.RecordBatch.from_pylist(rows, schema=columns))


def test_no_batch_needs_pandas() -> None:
    """Importing it would take a second of every build."""
    code = (
        "import sys; from livek12.core.features import schema; from livek12.core.records import Page; "
        "from livek12.dataset_builders.writing.parquet import batch_of; "
        "row = {'paper_id': 'p', 'page_number': 1, 'image': None, 'language': None, 'release': 'r'}; "
        "values = {name: [value] for name, value in row.items()}; "
        "assert batch_of(values, schema(Page)).to_pylist() == [row]; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def question(number: int, size: int = 10) -> Question:
    return Question(
        id=f"q{number}",
        benchmark="livek12",
        language="zh",
        subject="math",
        question_type="proof",
        question="?",
        images=[Image(bytes=bytes(size), path="a.png")],
    )


def test_many_tables_at_once_stay_within_the_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BUFFER_BYTES", 20_000)
    with TableWriters(tmp_path) as writers:
        for number in range(200):
            writers.write(f"table{number % 7}", f"zh_{number % 3}", question(number, 1_000))
            assert sum(writer.buffered for writer in writers._writers.values()) <= 20_000
    assert sum(sum(splits.values()) for splits in writers.counts.values()) == 200
    for table in range(7):
        for split in range(3):
            (file,) = (tmp_path / f"table{table}").glob(f"zh_{split}-*")
            ids = pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()
            assert ids == [f"q{number}" for number in range(200) if (number % 7, number % 3) == (table, split)]


def test_pictures_are_stored_as_they_are(tmp_path: Path) -> None:
    with TableWriters(tmp_path) as writers:
        writers.write("default", "zh", question(1, 5_000))
    metadata = pq.ParquetFile(tmp_path / "default" / "zh-00000-of-00001.parquet").metadata.row_group(0)
    columns = {metadata.column(n).path_in_schema: metadata.column(n) for n in range(metadata.num_columns)}
    assert set(columns) == set(leaves(schema(Question)))
    assert columns["images.list.element.bytes"].compression == "UNCOMPRESSED"
    assert columns["question"].compression == "ZSTD"


def test_an_error_of_the_writing_thread_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> pa.RecordBatch:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "batch_of", broken)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 2)
    with pytest.raises(OSError, match="No space left"), TableWriters(tmp_path) as writers:
        for number in range(100):
            writers.write("default", "zh", question(number))
    assert number < 10  # the reader stops soon, not at the end
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_error_of_the_reader_leaves_no_named_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), TableWriters(tmp_path) as writers:
        for number in range(parquet.GROUP_ROWS + 1):
            writers.write("default", "zh", question(number))
        raise ZeroDivisionError
    assert not list(tmp_path.rglob("*.parquet"))
