"""A sweep over real runs: done once whatever is killed, its status and its report say what the folders hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.evaluation.sweep import read_plan
from livek12.evaluation.sweep.slurm import scripts
from tests.scripts.command import COMMAND, ROOT, Ended, livek12_here

TASKS = ["livek12_text_only_en", "cfe_text"]
QUESTIONS = 15
PATIENCE = 300.0
IN_HAND = 8
"""Requests at most that a cut finds asked and not stored yet; far fewer than are stored by then."""


class Sweeping:
    """A sweep file and the commands on it."""

    def __init__(self, folder: Path, data: Path, **said: Any) -> None:
        self.file, self.out, self.folder = folder / "sweep.yaml", folder / "out", folder
        self.said: dict[str, Any] = {"out": str(self.out), "data": str(data), "tasks": TASKS, **said}
        self.write()

    def write(self) -> None:
        self.file.write_text(yaml.safe_dump(self.said))

    def run(self, *options: str) -> Ended:
        return livek12_here("sweep", self.file, *options)

    def start(self) -> subprocess.Popen[str]:
        command = [*COMMAND, "sweep", str(self.file)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)

    def status(self) -> list[dict[str, Any]]:
        ended = livek12_here("sweep", self.file, "--status", "--json")
        assert ended.code == 0, ended.err
        cells: list[dict[str, Any]] = json.loads(ended.out)
        return cells

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "sweep.json").read_text())
        return found

    def note(self, label: str) -> dict[str, Any]:
        file = self.out / "_jobs" / f"{label}.0.json"
        note: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return note


def at(url: str, concurrency: int = 2, **more: Any) -> dict[str, Any]:
    args = {"base_url": url, "concurrency": concurrency, "max_retries": 0}
    return {"name": "oracle", "engine": "openai", "engine_args": args, **more}


def lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def until(true: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def answered(folder: Path) -> int:
    """How many responses a run folder holds; none of them twice."""
    keys = [
        str(json.loads(line)["key"])
        for file in folder.glob("responses-*.jsonl")
        for line in file.read_bytes().splitlines()
    ]
    assert len(keys) == len(set(keys))
    return len(keys)


HOSTILE = "<b>../é&'\"x"


def test_a_sweep_does_what_is_missing_and_reports_what_is_there(
    data: Path, oracle: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = oracle
    dead = at("http://127.0.0.1:1/v1", label="late", sampling={"seed": 100})
    models = [at(url, label=HOSTILE, price_per_gpu_hour=3.0), dead]
    sweeping = Sweeping(tmp_path, data, trials=2, price_per_gpu_hour=2.0, local={"parallel": 2}, models=models)
    partial = sweeping.run()
    assert partial.code == 1
    assert lines(log) == 2 * QUESTIONS
    cells = {(cell["label"], cell["task"]): cell for cell in sweeping.status()}
    (first,) = {label for label, _ in cells} - {"late"}
    assert {path.name for path in sweeping.out.iterdir() if path.is_dir()} == {first, "late", "_jobs"}
    for task in TASKS:
        done, late = cells[first, task], cells["late", task]
        assert (done["state"], late["state"]) == ("done", "failed")
        assert "127.0.0.1:1" in late["reason"]
        assert f"late, {task}: " in "".join(sweeping.report()["missing"])
        assert f"missing: late, {task}" in partial.err

    replay = {"name": str(sweeping.out / first / "responses-0.jsonl"), "label": "again", "engine": "replay"}
    sweeping.said["models"][1:] = [at(url, label="late", sampling={"seed": 100}), replay]
    sweeping.write()
    assert sweeping.run().code == 0
    assert lines(log) == 4 * QUESTIONS, "what was answered is asked again"
    report, labels = sweeping.report(), [first, "late", "again"]
    assert report["missing"] == []
    compared = livek12_here("compare", *(sweeping.out / label for label in labels), "--json")
    told = json.loads(compared.out)
    assert len(told.pop("variants")) == len(TASKS) * 3, "each pair of runs, axis by axis: sweeps leave this to compare"
    assert told.pop("usage"), "so are tokens a second and energy"
    assert all(compared.pop("prompt_tokens") for compared in told["tasks"].values()), "and the tokens of a prompt"
    assert report["comparison"] == told
    for cell in report["cells"]:
        rows = rows_of(sweeping.out / cell["label"], cell["task"])
        tokens = sum(row.response.completion_tokens or 0 for row in rows if row.response)
        ungraded = sum(row.state == "ungraded" for row in rows)
        assert (cell["state"], cell["asked"], cell["answered"]) == ("done", len(rows), len(rows))
        assert (cell["judged"], cell["ungraded"], cell["completion_tokens"]) == (len(rows), ungraded, tokens)
    costs = {cell["label"]: cell["cost"] for cell in report["cells"]}
    assert costs == {first: None, "late": None, "again": 0}, "an endpoint's GPUs are not ours to count"
    page = (sweeping.out / "sweep.html").read_text()
    assert "6 of 6 cells done" in page and "<script" not in page and all(label in page for label in labels)
    check_hours(sweeping, first)


def check_hours(sweeping: Sweeping, label: str) -> None:
    """Puts a session on four GPUs, as a killed process leaves it, in place of the endpoint's."""
    journal = sweeping.out / label / "sessions-0.jsonl"
    asked = [told for line in journal.read_text().splitlines() if (told := json.loads(line))["stage"] != "mark"]
    told = asked[-1]
    told |= {"engine": "vllm", "gpus": 4, "at": told["started"] + 1800, "ended": False}
    journal.write_text(json.dumps(told) + "\n")
    seconds = {
        task: sum(row.response.seconds or 0 for row in rows_of(sweeping.out / label, task) if row.response)
        for task in TASKS
    }
    cells = [cell for cell in sweeping.status() if cell["label"] == label]
    for cell in cells:
        assert cell["gpu_hours"] == pytest.approx(2 * seconds[cell["task"]] / sum(seconds.values()))
        assert cell["cost"] == pytest.approx(3 * cell["gpu_hours"])
    assert sum(cell["gpu_hours"] for cell in cells) == pytest.approx(2)
    assert livek12_here("sweep", sweeping.file, "--report").code == 0
    (stored,) = sweeping.report()["sessions"][label]
    assert stored == told, "the report has what its hours come from"


def rows_of(folder: Path, task: str) -> list[Row]:
    return [row for row in RunFolder.open(folder).rows() if row.task == task]


@pytest.mark.release
def test_kills_and_a_stop_in_the_middle_lose_and_repeat_nothing(
    data: Path, oracle: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = oracle
    wanted, concurrency, cut = 14 * QUESTIONS, 2, 0
    sweeping = Sweeping(tmp_path, data, trials=14, models=[at(url, concurrency, label="m")])
    run = sweeping.out / "m"

    def get_on(child: subprocess.Popen[str]) -> None:
        goal = lines(run / "responses-0.jsonl") + 20
        until(lambda: lines(run / "responses-0.jsonl") >= goal or child.poll() is not None, "20 more answers")
        assert child.poll() is None

    child = sweeping.start()
    get_on(child)
    os.kill(int(sweeping.note("m")["by"].removeprefix("process ")), signal.SIGKILL)
    cut += 1
    get_on(child)  # the run was started again by itself
    assert [cell["state"] for cell in sweeping.status()] == ["running", "running"]
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=PATIENCE)
    cut += 1
    assert child.returncode == 130
    assert "m: killed by SIGKILL (out of memory?); started again" in said, said
    assert sweeping.note("m")["code"] == 130, "the run ended cleanly"
    assert {cell["reason"] for cell in sweeping.status()} == {"stopped; the same command goes on"}

    child = sweeping.start()
    get_on(child)
    orphan = int(sweeping.note("m")["by"].removeprefix("process "))
    child.kill()  # the run lives on without its sweep; the next one waits for it
    child.communicate(timeout=PATIENCE)
    os.kill(orphan, signal.SIGSTOP)  # so that it cannot end before it is looked at
    assert [cell["state"] for cell in sweeping.status()] == ["running", "running"]
    child = sweeping.start()
    assert child.stderr is not None
    assert "m: a process of an earlier sweep still has it" in child.stderr.readline()
    os.kill(orphan, signal.SIGCONT)
    _, said = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, said
    assert answered(run) == wanted
    assert wanted <= lines(log) <= wanted + cut * IN_HAND, "asked again what was stored"


@pytest.fixture
def slurm_commands(tmp_path: Path) -> dict[str, str]:
    """An environment with a `scontrol` that writes down what it is told, for scripts that bash runs without Slurm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "scontrol"
    program.write_text(f'#!/bin/bash\necho "$@" >>"{tmp_path}/scontrol.log"\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_ARRAY_JOB_ID": "7", "SLURM_JOB_ID": "7"}


@pytest.mark.release
def test_the_scripts_end_in_time_and_go_on_when_bash_runs_them_without_slurm(
    data: Path, oracle: tuple[str, Path], slurm_commands: dict[str, str], tmp_path: Path
) -> None:
    """Not Slurm itself: what Slurm would do (start a script, warn it, start it again) is done by hand."""
    url, log = oracle
    sweeping = Sweeping(tmp_path, data, trials=8, backend="slurm", models=[at(url, 2, label="m")])
    plan = read_plan(sweeping.file)
    plan.work.mkdir(parents=True)
    (plan.work / "sweep.yaml").write_text(sweeping.file.read_text())
    ask, finish = scripts(plan, plan.runs)

    def begin(text: str) -> subprocess.Popen[str]:
        environment = {**os.environ, **slurm_commands, "SLURM_ARRAY_TASK_ID": "0"}
        return subprocess.Popen(
            ["bash", "-c", text], env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    job = begin(ask.text)
    until(lambda: lines(plan.out / "m" / "responses-0.jsonl") >= 30 or job.poll() is not None, "30 answers")
    job.send_signal(signal.SIGUSR1)
    said, _ = job.communicate(timeout=PATIENCE)
    assert job.returncode == 130 and "run the same command again to go on" in said
    assert (tmp_path / "scontrol.log").read_text() == "requeue 7\n"
    stored = answered(plan.out / "m")
    assert 30 <= stored < 8 * QUESTIONS

    job = begin(ask.text)
    job.communicate(timeout=PATIENCE)
    assert job.returncode == 0 and answered(plan.out / "m") == 8 * QUESTIONS
    assert lines(log) <= 8 * QUESTIONS + IN_HAND
    job = begin(finish.text)
    said, _ = job.communicate(timeout=PATIENCE)
    assert job.returncode == 0, said
    assert {cell["state"] for cell in sweeping.report()["cells"]} == {"done"}
    assert (plan.out / "m" / "report.html").exists()


def test_without_slurm_one_line_says_so(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sweeping = Sweeping(tmp_path, data, backend="slurm", models=[at("http://127.0.0.1:1/v1")])
    ended = livek12_here("sweep", sweeping.file)
    assert ended.code == 2 and len(ended.errors) == 1 and "squeue: not found" in ended.errors[0]
    assert [cell["state"] for cell in sweeping.status()] == ["waiting", "waiting"]
