"""CSV, TSV and streamed JSON: whole, broken, hostile, and larger than what is held at once."""

from __future__ import annotations

import base64
import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core import tables
from livek12.core.records import Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12
from livek12.dataset_builders.builder import read as read_source
from livek12.dataset_builders.reading.rows import read_rows
from tests.dataset_builders.pictures import picture

PNG = picture()


def read(file: Path, log: Log | None = None) -> list[dict[str, Any]]:
    return [row.data for row in read_rows(file, log or Log())]


@pytest.mark.parametrize(("name", "delimiter"), [("r.csv", ","), ("r.TSV", "\t")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables(tmp_path: Path, name: str, delimiter: str, encoding: str, end: str) -> None:
    rows = [["id", "question", "", "answer"], ["a", f"one{delimiter}two\nthree", "0", '"3"'], ["b", "四", "1", ""]]
    with (tmp_path / name).open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator=end).writerows(rows)
    log = Log()
    found = list(read_rows(tmp_path / name, log))
    assert [row.data for row in found] == [
        {"id": "a", "question": f"one{delimiter}two\nthree", "answer": '"3"'},
        {"id": "b", "question": "四"},  # an empty field is a missing one
    ]
    assert [row.where for row in found] == [f"{name}:2", f"{name}:4"]
    assert (log.read, log.skipped) == (2, [])


@given(
    st.lists(
        st.fixed_dictionaries({"id": st.text(min_size=1), "q": st.text()}).filter(lambda row: row["id"].strip()),
        max_size=6,
    ),
    st.sampled_from([",", "\t"]),
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: Any, delimiter: str) -> None:
    file = tmp_path_factory.mktemp("t") / ("r.csv" if delimiter == "," else "r.tsv")
    rows = [{key: text.replace("\r", "") for key, text in row.items()} for row in rows]
    with file.open("w", encoding="utf-8", newline="", errors="replace") as stream:
        writer = csv.DictWriter(stream, ["id", "q"], delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    expected = [{k: v.encode(errors="replace").decode() for k, v in row.items() if v} for row in rows]
    assert read(file) == [row for row in expected if row]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"bad,1,2,3", "4 fields where the header has 2"),
        (b"bad", "1 fields where the header has 2"),
        (b'bad,"never closed', "cannot be read"),
        (b'bad,"closed" too early', "cannot be read"),
        (b"bad,\xff\xfe", "not valid UTF-8"),
        (b"bad,\xed\xa0\x80", "not valid UTF-8"),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_a_broken_row_costs_one_line(tmp_path: Path, broken: bytes, said: str, last: bool) -> None:
    rows = [b"id,q", b"a,1", broken, *([] if last else [b'b,"2"', b"c,3"])]
    (tmp_path / "r.csv").write_bytes(b"\n".join(rows))
    log = Log()
    assert [row["id"] for row in read(tmp_path, log)] == (["a"] if last else ["a", "b", "c"])
    (line,) = log.skipped
    assert line.startswith("r.csv:3")
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"id,q,q", "'q' is there more than once"),
        ("문제,답".encode("cp949"), "the header is not UTF-8"),
        ("id,q".encode("utf-16"), "UTF-16"),
        (b'"id,q', "cannot be read"),
    ],
)
def test_a_header_that_is_none(tmp_path: Path, header: bytes, said: str) -> None:
    (tmp_path / "r.csv").write_bytes(header + b"\na,1\nb,2\n")
    log = Log()
    assert read(tmp_path, log) == []
    (line,) = log.skipped
    assert line.startswith("r.csv:1: left out: ")
    assert said in line


def test_lines_and_fields_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINE", 1000)
    monkeypatch.setattr("livek12.dataset_builders.reading.rows.MAX_LINE", 1000)
    long = "x" * 3000
    (tmp_path / "r.csv").write_text(f'id,q\na,1\nlong,{long}\nb,2\nquoted,"{long[:900]}\n{long[:900]}"\nc,3\n')
    (tmp_path / "s.jsonl").write_text(
        "\n".join(json.dumps({"id": i, "q": q}) for i, q in (("d", ""), ("l", long), ("e", "")))
    )
    log = Log()
    assert [row["id"] for row in read(tmp_path, log)] == ["a", "b", "c", "d", "e"]
    assert [line.split(":")[1] for line in log.skipped] == ["3", "5", "6", "2"]


def test_a_quote_that_is_never_closed_costs_no_second_reading_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROW_LINES", 50)
    (tmp_path / "r.csv").write_text("id,q\n" + 'open,"x\n' + "\n".join(f"r{n},1" for n in range(500)))
    log = Log()
    assert len(read(tmp_path, log)) == 500
    (line,) = log.skipped
    assert "a quote is not closed within 50 lines" in line


@pytest.mark.parametrize("chunk", [1, 2, 7, 64])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("wrapped", [False, True])
def test_json_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, indent: int | None, wrapped: bool
) -> None:
    monkeypatch.setattr("livek12.dataset_builders.reading.rows.CHUNK", chunk)
    rows = [{"id": str(n), "q": f'甲 "{n}" \\n', "n": [n, {"x": 1.5e3}, None]} for n in range(9)]
    value: Any = {"keywords": "k", "info": {"a": [1]}, "n": 12, "example": rows} if wrapped else rows
    (tmp_path / "r.json").write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8-sig")
    found = list(read_rows(tmp_path, Log()))
    assert [row.data for row in found] == rows
    assert [row.context for row in found] == [{"keywords": "k", "info": {"a": [1]}, "n": 12} if wrapped else {}] * 9


def test_json_holds_no_more_than_a_row(tmp_path: Path) -> None:
    import tracemalloc

    (tmp_path / "r.json").write_text(json.dumps([{"id": str(n), "q": "x" * 100_000} for n in range(300)]))
    tracemalloc.start()
    assert sum(1 for _ in read_rows(tmp_path, Log())) == 300
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000  # of 30 million


def test_parquet_text_that_is_not_utf8(tmp_path: Path) -> None:
    texts = pa.Array.from_buffers(
        pa.string(), 3, pa.array([b"a", b"\xff\xfe", b"c"], pa.binary()).buffers(), null_count=0
    )
    pq.write_table(pa.table({"id": ["a", "b", "c"], "q": texts}), tmp_path / "r.parquet")
    log = Log()
    assert [row["id"] for row in read(tmp_path, log)] == ["a", "c"]
    assert log.skipped == ["r.parquet:2: left out: not valid UTF-8"]


def test_a_data_file_that_links_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "secret.json").write_text('[{"id": "x"}]')
    (tmp_path / "s" / "a.jsonl").write_text('{"id": "a"}')
    (tmp_path / "s" / "link.json").symlink_to(tmp_path / "secret.json")
    log = Log()
    assert [row["id"] for row in read(tmp_path / "s", log)] == ["a"]
    assert log.skipped == ["link.json: left out: the link leads out of the source's folder"]


CODED = base64.b64encode(PNG).decode()
CODED_1 = base64.b64encode(picture(1)).decode()


@pytest.mark.parametrize(
    "images",
    [
        "a.png",
        "['a.png', 'b.png']",
        '["a.png", "b.png"]',
        "['a.png' 'b.png']",  # an array as numpy spells it
        CODED,
        f"['{CODED}', '{CODED_1}']",
        f"data:image/png;base64,{CODED}",
        "https://h.test/x/a.png",
        "['https://h.test/x/a.png', 'https://h.test/x/b.png']",
    ],
)
@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl"])
def test_images_in_every_form(tmp_path: Path, images: str, name: str) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(picture(1))
    row = {"id": "en_2603_math_1", "set": "2603", "question": "Find x.", "answer": "['3']", "images": images}
    with (tmp_path / name).open("w", newline="") as stream:
        if name.endswith("jsonl"):
            stream.write(json.dumps(row))
        else:
            writer = csv.DictWriter(stream, list(row), delimiter="\t" if name.endswith("tsv") else ",")
            writer.writeheader()
            writer.writerow(row)
    log = Log()
    (question,) = [record for record in read_source(livek12.BUILDER, tmp_path, log) if isinstance(record, Question)]
    assert [image.bytes for image in question.images] == [PNG, picture(1)][: 2 if images[0] == "[" else 1]
    assert (question.answer, log.skipped) == (["3"], [])


@pytest.mark.parametrize("form", ["structs", "paths", "bytes"])
def test_image_columns_of_parquet(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    value: Any = {"structs": {"bytes": PNG, "path": "x/a.png"}, "paths": "a.png", "bytes": PNG}[form]
    pq.write_table(pa.Table.from_pylist([{"id": "q", "question": "x", "images": [value]}]), tmp_path / "r.parquet")
    (question,) = read_source(livek12.BUILDER, tmp_path, Log())
    assert isinstance(question, Question)
    assert [image.bytes for image in question.images] == [PNG]
