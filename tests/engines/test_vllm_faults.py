"""What the vllm engine does when it stops, is killed, cannot start or computes NaN."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.engines.reaper import family, processes
from livek12.engines.vllm.engine import NAN, CoreWatch, VLLMEngine, VllmLog, named
from tests.conftest import ROOT
from tests.engines.conftest import needs
from tests.engines.helpers import (
    ask,
    bare_vllm,
    by_question,
    command_of,
    failure,
    gone,
    response,
    revived_vllm,
    wait_until,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _vllm() -> None:
    needs("vllm")


@pytest.mark.release
def test_an_engine_that_stops_is_built_again(tiny_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 16 are done, those in hand by the second engine; of the first nothing is left, and no binding to cores."""
    cores = os.sched_getaffinity(0)
    revived = revived_vllm(tiny_text, window="2")
    assert os.sched_getaffinity(0) == cores
    first = revived.engine
    assert isinstance(first, VLLMEngine)
    inner, steps = first._llm.llm_engine, 0
    real = inner.step

    def dying() -> Any:
        nonlocal steps
        steps += 1
        if steps > 20:
            raise RuntimeError("CUDA error:\nan illegal memory access was encountered")
        return real()

    monkeypatch.setattr(inner, "step", dying)
    outcomes = list(revived.generate(ask(str(n)) for n in range(16)))
    assert len(by_question(outcomes)) == 16
    assert all(response(outcome).completion_tokens for outcome in outcomes)
    assert revived.engine is not first
    assert first._llm is None
    revived.close()


@pytest.mark.release
@pytest.mark.parametrize("told", [True, False])
def test_a_small_cache_is_filled_and_what_it_throws_out_is_counted(tiny_text: Path, told: bool) -> None:
    """Eight blocks of 128 tokens, for six answers of 140: all are given whole, by throwing some out meanwhile."""
    more = {} if told else {"disable_log_stats": "true"}
    engine = bare_vllm(tiny_text, max_model_len="512", num_gpu_blocks_override="8", block_size="128", **more)
    asked = [ask(str(n), max_tokens=140, temperature=1.0) for n in range(6)]
    outcomes = by_question(list(engine.generate(asked)))
    lengths = [response(outcome).completion_tokens for outcome in outcomes.values()]
    figures = engine.figures
    engine.close()
    assert lengths == [140] * 6
    assert figures.kv_tokens == 1024
    assert (figures.preemptions or 0) > 0 if told else figures.preemptions is None


@pytest.mark.release
def test_an_answer_of_nan_is_a_failure(tiny_text: Path, tmp_path: Path) -> None:
    """One layer's weights are NaN, so that every token is drawn from nothing."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "nan"
    shutil.copytree(tiny_text, folder)
    weights = load_file(folder / "model.safetensors")
    next(tensor for name, tensor in weights.items() if "layers.1" in name and "down_proj" in name).fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    engine = bare_vllm(folder)
    asked = [ask("greedy"), *(ask("drawn", trial=trial, temperature=1.0) for trial in range(3))]
    outcomes = list(engine.generate(asked))
    assert [failure(outcome).reason for outcome in outcomes] == [NAN] * 4
    assert not any(failure(outcome).final for outcome in outcomes)
    assert not engine._llm.llm_engine.has_unfinished_requests()
    engine.close()


# As it is on a GPU: vLLM's engine in a process of its own, with its worker in another.
OWN = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}


def run(script: str | Path, *arguments: str, check: int = 0, **settings: str) -> subprocess.CompletedProcess[str]:
    """A script, as text or in a file, in a process of its own, whose vLLM has one too."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | OWN | settings | {"PYTHONPATH": path}
    command = [sys.executable, *(["-c", script] if isinstance(script, str) else [str(script)]), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == check, done.stderr[-3000:]
    return done


KILLED = """
import json, multiprocessing, os, signal, sys
from livek12.engines import make_engine
from livek12.engines.reaper import family, processes
from tests.engines.helpers import ask

engine = make_engine("vllm", sys.argv[1], {"max_model_len": 1024, "window": "4"})
seen, cores = [], []
for outcome in engine.generate(ask(str(n), "Go on.", max_tokens=16) for n in range(18)):
    if len(seen) in (3, 10):
        (core,) = engine.engine._watch._processes
        if not cores:
            os.kill(family([core.pid], processes())[-1], signal.SIGKILL)  # the worker
        else:
            engine.engine._watch._reaper._process.stdin.close()  # as the death of this process does
        core.join(300)
        cores.append(core)
    seen.append([outcome.key.question_id, type(outcome).__name__, getattr(outcome, "reason", "")])
cores.append(engine.engine._watch._processes[0])
engine.close()
left = [child.name for child in multiprocessing.active_children()]
how = [core.exitcode for core in cores[:2]]  # which another thread may have asked for first
print(json.dumps({"seen": seen, "cores": len({core.pid for core in cores}), "left": left, "how": how}))
"""


@pytest.mark.release
def test_a_killed_process_is_started_again_and_all_is_done_once(tiny_text: Path, tmp_path: Path) -> None:
    """First the worker, then the core of the engine that took its place.

    The script has no guard, and needs none: what vLLM starts does not run the program's main module again.
    """
    (tmp_path / "unguarded.py").write_text(KILLED)
    done = run(tmp_path / "unguarded.py", str(tiny_text))
    (line,) = done.stdout.splitlines()
    told = json.loads(line)
    assert sorted(told["seen"], key=lambda one: int(one[0])) == [[str(n), "Response", ""] for n in range(18)]
    assert (told["cores"], told["left"], told["how"]) == (3, [], [1, -9])
    assert "vllm died (vLLM's process ended with exit code 1: Worker proc VllmWorker-0 died unexpectedly" in done.stderr
    assert "vllm died (vLLM's process was killed by signal 9 (out of memory?)" in done.stderr


@pytest.mark.release
def test_a_kill_while_the_model_is_loaded_leaves_nothing(tiny_text: Path, tmp_path: Path) -> None:
    """The weights never come, so that vLLM's own process and its worker would wait for ever."""
    folder = tmp_path / "endless"
    shutil.copytree(tiny_text, folder)
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    loads = "from livek12.engines import make_engine; make_engine('vllm', {!r}, {{'max_model_len': 1024}})"
    started = subprocess.Popen(
        [sys.executable, "-c", loads.format(str(folder))],
        env=os.environ | OWN | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def charges() -> list[int]:
        spawned = (b"multiprocessing.spawn", b"VLLM::")
        ours = family([started.pid], processes())[1:]
        return [one for one in ours if any(word in command_of(one) for word in spawned)]

    wait_until(lambda: len(charges()) == 2, 300)
    wait_until(lambda: any(b"VLLM::Worker" in command_of(one) for one in charges()), 300)
    left = charges()
    started.kill()
    started.wait()
    wait_until(lambda: all(map(gone, left)))


ALONE = """\
(EngineCore pid=7) ERROR 08:00:00 [core.py:9] ValueError: No memory for it.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
LOGGED = """\
(MainProcess pid=6) ERROR 11-22 08:00:00 [config.py:9] Failed to import kernels. Error: No module named 'triton_kernels'
(Worker_TP0 pid=8) ERROR 08:00:00 [multiproc_executor.py:9] WorkerProc failed to start.
(Worker_TP0 pid=8) ERROR 08:00:00 [multiproc_executor.py:9] ImportError: no fast kernel here
(Worker_TP0 pid=8) ERROR 08:00:00 [multiproc_executor.py:9] torch.OutOfMemoryError: CUDA out of memory. Tried to \
allocate 594.00 MiB.
(Worker_TP1 pid=9) ERROR 08:00:02 [multiproc_executor.py:9] torch.distributed.DistBackendError: NCCL error: remote \
process exited
(EngineCore pid=7) ERROR 08:00:03 [core.py:9] EngineCore failed to start.
(EngineCore pid=7) ERROR 08:00:03 [core.py:9] Exception: WorkerProc initialization failed due to an exception in a \
background process. See stack trace for root cause.
Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
RUNNING = """\
(Worker_TP1 pid=9) ERROR 08:00:02 [multiproc_executor.py:9] torch.AcceleratorError: CUDA error: an illegal memory \
access was encountered
(EngineCore pid=7) ERROR 08:00:02 [core.py:9] RuntimeError: Worker failed with error 'CUDA error', please check the \
stack trace above for the root cause
(EngineCore pid=7) ERROR 08:00:03 [multiproc_executor.py:9] Worker proc VllmWorker-1 died unexpectedly (exit code: 1), \
shutting down executor.
vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.
"""


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        (ALONE, "No memory for it."),
        (LOGGED, "CUDA out of memory. Tried to allocate 594.00 MiB."),
        (RUNNING, "CUDA error: an illegal memory access was encountered"),
        (RUNNING.splitlines()[2], "Worker proc VllmWorker-1 died unexpectedly (exit code: 1)"),
        ("Loading weights: 100%", ""),
        ("", ""),
    ],
)
def test_why_a_process_fails_is_what_the_first_of_them_wrote_last(written: str, cause: str) -> None:
    assert named(written.encode()) == cause


def test_what_processes_write_is_passed_on_and_kept(capfd: pytest.CaptureFixture[str]) -> None:
    watch = CoreWatch()
    with pytest.raises(RuntimeError), watch.loading(VllmLog(hides=False, begin=lambda name, words: None)):
        subprocess.run([sys.executable, "-c", f"import sys; sys.stderr.write({LOGGED!r})"], check=True)
        raise RuntimeError
    assert watch.cause() == "CUDA out of memory. Tried to allocate 594.00 MiB."
    assert capfd.readouterr().err == LOGGED


@pytest.mark.release
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each of two workers has a core of its own")
def test_with_tensor_parallelism_the_cause_is_the_workers(tiny_text: Path, tmp_path: Path) -> None:
    """The weights end early: each worker says so, vLLM's own process only that they have."""
    folder = tmp_path / "cut"
    shutil.copytree(tiny_text, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    script = "import sys; from livek12.engines import make_engine; make_engine('vllm', sys.argv[1], {})".replace(
        "{}", "{'tensor_parallel_size': 2, 'max_model_len': 1024}"
    )
    first, second = sorted(os.sched_getaffinity(0))[:2]
    done = run(script, str(folder), check=1, VLLM_CPU_OMP_THREADS_BIND=f"{first}|{second}")
    last = done.stderr.strip().splitlines()[-1]
    assert "UserError: vLLM cannot run" in last
    assert "MetadataIncompleteBuffer" in last or "incomplete metadata" in last


@pytest.mark.parametrize("case", ["absent", "empty", "value", "parallel", "memory"])
def test_what_it_cannot_run_says_so_in_one_line(
    tmp_path: Path, tiny_text: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "model"
    if case != "absent":
        folder.mkdir()
    if case == "memory":
        monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "90000")
    args: dict[str, Any] = {
        "value": {"max_model_len": "9999999"},
        "parallel": {"tensor_parallel_size": "3"},
        "memory": {"dtype": "float32"},
    }.get(case, {})
    model = tiny_text if args else folder
    with pytest.raises(UserError) as error:
        bare_vllm(model, **args)
    assert str(model) in str(error.value)
    said = {"parallel": "divisible by tensor parallel size (3)", "memory": "90000.0 GiB"}
    assert said.get(case, "") in str(error.value)
    assert "\n" not in str(error.value)


def test_data_parallel_is_replicas_here_or_a_server(tiny_text: Path) -> None:
    with pytest.raises(UserError, match=r"data_parallel_size=2: .* replicas=2, .* --data-parallel-size 2`") as error:
        bare_vllm(tiny_text, data_parallel_size="2")
    assert "\n" not in str(error.value)


def test_vllm_itself_refuses_data_parallelism_in_one_process(tiny_text: Path) -> None:
    """When it no longer does, our refusal has to be looked at again."""
    from vllm import LLM

    with pytest.raises(ValueError, match="not supported for single-process"):
        LLM(str(tiny_text), data_parallel_size=2)
