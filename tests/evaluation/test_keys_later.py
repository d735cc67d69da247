"""Keys after the answers: no mark before, marks then without asking, and an amended key moves exactly its marks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from livek12.core.key_versions import read_keys
from livek12.core.run.folder import RunFolder
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only"
PAPER = [
    {"number": "1", "question": "What is 2+3?", "question_type": "short_answer"},
    {"number": "2", "question": "Which is prime?", "options": ["4", "6", "7", "9"], "question_type": "single_choice"},
    {"number": "3", "question": "Find the root of x-4=0.", "question_type": "open_ended"},
    {"number": "4", "question": "What is 3·3?", "question_type": "short_answer"},
]
ANSWERS = {"good": ["5", "C", "4", "9"], "poor": ["6", "B", "4", ""]}


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    """A data set without keys, and two runs on it."""
    rows = [
        {"id": f"p-q0{row['number']}", "language": "en", "subject": "math", "paper_id": "p", "points": 5, **row}
        for row in PAPER
    ]
    source = tmp_path / "paper.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert livek12_here("build", "livek12", "--source", source, "--out", tmp_path / "data", "-q").code == 0
    for model, answers in ANSWERS.items():
        recorded = [
            {"id": row["id"], "response": f"The answer is {answer}." if answer else ""}
            for row, answer in zip(rows, answers, strict=True)
        ]
        (tmp_path / f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in recorded))
        assert ask(tmp_path, model).code == 0
    return tmp_path


def ask(folder: Path, model: str) -> Ended:
    data, out = folder / "data", folder / model
    return livek12_here("run", "--task", TASK, "--data", data, "--model", f"{out}.jsonl", "--out", out, "-q")


def keys(folder: Path, *args: object) -> dict[str, object]:
    runs = [folder / model for model in ANSWERS]
    ended = livek12_here("keys", args[0], folder / "data", *runs, *args[1:], "--by", "ann", "--json", "-q")
    assert ended.code == 0, ended.err
    read: dict[str, object] = json.loads(ended.out)
    return read


REFUSED = [
    (["add"], "no key"),
    (["add", "--key", "7=A"], "0 questions are called 7"),
    (["add", "--key", "A"], "NUMBER=ANSWER"),
    (["amend", "--key", "1=A", "--reason", " "], "--reason is empty"),
    (["add", "--key", "1=5", "--paper", "z"], "--paper (p)"),
]


def points(folder: Path, model: str) -> dict[str, tuple[float, float]]:
    rows = RunFolder.open(folder / model).rows()
    return {row.question.number or "": (row.verdict.low, row.verdict.high) for row in rows if row.verdict}


@pytest.mark.quick
def test_no_key_yet_then_keys_then_an_amended_one(exam: Path) -> None:
    # before: neither 0 nor full, not even without an answer, and said so
    assert points(exam, "poor") == dict.fromkeys("1234", (0, 5))
    report = json.loads((exam / "poor/report.json").read_text())["tasks"][TASK]
    assert report["counts"]["answers"] == report["ungraded"]["keyless"] == 4
    assert "4 no key yet" in ask(exam, "poor").out
    for args, words in REFUSED:
        ended = livek12_here("keys", args[0], exam / "data", *args[1:])
        assert ended.code == 2 and words in ended.err and not read_keys(exam / "data").versions
    responses = {model: (exam / model / "responses-0.jsonl").read_bytes() for model in ANSWERS}
    (exam / "key.csv").write_text("number,answer\n1,5\n2,B\n3,4\n")
    added = keys(exam, "add", "--from", exam / "key.csv")
    assert added["lacking"] == ["4"]
    assert points(exam, "good") == {"1": (5, 5), "2": (0, 0), "3": (5, 5), "4": (0, 5)}
    assert points(exam, "poor") == {"1": (0, 0), "2": (5, 5), "3": (5, 5), "4": (0, 5)}
    # again: nothing changes; the rest typed
    assert keys(exam, "add", "--from", exam / "key.csv")["changes"] == []
    assert keys(exam, "add", "--key", "4=9")["version"] == 2
    before = {model: points(exam, model) for model in ANSWERS}
    ended = livek12_here("keys", "add", exam / "data", "--key", "2=C")
    assert ended.code == 2 and "keys amend" in ended.err and read_keys(exam / "data").versions[-1].number == 2
    amended = keys(exam, "amend", "--key", "2=C", "--reason", "7 is the prime")
    assert amended["questions"] == {"p-q02": 2} and amended["open"] == 0
    for model, mark in {"good": 5, "poor": 0}.items():
        assert points(exam, model) == {**before[model], "2": (mark, mark)}
    moved = {mark["run"]: mark for mark in amended["marks"]}  # type: ignore[attr-defined]
    assert (moved["good"]["before"], moved["good"]["after"], moved["good"]["moved"]) == ([15, 15], [20, 20], 1)
    assert (moved["poor"]["before"], moved["poor"]["after"]) == ([10, 10], [5, 5])
    assert (moved["good"]["rank_before"], moved["good"]["rank_after"]) == ("1", "1")
    # the card keeps the errata; the run goes on as the same one, and nothing was asked again
    assert (
        "| p-q02 | B | C |" in (exam / "data/README.md").read_text()
        and livek12_here("validate", exam / "data").code == 0
    )
    assert ask(exam, "good").code == 0 and points(exam, "good")["2"] == (5, 5)
    assert responses == {model: (exam / model / "responses-0.jsonl").read_bytes() for model in ANSWERS}
    assert livek12_here("check", exam / "good").code == 0


def test_a_kill_between_the_data_set_and_its_runs(exam: Path) -> None:
    (exam / "key.csv").write_text("1,5\n2,C\n3,4\n4,9\n")
    shutil.copytree(exam / "good", exam / "kept")
    assert livek12_here("keys", "add", exam / "data", "--from", exam / "key.csv", "-q").code == 0  # no run named
    assert points(exam, "good") == dict.fromkeys("1234", (0, 5))
    keys(exam, "add", "--from", exam / "key.csv")
    assert set(points(exam, "good").values()) == {(5, 5)}
    # killed before marking: the keys are there, the verdicts are not
    shutil.copyfile(exam / "data/keys.jsonl", exam / "kept/keys.jsonl")
    assert livek12_here("keys", "add", exam / "data", exam / "kept", "--from", exam / "key.csv", "-q").code == 0
    assert points(exam, "kept") == points(exam, "good")
    # a run that begins after the keys has the identity of one that began before
    shutil.rmtree(exam / "poor")
    assert ask(exam, "poor").code == 0 and points(exam, "poor")["1"] == (0, 0)
    specs = [RunFolder.open(exam / model).spec().tasks[0].data_sha256 for model in ANSWERS]
    assert specs[0] == specs[1]
