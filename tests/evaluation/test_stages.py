"""Marking beside the asking, after it, or by local judges one after the other: the same marks every way."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import Session, read_sessions
from livek12.evaluation.marking import FEWEST, worth_it
from livek12.judges.jury import JudgeOptions
from livek12.judges.llm.spec import parse_judge
from livek12.scripts.bench.models import make_model
from tests.engines.conftest import needs_transformers
from tests.engines.helpers import children, command_of, gone
from tests.engines.scripted_server import Json, Reply, serving
from tests.evaluation.test_judge_models import replying
from tests.judges.llm.judge_server import JudgeScript, says, text_of
from tests.scripts.command import COMMAND, Ended, livek12_here

pytestmark = pytest.mark.slow

TASKS = "kmmmu,mdk12"
PATIENCE = 240.0


class Both(JudgeScript):
    """One endpoint that serves the model under test (`tested`) and the judges.

    The model answers a third of the prompts by a letter, the others by prose that no rule can read; before its answer
    number `held` and after, it waits for `gate`.
    """

    def __init__(self, gate: Callable[[], None] = lambda: None, judges_are_good: bool = True, held: int = 5) -> None:
        super().__init__(self._reply)
        self.good = replying(judges_are_good)._answer
        self.gate, self.held = gate, held

    def asked(self, model: str) -> list[Json]:
        return [seen.body for seen in self.seen if seen.body["model"] == model]

    def _reply(self, name: str, before: int, body: Json) -> Reply:
        if body["model"] != "tested":
            return self.good(name, before, body)
        if len(self.asked("tested")) >= self.held:
            self.gate()
        digest = hashlib.sha256(text_of(body).encode()).digest()
        prose = "One may think much of it.\n\nIn the end it comes to something.\n\nSo be it."
        return says(f"\\boxed{{{'ABCD'[digest[1] % 4]}}}" if digest[0] % 3 == 0 else prose)


def arguments(address: str, data: Path, out: Path, *more: object, judge: str = "alpha") -> list[object]:
    args = f"base_url={address},timeout=300,max_retries=1,backoff=0.01"
    judges = [] if judge == "rules" else ["--judge-engine", "openai", "--judge-engine-args", args]
    model = ["--model", "tested", "--engine", "openai", "--engine-args", f"{args},concurrency=2"]
    return ["run", "--task", TASKS, "--data", data, "--out", out, *model, "--judge", judge, *judges, *more]


def records(folder: Path) -> dict[str, Any]:
    """All that was marked, without times, however often it was marked anew."""
    found = {}
    for key, verdict in RunFolder(folder).verdicts().items():
        found[key] = json.loads(verdict.model_copy(update={"marking": 0}).model_dump_json())
        for call in found[key]["calls"]:
            del call["seconds"]
    return found


def report(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((folder / "report.json").read_text())
    for name in ("started_at", "engine_args"):
        del made["run"][name]
    del made["usage"]  # tokens a second
    return made


def stored(folder: Path, stem: str) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob(f"{stem}-*.jsonl"))


def until(what: Callable[[], bool]) -> None:
    """Waits for what must come; gives up only where it never would."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize("judge", ["rules", "alpha"])
def test_marking_runs_beside_the_asking_and_comes_to_the_same(judge: str, data: Path, tmp_path: Path) -> None:
    overlap, turn = tmp_path / "beside", tmp_path / "turn"
    marked = threading.Event()

    def gate() -> None:
        until(lambda: stored(overlap, "verdicts") > 0)
        marked.set()

    script = Both(gate)
    with serving(script) as address:
        ended = livek12_here(*arguments(address, data, overlap, "--no-cache", "--stages", "overlap", judge=judge))
        assert (ended.code, ended.errors) == (0, []), ended.err
        assert marked.is_set()
        script.gate = lambda: None
        first = len(script.seen)
        ended_in_turn = livek12_here(*arguments(address, data, turn, "--no-cache", "--stages", "turn", judge=judge))
        assert ended_in_turn.code == 0, ended_in_turn.err
    order = [seen.body["model"] for seen in script.seen[first:]]
    assert order == sorted(order, key=lambda model: model != "tested"), "in turn, judges come last"
    assert records(overlap) == records(turn)
    assert report(overlap) == report(turn)
    if judge == "alpha":
        assert spent(ended) == spent(ended_in_turn) != ""
        assert len(script.asked("alpha")) % 2 == 0, "each was asked as often as the other"


def lines(folder: Path, stem: str) -> list[Json]:
    return [json.loads(line) for file in folder.glob(f"{stem}-*.jsonl") for line in file.read_bytes().splitlines()]


def spent(ended: Ended) -> str:
    return next((line for line in ended.err.splitlines() if line.startswith("judges:")), "")


def test_killed_at_any_moment_of_both_stages_it_goes_on(data: Path, tmp_path: Path) -> None:
    rough, calm = tmp_path / "rough", tmp_path / "calm"
    with serving(Both()) as address:
        assert livek12_here(*arguments(address, data, calm, "--stages", "turn")).code == 0
        total = stored(calm, "responses")
        how = [str(word) for word in arguments(address, data, rough, "--stages", "overlap")]
        for stem, target in (("verdicts", 1), ("responses", total // 2), ("verdicts", total // 2)):
            child = subprocess.Popen([*COMMAND, *how], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            until(
                lambda stem=stem, target=target, child=child: stored(rough, stem) >= target or child.poll() is not None
            )  # type: ignore[misc]
            left = helpers(child.pid)
            child.kill()
            child.wait()
            until(lambda left=left: all(map(gone, left)))  # type: ignore[misc]
        ended = livek12_here(*how)
    assert ended.code == 0, ended.err
    for stem in ("responses", "verdicts"):
        assert set(Counter(json.dumps(line["key"]) for line in lines(rough, stem)).values()) == {1}
        assert stored(rough, stem) == stored(calm, stem)
    assert report(rough) == report(calm)


def test_a_helper_that_dies_is_done_without(data: Path, tmp_path: Path) -> None:
    out, killed = tmp_path / "run", threading.Event()
    lock = threading.Lock()
    script = Both()
    with serving(script) as address:
        how = [str(word) for word in arguments(address, data, out, "--stages", "overlap", judge="rules")]
        child = subprocess.Popen([*COMMAND, *how], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

        def gate() -> None:
            with lock:
                if not killed.is_set():
                    until(lambda: bool(helpers(child.pid)))
                    os.kill(helpers(child.pid)[0], signal.SIGKILL)
                    killed.set()

        script.gate, script.held = gate, 1
        _, said = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, said
    assert "broke off" in said
    assert killed.is_set() and stored(out, "verdicts") == stored(out, "responses") > 0


CALLER = """
import time
from pathlib import Path
from livek12.core.run.folder import RunFolder
from livek12.evaluation.marking import Overlap
from livek12.judges.jury import JudgeOptions
run = RunFolder(Path({folder!r}))
with Overlap(JudgeOptions(cache=False), "overlap") as overlap:
    overlap.start(run, "openai", {{}}, 1)
    end = time.monotonic() + 120
    while not any(b"\\n" in file.read_bytes() for file in run.path.glob("verdicts-*.jsonl")):
        assert time.monotonic() < end
        time.sleep(0.05)
print(overlap.marked.lost)
"""


def test_a_script_on_standard_input_needs_no_guard(data: Path, tmp_path: Path) -> None:
    run = recorded(data, tmp_path / "run", "livek12_text_only")
    caller = CALLER.format(folder=str(run.path))
    done = subprocess.run(
        [sys.executable, "-"], input=caller, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert stored(run.path, "verdicts") > 0


def helpers(pid: int) -> list[int]:
    """The child processes of a command."""
    return [child for child in children(pid) if b"core.process" in command_of(child)]


def test_a_judge_that_fails_beside_the_asking_is_asked_again_by_the_same_command(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving(Both(judges_are_good=False)) as address:
        how = arguments(address, data, out, "--stages", "overlap")
        ended = livek12_here(*how)
        port = int(address.rpartition(":")[2].partition("/")[0])
    assert ended.code == 1 and "wait for a judge" in ended.err, ended.err
    good = Both()
    with serving(good, port):
        assert livek12_here(*how).code == 0
    assert not good.asked("tested")
    assert {verdict.state for verdict in RunFolder(out).verdicts().values()} == {"graded"}


@pytest.mark.parametrize(
    "stages, engine, args, judge, waiting, expected",
    [
        ("auto", "openai", {}, "rules", FEWEST, True),
        ("auto", "openai", {}, "rules", FEWEST - 1, False),
        ("auto", "openai", {}, "a@openai:base_url=http://x/v1", FEWEST, True),
        ("auto", "openai", {}, "a@openai:base_url=http://x/v1,b@transformers", FEWEST, False),
        ("auto", "openai", {}, "b@vllm", FEWEST, False),
        ("auto", "openai", {}, "b@vllm:base_url=http://x/v1", FEWEST, True),
        ("auto", "vllm", {}, "rules", FEWEST, False),
        ("auto", "vllm", {"ray": "auto"}, "rules", FEWEST, True),
        ("auto", "vllm", {"base_url": "http://x/v1"}, "rules", FEWEST, True),
        ("auto", "replay", {}, "rules", FEWEST, False),
        ("turn", "openai", {}, "rules", FEWEST, False),
        ("overlap", "vllm", {}, "b@vllm", 1, True),
        ("overlap", "openai", {}, "rules", 0, False),
    ],
)
def test_who_marks_beside_whom(
    stages: Any, engine: str, args: dict[str, str], judge: str, waiting: int, expected: bool, monkeypatch: Any
) -> None:
    monkeypatch.setenv("PATH", "")  # no driver, no device
    assert worth_it(stages, engine, args, JudgeOptions(parse_judge(judge)), waiting) is expected


# --- local judges -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three tiny judges: two that read text only, one that sees."""
    needs_transformers("torchvision")
    folder = tmp_path_factory.mktemp("judges")
    made = {"one": make_model("tiny", folder / "one", context=16384)}
    made["eye"] = make_model("tiny-qwen3-vl", folder / "eye", context=16384)
    shutil.copytree(made["one"], folder / "two")
    return made | {"two": folder / "two"}


def recorded(data: Path, out: Path, tasks: str) -> RunFolder:
    """A run whose answers only a judge can read."""
    from livek12.core.questions import load_questions
    from livek12.evaluation.asking import ask
    from livek12.evaluation.options import RunOptions
    from livek12.tasks.registry import get_tasks

    file = out.with_suffix(".jsonl")
    with file.open("w") as rows:
        for task in get_tasks(tasks):
            for asked in load_questions(data, task.configs, task.benchmark):
                text = "One may think much of it.\n\nIn the end it comes to something.\n\nSo be it."
                row = {"task": task.name, "question_id": asked.id, "response": text, "model": "gpt-x"}
                rows.write(json.dumps(row) + "\n")
    return ask(RunOptions(tasks, str(file), out, str(data), "replay", "", 2, 1), {})[0]


def panel(models: dict[str, Path], names: str, folder: Path, tokens: int = 4) -> Path:
    sampling = {"max_tokens": tokens}
    judges = [{"model": str(models[n]), "engine": "transformers", "sampling": sampling} for n in names.split()]
    file = folder / "panel.yaml"
    file.write_text(json.dumps({"method": "p1", "judges": judges, "families": dict.fromkeys(names.split(), "x")}))
    return file


def judging_sessions(run: RunFolder) -> list[Session]:
    return [session for session in read_sessions(run.path) if session.stage == "judge"]


@pytest.mark.release
def test_local_judges_take_turns_and_say_the_same(
    data: Path, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "one eye two"
    run = recorded(data, tmp_path / "run", "kmmmu,livek12_text_only_en")  # with pictures, which two of them cannot see
    together = RunFolder(shutil.copytree(run.path, tmp_path / "together"))
    who = ["--judge", panel(models, names, tmp_path)]
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "cache"))
    ended = livek12_here("judge", run.path, *who)
    sittings = judging_sessions(run)
    assert sorted(Path(session.model).name for session in sittings) == sorted(names.split()), "each came up once"
    assert all(session.ended and session.after_close for session in sittings)
    assert all(before.at <= after.started for before, after in pairwise(sittings))
    assert ended.err.count("left memory") == len(sittings)
    again = livek12_here("judge", run.path, *who, "--again")
    assert len(judging_sessions(run)) == len(sittings), "nothing was left to ask"
    assert "0 requests" in spent(again)

    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "other"))
    both = livek12_here("judge", together.path, *who, "--stages", "overlap")
    assert spent(both) == spent(ended) != ""
    first = json.loads(json.dumps(records(run.path)).replace('"remembered": true', '"remembered": false'))
    assert first == records(together.path)
    assert sum(len(verdict["calls"]) for verdict in first.values()) > 4


def test_without_a_cache_turns_are_taken_too_and_nothing_is_remembered(
    data: Path, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "cache"))
    run = recorded(data, tmp_path / "run", "livek12_text_only_en")
    who = ["--judge", panel(models, "one two", tmp_path)]
    for sessions in (2, 4):
        ended = livek12_here("judge", run.path, *who, "--no-cache", "--no-audit", "--again")
        assert "remembered" not in spent(ended) != ""
        assert len(judging_sessions(run)) == sessions
    assert {file.name.partition("-")[0] for file in (tmp_path / "cache").iterdir()} <= {"runs"}


@pytest.mark.release
def test_killed_in_the_second_turn_the_first_is_not_taken_again(
    data: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    for tokens in range(32, 40):  # where the kill came too late, all is done anew
        run = recorded(data, tmp_path / f"run-{tokens}", "livek12_text_only")
        words = ["judge", run.path, "--judge", panel(models, "one two", tmp_path, tokens), "--no-audit"]
        child = subprocess.Popen([*COMMAND, *map(str, words)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until(lambda run=run, child=child: len(judging_sessions(run)) == 2 or child.poll() is not None)  # type: ignore[misc]
        child.kill()
        child.wait()
        if [session.ended for session in judging_sessions(run)] == [True, False]:
            break
    livek12_here(*words)
    came = [session.model for session in judging_sessions(run)]
    assert len(came) == 3 and came[0] != came[1] == came[2]
    assert len(run.verdicts()) == stored(run.path, "responses") == stored(run.path, "verdicts")
