"""Sources of odd shapes: what they hold is in the data set, or its loss is said. Nothing goes in silence."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.reading.naming import refuse_losses
from tests.dataset_builders.pictures import picture


def one(number: int, **more: Any) -> dict[str, Any]:
    return {"question": f"Which number is T{number}Q of the list?", "answer": f"T{number}A", **more}


def choice(options: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"question": f"Which one is T{number}Q?", "options": options, **more} for number in range(5)]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


PAIRS = [{"label": "A", "text": "T1O", "image": "1.png"}, {"label": "B", "text": "T2O", "image": "2.png"}]
FLAGS = [{"text": "T1O", "is_correct": False}, {"text": "T2O", "is_correct": True}]
WHOLE: dict[str, tuple[str, str, int]] = {
    "lines in .json": ("a.json", lines([one(1), one(2), one(3)]), 0),
    "objects one behind the other": ("a.json", json.dumps(one(1), indent=1) + json.dumps(one(2), indent=1), 0),
    "lists one behind the other": ("a.json", json.dumps([one(1)]) + "\n" + json.dumps([one(2)]), 0),
    "lists of two names": ("a.json", json.dumps({"data": [one(1)], "problems": [one(2)]}), 0),
    "lists by subject": ("a.json", json.dumps({"algebra": [one(1)], "geometry": [one(2)]}), 0),
    "rows by id": ("a.json", json.dumps({"q1": one(1), "q2": one(2)}), 0),
    "pictures of all rows": ("a.json", json.dumps({"images": ["1.png"], "questions": [one(1), one(2)]}), 2),
    "ndjson": ("a.ndjson", lines([one(1), one(2)]), 0),
    "a table with line breaks": ("a.csv", '\ufeffquestion,answer\r\n"T1Q\r\n\r\nT2Q, ""T3Q""",T1A\r\n', 0),
    "options with pictures": ("a.jsonl", lines(choice(PAIRS, answer="A")), 10),
    "options that are pictures": ("a.jsonl", lines(choice({"A": "1.png", "B": "2.png"}, answer="A")), 10),
    "options of pictures alone": ("a.jsonl", lines(choice([{"image": "1.png"}, {"image": "2.png"}], answer="A")), 10),
    "options in pairs": ("a.jsonl", lines(choice([["A", "T1O"], ["B", "T2O"]], answer="A")), 0),
    "options in objects": ("a.jsonl", lines(choice({"A": {"text": "T1O"}, "B": {"text": "T2O"}}, answer="A")), 0),
    "options that know": ("a.jsonl", lines(choice(FLAGS)), 0),
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_is_there(name: str, tmp_path: Path) -> None:
    file, text, pictures = WHOLE[name]
    (tmp_path / file).write_text(text)
    for number in range(1, 3) if pictures else ():
        (tmp_path / f"{number}.png").write_bytes(picture(number))
    log = Log()
    found = [q for q in read(livek12.BUILDER, tmp_path, log) if isinstance(q, Question)]
    refuse_losses(tmp_path, log)
    assert set(re.findall(r"T\d[QAO]", text)) <= set(re.findall(r"T\d[QAO]", str([q.model_dump() for q in found])))
    assert sum(len(q.images) for q in found) == pictures and not log.skipped
    if name == "options that know":
        assert {(q.question_type, *q.answer) for q in found} == {("single_choice", "B")}


def beside(name: str, content: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "rows.json").write_text(json.dumps([one(1)]))
        (folder / name).write_bytes(content)

    return write


def alone(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(text) and None


def twice_in_parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(["T1Q?"]), pa.array(["T1A"]), pa.array(["T2A"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["question", "answer", "answer"]), folder / "a.parquet")


WITH_MORE = [{"label": "A", "text": "T1O", "why": "T1E"}, {"label": "B", "text": "T2O"}]


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (beside("more.jsonl.gz", gzip.compress(b"{}")), r"files that are not read: 1 \(more.jsonl.gz\)"),
        (beside("paper.xlsx", b"PK"), r"files that are not read: 1 \(paper.xlsx\)"),
        (alone("a.json", json.dumps({"questions": [one(1)], "passage": "T1P"})), "'passage' holds for the rows, and"),
        (alone("a.json", json.dumps({"rules": "T1P", "questions": [one(1)]})), "no place in a question: rules"),
        (alone("a.json", '[{"question": "T1Q", "question": "T2Q"}]'), "'question' is there more than once"),
        (alone("a.jsonl", '{"question": "T1Q", "question": "T2Q"}'), "'question' is there more than once"),
        (alone("a.csv", "question,answer,answer\nT1Q,T1A,T2A\n"), "column 'answer' is there more than once"),
        (twice_in_parquet, "column 'answer' is there more than once"),
        (alone("a.csv", ",question,answer,\n" + "1,T1Q,T1A,T1X\n" * 4), r"would be lost: column 4 \(4 rows\)"),
        (alone("a.jsonl", lines(choice(WITH_MORE, answer="A"))), r"would be lost: options.why \(5 rows\)"),
        (alone("a.json", json.dumps({"exam": {"parts": [one(1)]}})), "not a list of rows"),
    ],
)
def test_what_is_lost_is_said(write: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    write(tmp_path)
    log = Log()
    list(read(livek12.BUILDER, tmp_path, log))
    try:
        refuse_losses(tmp_path, log)
        lost = ""
    except UserError as error:
        lost = str(error)
    assert re.search(said, "\n".join([*log.skipped, *log.notes, lost]))


def test_a_table_keeps_numbers_without_a_name_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",question,answer\n0,T1Q,T1A\n1,T2Q,T2A\n")
    log = Log()
    assert len(list(read(livek12.BUILDER, tmp_path, log))) == 2
    assert not log.lost and not log.skipped
