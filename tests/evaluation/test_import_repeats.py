"""Repeats in recorded answers: each is a trial, none is dropped without a word, and one that lacks has failed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from livek12.tasks.plugins.harness_task import harness_name, open_task
from tests.plugins.conftest import needs, write_rows
from tests.scripts.command import Ended, livek12, livek12_here

TASK = "cfe_text"
Said = dict[str, list[str]]
"""Question → its answers, trial by trial."""


@pytest.fixture(scope="module")
def ids(data: Path) -> list[str]:
    return [document.id for document in open_task(TASK, str(data)).documents]


def jsonl(folder: Path, said: Said) -> Path:
    rows = [
        {"question_id": id, "trial": trial, "response": text}
        for id, of in said.items()
        for trial, text in enumerate(of)
    ]
    return write_rows(folder / "a.jsonl", rows)


def lm_eval(folder: Path, said: Said) -> Path:
    rows = [{"doc": {"id": id, "task": TASK}, "resps": [of]} for id, of in said.items()]
    write_rows(folder / f"samples_{harness_name(TASK)}_2026.jsonl", rows)
    return folder


def lmms_eval(folder: Path, said: Said) -> Path:
    rows = [{"questions": id, "filtered_resps": of} for id, of in said.items()]
    write_rows(folder / f"2026_samples_{harness_name(TASK)}.jsonl", rows)
    return folder


def lighteval(folder: Path, said: Said) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"doc": {"specific": {"task": TASK, "question_id": id}}, "model_response": {"text": of}}
        for id, of in said.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "details_x.parquet")
    return folder


LOGS: dict[str, Callable[[Path, Said], Path]] = {
    "jsonl": jsonl,
    "lm-eval": lm_eval,
    "lmms-eval": lmms_eval,
    "lighteval": lighteval,
}
"""VLMEvalKit has no repeats, and Inspect's epochs are in its own tests."""


def imported(log: Path, source: str, data: Path, out: Path, *more: Any) -> Ended:
    how = ("--from", source, "--task", TASK, "--data", data, "--out", out)
    return livek12_here("import-responses", log, *how, *more)


def trials_of(run: Path) -> dict[tuple[str, int], str | None]:
    rows = RunFolder.open(run).rows()
    return {(row.question.id, row.trial): row.response.text if row.response else None for row in rows}


@pytest.mark.parametrize("source", LOGS)
def test_every_repeat_is_a_trial(source: str, ids: list[str], data: Path, tmp_path: Path) -> None:
    needs("pyarrow")
    (logs := tmp_path / "logs").mkdir()
    said = {id: [f"\\boxed{{{n}}} of {id}" for n in range(3)] for id in ids}
    ended = imported(LOGS[source](logs, said), source, data, tmp_path / "run")
    assert (ended.code, ended.warnings) == (0, []), ended.err
    assert trials_of(tmp_path / "run") == {(id, n): text for id, of in said.items() for n, text in enumerate(of)}
    counts = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"][TASK]["counts"]
    assert (counts["questions"], counts["trials"], counts["answers"]) == (len(ids), 3, 3 * len(ids))


def test_fewer_trials_than_there_are_is_said(ids: list[str], data: Path, tmp_path: Path) -> None:
    log = jsonl(tmp_path, {id: ["\\boxed{1}", "\\boxed{2}", "\\boxed{3}"] for id in ids})
    ended = imported(log, "jsonl", data, tmp_path / "run", "--trials", 2)
    assert ended.code == 0
    (said,) = ended.warnings
    assert f"{len(ids)} recorded answers are left out, for this run takes 2 of each question" in said
    assert "a new run with --trials 3 takes them" in said


def test_questions_with_fewer_repeats_have_failed_answers(ids: list[str], data: Path, tmp_path: Path) -> None:
    said = {id: ["\\boxed{1}", "\\boxed{2}"] for id in ids} | {ids[0]: ["\\boxed{1}"], ids[1]: []}
    ended = imported(jsonl(tmp_path, said), "jsonl", data, tmp_path / "run")
    assert ended.code == 1
    said = [line for line in ended.warnings if "count as failed" in line]
    assert [line.split(": ", 2)[-1] for line in said] == [
        f"2 of {len(ids)} questions have fewer than 2 recorded answers; the missing 3 count as failed"
    ]
    assert [key for key, text in trials_of(tmp_path / "run").items() if text is None] == [
        (ids[0], 1),
        (ids[1], 0),
        (ids[1], 1),
    ]


def test_a_trial_number_out_of_all_bounds_costs_nothing(ids: list[str], data: Path, tmp_path: Path) -> None:
    rows = [{"question_id": id, "response": "\\boxed{1}"} for id in ids]
    log = write_rows(tmp_path / "a.jsonl", [*rows, {**rows[0], "trial": 10**12}])
    ended = imported(log, "jsonl", data, tmp_path / "run")
    assert ended.code == 1
    assert any("1 recorded answers are left out" in line for line in ended.warnings)
    assert len(trials_of(tmp_path / "run")) == 2 * len(ids)


def test_a_run_that_was_begun_keeps_its_trials(ids: list[str], data: Path, tmp_path: Path) -> None:
    """As an import of a livek12 that took one answer of each question has left it."""
    log = jsonl(tmp_path, {id: ["\\boxed{1}", "\\boxed{2}"] for id in ids})
    assert imported(log, "jsonl", data, tmp_path / "run", "--trials", 1).code == 0
    before = trials_of(tmp_path / "run")
    how = ("--task", TASK, "--data", data, "--out", tmp_path / "run")
    ended = livek12("import-responses", log, *how)  # a process of its own, for a warning is given once
    assert ended.code == 0, ended.err
    assert trials_of(tmp_path / "run") == before
    assert "a new run with --trials 2 takes them" in ended.err
