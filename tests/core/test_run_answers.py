"""Answers read from the table of a run are those that its rows have, one by one, as long as its files are the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core import compaction, run_answers
from livek12.core.compaction import compact, restore
from livek12.core.packed import light_line
from livek12.core.records import Failure, Key, Question, Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import AnsweredKeys
from livek12.core.run_answers import ScoredAnswers, answers_of, read_answers
from livek12.core.scoring.outcomes import Outcomes, Slim
from livek12.evaluation.reporting import score
from tests.core.test_light import TASK, a_run, verdict


@pytest.fixture(autouse=True)
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes over rows; tables are kept of small runs, too."""
    passes: list[str] = []
    real = run_answers.answers_of
    monkeypatch.setattr(run_answers, "LEAST_KEPT", 0)
    monkeypatch.setattr(run_answers, "answers_of", lambda *args: (passes.append("rows"), real(*args))[1])
    return passes


def read(folder: Path, told: Callable[[str], None] | None = None, **options: Any) -> ScoredAnswers:
    return read_answers(RunFolder(folder, told), Slim(), **options)


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


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("change", [None, again, regrades])
def test_the_table_says_what_rows_say(
    tmp_path: Path, judged: bool, change: Callable[[Path], None] | None, packed: bool, reads: list[str]
) -> None:
    folder, told = a_run(tmp_path / "run", judged), [list[str](), list[str](), list[str]()]
    if change is not None:
        change(folder)
    before, scores = by_row(folder, told[0].append), score(RunFolder(folder))
    if packed:
        compact(folder)
    assert same(read(folder, told[1].append), before)
    reads.clear()
    assert same(read(folder, told[2].append), before)
    assert not reads
    assert told[1] == told[2]
    assert {line for line in told[2] if "regrades" in line} == {line for line in told[0] if "regrades" in line}
    assert {**score(RunFolder(folder)), "run": None} == {**scores, "run": None}


def test_rows_of_some_questions_alone(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=True)
    regrades(folder)
    chosen = {"q3", "q29"}
    for texts in (False, True):
        rows = RunFolder(folder).rows(texts, {(TASK, id) for id in chosen})
        assert list(rows) == [row for row in RunFolder(folder).rows(texts) if row.question.id in chosen]


class Picker:
    """As `report.shown.Shown`."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.questions = {(TASK, "q3"), (TASK, "q29")}

    def passing(self, rows: Any) -> Any:
        for row in rows:
            if (row.task, row.question.id) in self.questions:
                self.rows.append(row)
            yield row


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_a_page_have_their_texts(tmp_path: Path, packed: bool, reads: list[str]) -> None:
    folder = a_run(tmp_path / "run", judged=True)
    regrades(folder)
    before = by_row(folder)
    if packed:
        compact(folder)
    for passes in (["rows"], []):
        picker = Picker()
        assert same(read(folder, picker=picker), before)
        assert picker.rows == [row for row in RunFolder(folder).rows() if row.question.id in {"q3", "q29"}]
        assert any(row.response.text for row in picker.rows)
        assert reads == passes
        reads.clear()


def test_only_the_questions_that_are_asked_for(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    regrades(folder)

    def takes(question: Question) -> bool:
        return int(question.id[1:]) % 4 == 1

    rows = answers_of((row for row in RunFolder(folder).rows() if takes(row.question)), Slim())
    assert same(read(folder, takes=takes), rows)
    read(folder)
    assert same(read(folder, takes=takes), rows)


def test_a_run_without_marks(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    for file in folder.glob("verdicts-*.jsonl"):
        file.unlink()
    before = by_row(folder)
    compact(folder)
    assert all(same(read(folder), before) for _ in range(2))


def more_answers(folder: Path) -> None:
    with RunFolder(folder).writer("responses") as responses:
        responses.append(response(0))


def other_judge(folder: Path) -> None:
    RunFolder(folder).begin_marking({TASK: "rules-2"}, {"rules-2": "rules"}, 2)


def damaged_table(folder: Path) -> None:
    file = run_answers._file(RunFolder(folder))
    file.write_bytes(file.read_bytes()[:-300])


@pytest.mark.parametrize("change", [more_answers, again, regrades, other_judge, damaged_table])
def test_a_table_of_other_files_is_made_anew(tmp_path: Path, change: Callable[[Path], None], reads: list[str]) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    read(folder)
    change(folder)
    reads.clear()
    assert same(read(folder), by_row(folder))
    assert reads == ["rows"]
    assert same(read(folder), by_row(folder))
    assert reads == ["rows"]


def test_a_table_goes_with_a_run_that_is_packed_unless_a_problem_names_its_lines(
    tmp_path: Path, reads: list[str]
) -> None:
    folder, told = a_run(tmp_path / "run", judged=True), list[str]()
    before = read(folder)
    reads.clear()
    for change in (compact, restore, compact):
        change(folder)
        assert same(read(folder), before)
        assert not reads
    restore(folder)
    with (folder / "responses-0.jsonl").open("a") as lines:
        lines.write('{"damaged": 1}\n')
    read(folder)
    compact(folder)
    assert same(read(folder, told.append), before)
    assert "responses.parquet:" in told[0]


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "file"))
    assert all(same(read(folder), by_row(folder)) for _ in range(2))


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


def line_of(record: Response | Verdict) -> bytes:
    return record.model_dump_json().encode("utf-8", "replace")


@given(st.text(), st.text(), st.integers(0, 9), st.text())
def test_the_key_of_a_line_is_that_of_its_record(task: str, id: str, trial: int, text: str) -> None:
    key = Key(task=task, question_id=id, trial=trial)
    one = Response(key=key, text=text, engine="e", model="m")
    line = one.model_dump_json().encode("utf-8", "replace") + b"\n"
    assert compaction._key(line) == Response.model_validate_json(line).key
    marks = Verdict(key=key, response_sha256=one.sha256, state="graded", points=1, low=1, high=1, max_points=1,
                    correct=True, judge=text, versions={"a": text})  # fmt: skip
    light = light_line(marks)
    assert light is not None
    assert Verdict.model_validate_json(light).versions == Verdict.model_validate_json(line_of(marks)).versions


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
