"""What landed versions of livek12 have made goes on today: run folders, decisions on pairs, data sets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12 import __version__
from livek12.core.questions import load_questions
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Parameters
from livek12.judges.grade import GradingConfig, judge_version
from tests.endpoint import Rambler, oracle_at
from tests.engines.scripted_server import serving
from tests.evaluation.make_landed import ASKED, JUDGED, LIMIT, MODEL, PANEL, RECORDED, panel
from tests.scripts.command import livek12_here

pytestmark = pytest.mark.slow

LANDED = sorted((Path(__file__).parent / "landed").iterdir())
RUNS = ("complete", "imported", "judged", "budgets")
RULES = f"rules {judge_version(GradingConfig()).partition('-')[2].partition('+')[0]}"
ADDED = {
    "usage",
    "truncated",
    "truncated_unknown",
    "context_cut",
    "ungraded",
    "marked_by",
    "formulas",
    "intervals",
    "min_questions",
    "few_papers",
    "against_mark",
    "corrected",
    "variants",
    "taxonomy",
}
"""Of report.json: what later versions say besides."""
GONE = {"resamples"}
"""What later versions have no use for."""
REWORDED = {"note", "min_papers"}


@pytest.fixture(params=LANDED, ids=lambda folder: folder.name)
def landed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of all that a version has made."""
    shutil.copytree(request.param, tmp_path / "landed")
    return tmp_path / "landed"


def done(*args: object) -> str:
    """What a command that does its work says."""
    ended = livek12_here(*args)
    assert ended.code in (0, 1) and not ended.errors, ended.err
    return ended.err


def unlike(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Where a report says something else than an older one, but for what is named here."""
    if decides_more(old, new):
        yield from (
            f"{path}/{name} is wider"
            for name, was in old["metrics"].items()
            if was["low"] is not None
            and not was["low"] <= new["metrics"][name]["low"] <= new["metrics"][name]["high"] <= was["high"]
        )
    elif isinstance(old, dict) and isinstance(new, dict):
        added = {name for name in new.keys() - old.keys() - ADDED if "/variant/" not in name}
        yield from (f"{path}/{name} is new" for name in added)
        yield from (f"{path}/{name} is gone" for name in old.keys() - new.keys() - GONE)
        few = {"ci", "unit", "clusters"} if new.get("n", 1 << 9) < Parameters().min_questions else set()
        for name in (old.keys() & new.keys()) - REWORDED - few:
            yield from unlike(old[name], new[name], f"{path}/{name}")
    elif path.endswith("/ci") and old:
        if not (new and new[0] <= old[1] and old[0] <= new[1]):  # made by another method, named in the report
            yield f"{path}: {old} is {new}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from unlike(*pair, f"{path}/{number}")
    elif old != new:
        yield f"{path}: {old!r} is {new!r}"


def decides_more(old: Any, new: Any) -> bool:
    """Whether these are figures of answers of which the rules of today decide some that older ones left open."""
    counts = [one.get("counts") if isinstance(one, dict) and "metrics" in one else None for one in (old, new)]
    return all(counts) and counts[1]["ungraded"] < counts[0]["ungraded"]


def same_report(stored: Path, run: Path) -> None:
    """The report of a run says what a stored one says, whoever marked it by whatever version."""
    old, new = (json.loads(file.read_text(encoding="utf-8")) for file in (stored, run / "report.json"))
    assert old.pop("run")["tasks"] == [
        {name: value for name, value in task.items() if name != "data"} | {"data": "sample"}
        for task in new.pop("run")["tasks"]
    ]
    assert (old.pop("profile"), new.pop("profile")) == ("paper", "article"), "one profile, by its old and new name"
    if any(decides_more(task, new["tasks"].get(name)) for name, task in old["tasks"].items()):
        old.pop("budgets"), new.pop("budgets")  # figures of the same answers
    assert not list(unlike(old, new))


def lines(folder: Path, stem: str) -> list[bytes]:
    return [line for file in sorted(folder.glob(f"{stem}-*.jsonl")) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_marked_scored_and_reported_as_before(landed: Path, tmp_path: Path, name: str) -> None:
    run, stored = landed / name, shutil.copy(landed / name / "report.json", tmp_path / "stored.json")
    done("report", run)
    same_report(Path(stored), run)
    assert {one["who"][:7] for one in json.loads((run / "report.json").read_text())["marked_by"]} == {"rules 5"}
    answers = lines(run, "responses")
    said = done("judge", run)
    assert f"open for {RULES}" in said and "marked by other rules" in said
    done("score", run)
    done("report", run)
    same_report(Path(stored), run)
    by_rules = [v for v in RunFolder.open(run).verdicts().values() if not v.by_models]
    assert by_rules and {v.judge.split("+")[0] for v in by_rules} == {RULES.replace(" ", "-")}
    assert f"open for {RULES}" not in done("judge", run)
    assert lines(run, "responses") == answers


def test_recorded_answers_are_read_again_and_nothing_is_added(landed: Path, data: Path) -> None:
    where = ["--data", data, "--limit", LIMIT]
    for name, command in {
        "complete": ["run", "--task", RECORDED, "--engine", "replay", "--model", landed / "recorded.jsonl"],
        "imported": ["import-responses", landed / "recorded.jsonl", "--task", JUDGED],
    }.items():
        run, stored = landed / name, shutil.copy(landed / name / "report.json", landed / f"{name}.json")
        answers = lines(run, "responses")
        done(*command, *where, "--out", run)
        assert lines(run, "responses") == answers
        same_report(Path(stored), run)


@pytest.mark.parametrize("begun_by", ["", "0.0.9"])
def test_a_run_that_was_cut_off_asks_what_is_missing_and_no_more(landed: Path, data: Path, begun_by: str) -> None:
    run, log = landed / "cut_off", landed / "log"
    spec = json.loads((run / "run.json").read_text())
    if begun_by:
        versions = {"livek12": begun_by, "aiohttp": "3.0"}
        tasks = [{**task, "version": 1} for task in spec["tasks"]]
        (run / "run.json").write_text(
            json.dumps({**spec, "package_version": begun_by, "engine_versions": versions, "tasks": tasks})
        )
    asked = sum(task["questions"] for task in spec["tasks"])
    stored = len(RunFolder.open(run).answered())
    assert 0 < stored < asked
    with oracle_at(log) as address:
        asking = ["--engine", "openai", "--model", MODEL, "--engine-args", f"base_url={address},concurrency=1"]
        said = done("run", "--task", ASKED, *asking, "--data", data, "--limit", LIMIT, "--out", run)
    assert len(log.read_text().splitlines()) == asked - stored
    began = begun_by or spec["package_version"]
    assert (f"begun by livek12 {began}" in said) == (began != __version__)
    if not begun_by:
        same_report(landed / "cut_off.json", run)


def test_another_prompt_is_another_run(landed: Path, data: Path) -> None:
    spec = json.loads((landed / "cut_off/run.json").read_text())
    spec["tasks"][0]["prompt_sha256"] = "0" * 64
    (landed / "cut_off/run.json").write_text(json.dumps(spec))
    asking = ["--engine", "openai", "--model", MODEL, "--engine-args", "base_url=http://127.0.0.1:9/v1,concurrency=1"]
    ended = livek12_here("run", "--task", ASKED, *asking, "--data", data, "--limit", LIMIT, "--out", landed / "cut_off")
    assert ended.code == 2 and "prompt of livek12_text_only was" in ended.err


def test_budgets_and_trials_go_on(landed: Path, data: Path) -> None:
    run, stored = landed / "budgets", shutil.copy(landed / "budgets/report.json", landed / "stored.json")
    file = run / "responses-0.jsonl"
    whole = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(whole[:-5]))
    with oracle_at(landed / "log", Rambler) as address:
        asking = ["--engine", "openai", "--model", MODEL, "--engine-args", f"base_url={address}"]
        more = ["--trials", 3, "--budgets", "0.5,1", "--data", data, "--limit", LIMIT]
        done("run", "--task", "livek12_text_only_en", *asking, *more, "--out", run)
    assert len((landed / "log").read_text().splitlines()) == 5
    same_report(Path(stored), run)


def test_a_panel_goes_on_and_what_models_decided_stands(landed: Path, data: Path) -> None:
    run, stored = landed / "judged", shutil.copy(landed / "judged/report.json", landed / "stored.json")
    before = RunFolder.open(run).verdicts()
    file = max(run.glob("verdicts-*.jsonl"))
    lost = [line for line in file.read_bytes().splitlines(keepends=True) if b'"votes":[{' in line][-2:]
    kept = [line for line in file.read_bytes().splitlines(keepends=True) if line not in lost]
    file.write_bytes(b"".join(kept) + lost[0][:200])
    script = panel()
    with serving(script) as address:
        judges = ["--judge-engine", "openai", "--judge-engine-args", f"base_url={address}", "--data", data]
        done("judge", run, "--judge", PANEL, *judges)
        asked = len(script.seen)
        after = RunFolder.open(run).verdicts()
        assert asked == sum(len(verdict.calls) for key, verdict in after.items() if verdict != before[key])
        done("judge", run, "--judge", "delta", *judges)
        assert len(script.seen) == asked, "nothing is open"
    done("report", run)
    same_report(Path(stored), run)
    for key, verdict in before.items():
        votes = [[(vote.judge, vote.decision) for vote in part.votes] for part in verdict.parts]
        assert [[(vote.judge, vote.decision) for vote in part.votes] for part in after[key].parts] == votes
    who = [one["who"] for one in json.loads((run / "report.json").read_text())["marked_by"]]
    assert any(name.startswith("rules 5 and judge models") for name in who)
    assert f"{RULES} and {PANEL.replace(',', ', ')}" in who


@pytest.mark.parametrize("judges", ["rules", "panel"])
def test_decisions_on_pairs_go_on(landed: Path, judges: str) -> None:
    out = landed / f"pairs-{judges}.jsonl"
    before = out.read_bytes().splitlines(keepends=True)
    script = panel()
    with serving(script) as address:
        asked = ["--judge", PANEL, "--judge-engine", "openai", "--judge-engine-args", f"base_url={address}"]
        said = done("judge-pairs", landed / "pairs.jsonl", out, *(asked if judges == "panel" else []))
    after = out.read_bytes().splitlines(keepends=True)
    assert after[: len(before) - 1] == before[:-1], "but for the line that was torn"
    assert len(after) == len((landed / "pairs.jsonl").read_text().splitlines())
    assert f"{len(before) - 1} by rules 5" in said
    assert f" stand; {RULES}" in said
    assert bool(script.seen) == (judges == "panel")
    assert {call["judge"] for row in map(json.loads, after) for call in row.get("calls", [])} == (
        set(PANEL.split(",")) if judges == "panel" else set()
    )


def test_a_data_set_loads_and_is_asked(landed: Path) -> None:
    questions = load_questions(landed / "data", ("text_only",), "livek12")
    assert [(question.id, bool(question.answer)) for question in questions]
    done("validate", landed / "data")
    answers = landed / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": one.id, "text": "\\boxed{A}"}) + "\n" for one in questions))
    where = ["--task", "livek12_text_only_en", "--data", landed / "data", "--out", landed / "run"]
    done("import-responses", answers, *where)
    assert len(RunFolder.open(landed / "run").verdicts()) == len(questions)


def test_runs_of_all_versions_are_compared(landed: Path) -> None:
    runs = landed / "imported", landed / "judged"
    ended = livek12_here("compare", *runs)
    assert ended.code == 0 and "livek12_text_only_en" in ended.out and not ended.warnings, ended.err
    done("judge", runs[0])
    (warning,) = livek12_here("compare", *runs).warnings
    both = " and ".join(sorted(("rules 5", RULES)))
    assert f"answers are marked by {both}: `livek12 judge RUN` marks anew" in warning
