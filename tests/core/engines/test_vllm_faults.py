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

from livek12.core.engines.vllm_engine import NAN, VLLMEngine
from livek12.core.engines.vllm_loading import _named, _overheard
from livek12.core.errors import UserError
from tests.core.engines.conftest import needs
from tests.core.engines.helpers import ask, bare_vllm, by_question, failure, gone, response, revived_vllm, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _vllm() -> None:
    needs("vllm")


def test_an_engine_that_stops_is_built_again(tiny_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 50 are done, those in hand by the second engine; of the first nothing is left, and no binding to cores."""
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
    outcomes = list(revived.generate(ask(str(n)) for n in range(50)))
    assert len(by_question(outcomes)) == 50
    assert all(response(outcome).completion_tokens for outcome in outcomes)
    assert revived.engine is not first
    assert first._llm is None
    revived.close()


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


# As it is on a GPU: vLLM's engine in a process of its own, started afresh, which imports this file and so is readied.
KILLED = """
from livek12.core.engines.vllm_loading import ready_vllm
ready_vllm()
if __name__ == "__main__":
    import json, multiprocessing, sys
    from livek12.core.engines import make_engine
    from livek12.core.engines.memory import give_back
    from tests.core.engines.helpers import ask

    engine = make_engine("vllm", sys.argv[1], {"max_model_len": 1024, "window": "4"})
    (core,) = engine.engine._watch._processes
    seen = []
    for outcome in engine.generate(ask(str(n), "Go on.", max_tokens=16) for n in range(12)):
        if len(seen) == 3:
            engine.engine._watch._reaper.stdin.close()  # as the death of this process does
            core.join(300)
        seen.append([outcome.key.question_id, type(outcome).__name__, getattr(outcome, "reason", "")])
    again = engine.engine._watch._processes[0].pid
    engine.close()
    left = [child.name for child in multiprocessing.active_children()]
    print(json.dumps({"seen": seen, "built": again != core.pid, "left": left, "how": core.exitcode}))
"""


def test_a_killed_process_is_started_again_and_all_is_done_once(tiny_text: Path, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "1", "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(script), str(tiny_text)]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert sorted(told["seen"], key=lambda one: int(one[0])) == [[str(n), "Response", ""] for n in range(12)]
    assert (told["built"], told["left"], told["how"]) == (True, [], -9)
    assert "vllm died (vLLM's process was killed by signal 9 (out of memory?)" in done.stderr


ORPHANED = """
import os, signal, subprocess, sys
from livek12.core.engines.vllm_loading import reaper

nothing = subprocess.DEVNULL
sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=nothing, stderr=nothing)
reaper([sleeping.pid])
print(sleeping.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_vllm_started_does_not_outlive_a_killed_process() -> None:
    command = [sys.executable, "-c", ORPHANED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -9
    wait_until(lambda: gone(int(done.stdout)))


def test_why_a_process_cannot_start_is_read_from_what_it_wrote(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    written = """(EngineCore pid=7) ERROR 08:00:00 [core.py:9] ValueError: No available memory for the cache blocks.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"""
    heard = bytearray()
    with pytest.raises(RuntimeError), _overheard(heard):
        subprocess.run([sys.executable, "-c", f"import sys; sys.stderr.write({written!r})"], check=True)
        raise RuntimeError
    assert _named(bytes(heard)) == "No available memory for the cache blocks."
    assert capfd.readouterr().err == written
    assert _named(b"Loading weights: 100%") == ""


@pytest.mark.parametrize("case", ["absent", "empty", "argument", "value", "parallel", "memory"])
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
        "argument": {"no_such_argument": "1"},
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


def test_data_parallel_is_replicas_here(tiny_text: Path) -> None:
    with pytest.raises(UserError, match=r"data_parallel_size=2: .* replicas=2$"):
        bare_vllm(tiny_text, data_parallel_size="2")
