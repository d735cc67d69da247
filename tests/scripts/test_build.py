"""`livek12 build` and `livek12 validate` as a user runs them: all benchmarks in one, hosts, subsets, kills."""

from __future__ import annotations

import csv
import hashlib
import http.server
import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from livek12.core.questions import load_questions, read_card
from livek12.core.records import Question
from livek12.dataset_builders import build
from livek12.dataset_builders.proposals.subsets.candidates import text_sha256
from livek12.dataset_builders.proposals.subsets.sheet import COLUMNS
from livek12.dataset_builders.writing.data_set import workspace
from tests.dataset_builders.pictures import picture
from tests.scripts.command import COMMAND, livek12, livek12_here

LIVEK12 = [
    {"id": "same", "set": "2603", "question": "求 $x$。", "question_type": "解答题", "answer": ["1"], "point_value": 5},
    {"id": "zh_2603_math_0002", "set": "2603", "question": "如图，求 $y$。", "answer": ["2"], "images": ["figure.png"]},
    {"id": "en_2605_math_0001", "set": "2605", "language": "en", "question": "Find $x$.", "answer": ["3"]},
    {"id": "zh_2506_math_0001", "set": "2506", "question": "求 $z$。", "answer": ["4"], "subset": ["long_reason"]},
]
CFE = [
    {
        "id": "same",
        "question": {"text": "What is $v$?", "images": []},
        "answer": {"text": "$v = 3$", "images": []},
        "short_answer_value": ["3"],
        "short_answer_variable": ["$v$"],
        "short_answer_description": ["speed"],
        "short_answer_type": ["numeric"],
        "reasoning_flow": [{"step_id": 1, "step": "s", "verifiable_answer": "3"}],
    }
]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with a small source for each benchmark, as published."""
    root = tmp_path / "sources"
    for name in ("livek12", "kmmmu", "cfe", "mdk12"):
        (root / name).mkdir(parents=True)
    (root / "livek12" / "figure.png").write_bytes(picture())
    (root / "livek12" / "rows.json").write_text(json.dumps(LIVEK12))
    (root / "cfe" / "CFE_text.json").write_text(json.dumps(CFE))
    with (root / "kmmmu" / "kmmmu.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "answer", "question_type", "image_link"])
        rows.writerow(["다음 중 옳은 것은?\n① 가\n② 나\n③ 다\n④ 라", "2", "객관식(단일정답)", "[]"])
    with (root / "mdk12" / "HSMA_single_answer_choice_single_modal.tsv").open("w", newline="") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(["index", "question", "category", "answer", "A", "B", "difficulty_level"])
        rows.writerow(["same", "1 + 1 = ?", "single", "B", "1", "2", "easy"])
    return root


def test_all_benchmarks_in_one(sources: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    out = tmp_path / "all"
    ended = livek12_here("build", "all", "--source", sources, "--out", out)
    assert ended.code == 0, ended.out + ended.err
    assert "7 rows read, 7 questions with 1 images written, 0 left out" in ended.out
    assert "config mdk12_dynamic: left out, no question belongs to it" in ended.out
    assert list(read_card(out)) == [
        *("default", "text_only", "text_image", "long_horizon"),
        *("kmmmu_default", "cfe_text", "mdk12_full", "mdk12_easy"),
    ]
    alone = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {split: rows.num_rows for split, rows in alone.items()} == {"zh_2603": 2, "en_2605": 1, "zh_2506": 1}
    assert "same" in {q.id for q in load_questions(out, ["default"], "livek12")}
    assert [q.id for q in load_questions(out, ["cfe_text"], "cfe")] == ["same"]
    assert livek12_here("validate", out).code == 0


@pytest.mark.parametrize("only", ["cfe", "kmmmu"])
def test_what_has_no_source_is_left_out_with_a_line(sources: Path, tmp_path: Path, only: str) -> None:
    from datasets import load_dataset

    ended = livek12_here("build", "all", "--source", f"{only}={sources / only}", "--out", tmp_path / "out")
    assert ended.code == 0
    left = [line for line in ended.out.splitlines() if line.endswith(": left out, no --source has it")]
    assert [line.split(":")[0] for line in left] == [n for n in ("livek12", "kmmmu", "cfe", "mdk12") if n != only]
    assert load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["test"].num_rows == 1


def test_sources_may_be_mixed(sources: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps([{**LIVEK12[0], "id": "mine"}]))
    ended = livek12_here("build", "all", "--source", sources, "--source", f"livek12={own}", "--out", tmp_path / "out")
    assert ended.code == 0
    assert [q.id for q in load_questions(tmp_path / "out", ["default"], "livek12")] == ["mine"]
    assert "cfe_text" in read_card(tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["all"], "build all needs --source"),
        (["all", "--source", "."], "has no folder livek12, kmmmu, cfe, mdk12"),
        (["all", "--source", "cfe=a", "--source", "cfe=b"], "names cfe twice"),
        (["all", "--source", "cfe=nowhere"], "nowhere: no such file or folder"),
        (["cfe", "--source", "a", "--source", "b"], "takes one --source, not 2"),
        (["sample", "--source", "a"], "leave --source out"),
        (["math"], "unknown benchmark 'math': there is a builder for livek12, kmmmu, cfe, mdk12, sample, all"),
        (["livek12", "--source", ".", "--subsets", "none.csv"], "none.csv"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = livek12_here("build", *arguments, "--out", "out")
    assert ended.code == 2
    (line,) = ended.errors
    assert said in line
    assert list(tmp_path.iterdir()) == []


def test_the_sample_reads_nothing_where_it_is_built(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text("no exam")
    assert livek12("build", "sample", "--out", "out", cwd=tmp_path).code == 0


def test_rows_that_are_bad_cost_lines_and_the_exit_code(sources: Path, tmp_path: Path) -> None:
    (sources / "livek12" / "more.jsonl").write_text('{"id": "bad", "question": null}\n')
    ended = livek12_here("build", "all", "--source", sources, "--out", tmp_path / "out")
    assert ended.code == 1
    assert "livek12: more.jsonl:1 (bad): left out: it has no question" in ended.out
    assert len(load_questions(tmp_path / "out", ["default"], "livek12")) == 4


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "host"
    folder.mkdir()
    (folder / "figure.png").write_bytes(picture(3))
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_pictures_are_fetched_from_hosts_that_are_allowed(tmp_path: Path, host: str) -> None:
    source = tmp_path / "rows.json"
    source.write_text(json.dumps([*LIVEK12[:1], {**LIVEK12[1], "images": [f"http://{host}/figure.png"]}]))
    ended = livek12_here("build", "livek12", "--source", source, "--out", tmp_path / "out")
    assert ended.code == 1
    assert f"(zh_2603_math_0002): left out: image http://{host}/figure.png" in ended.out
    ended = livek12_here("build", "livek12", "--source", source, "--out", tmp_path / "out", "--allow-host", host)
    assert ended.code == 0
    (asked,) = load_questions(tmp_path / "out", ["text_image"], "livek12")
    assert asked.images[0].bytes == picture(3)


def sheet(file: Path, subset: str, asked: Question) -> None:
    row = {
        "subset": subset,
        "state": "proposed",
        "id": asked.id,
        "decision": "accept",
        "by": "A. Keeper",
        "at": "2026-05-01",
        "text_sha256": text_sha256(asked),
    }
    with file.open("w", newline="", encoding="utf-8") as lines:
        rows = csv.DictWriter(lines, COLUMNS)
        rows.writeheader()
        rows.writerow(row)


def test_reviewed_members_come_into_their_subsets(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    livek12_here("build", "all", "--source", sources, "--out", out)
    (tall, *_), (hard, *_) = (
        load_questions(out, ["text_image"], "livek12"),
        load_questions(out, ["kmmmu_default"], "kmmmu"),
    )
    sheet(tmp_path / "layout.csv", "complex_layout", tall)
    sheet(tmp_path / "hard.csv", "hard", hard)
    subsets = ["--subsets", tmp_path / "layout.csv", "--subsets", tmp_path / "hard.csv"]
    ended = livek12_here("build", "all", "--source", sources, "--out", out, *subsets)
    assert ended.code == 0, ended.out
    assert [q.id for q in load_questions(out, ["complex_layout"], "livek12")] == [tall.id]
    assert [q.id for q in load_questions(out, ["kmmmu_hard"], "kmmmu")] == [hard.id]
    assert livek12_here("validate", out).code == 0


def tree(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.mark.slow
def test_a_killed_build_leaves_the_older_one_and_the_next_cleans_up(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "place" / "out"
    build("livek12", str(sources / "livek12"), out)
    before = tree(out)
    large = tmp_path / "large.jsonl"
    rows = ({**LIVEK12[0], "id": f"zh_2603_{n}", "solution": str(n) * 200} for n in range(8_000))
    large.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [*COMMAND, "build", "livek12", "--source", str(large), "--out", str(out)]
    for _ in range(3):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while child.poll() is None and not list(out.parent.glob(".out.*/data/text_only/*.partial")):
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert tree(out) == before
        (left,) = (path for path in out.parent.iterdir() if path != out)
        assert left.name.startswith(".")
    build("livek12", str(sources / "livek12"), out)
    assert list(out.parent.iterdir()) == [out]


def test_a_living_build_keeps_its_folder(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "place" / "out"
    with workspace(out) as living:
        (living / "file").write_text("x")
        build("livek12", str(sources / "livek12"), out)
        assert (living / "file").read_text() == "x"
    assert list(out.parent.iterdir()) == [out]
