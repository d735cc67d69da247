"""Which folder takes a run, and what becomes of one that is mistyped, begun twice, or made by a later version."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import PACKED_VERSION
from livek12.scripts.commands.run import _counts
from tests.core.test_run_folder import failure, question, response, spec
from tests.endpoint import oracle_at
from tests.scripts.command import COMMAND, Ended, livek12_here

TASK = "livek12_text_only_en"


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oracle_at(tmp_path_factory.mktemp("oracle") / "log") as address:
        yield address


@pytest.fixture
def asked(data: Path, oracle: str) -> list[str]:
    """What to ask and whom, for `run` and `generate`."""
    how = ["--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={oracle},max_retries=0"]
    return ["--task", TASK, "--data", str(data), *how]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def one_error(ended: Ended) -> str:
    assert ended.code == 2 and len(ended.errors) == 1 and "Traceback" not in ended.err, ended.err
    return ended.errors[0]


def test_the_corrected_command_goes_on_in_the_folder_of_the_mistyped(asked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    dead = [piece.replace("oracle", "orcale") if piece == "oracle" else piece for piece in asked]
    dead[dead.index("--engine-args") + 1] = "base_url=http://127.0.0.1:1/v1,max_retries=0"
    assert "nothing answers at" in one_error(livek12_here("run", *dead, "--out", out))
    ended = livek12_here("run", *asked, "--out", out)
    assert ended.code == 0, ended.err
    assert any("gives way to this one: model was 'orcale', now 'oracle'" in line for line in ended.warnings)
    assert "holds another run" in one_error(livek12_here("run", *dead, "--out", out))


def test_a_run_that_failed_has_left_its_folder_though_a_traceback_keeps_it(asked: list[str], tmp_path: Path) -> None:
    from livek12.evaluation.asking import ask
    from livek12.evaluation.options import RunOptions

    out = tmp_path / "run"
    dead = {"base_url": "http://127.0.0.1:1/v1", "max_retries": "0"}
    with pytest.raises(UserError) as kept:
        ask(RunOptions(TASK, "orcale", out, asked[3], "openai", dead, None, 1), {})
    assert livek12_here("run", *asked, "--out", out).code == 0
    assert "nothing answers at" in str(kept.value)


@pytest.mark.parametrize("command", ["run", "generate", "import-responses"])
def test_a_folder_of_something_else_is_left_alone(command: str, asked: list[str], data: Path, tmp_path: Path) -> None:
    out = tmp_path / "notes"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text(json.dumps({"question_id": "x", "response": "A"}) + "\n")
    what = [str(recorded), "--task", TASK, "--data", str(data)] if command == "import-responses" else asked
    assert "is no run folder, and not empty (it holds 'notes.txt')" in one_error(
        livek12_here(command, *what, "--out", out)
    )
    assert contents(out) == {"notes.txt": b"mine"}
    assert "is a file" in one_error(livek12_here(command, *what, "--out", out / "notes.txt"))


def test_of_two_commands_that_begin_at_once_one_has_the_folder(asked: list[str], tmp_path: Path) -> None:
    out, models = tmp_path / "run", ("one", "two")
    children = [
        subprocess.Popen(
            [*COMMAND, "generate", *asked, "--model", model, "--trials", "4", "--out", out],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for model in models
    ]
    said = [child.communicate()[1] for child in children]
    assert sorted(child.returncode for child in children) == [0, 2], said
    winner = models[[child.returncode for child in children].index(0)]
    lines = [json.loads(line) for file in out.glob("responses-*.jsonl") for line in file.read_text().splitlines()]
    assert RunFolder.open(out).spec().model == winner
    assert {line["model"] for line in lines} == {winner} and len(lines) == 4 * 11


def test_a_run_of_a_later_version_is_refused_and_left_alone(asked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert livek12_here("run", *asked, "--out", out).code == 0
    spec = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**spec, "record_version": PACKED_VERSION + 1, "later": 1}))
    for file in out.glob("responses-*.jsonl"):
        lines = [{**json.loads(line), "later": 1} for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = contents(out)
    for command in (
        ["score", out],
        ["report", out],
        ["judge", out],
        ["compare", out, out],
        ["run", *asked, "--out", out],
    ):
        assert "take the later livek12" in one_error(livek12_here(*command))
    assert contents(out) == before

    (out / "run.json").write_text(json.dumps(spec))  # only the records are of a later version
    before = contents(out)
    for command in (["score", out], ["report", out], ["run", *asked, "--out", out]):
        assert "responses-0.jsonl:1: not a Response record (later: " in one_error(livek12_here(*command))
    changed = {name for name, content in contents(out).items() if before.get(name) != content}
    assert not changed & {"report.json", "report.html", "responses-0.jsonl"}


def test_commands_that_write_say_in_one_line_that_the_folder_is_read_only(
    asked: list[str], tmp_path: Path, read_only: Callable[[Path], Path]
) -> None:
    out = tmp_path / "run"
    assert livek12_here("generate", *asked, "--out", out).code == 0
    before, shown = contents(out), read_only(out)
    for command in (["judge", shown], ["run", *asked, "--out", shown], ["generate", *asked, "--out", shown]):
        assert "(Read-only file system)" in one_error(livek12_here(*command))
    assert "(Read-only file system)" in one_error(livek12_here("run", *asked, "--out", shown / "new"))
    assert contents(out) == before


def test_a_reader_that_goes_away_does_not_cost_the_report(asked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert livek12_here("generate", *asked, "--out", out).code == 0
    with subprocess.Popen([*COMMAND, "report", str(out)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as command:
        assert command.stdout
        command.stdout.close()
    assert {"report.json", "report.html"} <= set(contents(out))


def test_what_another_command_has_in_hand_has_not_failed(tmp_path: Path) -> None:
    """Of two that share a folder the first to end is done, and says no failure."""
    run = RunFolder.create_or_resume(tmp_path, spec(trials=1), {"t": [question(name) for name in "abc"]})
    with run.writer("responses") as responses, run.writer("failures") as failures:
        responses.append(response("a"))
        failures.append(failure("a"))
        failures.append(failure("b"))
    assert _counts(run) == {"asked": 3, "answered": 1, "unsupported": 0, "failed": 1}
