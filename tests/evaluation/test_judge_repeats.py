"""One run, its judges asked several times: the draws differ, the marks do not, nothing is asked twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import ERROR_TYPES
from livek12.core.run.folder import RunFolder
from livek12.evaluation import reporting
from tests.engines.scripted_server import Json, Reply, serving
from tests.evaluation.labelled_runs import make_run
from tests.evaluation.test_reliability import near
from tests.evaluation.test_reliability_judges import critique
from tests.judges.llm.judge_server import JudgeScript, says
from tests.scripts.command import COMMAND, livek12_here

KEPT = {"CIE": 0.95, "LAE": 0.8, "DRE": 0.6}
"""How often a critic says again what it thinks, by error type."""
ANSWERS = 120


def moody(name: str, before: int, body: Json) -> Reply:
    """Its mind on a question hangs on the question, whether it keeps to it on the seed."""
    mind = random.Random(name)
    mood = random.Random(f"{name}/{body['seed']}")
    said = {kind: mind.random() < 0.5 for kind in ERROR_TYPES}
    return says(critique({kind: said[kind] == (mood.random() < KEPT[kind]) for kind in ERROR_TYPES}))


def judging(run: Path, address: str, *more: object) -> list[object]:
    args = f"base_url={address},timeout=300,max_retries=1,backoff=0.01,concurrency=4"
    judge = ["--judge", "claude-x", "--judge-engine", "openai", "--judge-engine-args", args]
    return ["judge", run, *judge, *more]


def marks(run: Path) -> Any:
    return {key: (one.state, one.points, one.process) for key, one in RunFolder(run).verdicts().items()}


def test_planted_agreement_comes_back_from_one_run(tmp_path: Path) -> None:
    run, script = make_run(tmp_path / "run", each=ANSWERS, numbered=True).path, JudgeScript(moody)
    with serving(script) as address:
        assert livek12_here(*judging(run, address)).code == 0
        once, report = marks(run), reporting.score(RunFolder(run))["tasks"]
        assert len(script.seen) == ANSWERS
        ended = livek12_here(*judging(run, address, "--repeats", 3))
        assert ended.code == 0, ended.err
        assert f"{2 * ANSWERS} verdicts, about {2 * ANSWERS} requests and {200 * ANSWERS:,} prompt tokens" in ended.err
        assert len(script.seen) == 3 * ANSWERS
        again = livek12_here(*judging(run, address, "--repeats", 3))
        assert again.code == 0 and len(script.seen) == 3 * ANSWERS, "nothing is asked twice"
    seeds = {name: {seen.body["seed"] for seen in script.seen if seen.question == name} for name in script.attempts()}
    assert all(len(found) == 3 for found in seeds.values())
    assert marks(run) == once and reporting.score(RunFolder(run))["tasks"] == report
    found = json.loads(livek12_here("study", "reliability", run, "--json").out)["intra_judge"]
    for kind, kept in KEPT.items():
        assert found[kind]["claude-x"]["n"] == ANSWERS
        assert near(found[kind]["claude-x"]["identical"], kept**3 + (1 - kept) ** 3, ANSWERS)
        assert near(found[kind]["claude-x"]["agreed"], kept**2 + (1 - kept) ** 2, ANSWERS)
    intra = json.loads(livek12_here("study", "intra-judge", run, "--json").out)
    assert len(intra["judges"]) == 3 and intra["process"]["overall"]["claude-x"]["n"] == 3 * ANSWERS


def test_verdicts_on_answers_are_repeated_too(tmp_path: Path) -> None:
    """Of a judge that accepts seven in ten, whatever it said before."""

    def answer(name: str, before: int, body: Json) -> Reply:
        right = random.Random(f"{name}/{body['seed']}").random() < 0.7
        return says({"parts": [{"part": 1, "reason": "", "correct": right}], "correct": int(right), "total": 1})

    run = make_run(tmp_path / "run", each=ANSWERS, numbered=True).path
    with serving(JudgeScript(answer)) as address:
        how = ["--again", "--no-audit", "--judge-scope", "all", "--judge-method", "count", "--repeats", 2]
        ended = livek12_here(*judging(run, address, *how))
        assert ended.code == 0, ended.err
    intra = json.loads(livek12_here("study", "intra-judge", run, "--json").out)
    assert intra["decided_by_all"] == ANSWERS
    assert near(intra["identical"], 0.7**2 + 0.3**2, ANSWERS)


@pytest.mark.release
def test_a_kill_asks_nothing_twice(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", each=30, numbered=True).path
    gate: list[subprocess.Popen[str]] = []
    moments = iter((40, 70))
    moment = next(moments)

    def killing(name: str, before: int, body: Json) -> Reply:
        nonlocal moment
        if gate and len(script.seen) >= moment:
            moment = next(moments, 10_000)
            os.kill(gate[-1].pid, signal.SIGKILL)
        return moody(name, before, body)

    script = JudgeScript(killing)
    with serving(script) as address:
        line = [*COMMAND, *map(str, judging(run, address, "--repeats", 3))]
        for expected in (-signal.SIGKILL, -signal.SIGKILL, 0):
            with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
                gate.append(child)
                _, said = child.communicate(timeout=120)
            assert child.returncode == expected, said
    asked = Counter((seen.question, seen.body["seed"]) for seen in script.seen)
    assert len(asked) == 90
    assert sum(asked.values()) <= 90 + 2 * 8, "no more than what was in hand at each kill"
    stored = Counter((str(one.key), one.repeat) for one in RunFolder(run).repeats())
    assert len(stored) == 60


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["judge", "RUN", "--repeats", "2"], "rules say the same every time"),
        (["study", "intra-judge", "RUN"], "its judges were asked once"),
    ],
)
def test_what_cannot_be_is_one_line(line: list[str], said: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    ended = livek12_here(*[run if word == "RUN" else word for word in line])
    assert ended.code == 2 and said in ended.errors[0]


def test_copies_by_one_reply_are_refused(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, numbered=True).path for name in ("a", "b")]
    with serving(JudgeScript(moody)) as address:
        for run in runs:
            assert livek12_here(*judging(run, address)).code == 0
    for pair in combinations(runs, 2):
        ended = livek12_here("study", "intra-judge", *pair)
        assert ended.code == 2 and "nobody was asked again" in ended.errors[0]
