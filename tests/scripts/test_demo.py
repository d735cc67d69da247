"""The demo as a person meets it: a real small model, a short end, a link to the paper, and what to do next."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.engines.small_model import fetch_small_model
from livek12.scripts.cli import STOPPED
from livek12.scripts.commands.demo import AUTHORS, MAX_TOKENS, MODEL
from tests.scripts.command import COMMAND, Ended, livek12, livek12_here
from tests.scripts.watched import Watched, can_watch, watched


def on_a_terminal(*args: object) -> str:
    """What a command shows on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([*COMMAND, *map(str, args)], stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:
        """The other side is closed."""
    os.close(ours)
    assert process.wait() == 0
    return shown.decode()


def test_the_report_is_a_link_on_a_terminal_and_a_path_elsewhere(data: Path, tmp_path: Path) -> None:
    (tmp_path / "recorded.jsonl").write_text('{"question_id": "en_sample_math_0001", "response": "A"}\n')
    run = tmp_path / "run"
    args = ("--task", "livek12_text_only_en", "--limit", 1, "--data", data, "--out", run)
    assert livek12_here("import-responses", tmp_path / "recorded.jsonl", *args).code == 0
    page = run / "report.html"
    shown = on_a_terminal("report", run)
    assert re.search(rf"report: \x1b\]8;[^;]*;{re.escape(page.as_uri())}\x1b\\{re.escape(str(page))}", shown)
    assert f"report: {page}\n" in livek12("report", run, COLUMNS="20").out


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of its own, in which the model lies."""
    pytest.importorskip("xllamacpp")
    cache = tmp_path / "home" / ".cache"
    models = cache / "livek12"
    models.mkdir(parents=True)
    try:
        kept = Path(os.environ.get("LIVEK12_TEST_CACHE") or Path.home() / ".cache" / "livek12-tests")
        model = fetch_small_model(kept)
    except UserError as error:
        pytest.skip(str(error))
    (models / model.name).symlink_to(model)
    return cache


@pytest.mark.slow
def test_the_small_model_alone_is_served_until_it_is_stopped(cache: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [*COMMAND, "demo", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as it:
        assert it.stdout is not None
        address = it.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}/models", timeout=30) as reply:
            assert json.load(reply)["data"]
        it.terminate()
        assert it.wait(timeout=30) == STOPPED
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{address}/models", timeout=5)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [12, pytest.param(MAX_TOKENS, marks=pytest.mark.release)])
def test_the_demo_asks_what_it_can_see_and_ends_briefly(tokens: int, cache: Path, tmp_path: Path) -> None:
    args = ("--limit", 1, *(() if tokens == MAX_TOKENS else ("--max-tokens", tokens)))
    ended = livek12("demo", *args, cwd=tmp_path, XDG_CACHE_HOME=str(cache), PATH="/nowhere")
    assert ended.code == 0, ended.err
    rows = {row.task: row for row in RunFolder.open(tmp_path / "demo" / "run").rows()}
    assert set(rows) == {"livek12_en", "kmmmu", "cfe_text", "mdk12"}
    assert not [row for row in rows.values() if row.question.images or row.response is None]
    assert max(row.response.completion_tokens or 0 for row in rows.values() if row.response) <= tokens
    lines = ended.out.strip().splitlines()
    assert lines[0].split() == ["marks", "of", "100", "questions", MODEL, *AUTHORS.split()]
    assert [line.split()[0] for line in lines[2:6]] == list(rows)
    graded = [row for row in rows.values() if row.state == "graded"]
    assert not graded or lines[7].startswith(f"one of its questions, {graded[0].question.id}: ")
    assert any(line.startswith(f"  {AUTHORS}: ") for line in lines) == bool(graded)
    assert lines[-4] == "graded paper: demo/run/report.html" and (tmp_path / "demo/run/report.html").is_file()
    assert lines[-3] == "site of both: demo/site/index.html"
    assert lines[-2].startswith("next, a model that you serve ")
    assert re.match(r"  \S*cli\.py run --task livek12_en --data demo/data ", lines[-1])
    solutions = RunFolder.open(tmp_path / "demo" / "solutions")
    assert {row.verdict.correct for row in solutions.rows() if row.verdict} <= {True, None}, "solutions are right"
    assert (tmp_path / "demo" / "site" / "data" / "runs" / "solutions.js").is_file()
    assert len(lines) <= 18
    _again(args, tmp_path, lines)
    assert livek12_here("report", tmp_path / "demo" / "run").code == 0, "its data set is the one that was asked"


def _again(args: tuple[object, ...], folder: Path, lines: list[str]) -> None:
    """The model is served anew, the answers are stored; where the machine can watch it, it asks no other machine."""
    ended: Ended | Watched
    if can_watch():
        ended = livek12("demo", *args, cwd=folder, XDG_CACHE_HOME=str(folder / "home" / ".cache"))
    else:
        ended = watched(folder, "demo", *args, cwd=folder)
        assert ended.reached == []
        assert not [
            file for file in ended.left if not file.startswith(("home/.cache/livek12/", "home/.cache/huggingface/"))
        ]
    assert ended.code == 0, ended.err
    assert ended.out.strip().splitlines()[:-4] == lines[:-4]
    assert "asking: " not in ended.err, "the answers are stored"
