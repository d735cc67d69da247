"""Rows that are made in processes beside the main one: the same data set, and no process that stays."""

from __future__ import annotations

import json
import operator
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders import build
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks.livek12 import BUILDER
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.reading import making
from livek12.dataset_builders.reading.images import FileBytes
from livek12.dataset_builders.reading.making import Workers
from livek12.dataset_builders.writing import statistics
from livek12.dataset_builders.writing.data_set import BuildReport
from livek12.dataset_builders.writing.statistics import PartCounts, Statistics
from tests.dataset_builders.pictures import picture
from tests.engines.helpers import children, gone, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="finds processes as Linux lists them")


def lines_of(rows: int) -> list[str]:
    """Rows with pictures, and in every place where a chunk may end some that are bad or have an id that is taken."""
    lines = []
    for number in range(rows):
        row = {
            "id": f"q{number // 2 if number % 7 == 0 else number}",
            "question": f"第{number}题：下列正确的是（ ）\nA. 一\nB. 二\nC. {number}\nD. 四",
            "answer": "ACD"[number % 3],
            "question_type": "选择题" if number % 5 else "谜语",
            "images": [f"images/{number % 4}.png"] * (number % 3 == 0),
            **({"mood": 1} if number == 70 else {}),
        }
        match number % 17:
            case 3:
                row["images"] = ["images/html.png"]
            case 4:
                row["images"] = ["../secret.png"]
            case 5:
                row["points"] = row["year"] = "never"
            case 6:
                row["images"] = [f"https://h.test/{number % 3}/images/0.png"]
            case 7:
                row["question"] = None
        lines.append("{bad" if number % 17 == 8 else json.dumps(row, ensure_ascii=False))
    return [*lines, "[1]", '{"id": "\\ud800", "question": "?"}']


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 rows in two files beside their pictures."""
    folder = tmp_path_factory.mktemp("source")
    images = folder / "images"
    images.mkdir()
    for number in range(4):
        (images / f"{number}.png").write_bytes(picture(number))
    (images / "html.png").write_text("<html>")
    lines = lines_of(200)
    (folder / "zh_2603_a.jsonl").write_text("\n".join(lines[:120]), encoding="utf-8")
    (folder / "zh_2603_b.jsonl").write_text("\n".join(lines[120:]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def alone(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[BuildReport, Path]:
    """A build in one process."""
    folder = tmp_path_factory.mktemp("alone") / "out"
    return build("livek12", str(source), folder), folder


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes builds use processes after so many rows, with small chunks."""

    def use(after: int) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
        monkeypatch.setattr(making, "FEWEST_ROWS", after)
        monkeypatch.setattr(making, "CHUNK_ROWS", 7)

    return use


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_few_rows_start_no_process(
    source: Path, tmp_path: Path, in_processes: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    others, started = set(children(os.getpid())), set[int]()
    in_processes(201)

    def step() -> None:
        started.update({*children(os.getpid())} - others)

    build("livek12", str(source), tmp_path / "out", step=step)
    assert not started
    monkeypatch.setattr(making, "FEWEST_BYTES", 2_000)  # few rows may be much to hold
    build("livek12", str(source), tmp_path / "out", step=step)
    assert len(started) == 3


@pytest.mark.parametrize("after", [0, 120])
def test_the_same_as_row_by_row(
    source: Path,
    alone: tuple[BuildReport, Path],
    tmp_path: Path,
    in_processes: Callable[[int], None],
    after: int,
) -> None:
    others, started = set(children(os.getpid())), []  # other tests may have processes of their own
    in_processes(after)

    def step() -> None:
        started.append(len({*children(os.getpid())} - others))

    report = build("livek12", str(source), tmp_path / "out", step=step)
    assert max(started) == 3
    assert {*children(os.getpid())} <= others
    assert replace(report, out=alone[1]) == alone[0]
    assert _files(tmp_path / "out") == _files(alone[1])
    said = "\n".join(report.lines())
    for words in ("an HTML page", "outside the source", "already another address's", "has no question", "not JSON"):
        assert words in said
    assert "an earlier question has this id" in said
    assert "columns with no place in a question: mood" in said
    assert "1 images were taken from files beside the rows" in said


def test_what_a_refused_row_would_lose_is_counted_in_both_ways(
    source: Path, tmp_path: Path, in_processes: Callable[[int], None]
) -> None:
    source = shutil.copytree(source, tmp_path / "source")
    rows = [
        {"id": f"q{n}", "question": "?", "images": [f"https://h.test/{n}/images/0.png"], "mood": "sad"}
        for n in range(9)
    ]
    (source / "zh_2603_a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    alone, log = Log(), Log()
    assert len(list(read(BUILDER, source / "zh_2603_a.jsonl", alone))) == 1
    in_processes(0)
    assert len(list(read(BUILDER, source / "zh_2603_a.jsonl", log))) == 1
    assert log == alone
    assert log.lost["mood"] == 9


def test_nothing_is_compared_once_a_set_is_too_large_for_it(
    source: Path, tmp_path: Path, in_processes: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    take = Statistics.take

    def taking(self: Statistics, counted: PartCounts, tables: tuple[str, ...], split: str) -> None:
        compared.append(len(counted.compared))
        take(self, counted, tables, split)

    monkeypatch.setattr(Statistics, "take", taking)
    monkeypatch.setattr(statistics, "NEAR_LIMIT", 20)
    alone = build("livek12", str(source), tmp_path / "out")
    files = _files(tmp_path / "out")
    compared.clear()
    in_processes(10)
    assert build("livek12", str(source), tmp_path / "out") == alone
    assert _files(tmp_path / "out") == files
    assert compared[0] > 0 == compared[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "benchmark", ["kmmmu", *(pytest.param(name, marks=pytest.mark.release) for name in ("cfe", "livek12"))]
)
@pytest.mark.release
def test_the_same_on_real_rows(
    benchmark: str, shared_data: Path, tmp_path: Path, in_processes: Callable[[int], None]
) -> None:
    gaokao = shared_data / "gaokao_mm" / "Data" / "2010-2023_Physics_MCQs.json"
    physics = shutil.copytree(gaokao.with_suffix(""), tmp_path / "Data" / gaokao.stem)
    shutil.copy(gaokao, physics.parent)
    korean = shared_data / "click_korean" / "Dataset" / "Language"
    place = {"cfe": shared_data / "cfe_bench", "livek12": physics.parent, "kmmmu": korean}[benchmark]
    alone = build(benchmark, str(place), tmp_path / "alone")
    in_processes(20)
    report = build(benchmark, str(place), tmp_path / "out")
    assert (report.lines()[:-1], report.statistics) == (alone.lines()[:-1], alone.statistics)
    assert _files(tmp_path / "out") == _files(tmp_path / "alone")


def test_a_process_that_is_killed_ends_the_build_in_one_line(
    source: Path, alone: tuple[BuildReport, Path], tmp_path: Path, in_processes: Callable[[int], None]
) -> None:
    shutil.copytree(alone[1], tmp_path / "out")
    files = _files(alone[1])
    in_processes(10)

    others = set(children(os.getpid()))

    def step() -> None:
        for child in {*children(os.getpid())} - others:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    with pytest.raises(UserError, match=r"^a process that reads rows broke off: .*SIGKILL.*, start again$"):
        build("livek12", str(source), tmp_path / "out", step=step)
    assert _files(tmp_path / "out") == files
    assert {*children(os.getpid())} <= others


def test_no_process_outlives_a_build_that_is_killed(source: Path, tmp_path: Path) -> None:
    script = f"""
import os, time
from pathlib import Path
from livek12.dataset_builders import build
from livek12.dataset_builders.reading import making
making.FEWEST_ROWS, making.CHUNK_ROWS = 10, 7
os.sched_getaffinity = lambda _: {{0, 1, 2}}
steps = []
def step():
    steps.append(1)
    if len(steps) == 40:
        print("waits", flush=True)
        time.sleep(60)
build("livek12", {str(source)!r}, Path({str(tmp_path / "out")!r}), step=step)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"waits\n"
        left = children(parent.pid)
        assert len(left) == 3
        parent.kill()
    wait_until(lambda: all(map(gone, left)), 20)


def test_answers_come_in_order_and_errors_come_back() -> None:
    with Workers(operator.add, 1, 2) as workers:
        assert list(workers.answers((str(n), n) for n in range(20))) == [(str(n), n + 1) for n in range(20)]
    with Workers(operator.truediv, 1, 2) as workers, pytest.raises(ZeroDivisionError):
        list(workers.answers((n, n) for n in (2, 1, 0)))


def test_pictures_travel_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    sent = pickle.dumps(FileBytes.of(str(tmp_path / "a.png"), (0, 0, 0, 0), picture()))
    assert len(sent) < 200
    assert pickle.loads(sent) == picture()
    (tmp_path / "a.png").write_bytes(b"other")
    with pytest.raises(UserError, match=r"a\.png: changed while it was read"):
        pickle.loads(sent)
    (tmp_path / "a.png").unlink()
    with pytest.raises(UserError, match=r"a\.png: cannot be read: No such file"):
        pickle.loads(sent)


@pytest.mark.parametrize("row", [{"id": [], "index": 5}, {"id": 0.0, "index": "b"}, {"id": ["a"]}, {"id": None}])
def test_a_row_whose_id_is_none_is_left_out_and_not_the_build(tmp_path: Path, row: dict[str, object]) -> None:
    (tmp_path / "zh_2603.jsonl").write_text(
        "\n".join(json.dumps(one) for one in ({"id": "a", "question": "1 + 1 = ?"}, {**row, "points": "never"}))
    )
    report = build("livek12", str(tmp_path / "zh_2603.jsonl"), tmp_path / "out")
    assert report.written == len(report.skipped) == 1
