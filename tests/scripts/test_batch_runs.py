"""Whole runs by batches: model and judge, their state and price, and `kill -9` at random moments."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from tests.engines.batch_provider import Facts, Json, providing, text_for
from tests.judges.llm.judge_server import replying
from tests.scripts.command import ROOT, livek12_here

TASK = "livek12_text_only_en"
KILLS = int(os.environ.get("LIVEK12_KILLS", "100"))
BASE = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


def args(kind: str, address: str, **more: object) -> str:
    own = {"provider": kind, "base_url": address + BASE[kind], "poll": 0.02, "settle": 0.2, **more}
    return ",".join(f"{name}={value}" for name, value in own.items())


def judging(line: Json) -> str:
    """Right, in whatever form a judge is asked; else an answer that rules cannot read."""
    if "response_format" not in line["body"]:
        return f"Perhaps {text_for(line)}"
    reply = json.loads(replying()._answer("", 0, line["body"]).body)
    return str(reply["choices"][0]["message"]["content"])


def test_a_run_and_its_judge_by_batches(data: Path, tmp_path: Path) -> None:
    out, cache = tmp_path / "run", tmp_path / "cache"
    facts = Facts(looks=2, say=judging)
    with providing(facts) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIVEK12_CACHE", str(cache))
        asked = ["--task", TASK, "--data", data, "--model", "m", "--engine", "batch", "--out", out]
        judge = ["--judge", f"other@batch:{args('openai', address)}", "--judge-scope", "all"]
        now = [*asked, "--engine-args", args("openai", address, wait=0), *judge]
        begun = livek12_here("run", *now)
        assert (begun.code, len(begun.errors)) == (2, 1) and "requests wait in 1 batch," in begun.err
        shown = livek12_here("status", out)
        assert (
            "0 of 11 answered" in shown.out and "m by openai: batches_0001x waits, 0 of 11 requests over" in shown.out
        )
        state = json.loads(livek12_here("status", out, "--json").out)
        assert [batch["state"] for batch in state["batches"]] == ["waiting"]
        ended = livek12_here("run", *asked, "--engine-args", args("openai", address), *judge)
        assert ended.code == 0, ended.err
        assert "11 of 11 answered, 0 failed" in livek12_here("status", out).out
    assert set(facts.paid.values()) == {1}
    verdicts = list(RunFolder(out).verdicts().values())
    assert len(verdicts) == 11 and any(call.raw for verdict in verdicts for call in verdict.calls)
    assert all(not verdict.waits for verdict in verdicts)
    judged = sum(len(verdict.calls) for verdict in verdicts)
    assert len(facts.bodies) == 11 + judged and len(facts.batches) <= 3


def test_a_killed_judging_without_a_cache_pays_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from livek12.judges.llm.client import Schedule

    out, cache, plain = tmp_path / "run", tmp_path / "cache", Schedule.end_round
    monkeypatch.setenv("LIVEK12_CACHE", str(cache))

    def and_killed(schedule: Schedule) -> None:
        plain(schedule)
        raise RuntimeError("killed")

    facts = Facts(say=judging)
    with providing(facts) as address:
        asked = ["--task", TASK, "--data", data, "--model", "m", "--engine", "batch", "--out", out]
        assert livek12_here("generate", *asked, "--engine-args", args("openai", address)).code == 0
        named = f"other@batch:{args('openai', address)}"
        judge = ("judge", out, "--judge", named, "--judge-scope", "all", "--no-cache")
        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
            patch.setattr(Schedule, "end_round", and_killed)
            livek12_here(*judge)
        paid = len(facts.bodies)
        assert paid > 11
        assert livek12_here(*judge).code == 0
        assert len(facts.bodies) == paid and set(facts.paid.values()) == {1}
        assert not list(cache.glob("*-of-*")), "the next judging asks anew"


def test_a_dry_run_tells_the_price_of_both_ways(data: Path, tmp_path: Path) -> None:
    price = 'price={"prompt": 2, "completion": 10}'
    line = ["--task", TASK, "--data", data, "--model", "m", "--engine", "batch", "--out", tmp_path / "x", "--dry-run"]
    told = livek12_here("run", *line, "--engine-args", price)
    assert told.code == 0 and "asked directly" in told.out and "by batches" in told.out
    counted = json.loads(livek12_here("run", *line, "--engine-args", price, "--json").out)
    tokens, cost = counted["all"], counted["price"]
    assert cost["direct"] == pytest.approx((2 * tokens["prompt_tokens"] + 10 * tokens["completion_tokens"]) / 1e6)
    assert cost["batch"] == cost["direct"] / 2
    assert not (tmp_path / "x").exists()


def test_a_judge_by_batches_is_refused_where_answers_are_awaited(data: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"question": "1+1?", "gold": "2", "response": "2"}) + "\n")
    judge = "j@batch:base_url=http://127.0.0.1:1/v1"
    ended = livek12_here("judge-pairs", pairs, tmp_path / "out.jsonl", "--judge", judge)
    assert ended.code == 2 and "it goes with `run` and `judge`" in ended.err


def facts_of(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}/facts") as reply:
        facts: dict[str, Any] = json.load(reply)
    return facts


def in_child(words: list[str], log: Path) -> int:
    """A forked process that runs the command."""
    child = os.fork()
    if child:
        return child
    try:
        with log.open("w") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        from livek12.scripts import cli

        sys.argv = ["livek12", *words]
        cli.main()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


@pytest.mark.release
@pytest.mark.parametrize("kind", BASE)
def test_random_kills(kind: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many runs is killed twice at random moments, by a provider with faults at random, and then ends."""
    import livek12.engines.batch  # a child then starts at once
    import livek12.evaluation.asking
    import livek12.scripts.commands.run  # noqa: F401

    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "cache"))
    for name in ("ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    dice, kills, run, longest = random.Random(kind), 0, 0, 2.0
    states = Counter[str]()
    while kills < KILLS:
        run += 1
        provider = subprocess.Popen(
            [sys.executable, "-m", "tests.engines.batch_provider", str(run)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        try:
            assert provider.stdout is not None
            address, out = provider.stdout.readline().strip(), tmp_path / f"{kind}{run}"
            words = [
                *(
                    "generate",
                    "--task",
                    TASK,
                    "--data",
                    str(data),
                    "--model",
                    "m",
                    "--engine",
                    "batch",
                    "--trials",
                    "3",
                ),
                *("--engine-args", args(kind, address, most_requests=10), "--out", str(out)),
            ]
            began = time.monotonic()
            for _ in range(8):
                child = in_child(words, tmp_path / "log")
                time.sleep(dice.uniform(0.02, longest))
                os.kill(child, signal.SIGKILL)
                if os.waitpid(child, 0)[1] != signal.SIGKILL:
                    break
                kills += 1
                states += last_states(out)
            for _ in range(3):  # a request that failed three times is asked again by the same command
                child = in_child(words, tmp_path / "log")
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                if code == 0:
                    break
            assert code == 0, (shlex.join(words), (tmp_path / "log").read_text())
            longest = 0.8 * (time.monotonic() - began)
            facts, answers = facts_of(address), list(RunFolder(out).responses())
            assert len({str(answer.key) for answer in answers}) == len(answers) == 33, f"lost or doubled: {run}"
            assert sum(facts["paid"].values()) == 33, f"paid twice: {run}"
            assert set(facts["inputs"].values()) == {1}, f"submitted twice: {run}"
            print(f"{kind}: {kills} kills of {run} runs, none lost, doubled, paid or submitted twice", flush=True)
        finally:
            provider.kill()
            provider.wait()
    print(kind, kills, "kills of", run, "runs; batches at the kills:", dict(states))


def last_states(out: Path) -> Counter[str]:
    from livek12.engines.batch.ledger import read_batches

    return Counter(batch.state for batch in read_batches(out)) or Counter({"none": 1})
