"""Runs at `s3://`, with s3fs and an S3 server on loopback (moto)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from livek12.core.compaction import compact
from livek12.core.packed import PackedLines, packed_path
from tests.evaluation.test_site import asked, marked, run_of, simple
from tests.scripts.command import Ended, livek12, livek12_here

SECRET = "planted/secret+0123456789"
pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(shutil.which("moto_server") is None, reason="no moto_server on the path, of moto[server,s3]"),
]


@dataclass(frozen=True)
class Server:
    """A server with the bucket `exams`, and the environment of somebody who works there."""

    environment: Mapping[str, str]
    log: Path

    def seen(self, words: str) -> int:
        """How many requests were made that hold these words."""
        return sum(words in line for line in self.log.read_text().splitlines())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("s3fs")
    home = tmp_path_factory.mktemp("s3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (home / "log").open("wb") as log:
        child = subprocess.Popen(
            ["moto_server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log,
            stderr=log,
        )
    try:
        while child.poll() is None:
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "AKPLANTED",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "LIVEK12_CACHE": str(home / "cache"),
        }
        request = Request(f"{environment['AWS_ENDPOINT_URL']}/exams", method="PUT")
        with urlopen(request, timeout=60):
            yield Server(environment, home / "log")
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run."""
    return simple(tmp_path / "qwen3", "qwen3", [True, False, True], [asked(n) for n in range(1, 4)])


def asks(server: Server, *words: object, **environment: str) -> Ended:
    """Runs a command as its user would, and looks for the secret in all that it said."""
    ended = livek12(*words, **{**server.environment, **environment})
    assert SECRET not in ended.out + ended.err
    return ended


def test_runs_go_to_a_bucket_and_are_read_from_there(server: Server, run: Path, tmp_path: Path) -> None:
    other = simple(tmp_path / "gemma3", "gemma3", [False, False, True], [asked(n) for n in range(1, 4)])
    places = [f"s3://exams/season/{folder.name}" for folder in (run, other)]
    for folder, place in zip((run, other), places, strict=True):
        sent = asks(server, "push", folder, place, "--hold", "none")
        assert sent.code == 0, sent.err
    for command, here, there in [("score", [run], places[:1]), ("compare", [run, other], places)]:
        found, expected = asks(server, command, *there, "--json"), livek12(command, *here, "--json")
        assert found.code == 0, found.err
        assert json.loads(found.out) == json.loads(expected.out)
    for words in (
        ("report", places[0]),
        ("site", *places, "--out", tmp_path / "site"),
        ("export", places[0], "--to", "eee", "--rows", "none", "--out", tmp_path / "eee"),
    ):
        ended = asks(server, *words)
        assert ended.code == 0, ended.err
    compact(run)
    assert asks(server, "push", run, places[0], "--hold", "none").code == 0
    before = server.seen("GET /exams/season/qwen3/")
    again = asks(server, "score", places[0], "--json")
    assert json.loads(again.out)["tasks"] == json.loads(livek12("score", run, "--json").out)["tasks"]
    assert server.seen("GET /exams/season/qwen3/") > before
    assert not server.seen("DELETE /exams/season/gemma3") and server.seen("DELETE /exams/season/qwen3/")
    kept = [path for path in Path(server.environment["LIVEK12_CACHE"]).rglob("*") if path.is_file()]
    assert kept and not any(SECRET.encode() in path.read_bytes() for path in [*kept, *run.iterdir()])


def test_what_goes_wrong_is_one_line_and_makes_no_bucket(server: Server, run: Path) -> None:
    quiet = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
    for words, environment, why in [
        (("push", run, "s3://exmas/qwen3", "--hold", "none"), {}, "bucket does not exist"),
        (("score", "s3://exmas/qwen3"), {}, "not a run folder"),
        (("score", "s3://exams/nothing"), {}, "not a run folder"),
        (("score", "s3://exams/nothing"), quiet, "credentials"),
        (("score", "s3://AKID:hunter2@exams/x"), {}, "Invalid bucket name"),
    ]:
        ended = asks(server, *words, **environment)
        assert (ended.code, len(ended.errors)) == (2, 1), ended.err
        assert why in ended.err
        assert "hunter2" not in ended.err
    assert not server.seen('"PUT /exmas HTTP')


def test_scores_ask_for_no_range_with_texts(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    questions = [asked(n) for n in range(1, 2001)]
    texts = (os.urandom(6_000).hex() for _ in questions)
    answers = (marked(one, f"{text} {one.answer[0]}", True) for one, text in zip(questions, texts, strict=True))
    big = run_of(tmp_path / "big", questions, answers, "big")
    compact(big)
    assert livek12_here("push", big, "s3://exams/big", "--hold", "none").code == 0
    ranges: list[tuple[str, int]] = []
    real = s3fs.core._inner_fetch

    def noting(fs: Any, bucket: str, key: str, version: Any, start: int, end: int, *rest: Any) -> Any:
        ranges.append((key.rpartition("/")[2], end - start))
        return real(fs, bucket, key, version, start, end, *rest)

    monkeypatch.setattr(s3fs.core, "_inner_fetch", noting)
    found, expected = (livek12_here("score", where, "--json") for where in ("s3://exams/big", big))
    assert json.loads(found.out) == json.loads(expected.out)
    for stem in ("responses", "verdicts"):
        path = packed_path(big, stem)
        asked_for = [size for name, size in ranges if name == path.name]
        assert sum(asked_for) < path.stat().st_size / 20
        assert len(asked_for) < 4 * (len(PackedLines(path)._begins) + 1)
    s3fs.S3FileSystem.clear_instance_cache()
