"""Provenance: stated by the row, proved by where the rows were fetched or by the published bytes, and never guessed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Question
from livek12.core.rights import NO_LICENCE, refusal
from livek12.dataset_builders import build
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.building import find_sources
from livek12.dataset_builders.publishing import policy
from livek12.dataset_builders.publishing.policy import judge_rows
from livek12.dataset_builders.reading import publishers
from livek12.dataset_builders.reading.publishers import Origin
from livek12.dataset_builders.registry import builder_of
from tests.conftest import ROOT

NOTHING = ("unreviewed", None, None, None)
GAOKAO = {
    "keywords": "2010-2022_Math_I_MCQs",
    "example": [
        {"year": "2022", "category": "（甲卷）", "question": "1+1=（ ）\nA. 1\nB. 2\nC. 3\nD. 4", "answer": ["B"]}
        | {"analysis": "略", "index": 0, "score": 5}
    ],
}
CFE_ROW = {"id": hashlib.sha256(b"mine").hexdigest(), "question": {"text": "What is $g$?", "images": []}, "answer": ""}
CFE_ROW |= {f"short_answer_{part}": ["x"] for part in ("value", "variable", "description")}
CFE_ROW |= {"short_answer_type": ["numeric"], "reasoning_flow": []}
KMMMU_ROW = {"question": "다음 중 옳은 것은?\n① 가\n② 나", "answer": "①", "question_type": "객관식(단일정답)"}
KMMMU_ROW |= {"image_link": "[]"}
CLICK_ROW = {
    "id": "CSAT_korean_22_6",
    "paragraph": "글",
    "question": "옳은 것은?",
    "choices": ["가", "나"],
    "answer": "가",
}
MDK12_ROW = {"index": "1", "question": "如图", "category": "MC", "A": "甲", "B": "乙", "answer": "A"}
SHAPES: list[tuple[str, str, Any]] = [
    ("livek12", "rows.json", [{"id": "zh_2603_math_0001", "set": "2603", "question": "求 $x$。", "answer": ["1"]}]),
    ("livek12", "2010-2022_Math_I_MCQs.json", GAOKAO),
    ("kmmmu", "kmmmu.json", [KMMMU_ROW]),
    ("kmmmu", "Grammar_CSAT.json", [CLICK_ROW]),
    ("cfe", "CFE_text.json", [CFE_ROW]),
    ("mdk12", "MSPH_single_answer_choice_single_modal.json", [MDK12_ROW]),
]


def stamps(question: Question) -> tuple[str, str | None, str | None, str | None]:
    return question.review.state, question.review.by, question.source.licence, question.source.url


def questions(benchmark: str, source: Path) -> list[Question]:
    log = Log()
    found = [record for record in read(builder_of(benchmark), source, log) if isinstance(record, Question)]
    assert found, log.skipped
    return found


def test_an_exam_in_the_form_of_the_docs_is_withheld_everywhere(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "build-a-data-set.md").read_text()
    row = json.loads(page.partition("```json\n")[2].partition("\n```")[0])
    rows = [{**row, "id": row["id"][:-1] + str(place), "question": f"{place}: {row['question']}"} for place in range(4)]
    (tmp_path / "LICENSE").write_text("MIT License\n")
    (tmp_path / "my_exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build("livek12", str(tmp_path / "my_exam.jsonl"), tmp_path / "set")
    ruling = judge_rows(tmp_path / "set", [])
    assert ruling.questions == len(ruling.withheld) == 4
    assert set(ruling.withheld.values()) == {"nobody reviewed it"}
    for question in questions("livek12", tmp_path / "my_exam.jsonl"):
        assert stamps(question) == NOTHING
        assert policy.refusal(question) == NO_LICENCE, "a site shows it"
        assert refusal(question) == "nobody reviewed it", "an export shows it"


@pytest.mark.parametrize(("benchmark", "name", "rows"), SHAPES, ids=lambda value: str(value)[:30])
def test_no_shape_of_a_row_file_or_id_tells_who_published_it(
    benchmark: str, name: str, rows: Any, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (tmp_path / name).write_text(json.dumps(rows))
    assert [stamps(question) for question in questions(benchmark, tmp_path)] == [NOTHING]


@pytest.mark.parametrize(("benchmark", "name", "rows"), SHAPES, ids=lambda value: str(value)[:30])
def test_published_bytes_prove_their_origin(
    benchmark: str, name: str, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(rows))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    table = {digest: Origin("org/exam", None, "https://exam.example")}, frozenset({file.stat().st_size})
    monkeypatch.setattr(publishers, "_published_files", lambda: table)
    assert [stamps(question) for question in questions(benchmark, tmp_path)] == [
        ("upstream", "org/exam", None, "https://exam.example")
    ]
    file.write_text(json.dumps(rows) + "\n")
    assert [stamps(question) for question in questions(benchmark, tmp_path)] == [NOTHING]


@pytest.mark.parametrize(
    ("name", "folder", "licence"),
    [
        ("OpenLMLab/GAOKAO-Bench", "gaokao_bench/Data/Objective_Questions", "Apache-2.0"),
        ("OpenLMLab/GAOKAO-Bench-Updates", "gaokao_bench_updates/Data/GAOKAO-Bench-2023", None),
        ("rladmstn1714/CLIcK", "click_korean/Dataset/Language/Grammar", None),
    ],
)
def test_the_published_files_are_known(name: str, folder: str, licence: str | None, shared_data: Path) -> None:
    files = sorted((shared_data / folder).rglob("*.json"))
    assert files
    for file in files:
        origin = publishers.origin_of(file)
        assert (origin.published_by, origin.licence) == (name, licence), file


@pytest.mark.parametrize(
    ("card", "licence"), [("---\nlicense: cc-by-4.0\n---\n", "CC BY 4.0"), ("# Exams\n", "CC BY-NC 4.0")]
)
def test_rows_fetched_from_the_hub_are_its_publishers(
    card: str, licence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot in the Hub's cache, as its client leaves it: links into blobs, named for the revision."""
    cached = tmp_path / "cache" / "datasets--Shawn-wxh--livek12bench"
    revision = "0123456789abcdef0123456789abcdef01234567"
    snapshot = cached / "snapshots" / revision
    for folder in (cached / "blobs", cached / "refs", snapshot):
        folder.mkdir(parents=True)
    (cached / "refs" / "main").write_text(revision)
    rows = [
        SHAPES[0][2][0],
        {"id": "b", "question": "求 $y$。", "answer": ["1"], "licence": "KOGL", "review": "rejected"},
    ]
    for name, text in (("README.md", card), ("rows.json", json.dumps(rows))):
        (cached / "blobs" / name).write_text(text)
        (snapshot / name).symlink_to(Path("..", "..", "blobs", name))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    place = find_sources("livek12", ["hub"], Log())["livek12"]
    first, second = read(builder_of("livek12"), place.path, Log(), origin=place.origin)
    assert isinstance(first, Question) and isinstance(second, Question)
    state, by, stated, url = stamps(first)
    assert (state, by, stated) == ("upstream", "Shawn-wxh/livek12bench", licence)
    assert url is not None and url.endswith(f"/datasets/Shawn-wxh/livek12bench/tree/{revision}")
    assert stamps(second)[:3] == ("rejected", None, "KOGL"), "what a row states goes first"
    shutil.copytree(snapshot, tmp_path / "copy")
    assert stamps(questions("livek12", tmp_path / "copy")[0]) == NOTHING
