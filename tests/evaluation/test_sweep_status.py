"""What a sweep says of its cells, from folders, notes and a queue that are put there by hand."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Key, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import GIB, DeviceMemory, Memory, Session
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.engines.sessions import SessionWriter
from livek12.evaluation.marking import Overlap
from livek12.evaluation.sweep import PlannedRun, SweepPlan, processes, read_plan, smaller
from livek12.evaluation.sweep.processes import Note, Tries, held, out_of_memory, read_note, take, work_off, write_note
from livek12.evaluation.sweep.slurm import submit
from livek12.evaluation.sweep.status import find, look, write_report
from livek12.judges.jury import JudgeOptions
from livek12.tasks.registry import get_task
from tests.judges.helpers import question
from tests.scripts.command import livek12_here

ENGINE_ARGS = {"base_url": "http://127.0.0.1:1/v1"}


def sweep_of(folder: Path, **said: Any) -> SweepPlan:
    models = [{"name": "org/a", "engine": "openai", "engine_args": ENGINE_ARGS}]
    file = folder / "sweep.yaml"
    said = {"out": str(folder / "out"), "tasks": ["cfe_text"], "models": models, **said}
    file.write_text(json.dumps(said))  # as YAML it would name what stands twice
    return read_plan(file)


def fill(run: PlannedRun, judged: bool = True, engine: str = "openai") -> None:
    """Makes the run's folder as if it had been done: one question of each task, as many answers as it has trials."""
    tasks = [get_task(name) for name in run.tasks]
    spec = RunSpec(
        model=run.entry.name,
        engine=engine,
        engine_args=dict(run.engine_args),
        tasks=[
            TaskSpec(
                name=task.name,
                version=task.version,
                modality=task.modality,
                prompt_sha256=task.prompt_sha256,
                data=run.data or "",
                data_sha256="",
                questions=1,
                sampling=Sampling(**{**task.sampling.model_dump(), **run.sampling}),
            )
            for task in tasks
        ],
        trials=run.trials,
        limit=run.limit,
        judges=dict.fromkeys(run.tasks, "j") if judged else {},
    )
    folder = RunFolder.create_or_resume(run.folder, spec, {task.name: [question(answer=["1"])] for task in tasks})
    graded = {"state": "graded", "points": 1, "low": 1, "high": 1, "max_points": 1, "correct": True, "judge": "j"}
    with folder.writer("responses") as responses, folder.writer("verdicts") as verdicts:
        for task in tasks:
            for trial in range(run.trials):
                key = Key(task=task.name, question_id="q", trial=trial)
                said = {"text": "x" * 1000, "reasoning": "y" * 1000, "engine": "e", "model": run.entry.name}
                responses.append(Response(key=key, **said))
                if judged:
                    verdicts.append(Verdict(key=key, **graded))  # type: ignore[arg-type]


def states(plan: SweepPlan) -> dict[str, tuple[str, str]]:
    return {cell.label: (cell.state, cell.reason) for cell in look(plan)}


def model(**said: Any) -> list[dict[str, Any]]:
    return [{"name": "org/a", "engine": "openai", "engine_args": ENGINE_ARGS, **said}]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"trials": 4}, "trials was 1, now 4"),
        ({"limit": 3}, "limit was None, now 3"),
        ({"sampling": {"temperature": 0.5}}, "sampling of cfe_text was "),
        ({"tasks": ["cfe_text", "mdk12"]}, "tasks was ['cfe_text'], now "),
        ({"models": model(name="org/b", label="a")}, "model was 'org/a', now 'org/b'"),
        ({"models": model(engine="vllm", engine_args={})}, "engine was 'openai', now 'vllm'"),
        (
            {"models": model(engine_args={**ENGINE_ARGS, "think_end": "x"})},
            "engine argument think_end was None, now 'x'",
        ),
        ({"models": model(engine_args={**ENGINE_ARGS, "concurrency": 3}, price_per_gpu_hour=2.0)}, ""),
        ({"models": model(engine_args={"base_url": "http://other/v1"}, engine="auto")}, ""),
    ],
)
def test_a_folder_of_another_run_is_not_done(said: dict[str, Any], told: str, tmp_path: Path) -> None:
    fill(sweep_of(tmp_path).runs[0])
    assert states(sweep_of(tmp_path)) == {"a": ("done", "")}
    state, reason = states(sweep_of(tmp_path, **said))["a"]
    assert (state, told in reason) == ("failed" if told else "done", True), reason
    if told:
        assert reason.startswith("holds another run: ") and "choose a new out or label" in reason


def test_a_folder_without_a_response_is_one_that_has_not_begun(tmp_path: Path) -> None:
    """Whatever it was made for: the command gives it to the run of the file."""
    fill(sweep_of(tmp_path).runs[0], judged=False)
    (tmp_path / "out" / "a" / "responses-0.jsonl").write_text("")
    assert states(sweep_of(tmp_path, trials=4)) == {"a": ("waiting", "not begun")}


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "notes.txt").write_text("mine")
    state, reason = states(sweep_of(tmp_path))["a"]
    assert state == "failed" and "is no run folder, and not empty (it holds 'notes.txt')" in reason
    assert livek12_here("sweep", tmp_path / "sweep.yaml").code == 1
    assert [path.name for path in (tmp_path / "out" / "a").iterdir()] == ["notes.txt"]


def test_the_command_leaves_another_run_alone_and_ends_with_1(tmp_path: Path) -> None:
    fill(sweep_of(tmp_path).runs[0])
    sweep_of(tmp_path, trials=4)
    ended = livek12_here("sweep", tmp_path / "sweep.yaml")
    assert ended.code == 1
    assert "missing: a, cfe_text: " in ended.err and "trials was 1, now 4" in ended.err
    assert not (tmp_path / "out" / "a" / "log.txt").exists(), "nothing was started"


@pytest.mark.parametrize("damage", ["garbage", "another"])
def test_a_damaged_folder_is_the_failure_of_its_own_cells(damage: str, tmp_path: Path) -> None:
    plan = sweep_of(tmp_path, models=[*model(), *model(name="org/b")])
    for run in plan.runs:
        fill(run)
    if damage == "garbage":
        (plan.runs[0].folder / "run.json").write_text("{nonsense")
    else:
        (plan.runs[0].folder / "questions.jsonl").write_text("{}\n")
    found = {run.label: find(run) for run in plan.runs}
    cells = look(plan, found)
    assert [(cell.label, cell.state) for cell in cells] == [("a", "failed"), ("b", "done")]
    assert "cannot be read" in cells[0].reason
    report = write_report(plan, cells, found)
    assert report["comparison"]["runs"] == ["b"]
    assert livek12_here("sweep", plan.file).code == 1


SLURM = {"backend": "slurm"}


def after_the_jobs(folder: Path, code: int, judged: bool) -> SweepPlan:
    """A sweep whose array element has ended with this code."""
    plan = sweep_of(folder, **SLURM)
    fill(plan.runs[0], judged)
    log = plan.work / "7_0.log"
    plan.work.mkdir()
    log.write_text("error: it broke\n" if code else "")
    write_note(plan.work, "a", Note(by="Slurm job 7_0", host="h", started=1, ended=2, code=code, log=str(log)))
    (plan.work / "slurm.json").write_text('{"arrays": {"7": [["a", 0]]}, "finish": "8"}')
    return plan


ENDED = ("failed", "job 8 ended before all was judged; see its log")


@pytest.mark.parametrize(
    ("code", "judged", "queue", "told"),
    [
        (0, True, None, ("done", "")),
        (0, False, None, ENDED),
        (2, False, None, ("failed", "error: it broke")),
        (0, False, "", ENDED),
        (0, False, "8|RUNNING|n1|None", ("running", "")),
        (0, False, "8|PENDING||Dependency", ("waiting", "for the job that judges")),
    ],
)
def test_what_is_said_when_the_arrays_have_ended(
    code: int, judged: bool, queue: str | None, told: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a `queue` the last job itself asks, in a container without Slurm's commands."""
    plan = after_the_jobs(tmp_path, code, judged)
    monkeypatch.setenv("PATH", str(tmp_path))
    if queue is None:
        monkeypatch.setenv("SLURM_JOB_ID", "8")
    else:
        monkeypatch.delenv("SLURM_JOB_ID", raising=False)
        (tmp_path / "squeue").write_text(f"#!/bin/sh\necho '{queue}'\n")
        (tmp_path / "squeue").chmod(0o755)
    assert states(plan) == {"a": told}


def test_two_commands_at_once_submit_once(tmp_path: Path) -> None:
    plan = sweep_of(tmp_path, **SLURM)
    lock = take(plan.work, "_submit")
    assert lock is not None
    with pytest.raises(UserError, match="another `livek12 sweep` submits this sweep right now"):
        submit(plan, plan.runs, print)
    os.close(lock)


def children(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Runs are done by this program in the place of livek12."""
    monkeypatch.setattr(processes, "COMMAND", [sys.executable, "-c", code])


def test_a_run_that_cannot_begin_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children(monkeypatch, "print('hello')")
    too_long = {"env": {"A": "x" * 200_000}}
    plan = sweep_of(tmp_path, models=[*model(label="file"), *model(label="long", **too_long), *model(label="good")])
    plan.out.mkdir()
    (plan.out / "file").touch()
    said: list[str] = []
    work_off(plan.work, plan.runs, 3, said.append)
    notes = {run.label: read_note(plan.work, run.label) for run in plan.runs}
    assert {label: note.code for label, note in notes.items() if note} == {"file": 2, "long": 2, "good": 0}
    assert any(line.startswith("file: cannot begin: ") for line in said), said
    told = states(plan)
    assert {label: state for label, (state, _) in told.items()} == {
        "file": "failed",
        "long": "failed",
        "good": "waiting",
    }
    assert "is a file" in told["file"][1] and "cannot begin: " in told["long"][1]


def test_nothing_lives_on_where_notes_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The children ignore SIGINT, as all do that a script starts in the background."""
    children(
        monkeypatch,
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print('pid', os.getpid(), flush=True)\n"
        "time.sleep(600)\n",
    )
    plan = sweep_of(tmp_path, models=[*model(label="a"), *model(label="b")])
    for label in "ab":
        (plan.work / f"{label}.0.json" / "in the way").mkdir(parents=True)
    said: list[str] = []
    begun: list[int] = []

    def say(line: str) -> None:
        said.append(line)
        if ": begun; " in line:
            begun.append(0)
        if len(begun) == 2 and "begun" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_off(plan.work, plan.runs, 2, say)
    assert sum("cannot be written" in line for line in said) == 4, said
    for label in "ab":
        assert take(plan.work, label) is not None, "a process has the run's lock"


def test_a_child_that_is_told_to_end_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children(monkeypatch, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.pause()\n")
    plan = sweep_of(tmp_path)

    def say(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_off(plan.work, plan.runs, 1, say)
    assert states(plan) == {"a": ("waiting", "stopped; the same command goes on")}


MEMORY = "error: vLLM cannot run org/a: Free memory on device cuda:0 (4.82/79.18 GiB) on startup is less than desired"
STARVED = f"""
import sys
args = next(word for word in sys.argv if word.startswith("--engine-args="))
with open("ASKED", "a") as log:
    log.write(args + "\\n")
if "max_num_seqs=64" not in args:
    print({MEMORY!r}, file=sys.stderr)
    sys.exit(1)
"""


@pytest.mark.parametrize(
    ("retried", "end", "asked"),
    [
        (True, "a: done", ["dtype=half", "dtype=half,max_num_seqs=128,gpu_memory_utilization=0.8"]),
        (False, f"a: {MEMORY}", ["dtype=half"]),
    ],
)
def test_a_run_that_has_too_little_memory_is_tried_with_less_where_the_file_says_so(
    retried: bool, end: str, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "asked"
    children(monkeypatch, STARVED.replace("ASKED", str(log)))
    local = {"name": "org/a", "engine": "vllm", "engine_args": {"dtype": "half"}}
    plan = sweep_of(tmp_path, models=[local], retry_smaller=retried)
    told: list[str] = []
    work_off(plan.work, plan.runs, 1, told.append, plan.sweep.retry_smaller)
    last = [f"{asked[-1].replace('128', '64').replace('0.8', '0.7')}"] if retried else []
    assert log.read_text().splitlines() == [f"--engine-args={args}" for args in [*asked, *last]]
    assert told[-1] == end
    again = [line.partition("started again with ")[2] for line in told if "started again" in line]
    assert again == (
        ["max_num_seqs=128, gpu_memory_utilization=0.8", "max_num_seqs=64, gpu_memory_utilization=0.7"]
        if retried
        else []
    )
    assert all(MEMORY in line for line in told if "started again" in line)


@pytest.mark.parametrize(
    ("code", "written", "memory"),
    [
        (137, "asking: 3/9", True),
        (1, "error: vLLM stopped: CUDA out of memory. Tried to allocate 2.00 GiB", True),
        (
            1,
            "error: 3 requests failed\nwarning: t/q/0: failed: DefaultCPUAllocator: can't allocate memory",
            True,
        ),
        (1, "error: the disk is full", False),
        (0, "it was out of memory once", False),
        (130, "CUDA out of memory", False),
    ],
)
def test_an_end_for_want_of_memory_is_known_by_its_words(code: int, written: str, memory: bool, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(written + "\n")
    assert bool(out_of_memory(Note(by="b", host="h", started=0.0, code=code, log=str(log)))) is memory


@pytest.mark.parametrize(
    ("engine", "args", "less"),
    [
        ("vllm", {}, {"max_num_seqs": "128", "gpu_memory_utilization": "0.8"}),
        ("vllm", {"max_num_seqs": "1"}, None),
        ("vllm", {"gpu_memory_utilization": "0.4"}, {"max_num_seqs": "128", "gpu_memory_utilization": "0.4"}),
        ("transformers", {}, {"batch_size": "8"}),
        ("transformers", {"batch_size": "8"}, {"batch_size": "4"}),
        ("transformers", {"batch_size": "1"}, None),
    ],
)
def test_less_memory_ends_where_nothing_is_left(
    engine: str, args: dict[str, str], less: dict[str, str] | None, tmp_path: Path
) -> None:
    (run,) = sweep_of(tmp_path).runs
    made = smaller(replace(run, engine_args=args), engine)
    assert (made and made.engine_args) == less


def test_the_next_run_begins_when_the_devices_are_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = [0, 70, 70, 30, 0, 0]
    seen: list[int] = []

    def measure() -> Memory:
        seen.append(used.pop(0) if len(used) > 1 else used[0])
        return Memory(devices=[DeviceMemory(index=0, name="x", used=seen[-1] * GIB, total=80 * GIB)])

    monkeypatch.setattr(processes, "measure", measure)
    children(monkeypatch, "print('hello')")
    models = [{"name": "org/a", "engine": "vllm", "label": label} for label in "ab"]
    plan = sweep_of(tmp_path, models=models)
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(f"{line.partition(';')[0]} at {seen[-1]}")

    work_off(plan.work, plan.runs, 1, tell)
    assert told == ["a: begun at 0", "a: done at 0", "b: begun at 0", "b: done at 0"]
    assert seen == [0, 70, 70, 30, 0, 0], "before a, then until its memory is back, and before b"


def test_a_smaller_try_is_for_processes_of_ours(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="retry_smaller: for the backends local and ray; on slurm"):
        sweep_of(tmp_path, backend="slurm", retry_smaller=True)


def test_nohup_is_kept(tmp_path: Path) -> None:
    plan = sweep_of(tmp_path)
    fill(plan.runs[0])
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert livek12_here("sweep", plan.file).code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_restarts_end_also_where_something_is_stored_each_time() -> None:
    tries, started = Tries(), 0
    while tries.left:
        tries, started = tries.next(got_on=True), started + 1
    assert started == 20
    assert not Tries(idle=3).left and Tries(idle=3).next(got_on=True).left


def told(engine: str, stage: str, gpus: float = 0, replicas: int = 1) -> dict[str, Any]:
    return {
        "id": f"{engine}{stage}{gpus}",
        "stage": stage,
        "engine": engine,
        "model": "m",
        "gpus": gpus,
        "replicas": replicas,
        "host": "h",
        "pid": 1,
        "started": 0.0,
        "at": 3600.0,
    }


@pytest.mark.parametrize(
    ("sessions", "said", "hours", "total"),
    [
        ([told("openai", "generate"), told("vllm", "judge", 2)], {}, None, 2),
        ([told("vllm", "generate", 4), told("vllm", "judge", 2)], {"gpus": 1}, 6, 6),
        ([told("vllm", "generate", 0, replicas=3)], {"gpus": 2}, 6, 6),
        ([told("vllm", "generate")], {}, None, None),
        ([told("transformers", "generate")], {"gpus": 0}, 0, 0),
        ([told("openai", "generate"), told("vllm", "judge")], {}, None, None),
        ([told("replay", "generate")], {}, 0, 0),
    ],
)
def test_no_hours_are_invented(
    sessions: list[dict[str, Any]], said: dict[str, Any], hours: float | None, total: float | None, tmp_path: Path
) -> None:
    plan = sweep_of(tmp_path, models=model(**said))
    fill(plan.runs[0])
    journal = [Session.model_validate(one).model_dump_json() for one in sessions]
    (plan.runs[0].folder / "sessions-0.jsonl").write_text("".join(f"{line}\n" for line in journal))
    found = {run.label: find(run) for run in plan.runs}
    cells = look(plan, found)
    assert [cell.bill.gpu_hours for cell in cells if cell.bill] == [hours]
    assert write_report(plan, cells, found)["totals"]["gpu_hours"] == total


def test_an_engine_that_is_asked_through_an_address_is_an_endpoint(tmp_path: Path) -> None:
    with SessionWriter(tmp_path, "generate", "vllm", "m", ENGINE_ARGS) as sitting:
        assert (sitting.session.engine, sitting.session.gpus) == ("openai", 0)


def test_who_marks_beside_has_its_own_group_and_ends_with_an_error(tmp_path: Path) -> None:
    (run,) = sweep_of(tmp_path).runs
    fill(run, judged=False)
    ended: Any = None
    with pytest.raises(RuntimeError), Overlap(JudgeOptions(), "overlap") as beside:
        beside.start(RunFolder(run.folder), "openai", ENGINE_ARGS, 1)
        ended = beside._process
        assert os.getpgid(ended.pid) == ended.pid
        raise RuntimeError
    assert ended.returncode is not None


def test_two_who_look_at_a_run_at_once_do_not_take_each_other_for_its_process(tmp_path: Path) -> None:
    lock = take(tmp_path, "m")
    assert lock is not None
    assert held(tmp_path, "m")
    fcntl.flock(lock, fcntl.LOCK_SH)  # what looking takes for a moment
    assert not held(tmp_path, "m")
    os.close(lock)
