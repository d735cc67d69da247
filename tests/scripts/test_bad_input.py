"""What goes wrong at a user's desk ends in one clear line or a marked record, and nothing stored is lost."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from tests.endpoint import oracle_at, serving
from tests.hub import Hub
from tests.hub_client import Client
from tests.scripts.command import Ended, livek12, livek12_here

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "sample"
    assert livek12_here("build", "sample", "--out", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oracle_at(tmp_path_factory.mktemp("oracle") / "log") as address:
        yield address


def run(data: Path, url: str, out: Path, *more: object, task: str = "livek12_text_image_en") -> Ended:
    how = ("--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={url},max_retries=0")
    return livek12_here("run", "--task", task, "--data", data, *how, "--out", out, *more)


def states(out: Path) -> dict[str, str]:
    return {row.question.id: row.state for row in RunFolder.open(out).rows()}


def edited(sample: Path, folder: Path, config: str, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    """A copy of the sample whose English rows of one config are changed."""
    import shutil

    import pyarrow.parquet as pq

    shutil.copytree(sample, folder)
    (file,) = folder.glob(f"{config}/en_sample-*.parquet")
    table = pq.read_table(file)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), file)
    return folder


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--task", "livek12_textonly"), "unknown task 'livek12_textonly': did you mean"),
        (("--task", ","), "no task named"),
        (("--data", "nowhere-at-all"), "nowhere-at-all"),
        (
            ("--data", ""),
            "--source hub --out data/livek12` makes one of the published questions; then --data data/livek12",
        ),
        (("--engine", "gpt"), "--engine 'gpt': choose one of"),
        (("--engine-args", "base_url"), "base_url"),
        (("--engine-args", "base_url=http://127.0.0.1:1/v1,colour=blue"), "colour"),
        (("--engine-args", "base_url=http://127.0.0.1:1/v1,max_retries=0"), "127.0.0.1:1"),
        (("--engine", "transformers", "--model", "{here}", "--engine-args", ""), "{here}"),
        (("--engine", "replay", "--model", "{here}", "--engine-args", ""), "{here}"),
        (("--judge", "oracle"), "never itself nor its family"),
        (("--profile", "mine"), "unknown profile 'mine': choose one of article, release"),
        (("--out", "/proc/nowhere"), "/proc/nowhere: cannot be made"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    args: tuple[str, ...], said: str, sample: Path, oracle: str, tmp_path: Path
) -> None:
    here = tmp_path / "not a model"
    here.mkdir()
    options = {
        "--task": "livek12_text_only_en",
        "--data": str(sample),
        "--model": "oracle",
        "--engine": "openai",
        "--engine-args": f"base_url={oracle}",
        "--out": str(tmp_path / "run"),
    }
    options |= dict(zip(args[::2], (arg.replace("{here}", str(here)) for arg in args[1::2]), strict=True))
    ended = livek12_here("run", *(piece for pair in options.items() for piece in pair))
    assert ended.code == 2, ended
    assert len(ended.errors) == 1
    assert said.replace("{here}", str(here)) in ended.errors[0]


def test_a_data_set_without_the_config_says_what_it_has(sample: Path, oracle: str, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(sample, tmp_path / "data")
    card = tmp_path / "data" / "README.md"
    card.write_text(card.read_text().replace('"text_only"', '"text_gone"'))
    ended = run(tmp_path / "data", oracle, tmp_path / "run", task="livek12_text_only")
    assert ended.code == 2
    assert "text_only" in ended.errors[0] and "text_image" in ended.errors[0]


def test_a_missing_picture_costs_its_question_alone(sample: Path, oracle: str, tmp_path: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[0]["images"][0]["bytes"] = None

    data = edited(sample, tmp_path / "data", "text_image", change)
    ended = run(data, oracle, tmp_path / "run")
    found = states(tmp_path / "run")
    (broken,) = [question for question, state in found.items() if state == "failed"]
    assert ended.code == 1
    assert any(broken in line and "image 1" in line and "missing" in line for line in ended.warnings)
    assert len(found) == 10


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n broken", b"<html>no picture</html>", b"x"])
def test_a_corrupt_picture_costs_its_question_alone(content: bytes, sample: Path, oracle: str, tmp_path: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[1]["images"][0]["bytes"] = content

    data = edited(sample, tmp_path / "data", "text_image", change)
    ended = run(data, oracle, tmp_path / "run")
    found = states(tmp_path / "run")
    (broken,) = [question for question, state in found.items() if state == "failed"]
    assert ended.code == 1
    assert any(broken in line and "image" in line for line in ended.warnings), ended.err
    assert livek12_here("validate", data).code == 1


def test_a_question_without_a_key_is_ungraded_and_the_mark_an_interval(
    sample: Path, oracle: str, tmp_path: Path
) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["answer"] = []

    data = edited(sample, tmp_path / "data", "text_only", change)
    assert run(data, oracle, tmp_path / "run", task="livek12_text_only_en").code == 0
    report = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]["livek12_text_only_en"]
    assert report["counts"]["ungraded"] + report["counts"]["no_answer"] == 11
    assert report["counts"]["ungraded"] > 0
    assert report["metrics"]["mark"]["value"] is None


def test_a_full_disk_stops_with_one_line_and_the_run_goes_on_later(sample: Path, oracle: str, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(2_000_000))
    out = small_disk / "run"
    first = run(sample, oracle, out, "--trials", 8, task="livek12_text_only")
    assert first.code == 2 and len(first.errors) == 1
    assert "No space left" in first.errors[0]
    stored = [response.key for response in RunFolder.open(out).responses()] if (out / "run.json").exists() else []
    (small_disk / "ballast").unlink()
    again = run(sample, oracle, out, "--trials", 8, task="livek12_text_only")
    assert again.code == 0, again.err
    keys = [response.key for response in RunFolder.open(out).responses()]
    assert len(keys) == 22 * 8
    assert keys[: len(stored)] == stored


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<html>hello</html>"),
        (200, '{"choices": []}'),
        (200, '{"choices": [{"message": {"content": 7}}]}'),
        (200, '{"choices": [{"mess'),
        (500, "oops"),
        (400, '{"error": {"message": "too long"}}'),
    ],
)
def test_an_endpoint_that_answers_rubbish_leaves_failed_records(
    status: int, body: str, sample: Path, tmp_path: Path
) -> None:
    class Rubbish(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing on stderr."""

    with serving(Rubbish) as url:
        ended = run(sample, f"{url}/v1", tmp_path / "run", task="livek12_text_only_en")
    assert ended.code in (1, 2)
    if ended.code == 1:
        assert set(states(tmp_path / "run").values()) == {"failed"}
        assert [line for line in ended.warnings if "6 more of the kind 'failed'" in line] == ended.warnings[-1:]
        mark = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]["livek12_text_only_en"]["metrics"]
        assert (mark["mark"]["low"], mark["mark"]["high"]) == (0, 100)
    else:
        assert len(ended.errors) == 1


def test_a_run_folder_refuses_another_run(sample: Path, oracle: str, tmp_path: Path) -> None:
    assert run(sample, oracle, tmp_path / "run", task="livek12_text_only_en").code == 0
    other = run(sample, oracle, tmp_path / "run", "--temperature", 0.5, task="livek12_text_only_en")
    assert other.code == 2
    assert "sampling of livek12_text_only_en was" in other.errors[0]


def test_damaged_responses_are_told_and_asked_again(sample: Path, oracle: str, tmp_path: Path) -> None:
    assert run(sample, oracle, tmp_path / "run", task="livek12_text_only_en").code == 0
    report = (tmp_path / "run" / "report.json").read_text()
    file = tmp_path / "run" / "responses-0.jsonl"
    lines = file.read_text().splitlines()
    lines[3] = lines[3][:40]
    file.write_text("\n".join([*lines, lines[5][: len(lines[5]) // 2]]))
    ended = run(sample, oracle, tmp_path / "run", task="livek12_text_only_en")
    assert ended.code == 0
    assert any("responses-0.jsonl:4: not a Response record" in line for line in ended.warnings)
    before, after = json.loads(report)["tasks"], json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]
    assert after == before


def test_the_key_of_an_endpoint_is_never_written_down(sample: Path, oracle: str, tmp_path: Path) -> None:
    secret = "sk-very-secret"
    hidden = oracle.replace("://", f"://us:{secret}@") + f"?api-key={secret}"
    args = f"base_url={hidden},api_key={secret}"
    how = ("--model", "oracle", "--engine", "openai", "--engine-args", args, "--limit", 1)
    ended = livek12_here("run", "--task", "livek12_text_only_en", "--data", sample, *how, "--out", tmp_path / "run")
    assert ended.code == 0 and secret not in ended.err + ended.out
    assert RunFolder.open(tmp_path / "run").spec().engine_args["base_url"] == oracle
    assert not [file for file in (tmp_path / "run").iterdir() if secret in file.read_text()]


class Other(BaseHTTPRequestHandler):
    """Answers everything alike."""

    body = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body.encode() * (self.command != "HEAD"))

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing on stderr."""


@pytest.fixture(scope="module")
def told_of_another(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A client whose Hub is no Hub, and that one's address."""
    folder = tmp_path_factory.mktemp("other")
    hub = Hub(folder / "hub")
    with serving(Other) as hub.url, Client(hub, folder / "home") as client:
        yield client, hub.url


@pytest.mark.parametrize(
    "body", ['{"hello": "world"}', "[1, 2]", "null", "<html>log in</html>", '{"id": "org/x", "sha": 7}']
)
def test_what_is_no_hub_is_called_that(
    body: str, sample: Path, told_of_another: tuple[Client, str], tmp_path: Path
) -> None:
    client, url = told_of_another
    Other.body = body
    for line in (
        "tasks --data org/x",
        f"build livek12 --source hub --out {tmp_path}/a",
        f"build sample --base org/x --out {tmp_path}/b",
        f"dedup {sample} --against org/x --out {tmp_path}/c.jsonl",
        f"publish {sample} --repo org/x",
        f"publish {sample} --repo org/x --dry-run",
    ):
        (error,) = client.livek12(*line.split()).errors
        assert f"what answers at {url} is no Hub" in error


def test_a_full_folder_for_temporary_files_is_not_laid_at_the_door_of_out(
    sample: Path, small_disk: Path, tmp_path: Path
) -> None:
    (small_disk / "ballast").unlink()
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(4096)):
            """Until the disk is full."""
    others = "attributes,benchmark,reasoning_flow,variables"
    with (small_disk / "ballast").open("r+b") as ballast:
        ballast.truncate((small_disk / "ballast").stat().st_size - 8192)
    for args in (
        ("build", "livek12", "--source", sample, "--drop", others, "--out", tmp_path / "data"),
        ("dedup", sample, "--against", sample, "--out", tmp_path / "pairs.jsonl"),
        ("tag", "--measure", "--labels", sample),
    ):
        ended = livek12(*args, TMPDIR=str(small_disk))
        assert ended.code == 2, ended
        (line,) = ended.errors
        assert f"temporary files cannot be written in {small_disk} (No space left on device)" in line
    assert not (tmp_path / "data").exists()


def test_what_is_wrong_is_found_before_a_model_is_loaded(sample: Path, tmp_path: Path) -> None:
    """There is no such model: who loaded it first would say so."""
    how = ("--model", tmp_path / "no model", "--engine", "transformers")
    for args, said in (
        (("translate", tmp_path / "nowhere", *how, "--out", tmp_path / "out"), "is neither an ingested folder nor"),
        (("translate", sample, *how, "--to", "xx", "--out", tmp_path / "out"), "--to 'xx': choose en"),
        (("tag", sample, "--flows", *how), "proposed in the drafts of an ingested folder"),
        (("ingest", tmp_path / "none.pdf", "--parser", "m@transformers", "--out", tmp_path / "out"), "no such file"),
    ):
        (line,) = livek12_here(*args).errors
        assert said in line


def test_papers_of_which_none_can_be_read_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "text.pdf").write_text("hello")
    ended = livek12_here("ingest", tmp_path / "text.pdf", "--out", tmp_path / "out")
    assert ended.code == 1
    assert "no paper was ingested" in ended.err
    assert "review" not in ended.out + ended.err


def test_recorded_answers_are_read_and_not_asked_for(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"question_id": "en_sample_math_0001", "response": "A"}\n')
    args = ("--task", "livek12_text_only_en", "--data", sample, "--out", tmp_path / "run")
    ended = livek12_here("import-responses", tmp_path / "one.jsonl", *args)
    assert ended.code == 1
    assert "reading answers: 11/11" in ended.err and "10 answers are not in what was recorded" in ended.err
    assert "ask" not in ended.err
