"""Every diagnostic, killed at five moments: it goes on, and nothing that was answered is asked twice."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from livek12.evaluation.studies.error_kinds import gathered, to_ask
from tests.endpoint import oracle_at
from tests.engines.scripted_server import serving
from tests.evaluation.diagnosed import Planted, make
from tests.evaluation.test_completion import questions
from tests.evaluation.test_error_types import judging, runs, seen_kind
from tests.evaluation.test_steps import judged, number, recorded, splitting
from tests.judges.llm.judge_server import JudgeScript, says, text_of
from tests.scripts.command import COMMAND, livek12_here

pytestmark = pytest.mark.release
__all__ = ["questions", "recorded", "runs"]


def killed_at(moments: list[int], line: list[object], asked: Callable[[], int], cache: Path) -> None:
    """Runs a command, kills it each time so many requests have been put, and at last lets it end."""
    environment = {**os.environ, "LIVEK12_CACHE": str(cache)}
    words = [*COMMAND, *map(str, line)]
    for moment in moments:
        command = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        until = time.monotonic() + 120
        while asked() < moment and time.monotonic() < until:
            time.sleep(0.005)
        assert command.poll() is None, "it ended before it was killed"
        command.kill()
        command.wait(30)
    done = subprocess.run(words, timeout=300, check=False, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr


def once(asked: Counter[Any], wanted: int, in_hand: int = 1) -> None:
    """All was asked; at each kill so many requests were in hand, and one may have been answered and not kept yet."""
    assert len(asked) == wanted
    assert sum(asked.values()) - len(asked) <= 5 * (in_hand + 1)


def slow(reply: Callable[[Any], Any]) -> JudgeScript:
    def answer(name: str, before: int, body: Any) -> Any:
        time.sleep(0.3)
        return reply(body)

    return JudgeScript(answer)


def test_conditioned_questions(tmp_path: Path) -> None:
    data = make(tmp_path, [3, 2])
    script = Planted(lambda asked: 0.5)
    take = script.take

    def slowly(body: Any, headers: Any) -> Any:
        time.sleep(0.05)
        return take(body, headers)

    script.take = slowly  # type: ignore[method-assign]
    with serving(script) as address:
        args = ("--engine", "openai", "--engine-args", f"base_url={address},max_retries=0,concurrency=1")
        line = ["run", "--task", "cfe_text:all", "--data", data, "--model", "m", *args, "--out", tmp_path / "run", "-q"]
        killed_at([4, 20, 60, 100, 150], [*line, "--trials", 8], lambda: len(script.seen), tmp_path / "cache")
    once(Counter((text_of(seen.body), seen.body.get("seed")) for seen in script.seen), 5 * 5 * 8)
    assert livek12_here("study", "diagnostics", tmp_path / "run", "--fewest", 1).code == 0


def test_steps(recorded: Path, tmp_path: Path) -> None:
    script = splitting(delay=0.3)
    with serving(script) as address:
        killed_at([1, 2, 3, 4, 5], [*judged(recorded, address)], lambda: len(script.seen), tmp_path / "cache")
    once(Counter(number(seen.body) for seen in script.seen), 6, script.most_at_once)


def test_kinds_of_errors(runs: dict[str, Path], tmp_path: Path) -> None:
    exact = judging(lambda number, kind: kind)
    script = slow(lambda body: exact._answer("", 0, body))
    with serving(script) as address:
        judge = f"alpha@openai:base_url={address},max_retries=0,concurrency=1"
        line = ["study", "error-types", *runs.values(), "--judge", judge, "--sample", 6]
        killed_at([1, 3, 5, 7, 9], [*line], lambda: len(script.seen), tmp_path / "cache")
    folders = {name: RunFolder.open(path) for name, path in runs.items()}
    once(
        Counter(seen_kind(seen.body)[:2] for seen in script.seen),
        to_ask(gathered(folders, 6, 0, {})),
        script.most_at_once,
    )


def test_completions(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with oracle_at(tmp_path / "log") as address:
        args = (
            "--model",
            "oracle",
            "--engine",
            "openai",
            "--engine-args",
            f"base_url={address}",
            "--out",
            tmp_path / "r",
        )
        ended = livek12_here("run", "--task", "kmmmu:completion", "--data", questions, *args, "-q")
        assert ended.code == 0, ended.err
    script = slow(lambda body: says({"reason": "", "exactness": 5, "refused": False, "hallucinated": True}))
    with serving(script) as address:
        judge = f"alpha@openai:base_url={address},max_retries=0,concurrency=1"
        line = ["study", "completion", tmp_path / "r", "--judge", judge]
        killed_at([2, 5, 8, 12, 16], [*line], lambda: len(script.seen), tmp_path / "cache")
    once(Counter(text_of(seen.body) for seen in script.seen), 20, script.most_at_once)
