"""A journal read while it is written: every whole line once, in order, whatever stands half-written at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Failure, Key
from livek12.core.run.journal import JournalWriter, Tail


def failure(name: object) -> Failure:
    return Failure(key=Key(task="t", question_id=str(name)), state="failed", reason="말 “…”")


@given(st.lists(st.integers(1, 400), max_size=30))
def test_every_line_comes_once_however_the_bytes_arrive(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("tail")
    records = [failure(number) for number in range(8)]
    text = b"".join(record.model_dump_json().encode() + b"\n" for record in records)
    tail, seen, place = Tail(folder, "failures", Failure), list[Failure](), 0
    for size in (*cuts, len(text)):
        with (folder / "failures-0.jsonl").open("ab") as file:
            file.write(text[place : place + size])
        place = min(place + size, len(text))
        seen += tail.fresh()
        assert seen == records[: text[:place].count(b"\n")]
    assert seen == records


def test_all_writers_are_read_and_rubbish_is_passed_over(tmp_path: Path) -> None:
    tail = Tail(tmp_path, "failures", Failure)
    assert list(tail.fresh()) == []
    with JournalWriter(tmp_path, "failures") as one, JournalWriter(tmp_path, "failures") as other:
        one.append(failure("a"))
        other.append(failure("b"))
        assert [record.key.question_id for record in tail.fresh()] == ["a", "b"]
        other.path.open("ab").write(b"rubbish\n")
        one.append(failure("c"))
        other.append(failure("d"))
        stream = tail.fresh()
        assert next(stream).key.question_id == "c"
    assert [record.key.question_id for record in tail.fresh()] == ["d"], "what was not taken comes again"
