"""Tries on real GPUs what the tests can only fake, with models of random weights and the sample exam.

    bash scripts/gpu_check.sh            all points that this machine's GPUs allow; at most ten minutes
    bash scripts/gpu_check.sh auto kill  these points only
    bash scripts/gpu_check.sh --cpu      what runs with vLLM's CPU build too, to try the script itself

One line a point: ok or FAILED, seconds, and what was seen (from the records of the run folder and from nvidia-smi).
Exit code 1 where a point failed, 3 where there was no time for all: a last line names the rest. A point that takes
longer than its share is killed and has failed. Run folders and logs stay in --work for a look.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from livek12.core.run_folder import RunFolder
from livek12.core.sessions import GIB, Session, read_sessions
from livek12.engines.memory import measure
from livek12.engines.reaper import supervise

ALL_SECONDS = 600.0
POINT_SECONDS = 120.0
TEXT, PAGES = "livek12_text_only_en", "livek12_image_only_en"
FREED = 0.7 * GIB
"""More than this over what was there before is memory that was not given back."""
QUIET = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING"}
QUIET["VLLM_CPU_KVCACHE_SPACE"] = "1"  # GiB, with --cpu
SERVE = """
from livek12.engines.vllm_ready import ready_vllm
ready_vllm()
if __name__ == "__main__":
    import runpy
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
"""
"""A script that serves: vLLM's engine processes read it again, and so find torch's companions mended as well."""


class Failed(Exception):
    """A point that does not hold, and why."""


@dataclass
class Machine:
    """Where the points run.

    Attributes:
        gpus: how many; 0 with --cpu.
        work: folder of everything.
        data: the sample data set, built.
        tiny, seeing, large: model folders: text, pages, and one whose weights take many seconds to load.
        until: when the whole must be over (`time.monotonic`).
    """

    gpus: int
    work: Path
    data: Path
    tiny: Path
    seeing: Path
    large: Path
    until: float

    def run(self, name: str, *words: object, model: Path | None = None, task: str = TEXT, **args: object) -> RunFolder:
        """One `livek12 run` to its end; fails where it does, or where an answer is missing."""
        out = self.work / name
        command = ["run", "--task", task, "--data", self.data, "--model", model or self.tiny, "--out", out]
        command += ["--engine-args", spelled(args), "--limit", "4", "--max-tokens", "32", "--temperature", "0", *words]
        with self.started(name, *command) as process:
            process.wait(timeout=POINT_SECONDS)
        folder = RunFolder.open(out)
        answers, spec = sum(1 for _ in folder.responses()), folder.spec()
        asked = sum(one.questions for one in spec.tasks) * spec.trials
        if process.returncode or answers < asked:
            raise Failed(f"exit code {process.returncode}, {answers} of {asked} answers: {self.last_line(name)}")
        return folder

    def pool(self, name: str, many: int, **args: object) -> list[int]:
        """Engines as replicas; what each device holds with all of them up. Fails where one does not come up."""
        before = used()
        words = [
            Path(__file__).with_name("gpu_pool.py"),
            self.tiny,
            many,
            0.7 * POINT_SECONDS,
            spelled({"replicas": many} | args),
        ]
        with self.started(name, *words, module=False) as process:
            process.wait(timeout=POINT_SECONDS)
        try:
            told = json.loads((self.work / f"{name}.log").read_text(errors="replace").strip().splitlines()[-1])
        except (ValueError, IndexError):
            raise Failed(f"exit code {process.returncode}: {self.last_line(name)}") from None
        if told["ready"] < many or told["answers"] < 16 * many:
            raise Failed(f"{told['ready']} of {many} replicas came up, {told['answers']} of {16 * many} answers")
        left = [now - was for now, was in zip(used(), before, strict=True)]
        if max(left, default=0) > FREED:
            raise Failed(
                f"device memory was not given back: {[round(one / GIB, 1) for one in left]} GiB more than before"
            )
        return [now - was for now, was in zip(told["held"], before, strict=True)]

    @contextmanager
    def started(self, name: str, *words: object, module: bool = True) -> Iterator[subprocess.Popen[bytes]]:
        """A livek12 command, killed with all that it has started at the end of the block and with this process."""
        words = (*(("-m", "livek12.scripts.cli") if module else ()), *words)
        environment = {**os.environ, **{key: os.environ.get(key, value) for key, value in QUIET.items()}}
        with (
            (self.work / f"{name}.log").open("ab") as log,
            supervise([sys.executable, *map(str, words)], stdout=log, stderr=log, env=environment) as process,
        ):
            try:
                yield process
            except subprocess.TimeoutExpired:
                raise Failed(f"not done in time: {self.last_line(name)}") from None

    def last_line(self, name: str) -> str:
        """What a command said last."""
        text = (self.work / f"{name}.log").read_text(errors="replace")
        lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
        return (next((line for line in reversed(lines) if line.startswith("error:")), lines[-1]) if lines else "")[:300]


def spelled(args: dict[str, object]) -> str:
    """Engine arguments, with those that keep a start short."""
    return ",".join(
        f"{name}={value}" for name, value in ({"enforce_eager": "true", "max_model_len": 2048} | args).items()
    )


def used() -> list[int]:
    """Bytes in use on each device, by the driver."""
    return [device.used for device in measure().devices]


def of_model(folder: RunFolder, stage: str = "generate") -> Session:
    """The one session of a stage."""
    (found,) = [session for session in read_sessions(folder.path) if session.stage == stage]
    return found


def held(session: Session) -> str:
    """What an engine took and left on the devices."""
    before, up, after = session.before_load, session.after_load, session.after_close
    if before is None or up is None or after is None or not up.devices:
        return "no device memory measured"
    gib = [round(moment.on_devices / GIB, 1) for moment in (before, up, after)]
    if session.stuck:
        raise Failed(f"device memory was not given back: {gib[0]} → {gib[1]} → {gib[2]} GiB")
    return f"{gib[0]} → {gib[1]} → {gib[2]} GiB"


def auto(machine: Machine) -> str:
    """`--engine auto` starts vLLM in process."""
    folder = machine.run("auto")
    engine = folder.spec().engine
    if engine != "vllm":
        raise Failed(f"chose {engine}")
    return f"vllm {folder.spec().engine_versions.get('vllm', '')}, {held(of_model(folder))}"


def kv_cache(machine: Machine) -> str:
    """A model of 8 billion parameters with many answers at once: what vLLM says of its cache and of preemptions."""
    dummy = {"load_format": "dummy"} if machine.gpus else {}
    folder = machine.run("kv", "--trials", "64", model=machine.large, **dummy)
    session = of_model(folder)
    seconds = session.at - (session.loaded or session.started)
    tokens = sum(response.completion_tokens or 0 for response in folder.responses())
    figures = session.figures
    if figures.kv_tokens is None or figures.preemptions is None:
        raise Failed("the session does not say what the cache holds, or how often it was too small")
    cache = f"cache of {figures.kv_tokens:,} tokens, {figures.preemptions:,} preemptions"
    return f"{tokens / seconds:,.0f} tokens/s, {held(session)}, {cache}"


def replicas(machine: Machine) -> str:
    """One engine a GPU."""
    many = max(2, machine.gpus)
    taken = machine.pool("replicas", many)
    return f"{many} replicas came up, GiB a GPU: {', '.join(f'{one / GIB:.1f}' for one in taken)}"


def shared(machine: Machine) -> str:
    """Two engines on one GPU."""
    taken = machine.pool("shared", 2, gpus=0.5, gpu_memory_utilization=0.4)
    return f"both came up, {max(taken) / GIB:.1f} GiB together"


def tensor_parallel(machine: Machine) -> str:
    """One model over several GPUs."""
    size = 1 << (min(machine.gpus, 8).bit_length() - 1)
    folder = machine.run("tensor-parallel", model=machine.large, load_format="dummy", tensor_parallel_size=size)
    return f"over {size} GPUs, {held(of_model(folder))}"


def no_room(machine: Machine) -> str:
    """A model that does not fit names its cause in one line."""
    out, args = (
        machine.work / "no-room",
        {"load_format": "dummy", "max_model_len": 40960, "gpu_memory_utilization": 0.02},
    )
    words = ["run", "--task", TEXT, "--data", machine.data, "--model", machine.large, "--engine", "vllm"]
    with machine.started("no-room", *words, "--engine-args", spelled(args), "--out", out) as process:
        process.wait(timeout=POINT_SECONDS)
    line = machine.last_line("no-room")
    if process.returncode != 2 or not any(word in line.lower() for word in ("memory", "cache", "fit")):
        raise Failed(f"exit code {process.returncode}: {line}")
    return line[:160]


def kill(machine: Machine) -> str:
    """SIGKILL while the model loads frees the GPU."""
    before, name = used(), "kill"
    words = ["run", "--task", TEXT, "--data", machine.data, "--model", machine.large, "--out", machine.work / name]
    words += ["--engine", "vllm", "--engine-args", spelled({"load_format": "dummy"})]
    with machine.started(name, *words) as process:
        end = time.monotonic() + POINT_SECONDS
        while max(now - was for now, was in zip(used(), before, strict=True)) < 2 * GIB:
            if process.poll() is not None or time.monotonic() > end:
                raise Failed(f"the model took no device memory: {machine.last_line(name)}")
            time.sleep(0.2)
        taken = max(now - was for now, was in zip(used(), before, strict=True))
        os.kill(process.pid, signal.SIGKILL)  # the command alone: what it started has to end by itself
        process.wait()
        began = time.monotonic()
        while max(now - was for now, was in zip(used(), before, strict=True)) > FREED:
            if time.monotonic() - began > 60:
                raise Failed(
                    f"{taken / GIB:.1f} GiB taken; a minute after the kill {[u / GIB for u in used()]} GiB held"
                )
            time.sleep(0.5)
    return f"{taken / GIB:.1f} GiB taken, free {time.monotonic() - began:.0f} s after the kill"


def judge(machine: Machine) -> str:
    """A judge comes in after the tested model has left."""
    words = (
        "--judge",
        f"{machine.seeing}@vllm:enforce_eager=true;max_model_len=2048".replace(";", ","),
        "--stages",
        "turn",
    )
    folder = machine.run("judge", *words)
    return f"model {held(of_model(folder))}, judge {held(of_model(folder, 'judge'))}"


def budgets(machine: Machine) -> str:
    """Token budgets are limits of the requests."""
    out = machine.work / "budgets"
    words = ["run", "--task", TEXT, "--data", machine.data, "--model", machine.tiny, "--out", out, "--limit", "4"]
    words += ["--engine-args", spelled({}), "--budgets", "0.001,0.01", "--temperature", "0"]
    with machine.started("budgets", *words) as process:
        process.wait(timeout=POINT_SECONDS)
    folder = RunFolder.open(out)
    limits = {task.name: task.sampling.max_tokens for task in folder.spec().tasks}
    longest: dict[str, int] = dict.fromkeys(limits, 0)
    for response in folder.responses():
        longest[response.key.task] = max(longest[response.key.task], response.completion_tokens or 0)
    if process.returncode or any(longest[name] > limit or not longest[name] for name, limit in limits.items()):
        raise Failed(f"exit code {process.returncode}, longest {longest} of {limits}: {machine.last_line('budgets')}")
    return ", ".join(f"{name}: longest {longest[name]} of {limit}" for name, limit in limits.items())


def pages(machine: Machine) -> str:
    """Whole-page questions; pages of a paper come from the prefix cache."""
    folder = machine.run("pages", "--trials", "2", model=machine.seeing, task=PAGES, max_model_len=16384)
    found = list(folder.responses())
    cached, asked = (sum(getattr(one, name) or 0 for one in found) for name in ("cached_tokens", "prompt_tokens"))
    return f"{cached / asked:.0%} of {asked:,} prompt tokens from the prefix cache"


def served(machine: Machine) -> str:
    """`vllm serve`, asked as any endpoint."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = machine.work / "serve.py"
    script.write_text(SERVE)
    words = [str(script), "--model", str(machine.tiny), "--served-model-name", "tiny"]
    words += ["--host", "127.0.0.1", "--port", str(port), "--enforce-eager", "--max-model-len", "2048"]
    with (
        (machine.work / "server.log").open("ab") as log,
        supervise([sys.executable, *words], stdout=log, stderr=log, env={**os.environ, **QUIET}) as server,
    ):
        end = time.monotonic() + POINT_SECONDS
        while not _healthy(port):
            if server.poll() is not None or time.monotonic() > end:
                raise Failed(f"the server did not come up: {machine.last_line('server')}")
            time.sleep(1)
        out, address = machine.work / "served", f"base_url=http://127.0.0.1:{port}/v1"
        ask = ["run", "--task", TEXT, "--data", machine.data, "--model", "tiny", "--engine", "openai", "--out", out]
        ask += ["--engine-args", address, "--max-tokens", "64", "--trials", "8", "--temperature", "0"]
        began = time.monotonic()
        with machine.started("served", *ask) as process:
            process.wait(timeout=POINT_SECONDS)
        answers = sum(1 for _ in RunFolder.open(out).responses())
        if process.returncode:
            raise Failed(f"exit code {process.returncode}: {machine.last_line('served')}")
        return f"{answers} answers in {time.monotonic() - began:.0f} s"


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def transformers(machine: Machine) -> str:
    """The transformers engine on the device."""
    out = machine.work / "transformers"
    words = ["run", "--task", TEXT, "--data", machine.data, "--model", machine.tiny, "--engine", "transformers"]
    with machine.started("transformers", *words, "--out", out, "--limit", "4", "--max-tokens", "32") as process:
        process.wait(timeout=POINT_SECONDS)
    if process.returncode:
        raise Failed(f"exit code {process.returncode}: {machine.last_line('transformers')}")
    return held(of_model(RunFolder.open(out)))


POINTS: dict[str, tuple[int, Callable[[Machine], str]]] = {
    "auto": (0, auto),
    "kill": (1, kill),
    "tensor-parallel": (2, tensor_parallel),
    "replicas": (2, replicas),
    "shared": (1, shared),
    "kv": (0, kv_cache),
    "judge": (0, judge),
    "no-room": (1, no_room),
    "budgets": (0, budgets),
    "pages": (0, pages),
    "served": (0, served),
    "transformers": (0, transformers),
}
"""Each point by its name: the GPUs that it needs (0: none), and what tries it."""


def main() -> int:
    """Tries the points; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("points", nargs="*", metavar="POINT", help=f"of {', '.join(POINTS)}; default all")
    parser.add_argument("--cpu", action="store_true", help="try what needs no GPU")
    parser.add_argument("--work", type=Path, help="a folder for run folders and logs; default a new temporary one")
    options = parser.parse_args()
    if unknown := [name for name in options.points if name not in POINTS]:
        parser.error(f"no point {unknown[0]!r}; there are {', '.join(POINTS)}")
    gpus = len(measure().devices)
    if not gpus and not options.cpu:
        print("this machine has no GPU that nvidia-smi tells of; --cpu tries what needs none", file=sys.stderr)
        return 2
    work = options.work or Path(tempfile.mkdtemp(prefix="livek12-gpu-check-"))
    print(f"{0 if options.cpu else gpus} GPUs; run folders and logs: {work}", flush=True)
    machine = _machine(0 if options.cpu else gpus, work)
    failed, late = 0, []
    for name in options.points or POINTS:
        needed, point = POINTS[name]
        if needed > machine.gpus:
            print(f"{name:16} left out: needs {needed} GPU{'s' * (needed > 1)}", flush=True)
        elif time.monotonic() > machine.until - POINT_SECONDS:
            late.append(name)
        else:
            failed += not _tried(name, point, machine)
    if late:
        print(f"no time was left for these: bash scripts/gpu_check.sh {' '.join(late)}", flush=True)
    return 1 if failed else 3 if late else 0


def _tried(name: str, point: Callable[[Machine], str], machine: Machine) -> bool:
    began = time.monotonic()
    try:
        seen, holds = point(machine), True
    except Exception as error:
        seen, holds = f"{type(error).__name__}: {error}" if not isinstance(error, Failed) else str(error), False
    said = "ok" if holds else "FAILED"
    print(f"{name:16} {said:6} {time.monotonic() - began:4.0f} s  {' '.join(seen.split())}", flush=True)
    return holds


def _machine(gpus: int, work: Path) -> Machine:
    from livek12.dataset_builders import build
    from livek12.scripts.bench.models import make_model

    until = time.monotonic() + ALL_SECONDS
    build("sample", "", work / "data")
    tiny = make_model("tiny", work / "tiny")
    seeing = make_model("tiny-qwen3-vl", work / "tiny-qwen3-vl", context=16384)
    large = make_model("qwen3-8b", work / "qwen3-8b") if gpus else tiny
    return Machine(gpus, work, work / "data", tiny, seeing, large, until)


if __name__ == "__main__":
    sys.exit(main())
