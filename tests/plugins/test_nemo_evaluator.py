"""Our tasks in NeMo Evaluator, by its own command (its environment: Python 3.12, `nemo-evaluator`, livek12, pytest)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from livek12.engines.openai.format import messages_json
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, HarnessTask, harness_name, open_task
from livek12.tasks.plugins.nemo_evaluator import FILE
from tests.conftest import ROOT
from tests.endpoint import serving
from tests.plugins.conftest import needs, planted_answers

needs("nemo_evaluator")

pytestmark = pytest.mark.slow


def said_to(messages: Any) -> str:
    return json.dumps(messages, sort_keys=True)


class Planted(BaseHTTPRequestHandler):
    """Answers each request with what was planted for it, and keeps what was asked."""

    answers: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(said_to(body["messages"]))
        message = {"role": "assistant", "content": self.answers[self.asked[-1]]}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        payload = json.dumps({"id": "x", "model": "planted", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing on stderr."""


def nel(task: str, address: str, out: Path, data: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("nel")), "eval", "run", "--bench", f"{FILE}:{harness_name(task)}"]
    command += ["--model-url", address, "--model-id", "planted", "--api-key", "none", "-o", str(out)]
    place = {**os.environ, DATA_VARIABLE: data, "PYTHONPATH": str(ROOT / "src"), "HOME": str(out)}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=place)


def results(out: Path) -> Iterator[dict[str, Any]]:
    (file,) = out.rglob("results.jsonl")
    yield from map(json.loads, file.read_text().splitlines())


@pytest.mark.parametrize("task", ["cfe_text", "livek12_text_only"])
def test_requests_and_marks_are_ours(task: str, sample_data: str, tmp_path: Path) -> None:
    """Message by message, and each reward is that of our rules."""
    exam: HarnessTask = open_task(task, sample_data)
    planted = {row["question_id"]: row["response"] or "…" for row in planted_answers(exam.documents)}
    messages = {document.id: said_to(messages_json(document.request)) for document in exam.documents}
    Planted.answers, Planted.asked = {messages[id]: text for id, text in planted.items()}, []
    with serving(Planted) as address:
        ended = nel(task, f"{address}/v1", tmp_path, sample_data)
    assert ended.returncode == 0, ended.stderr
    assert sorted(Planted.asked) == sorted(messages.values())
    found = {row["metadata"]["id"]: row for row in results(tmp_path)}
    assert found.keys() == messages.keys()
    for id, row in found.items():
        verdict = exam.mark(id, planted[id])
        assert row["reward"] == float(verdict.correct is True), id
        assert row["scoring_details"]["state"] == verdict.state
        assert row["scoring_details"]["score"] == verdict.low / verdict.max_points
    assert len({row["reward"] for row in found.values()}) == 2


@pytest.mark.parametrize(
    ("task", "place", "message"),
    [
        ("cfe_text", "", f"no data set: set {DATA_VARIABLE}"),
        ("cfe_text", "/none", "/none: no such folder"),
        ("kmmmu", "{data}", "has pictures, which NeMo Evaluator 0.3 cannot log where they stand"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    task: str, place: str, message: str, sample_data: str, tmp_path: Path
) -> None:
    ended = nel(task, "http://127.0.0.1:1/v1", tmp_path, place.format(data=sample_data))
    said = [line for line in ended.stderr.splitlines() if line.startswith("livek12: ")]
    assert ended.returncode and len(said) == 1 and message in said[0], ended.stderr
    assert "Traceback" not in ended.stderr
