"""Jury that come to a run that is marked: what they may touch, what stands until then, and what a person is told."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import read_journal
from livek12.evaluation import marking, reporting
from livek12.judges.code_version import DECIDING, code_version
from livek12.judges.jury import JudgeOptions
from tests.engines.scripted_server import Json, Reply, error, serving
from tests.judges.llm.judge_server import JudgeScript, options, replying, says
from tests.scripts.command import COMMAND, livek12_here

TASKS = "kmmmu,mdk12"
RULES = f"rules {code_version(DECIDING)}"


@pytest.fixture
def tasks() -> str:
    """Two tasks without an audit, whose questions are asked about in one request a part."""
    return TASKS


def how(address: str, judge: str = "beta", *more: str) -> list[str]:
    args = f"base_url={address},max_retries=0,backoff=0.01"
    return ["--judge", judge, "--judge-engine", "openai", "--judge-engine-args", args, *more]


def marks(run: RunFolder) -> dict[str, tuple[str, float, float]]:
    return {key: (verdict.judge, verdict.low, verdict.high) for key, verdict in run.verdicts().items()}


def stored(run: RunFolder) -> dict[str, bytes]:
    """All that a run folder holds of what was run and marked."""
    return {file.name: file.read_bytes() for stem in ("run", "verdicts") for file in run.path.glob(f"{stem}*")}


def by_whom(run: RunFolder) -> Counter[str]:
    """How many answers each judge model has a say in; "" is the rules alone."""
    found: Counter[str] = Counter()
    for _, verdict in run.judged():
        found[",".join(sorted({call.judge for call in verdict.calls}))] += 1
    return found


def failing_after(count: int, failure: Reply) -> JudgeScript:
    """A judge that goes away for good after so many replies."""
    inner, left, lock = replying(), [count], threading.Lock()

    def answer(name: str, before: int, body: Json) -> Reply:
        with lock:
            left[0] -= 1
            gone = left[0] < 0
        return failure if gone else inner._answer(name, before, body)

    return JudgeScript(answer)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (None, "nothing answers at http://127.0.0.1:9/v1"),
        (error(404, "there is no model beta"), "there is no model beta"),
        (error(400, "max_tokens is not supported"), "max_tokens is not supported"),
        (error(503, "overloaded"), "overloaded"),
        (Reply(cut=True), "broke off"),
    ],
)
@pytest.mark.parametrize("again", [["--again"], []])
def test_a_judge_that_cannot_be_asked_changes_nothing(
    run: RunFolder, failure: Reply | None, said: str, again: list[str]
) -> None:
    marking.judge(run)
    before = stored(run)
    with serving(JudgeScript(lambda name, seen, body: says(""), failure)) as address:
        ended = livek12_here("judge", run.path, *again, *how(address if failure else "http://127.0.0.1:9/v1"))
    assert ended.code == 2
    (line,) = ended.errors
    assert "judge beta cannot be asked" in line and said in line
    assert stored(run) == before


def test_a_judge_that_goes_away_leaves_the_marks_it_did_not_get_to(run: RunFolder) -> None:
    with serving(replying()) as address:
        marking.judge(run, options=options(address, "alpha"))
    before = marks(run)
    assert all(low == high for _, low, high in before.values())
    asked = sum(count for name, count in by_whom(run).items() if name)
    with serving(failing_after(4, error(500, "gone"))) as address:
        ended = livek12_here("judge", run.path, "--again", *how(address), "--no-cache")
    assert ended.code == 1, ended.err
    assert (
        "mark" in ended.err and f"by {RULES} and alpha" in ended.err and "the old marks count until then" in ended.err
    )
    after = marks(run)
    assert after.keys() == before.keys()
    assert all(low == high for _, low, high in after.values()), "none is given up for one that waits"
    left, came = by_whom(run)["alpha"], by_whom(run)["beta"]
    assert 0 < came <= 4 and left + came == asked
    assert reporting.score(run)["marked_by"] == [
        {"who": f"{RULES} and beta", "answers": len(before) - left},
        {"who": f"{RULES} and alpha", "answers": left},
    ]
    lines = len(list(read_journal(run.path, "verdicts", Verdict)))
    with serving(replying()) as address:
        assert livek12_here("judge", run.path, "--again", *how(address), "--no-cache").code == 0
    assert by_whom(run)["alpha"] == 0 and by_whom(run)["beta"] == asked
    more = len(list(read_journal(run.path, "verdicts", Verdict))) - lines
    assert more == left, "the same command goes on with what waits, and no more"
    assert run.spec().marking == 1


def test_killed_half_way_it_goes_on_and_another_judge_settles_only_what_is_open(run: RunFolder) -> None:
    with serving(replying()) as address:
        marking.judge(run, options=options(address, "alpha"))
    everything = marks(run)
    asked = sum(count for name, count in by_whom(run).items() if name)
    inner = replying()
    slow = JudgeScript(lambda name, before, body: Reply(body=inner._answer(name, before, body).body, wait=0.05))
    with serving(slow) as address:
        command = [*COMMAND, "judge", str(run.path), "--again", *how(address), "--no-cache"]
        command[command.index("--judge-engine-args") + 1] += ",concurrency=2"
        for _ in range(2):
            goal, settled = len(slow.seen) + random.randint(1, 5), by_whom(run)["beta"]
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            while child.poll() is None and (len(slow.seen) < goal or by_whom(run)["beta"] == settled):
                time.sleep(0.002)
            child.send_signal(signal.SIGKILL)
            child.wait()
        by = by_whom(run)
        assert marks(run).keys() == everything.keys() and by["alpha"] + by["beta"] == asked
        assert by["alpha"] > 0 and by["beta"] > 0
    third = replying()
    with serving(third) as address:
        said = livek12_here("judge", run.path, *how(address, "gamma"))
    assert said.code == 0 and len(third.seen) == 0, "nothing is open"
    assert f"{RULES} and alpha" in said.err and f"open for {RULES} and gamma: nothing" in said.err
    assert by_whom(run) == by
    with serving(third) as address:
        assert livek12_here("judge", run.path, *how(address, "gamma"), "--again").code == 0
    assert by_whom(run)["gamma"] == asked
    assert all(low == high for _, low, high in marks(run).values())


@pytest.mark.release
def test_two_processes_mark_anew_together(run: RunFolder) -> None:
    marking.judge(run)
    script = replying()
    with serving(script) as address:
        command = [*COMMAND, "judge", str(run.path), "--again", *how(address), "--no-cache"]
        both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        ends = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    verdicts = [v for v in read_journal(run.path, "verdicts", Verdict) if "beta" in run.spec().who(v.judge)]
    assert Counter(str(v.key) for v in verdicts).keys() == run.answered()
    assert not [v for v in run.verdicts().values() if v.state != "graded"]
    numbers = {v.marking for v in verdicts}
    assert max(Counter((str(v.key), v.marking) for v in verdicts).values()) == 1
    assert max(numbers) == run.spec().marking <= 2


def test_rules_that_come_after_a_judge_take_nothing_back(run: RunFolder) -> None:
    with serving(replying()) as address:
        marking.judge(run, options=options(address, "alpha"))
    before = marks(run)
    assert livek12_here("judge", run.path).code == 0
    marking.judge(run, options=JudgeOptions())
    assert marks(run) == before


def test_better_rules_mark_anew_what_older_ones_marked_and_nothing_else(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from livek12.judges import grade
    from livek12.tasks import scorer

    graded = scorer.grade

    def strict(*asked: Any, **how: Any) -> Verdict:
        found = graded(*asked, **how)
        wrong = {"points": 0, "low": 0, "high": 0, "correct": False}
        return found.model_copy(update=wrong) if found.state == "graded" else found

    with monkeypatch.context() as older:
        older.setattr(scorer, "grade", strict)
        older.setattr(grade, "code_version", lambda places: "1")
        marking.judge(run)
        with serving(replying()) as address:
            marking.judge(run, options=options(address, "alpha"))
    first = marks(run)
    by_alpha = {key for key, verdict in run.verdicts().items() if verdict.by_models}
    assert 0 < len(by_alpha) < len(first) and all(by.startswith("rules-1+") for by, _, _ in first.values())
    said = livek12_here("judge", run.path).err
    assert f"{len(first) - len(by_alpha)} of them marked by other rules" in said
    second = marks(run)
    assert {key: second[key] for key in by_alpha} == {key: first[key] for key in by_alpha}
    assert all(f"rules-{code_version(DECIDING)}" in second[key][0] for key in first.keys() - by_alpha)
    assert all(first[key][1:] == (0, 0) < second[key][1:] for key in first.keys() - by_alpha)
    assert {entry["who"] for entry in reporting.score(run)["marked_by"]} == {"rules 1 and alpha", RULES}
    assert "other rules" not in livek12_here("judge", run.path).err and marks(run) == second


def test_keys_of_another_data_set_are_not_mixed_in(run: RunFolder, data: Path, tmp_path: Path) -> None:
    from livek12.dataset_builders import build

    marking.judge(run, options=JudgeOptions(answers=str(data)))
    before = marks(run)
    build("sample", "", tmp_path / "other")
    spec = run.spec()
    other = {task: version[:-8] + "0" * 8 for task, version in spec.judges.items()}
    run.amend(judges=other, judged_by=dict.fromkeys(other.values(), "rules with other keys"))
    with pytest.raises(UserError, match="marked by the keys of another data set than that of --answers"):
        marking.judge(run, options=JudgeOptions(answers=str(data)))
    marking.judge(run, again=True, options=JudgeOptions(answers=str(data)))
    assert marks(run) == before


@pytest.mark.parametrize("tasks", ["livek12"])
def test_the_audit_says_how_many_requests_it_will_make_at_most(run: RunFolder, tasks: str) -> None:
    assert tasks == "livek12"
    marking.judge(run)
    script = replying()
    with serving(script) as address:
        ended = livek12_here("judge", run.path, *how(address, "alpha,beta"))
    answers = len(run.verdicts())
    assert ended.code == 0, ended.err
    assert f"the reasoning of every answer is audited: up to {2 * answers} requests" in ended.err
    critiques = [seen for seen in script.seen if "errors" in json.dumps(seen.body.get("response_format", ""))]
    assert len(critiques) == 2 * answers
    assert script.tried == 2
    assert f"judging: {answers}/{answers}" in ended.err and f"{len(script.seen)} requests" in ended.err
    assert all(verdict.process for verdict in run.verdicts().values())


def test_folders_from_before_markings_hold_what_they_held_and_go_on(run: RunFolder) -> None:
    """Such a folder names only its last judges; what others said before does not count unless there is nothing else."""
    with serving(replying()) as address:
        marking.judge(run, options=options(address, "alpha"))
    later = run.verdicts()
    plain = RunFolder.open(run.path)
    gone = [
        verdict.model_copy(update={"judge": "rules-4+00000000", "points": 0, "low": 0, "high": 0})
        for verdict in later.values()
    ]
    lost, *kept = sorted(later)
    file = next(run.path.glob("verdicts-*.jsonl"))
    lines = [verdict.model_dump_json() for key, verdict in later.items() if key in kept]
    file.write_text("\n".join([*lines, *(verdict.model_dump_json() for verdict in gone)]) + "\n")
    raw = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({k: v for k, v in raw.items() if k not in ("judged_by", "marking")}))
    found = plain.verdicts()
    assert {key: found[key] for key in kept} == {key: later[key] for key in kept}
    assert found[lost].judge == "rules-4+00000000"
    with serving(replying()) as address:
        ended = livek12_here("judge", run.path, *how(address, "gamma"))
    assert ended.code == 0, ended.err
    assert f"by {RULES} and judge models (p2)" in ended.err
    assert {key: run.verdicts()[key] for key in kept} == {key: later[key] for key in kept}


def test_pictures_that_are_found_later_are_judged_by_the_same_command(run: RunFolder, data: Path) -> None:
    run.amend(tasks=[task.model_copy(update={"data": "/nowhere"}) for task in run.spec().tasks])
    script = replying()
    with serving(script) as address:
        first = livek12_here("judge", run.path, *how(address))
        waiting = [verdict for verdict in run.verdicts().values() if verdict.waits]
        asked = len(script.seen)
        assert first.code == 1 and waiting, first.err
        assert all("--data" in verdict.reason for verdict in waiting)
        second = livek12_here("judge", run.path, "--data", data, *how(address))
    assert second.code == 0, second.err
    assert len(script.seen) > asked
    assert all(verdict.state == "graded" for verdict in run.verdicts().values())
