"""What vLLM's processes write: lines of their log below errors stay off the screen and tell the stage of the start."""

from __future__ import annotations

import pytest

from livek12.engines.common import Stages
from livek12.engines.vllm.engine import VllmLog, level_to_hear

CORE = "(EngineCore pid=51) "
START = [
    f"{CORE}INFO 11-27 03:00:00 [core.py:134] Initializing a V1 LLM engine (v0.32.0) with config: model='m'\n",
    f"{CORE}WARNING 11-27 03:00:01 [cuda.py:12] Unknown device: (1 pid=2)\r\n",
    f"{CORE}INFO 11-27 03:00:02 [gpu_model_runner.py:5040] Starting to load model m...\n",
    "\rLoading safetensors checkpoint shards:   0% Completed | 0/1",
    "\rLoading safetensors checkpoint shards: 100% Completed | 1/1\n",
    f"{CORE}INFO 11-27 03:00:09 [gpu_model_runner.py:5150] Model loading took 15.3 GiB memory and 6.1 seconds\n",
    f"{CORE}INFO 11-27 03:00:10 [monitor.py:40] Starting torch.compile\n",
    "/usr/lib/x.py:3: UserWarning: (odd)\n  warn()\n",
    f"{CORE}INFO 11-27 03:00:20 [monitor.py:60] torch.compile took 9.21 s in total\n",
    "\rCapturing CUDA graphs (decode, FULL):  50%|#####     | 1/2",
    f"\x1b[0;36m{CORE[:-1]}\x1b[0;0m \x1b[32mINFO\x1b[0m 11-27 03:00:31 [x.py:1] Graph capturing finished in 9 secs\n",
    f"{CORE}ERROR 11-27 03:00:32 [core.py:9] Failed\n",
    "(a remark of a library\n",
    f"{CORE}INFO 11-27 03:00:33 [core.py:386] init engine (profile, create kv cache, warmup model) took 24.0 s\n",
]
SHOWN = [START[3], START[4], START[7], START[9], START[11], START[12]]
STAGES = ["device", "weights", "memory", "compile", "memory", "graphs", "warm-up", "ready"]


@pytest.mark.parametrize("size", [None, 7, 1])
@pytest.mark.parametrize("hides", [True, False])
def test_the_screen_stays_as_it_is_and_the_stages_are_told(size: int | None, hides: bool) -> None:
    """Whole lines as processes write them, and pieces of them as a full pipe would give them."""
    begun: list[str] = []
    log = VllmLog(hides, lambda name, words: begun.append(name))
    whole = "".join(START if size is None else [line for line in START if not line.startswith(("\r", "\x1b"))])
    text = whole.encode()
    pieces = (
        [line.encode() for line in START] if size is None else [text[n : n + size] for n in range(0, len(text), size)]
    )
    written = b"".join(map(log.feed, pieces)) + log.end()
    expected = [line for line in SHOWN if size is None or not line.startswith("\r")] if hides else [whole]
    assert written.decode() == "".join(expected)
    stages = [name for name, after in zip(begun, [*begun[1:], ""], strict=True) if name != after]
    assert stages == (STAGES if size is None else ["device", "weights", "memory", "compile", "memory", "ready"])


def test_what_is_no_line_of_the_log_is_not_held_back() -> None:
    log = VllmLog(True, lambda name, words: None)
    assert log.feed(b"\rLoading:  3%") == b"\rLoading:  3%"
    assert log.feed(b"(EngineCore pid=5") == b""
    assert log.feed(b"1) INFO 11-27 heard\n") == b""
    assert log.feed(b"(EngineCore") + log.end() == b"(EngineCore"
    assert log.feed(b"(" + b"x" * (1 << 17)) == b"(" + b"x" * (1 << 17)


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({"VLLM_LOGGING_LEVEL": "ERROR"}, "INFO"),
        ({"VLLM_LOGGING_LEVEL": "error"}, "INFO"),
        ({"VLLM_LOGGING_LEVEL": "DEBUG"}, None),
        ({"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_LOGGING_PREFIX": "node7 "}, None),
        ({"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_LOGGING_CONFIG_PATH": "log.json"}, None),
        ({}, None),
    ],
)
def test_only_a_log_of_errors_is_made_to_say_more(environment: dict[str, str], level: str | None) -> None:
    assert level_to_hear(environment) == level


def test_a_stage_that_comes_again_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr("livek12.engines.common.time.monotonic", lambda: now[0])
    stages = Stages("imports", "importing vLLM")
    for name, seconds in [("memory", 5), ("compile", 2), ("memory", 4), ("memory", 1), ("ready", 3)]:
        now[0] += seconds
        stages.begin(name, name)
    now[0] += 0.5
    stages.end()
    stages.end()
    assert stages.seconds == {"imports": 5, "memory": 2 + 1 + 3, "compile": 4, "ready": 0.5}
