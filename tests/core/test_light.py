"""Scores from columns without texts say what scores from the lines say, and a packed file cannot grow without bound."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core import packed
from livek12.core.compaction import compact
from livek12.core.errors import UserError
from livek12.core.packed import META, LightResponse, PackedLines, light_line, packed_path, size_of
from livek12.core.records import (
    Call,
    EarlierReply,
    Key,
    PartVerdict,
    Process,
    ProcessError,
    Question,
    Response,
    Verdict,
    Vote,
)
from livek12.core.run.folder import RunFolder
from livek12.core.scoring.outcomes import Slim
from livek12.core.text import tokens_in
from livek12.evaluation.comparing import compare_runs
from livek12.evaluation.reporting import score
from livek12.scripts.bench.common import begun_run
from tests.core.test_compaction import run_folder

TASK = "livek12_text_only"
TEXTS = ("So x = 3.", "  因此 x 等于三。\n", "", " \n", "정답은 3", "x" * 400 + "解" * 90)
THOUGHT = "PLANTED" * 200


def question(number: int) -> Question:
    kind: Any = ("fill_in_blank", "short_answer", "single_choice")[number % 3]
    return Question(
        id=f"q{number}", benchmark="livek12", language="zh", subject="math", question_type=kind, answer=["3"],
        question=f"求 x：x + {number} = 3", points=4.0, paper_id=f"p{number % 4}", solution="移项。",
    )  # fmt: skip


def verdict(response: Response, number: int, judged: bool) -> Verdict:
    decision: Any = ("accept", "reject", "undecided")[number % 3]
    share = {"accept": 1.0, "reject": 0.0}.get(decision)
    votes = [Vote(judge="j", decision=decision, reason=THOUGHT, raw=THOUGHT)] * judged
    part = PartVerdict(
        answer=THOUGHT, gold="3", decision=decision, score=share, decided_by="numeric", reason=THOUGHT, votes=votes
    )
    errors = [ProcessError(type="CIE", step=f"{THOUGHT} {n % 2}", reason=THOUGHT, judge="j") for n in range(number % 4)]
    process = Process(cie=0.5, lae=0.0, dre=0.25, errors=errors, critics=["j", "k"])
    calls = [Call(judge="j", prompt="p", raw=None if number % 5 == 0 else THOUGHT, problem=THOUGHT)]
    empty = not response.text.strip()
    return Verdict(
        key=response.key, response_sha256=response.sha256, parts=[] if empty else [part], reason=THOUGHT, judge="rules",
        state="no_answer" if empty else "graded" if share is not None else "ungraded",
        points=0.0 if empty else None if share is None else 4 * share, low=4 * (share or 0.0) * (not empty),
        high=0.0 if empty else 4.0 if share is None else 4 * share, max_points=4.0, versions={"rules": "1"},
        correct=False if empty else None if share is None else share == 1.0,
        process=process if judged and number % 2 else None, calls=calls * judged,
        process_ungraded=THOUGHT if judged and not number % 2 else None,
    )  # fmt: skip


def a_run(folder: Path, judged: bool, model: str = "m") -> Path:
    """A run with all that scores look at: texts of many kinds, replies before them, judges, an audit, answers open."""
    asked = [question(number) for number in range(30)]
    run = begun_run(folder, {TASK: asked}, model, trials=2, judges={TASK: "rules"})
    run.leave()
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for number in range(59, 1, -1):
            earlier = EarlierReply(text=THOUGHT, completion_tokens=number, prompt_tokens=7) if number % 3 else None
            response = Response(
                key=Key(task=TASK, question_id=f"q{number // 2}", trial=number % 2), text=TEXTS[number % len(TEXTS)],
                reasoning=THOUGHT, finish_reason=("stop", "length", None)[number % 3], completion_tokens=number * 10,
                prompt_tokens=20, cached_tokens=number, engine="vllm", model=model, earlier=earlier,
            )  # fmt: skip
            responses.append(response)
            marks = verdict(response, number, judged)
            if number % 7:
                verdicts.append(marks)
            if number % 6 == 0:  # of two the one that counts is not the later one
                verdicts.append(marks.model_copy(update={"state": "ungraded", "points": None, "low": 0.0, "high": 4.0}))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The columns of packed files that were read."""
    columns: list[str] = []
    real = PackedLines._read

    def noting(self: PackedLines, number: int, names: Sequence[str], nulls: bool = False) -> Any:
        columns.extend(f"{self._path.stem}.{name}" for name in names)
        return real(self, number, names, nulls)

    monkeypatch.setattr(PackedLines, "_read", noting)
    yield columns


@pytest.mark.parametrize("judged", [False, True])
def test_scores_of_a_packed_run_are_the_same_and_read_no_text(tmp_path: Path, judged: bool, read: list[str]) -> None:
    import pyarrow.parquet as pq

    runs = [a_run(tmp_path / name, judged, name) for name in ("one", "two")]
    before, compared = [score(RunFolder(run)) for run in runs], compare_runs(runs)
    for run in runs:
        compact(run)
    read.clear()
    after = [score(RunFolder(run)) for run in runs]
    assert [{**one, "run": None} for one in after] == [{**one, "run": None} for one in before]
    assert compare_runs(runs) == compared
    assert len(RunFolder(runs[0]).follow()()) == 58
    assert "responses.line" not in read
    assert "verdicts.line" not in read
    for stem in ("responses", "verdicts"):
        lines = pq.read_table(packed_path(runs[0], stem), columns=["light"])["light"].to_pylist()
        assert not any(b"PLANTED" in line for line in lines)


def test_marks_of_people_and_new_journals_count_beside_what_is_packed(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", judged=False)
    compact(folder)
    said = {**next(iter(RunFolder(folder).responses())).model_dump()}
    response = Response(**said)
    regrade = {
        "task": TASK, "question_id": response.key.question_id, "responses": [response.sha256], "share": 1.0,
        "correct": True, "by": "kim", "reason": "the key is wrong",
    }  # fmt: skip
    (folder / "regrades.jsonl").write_text(json.dumps(regrade) + "\n")
    key = Key(task=TASK, question_id="q0", trial=0)
    with RunFolder(folder).writer("responses") as more:
        more.append(response.model_copy(update={"key": key}))
    slim = Slim()
    without, whole = ([slim(row) for row in RunFolder(folder).rows(texts=texts)] for texts in (False, True))
    assert without == whole
    assert whole[0].tokens is not None
    assert score(RunFolder(folder))["regraded"]["by"]["kim"] >= 1


def test_damaged_lines_and_files_of_the_version_before_read_the_same(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folder, told = run_folder(tmp_path / "run"), list[str]()
    slim = Slim()
    whole = [slim(row) for row in RunFolder(folder, told.append).rows()]
    compact(folder)
    for older in (None, "before its light lines had versions", "0.2.0"):
        for stem in ("responses", "verdicts") if older else ():
            path = packed_path(folder, stem)
            table = pq.read_table(path)
            if older == "0.2.0":
                table = table.drop_columns([*(["model"] * (stem == "responses")), "light", "versions"])
            else:
                table = table.append_column("versions", table["file"])
            pq.write_table(table, path, use_dictionary=["file", "task", "versions"])
        again = list[str]()
        assert [slim(row) for row in RunFolder(folder, again.append).rows(texts=False)] == whole
        assert len(again) == len(told)
        assert {*RunFolder(folder).follow()()} == {*RunFolder(folder).answered()}
    compact(folder)
    assert "light" in PackedLines(packed_path(folder, "verdicts")).columns
    assert [slim(row) for row in RunFolder(folder).rows()] == whole


@given(st.text())
def test_a_light_response_measures_the_same(text: str) -> None:
    response = Response(key=Key(task="t", question_id="q"), text=text, engine="e", model="m")
    line = light_line(response)
    assert line is not None
    light = LightResponse.model_validate_json(line)
    assert (light.sha256, light.text) == (response.sha256, "")
    wide, narrow = size_of(light)
    assert (wide, narrow) == size_of(response)
    assert tokens_in(text.strip()) == wide + narrow / 4


def write_packed(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    """A responses.parquet that is not ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    account = json.dumps({"journals": {"responses-7.jsonl": [1 << 40, "0" * 64]}})
    path = packed_path(folder, "responses")
    pq.write_table(pa.table(columns).replace_schema_metadata({META: account}), path, **options)
    return path


def test_a_packed_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    run = run_folder(tmp_path / "run", questions=2)
    monkeypatch.setattr(packed, "MOST_BYTES", 1 << 20)
    zeros = pa.array([b" " * (1 << 20)] * 4, pa.large_binary())
    path = write_packed(run, {"line": zeros}, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 20_000
    with pytest.raises(UserError, match=r"group 0 cannot be read \(line unpacks to more than .* GB"):
        list(RunFolder(run).rows())
    same = pa.array([b" " * 1000] * 4000, pa.large_binary())
    write_packed(run, {"line": same}, compression="zstd", use_dictionary=True)  # one value stands for many
    with pytest.raises(UserError, match=r"group 0 cannot be read \(line unpacks to more than .* GB"):
        list(RunFolder(run).rows())
    names = pa.array(["n" * (1 << 20)] * 4).dictionary_encode()
    write_packed(run, {"file": names})
    with pytest.raises(UserError, match="file unpacks to more than"):
        PackedLines(path)._read(0, ["file"])
    monkeypatch.setattr(packed, "MOST_ROWS", 1000)
    write_packed(run, {"line": pa.array([b"{}\n"] * 2000, pa.large_binary())}, use_dictionary=False)
    with pytest.raises(UserError, match=r"2,000 rows, and 1,000 are the most"):
        list(RunFolder(run).rows())
