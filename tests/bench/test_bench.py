"""The benchmarks of speed: both sides run on a tiny model, and their figures say what they claim to say."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from livek12.scripts.bench import generation as bench_generation
from livek12.scripts.bench.common import GpuWatch, Timed, gpus, spread, table, timed
from livek12.scripts.bench.sides import Bench, Side, build, write_prompts
from livek12.scripts.bench.watch import BenchWatch
from tests.engines.helpers import gone, wait_until
from tests.nvml import FakeNvml

SCRIPTS = Path(bench_generation.__file__).parent


def side(name: str, generation: float, whole: float, **answers: str) -> Side:
    texts: dict[str, dict[str, Any]] = {id: {"text": text, "completion_tokens": 6} for id, text in answers.items()}
    return Side(name, Timed(whole, 1.0, 0.5, 0), generation, texts)


def test_questions_are_real_and_no_prompt_comes_twice(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    bench_generation.write_questions(source / "en_2601.jsonl", tmp_path / "nothing here", 40)
    bench = Bench("none", build(source, tmp_path / "built"), "livek12_text_only_en", 7, {}, tmp_path)
    asked = bench.requests()
    assert len({request.prompt_sha256 for request in asked}) == len(asked) == 40
    rows = [json.loads(line) for line in write_prompts(asked, tmp_path).read_text().splitlines()]
    assert [row["id"] for row in rows] == [request.key.question_id for request in asked]
    assert {(row["sampling"]["temperature"], row["sampling"]["max_tokens"]) for row in rows} == {(0.0, 7)}
    assert all(row["messages"][0]["content"] == asked[n].messages[0].content[0].text for n, row in enumerate(rows))


def test_every_side_is_warmed_up_before_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    bench_generation.write_questions(source / "en_2601.jsonl", tmp_path / "nothing here", 8)
    bench = Bench("none", build(source, tmp_path / "built"), "livek12_text_only_en", 7, {}, tmp_path)
    ran: list[tuple[str, int | None]] = []

    def noted(self: Bench, name: str, *_: Any) -> Side:
        ran.append((name.removesuffix(", to warm up"), self.limit))
        return side(name, 1, 2)

    monkeypatch.setattr(Bench, "_side", noted)
    monkeypatch.setattr(bench_generation, "make_bench", lambda *_: bench)
    options = argparse.Namespace(built=bench.data, task=bench.task, pairs=1, questions=6, full=8)
    bench_generation.measure(options, tmp_path)
    assert ran == [("bare", 4), ("ours", 4), ("bare", 6), ("ours", 6), ("bare", 6), ("bare", 8), ("ours", 8)]


def test_pairs_are_neighbours_and_noise_is_bare_over_bare() -> None:
    rounds = [
        (side("bare", 10, 20), side("ours", 11, 22), side("bare", 20, 40)),
        (side("bare", 20, 40), side("ours", 11, 22), side("bare", 10, 20)),
        (side("bare", 10, 20), side("ours", 12, 30), side("bare", 10, 20)),
    ]
    found = bench_generation.ratios(rounds)
    assert found["generation"]["ours / bare"] == {"median": 1.1, "low": 1.1, "high": 1.2, "all": [1.1, 1.1, 1.2]}
    assert found["whole"]["ours / bare"]["all"] == [1.1, 1.1, 1.5]
    assert found["generation"]["bare / bare"]["all"] == [2.0, 0.5, 1.0]
    figures = {"machine": {}, "pairs": {"questions": 3, **found}, "runs": [side("a", 1, 2, q="x").row(rounds[0][0])]}
    assert "generation, 3 questions: ours / bare 1.100 (1.100 to 1.200; bar 1.02)" in bench_generation.shown(figures)


def test_a_row_counts_equal_answers_and_tokens_a_second() -> None:
    row = side("ours", 3, 6, a="4", b="5").row(side("bare", 3, 6, a="4", b="6"))
    assert (row["same as bare"], row["answers"], row["tokens"], row["tokens/s"], row["rest s"]) == (1, 2, 12, 4.0, 3)
    unknown = side("x", 3, 6, a="4")
    unknown.answers["a"]["completion_tokens"] = None
    assert unknown.row(unknown)["tokens/s"] is None
    assert spread([]) == {}
    assert table([{"run": "x", "n": 1234567, "share": None}, {"run": "longer"}]).splitlines() == [
        "run             n  share",
        "x       1,234,567      –",
        "longer          –      –",
    ]


def test_a_real_size_without_a_gpu_is_one_line_and_code_2() -> None:
    if gpus():
        pytest.skip("there is a GPU")
    command = [sys.executable, str(SCRIPTS / "generation.py"), "--dummy", "qwen3-8b"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 2
    assert "needs a GPU, and there is none: it would measure tokens a second" in run.stderr.splitlines()[-1]


def test_a_process_over_its_limit_is_ended_and_memory_is_told_with_what_it_started(tmp_path: Path) -> None:
    assert timed([sys.executable, "-c", "import time; time.sleep(600)"], limit=0.5).code == -9
    child = "import time; kept = b'x' * (300 << 20); time.sleep(1.5)"
    run = timed([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"])
    assert run.code == 0
    assert 0.29 < run.peak < 0.6
    ended = timed([sys.executable, "-c", "import sys; print('said'); sys.exit(3)"], out=tmp_path / "said")
    assert (ended.code, (tmp_path / "said").read_text()) == (3, "said\n")


KILLED = """
import sys
from livek12.scripts.bench.common import timed

SLEEP = "import time; time.sleep(600)"
SIDE = (
    "import os, subprocess, sys; engine = subprocess.Popen(sys.argv[1:], start_new_session=True);"
    "print(os.getpid(), engine.pid, file=sys.stderr, flush=True); engine.wait()"
)
timed([sys.executable, "-c", SIDE, sys.executable, "-c", SLEEP])
"""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_side_and_its_engine_end_with_the_benchmark(sign: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stderr=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stderr is not None
        side, engine = map(int, benchmark.stderr.readline().split())
        benchmark.send_signal(sign)
    wait_until(lambda: gone(side) and gone(engine))


def test_the_share_in_which_gpus_were_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with GpuWatch() as watch:
        began = time.time()
        while (busy := watch.busy(began, time.time())) is None and time.time() < began + 120:
            time.sleep(0.05)
    assert gpus() == watch.names == ["A", "B"]
    assert busy == pytest.approx(0.7)
    assert watch.busy(began - 2, began - 1) is None


def test_the_watch_runs_from_the_first_request_to_the_last_response(tmp_path: Path) -> None:
    watch = BenchWatch()
    stream = watch.around_stream(iter)([1, 2])
    assert watch.began is None
    assert next(stream) == 1
    assert watch.ended is None
    assert list(stream) == [2]
    watch.write(tmp_path / "figures.json")
    times = json.loads((tmp_path / "figures.json").read_text())
    assert times["began"] <= times["ended"]
