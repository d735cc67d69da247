"""Answers read by column are those that rows say, one by one; what only rows can say is left to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core import compaction
from livek12.core.compaction import compact
from livek12.core.light import light_line, without_key
from livek12.core.packed import packed_path
from livek12.core.packed_answers import PackedAnswers, packed_answers
from livek12.core.records import Failure, Key, Question, Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.keys import AnsweredKeys
from livek12.core.run_answers import ScoredAnswers, answers_of
from livek12.core.scoring.columns import Outcomes
from livek12.core.scoring.outcomes import Slim
from livek12.evaluation.reporting import score
from tests.core.test_light import TASK, a_run, verdict


def by_column(folder: Path, told: Callable[[str], None] | None = None, **options: Any) -> PackedAnswers:
    found = packed_answers(RunFolder(folder, told), Slim(), versions=True, **options)
    assert found is not None
    return found


def by_row(folder: Path, told: Callable[[str], None] | None = None) -> ScoredAnswers:
    return answers_of(RunFolder(folder, told).rows(), Slim())


def same(one: ScoredAnswers, other: ScoredAnswers) -> bool:
    assert list(one.outcomes) == list(other.outcomes)
    assert list(one.origins.items()) == list(other.origins.items())
    return one.judges == other.judges and one.changes == other.changes


def response(number: int, trial: int = 0, text: str = "So x = 3.", model: str = "m") -> Response:
    key = Key(task=TASK, question_id=f"q{number}", trial=trial)
    return Response(key=key, text=text, engine="vllm", model=model, versions={"livek12": f"0.{trial}"})


def again(folder: Path) -> None:
    """Answers that were given twice, by another model, to nothing that is asked; and marks of other answers."""
    run = RunFolder(folder)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for number in (3, 4, 90):
            responses.append(response(number, text="something else"))
            verdicts.append(verdict(response(number, text="not that"), number, judged=False))
        responses.append(response(5, model="another"))
        responses.append(response(6, trial=7))
    with run.writer("failures") as failures:
        failures.append(Failure(key=response(0).key, state="unsupported", reason="no picture"))


def regrades(folder: Path) -> None:
    lines = []
    for one in [*RunFolder(folder).responses()][3:20:4]:
        said = {"task": TASK, "question_id": one.key.question_id, "responses": [one.sha256], "by": "kim"}
        lines.append(json.dumps({**said, "share": 0.5, "reason": "half of it is right"}))
    (folder / "regrades.jsonl").write_text("\n".join([*lines, lines[0].replace('"q', '"other q')]) + "\n")


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("change", [None, again, regrades])
def test_columns_say_what_rows_say(tmp_path: Path, judged: bool, change: Callable[[Path], None] | None) -> None:
    folder, told = a_run(tmp_path / "run", judged), list[str]()
    if change is not None:
        change(folder)
    before, scores = by_row(folder, told.append), score(RunFolder(folder))
    compact(folder)
    again = list[str]()
    found = by_column(folder, again.append)
    assert same(found.answers(), before)
    assert {line for line in again if "regrades" in line} == {line for line in told if "regrades" in line}
    assert {**score(RunFolder(folder)), "run": None} == {**scores, "run": None}
    for texts in (False, True):
        rows = RunFolder(folder).rows(texts)
        assert list(found.rows(lambda task, question: question.id in {"q3", "q29"}, texts)) == [
            row for row in rows if row.question.id in {"q3", "q29"}
        ]


def test_only_the_questions_that_are_asked_for(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    regrades(folder)
    compact(folder)

    def takes(question: Question) -> bool:
        return int(question.id[1:]) % 4 == 1

    rows = (row for row in RunFolder(folder).rows() if takes(row.question))
    assert same(by_column(folder, takes=takes).answers(), answers_of(rows, Slim()))


def test_a_run_without_marks_and_one_that_was_hardly_begun(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    for file in folder.glob("verdicts-*.jsonl"):
        file.unlink()
    before = by_row(folder)
    compact(folder)
    assert same(by_column(folder).answers(), before)


def test_what_only_rows_can_say_is_left_to_them(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folder = a_run(tmp_path / "run", judged=True)
    assert packed_answers(RunFolder(folder), Slim()) is None
    compact(folder)
    assert packed_answers(RunFolder(folder), Slim()) is not None
    table = pq.read_table(packed_path(folder, "verdicts"))
    pq.write_table(table.drop_columns(["versions"]), packed_path(folder, "verdicts"), use_dictionary=["file", "task"])
    assert packed_answers(RunFolder(folder), Slim()) is not None
    assert packed_answers(RunFolder(folder), Slim(), versions=True) is None
    with RunFolder(folder).writer("responses") as more:
        more.append(response(0))
    assert packed_answers(RunFolder(folder), Slim()) is None


def test_a_line_that_is_no_record_leaves_all_to_rows(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    with (folder / "responses-0.jsonl").open("a") as lines:
        lines.write('{"damaged": 1}\n')
    before = by_row(folder)
    compact(folder)
    assert packed_answers(RunFolder(folder), Slim()) is None
    assert list(by_row(folder).outcomes) == list(before.outcomes)


def test_columns_are_a_sequence_of_outcomes(tmp_path: Path) -> None:
    slim = Slim()
    outcomes = [slim(row) for row in RunFolder(a_run(tmp_path / "run", judged=True)).rows()]
    columns = Outcomes.of(outcomes)
    assert list(columns) == outcomes
    assert list(columns[3:40:5]) == outcomes[3:40:5]
    assert columns[-1] == outcomes[-1]
    assert list(Outcomes.joined([columns[:7], columns[7:]])) == outcomes
    some = columns.where(lambda question: question.id < "q2")
    assert list(some) == [one for one in outcomes if one.question.id < "q2"]
    assert {question.id for question in some.asked()} == {one.question.id for one in some}
    assert [list(rows) for rows in columns.by_task().values()] == [outcomes]
    assert len(Outcomes.of([])) == len(Outcomes.joined([])) == 0


@given(st.text(), st.text(), st.integers(0, 9), st.text())
def test_the_key_of_a_line_is_that_of_its_record(task: str, id: str, trial: int, text: str) -> None:
    key = Key(task=task, question_id=id, trial=trial)
    one = Response(key=key, text=text, engine="e", model="m")
    line = one.model_dump_json().encode("utf-8", "replace") + b"\n"
    assert compaction._key(line) == Response.model_validate_json(line).key
    marks = Verdict(key=key, response_sha256=one.sha256, state="graded", points=1, low=1, high=1, max_points=1,
                    correct=True, judge=text)  # fmt: skip
    light = light_line(marks)
    assert light is not None
    cut = without_key(light)
    assert cut is not None
    assert cut[0].decode() == one.sha256
    other = light_line(marks.model_copy(update={"key": Key(task="t", question_id="q"), "response_sha256": None}))
    assert other is not None
    assert without_key(other) == (b"", cut[1])


BROKEN = {
    "cut within a text and gone on behind it": lambda line, other: line[:300] + other,
    "a block of zeros": lambda line, other: line[:200] + b"\0" * 100 + line[300:],
    "without its end": lambda line, other: line[:-40] + b"\n",
    "without a model": lambda line, other: line.replace(b'"model":"m",', b""),
    "no JSON": lambda line, other: b"}" + line[1:],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_an_answer_that_is_not_whole_does_not_count_when_a_run_goes_on(tmp_path: Path, broken: str) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    file = folder / "responses-0.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[5] = BROKEN[broken](lines[5], lines[6])
    file.write_bytes(b"".join(lines))
    told = [list[str](), list[str]()]
    stored = RunFolder(folder, told[0].append).answered()
    found = AnsweredKeys(folder, RunFolder(folder).expected(), told[1].append)()
    assert set(found) == set(stored)
    assert len(stored) == 57
    assert told[1] == told[0]
