"""An engine of an installed package answers, judges and sweeps, and what it states of itself is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from livek12.core import engine_kinds
from livek12.core.run.folder import RunFolder
from tests.conftest import ROOT
from tests.scripts.command import Ended, livek12

PACKAGE = '''
"""An engine that says one thing to everybody."""

from livek12.core.engine_kinds import EngineKind
from livek12.core.records import Response

KIND = EngineKind("parrot", "parrot:Parrot", "endpoint")


class Parrot:
    name, revision, images = "parrot", None, True

    def __init__(self, model: str, *, say: str = "\\\\boxed{A}") -> None:
        self.model, self.say = model, say

    def generate(self, requests):
        for request in requests:
            said = {"text": self.say, "finish_reason": "stop", "completion_tokens": 3, "prompt_tokens": 5}
            yield Response(key=request.key, engine=self.name, model=self.model, **said)

    def versions(self):
        return {"parrot": "1"}

    def close(self):
        pass
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that holds the package as pip would install it."""
    place = tmp_path / "site-packages"
    (described := place / "parrot-1.dist-info").mkdir(parents=True)
    (place / "parrot.py").write_text(PACKAGE)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[{engine_kinds.GROUP}]\nparrot = parrot:KIND\n")
    return place


def with_package(place: Path, *args: object) -> Ended:
    return livek12(*args, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(place)]))


def test_it_runs_judges_and_sweeps(place: Path, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ("--task", "kmmmu,cfe_text", "--data", data, "--limit", 3)
    ended = with_package(place, "run", "--engine", "parrot", "--model", "polly", *asked, "--out", run)
    assert ended.code in (0, 1), ended.err
    assert {response.engine for response in RunFolder.open(run).responses()} == {"parrot"}
    report = json.loads((run / "report.json").read_text())
    assert report["tasks"]["kmmmu"]["counts"]["answers"] == 3
    sessions = [json.loads(line) for file in run.glob("sessions-*.jsonl") for line in file.read_text().splitlines()]
    assert {session["engine"] for session in sessions if session["stage"] == "generate"} == {"parrot"}

    verdict = json.dumps({"parts": [{"part": 1, "reason": "so", "correct": False}], "correct": 0, "total": 1})
    judges = tmp_path / "judges.yaml"
    judges.write_text(
        json.dumps({"judges": [{"model": "owl", "engine": "parrot", "engine_args": {"say": verdict}, "family": "owl"}]})
    )
    ended = with_package(place, "judge", run, "--judge", judges, "--judge-scope", "all")
    calls = [call for judged in RunFolder.open(run).verdicts().values() for part in judged.parts for call in part.votes]
    assert {call.judge for call in calls} == {"owl"}, ended.err

    sweep = tmp_path / "sweep.yaml"
    models = [{"name": "polly", "engine": "parrot"}, {"name": "molly", "engine": "parrot"}]
    settings = {"tasks": ["kmmmu"], "data": str(data), "limit": 2, "out": str(tmp_path / "runs"), "models": models}
    sweep.write_text(json.dumps(settings))
    ended = with_package(place, "sweep", sweep)
    assert ended.code == 0, ended.err + ended.out
    assert len(list((tmp_path / "runs").rglob("report.json"))) == 2


def test_a_package_without_it_is_one_line(place: Path, data: Path, tmp_path: Path) -> None:
    (place / "parrot.py").write_text("KIND = 7\n")
    asked = ("--model", "polly", "--task", "kmmmu", "--data", data, "--out", tmp_path / "run")
    ended = with_package(place, "run", "--engine", "parrot", *asked)
    assert (ended.code, ended.errors) == (2, ["error: engine parrot: parrot:KIND is no EngineKind of that name"])
    ended = livek12("run", "--engine", "parrot", *asked)
    assert ended.code == 2
    assert "auto, vllm, transformers, openai, batch, replay" in ended.err
