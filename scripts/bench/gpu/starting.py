"""Points of the GPU check that start engines, commands or servers of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Response
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import GIB, Session, read_sessions
from livek12.engines import make_engine
from livek12.engines.devices import measure
from livek12.engines.reaper import supervise
from livek12.scripts.bench.gpu.sharing import TEXT, ask, requests_of, tokens_of
from livek12.scripts.bench.gpu.work import Failed, Seen, StationWork, last_line, short_request, text_data
from livek12.scripts.bench.models import small_model_folder
from livek12.scripts.bench.sides import CPU_ENVIRONMENT, QUIET

LIMIT = 240.0
"""Seconds of one command; the check's own limit for the point comes first as a rule."""
FREED = 0.7 * GIB
"""More than this over what was there before is memory that was not given back."""
EAGER = {"enforce_eager": True, "max_model_len": 4096}


def used() -> int:
    """Bytes in use on the fullest device, by the driver."""
    return max((device.used for device in measure().devices), default=0)


def spelled(args: dict[str, Any]) -> str:
    """Engine arguments as `--engine-args` has them."""
    return ",".join(f"{name}={value}" for name, value in args.items())


@contextmanager
def command(work: StationWork, name: str, *words: object, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A livek12 command, killed at the end of the block."""
    with (work.work / f"{name}.log").open("ab") as log:
        words = (sys.executable, "-m", "livek12.scripts.cli", *words)
        environment = {**os.environ, "VLLM_LOGGING_LEVEL": "ERROR", **environment}
        process = subprocess.Popen(
            list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def finished(work: StationWork, name: str, *words: object, codes: tuple[int, ...] = (0,), **environment: str) -> int:
    """Runs a command; another exit code fails."""
    with command(work, name, *words, **environment) as process:
        code = process.wait(LIMIT)
    if code not in codes:
        raise Failed(f"{name}: exit code {code}: {said_last(work, name)}")
    return code


def said_last(work: StationWork, name: str) -> str:
    """The last error of a command's log, else its last line."""
    return last_line(work.work / f"{name}.log")


def run_words(work: StationWork, name: str, model: Path | str, args: dict[str, Any], *more: object) -> list[object]:
    """The words of a small `livek12 run`."""
    words: list[object] = ["run", "--task", TEXT, "--data", sample(work), "--model", model, "--out", work.work / name]
    return [*words, "--limit", 4, "--max-tokens", 32, "--temperature", 0, "--engine-args", spelled(args), *more]


def sample(work: StationWork) -> Path:
    """The sample exam, built once."""
    from livek12.dataset_builders import build

    folder = work.work / "sample"
    if not folder.is_dir():
        build("sample", "", folder)
    return folder


def session(folder: Path, stage: str) -> Session:
    """The one session of a stage."""
    (only,) = [entry for entry in read_sessions(folder) if entry.stage == stage]
    return only


def memory_of(one: Session) -> str:
    """GiB on the devices before, with and after an engine."""
    moments = (one.before_load, one.after_load, one.after_close)
    gib = " → ".join("?" if moment is None else f"{moment.on_devices / GIB:.1f}" for moment in moments)
    if one.stuck:
        raise Failed(f"device memory was not given back: {gib} GiB")
    return f"{gib} GiB"


def kill(work: StationWork) -> Seen:
    """SIGKILL of the command while the model loads: its children end and free the card."""
    before = used()
    words = run_words(work, "kill", work.model("qwen3-8b"), work.args("qwen3-8b", **EAGER), "--engine", "vllm")
    with command(work, "kill", *words) as process:
        while (taken := used() - before) < 2 * GIB:
            if process.poll() is not None:
                raise Failed(f"the model took no device memory: {said_last(work, 'kill')}")
            time.sleep(0.2)
        process.kill()
        process.wait()
        killed = time.monotonic()
        while used() - before > FREED:
            if time.monotonic() - killed > 60:
                raise Failed(f"{(used() - before) / GIB:.1f} GiB are held a minute after the kill")
            time.sleep(0.2)
    seconds = time.monotonic() - killed
    return f"{taken / GIB:.1f} GiB taken, free {seconds:.0f} s after the kill", {"freed after s": seconds}


def judge(work: StationWork) -> Seen:
    """A judge loads after the tested model has left the card."""
    args = "enforce_eager=true,max_model_len=4096"
    words = run_words(work, "judge", work.model("tiny"), EAGER)
    words += ["--judge", f"{work.model('tiny-qwen3-vl')}@vllm:{args}", "--judge-scope", "all", "--stages", "turn"]
    finished(work, "judge", *words, codes=(0, 1))
    folder = work.work / "judge"
    moments = [f"{stage} {memory_of(session(folder, stage))}" for stage in ("generate", "judge")]
    return ", ".join(moments), {}


def no_room(work: StationWork) -> Seen:
    """A model that does not fit ends in one line of error."""
    args = work.args("qwen3-8b", **{**EAGER, "max_model_len": 40960}, gpu_memory_utilization=0.02)
    words = run_words(work, "no-room", work.model("qwen3-8b"), args, "--engine", "vllm")
    finished(work, "no-room", *words, codes=(2,))
    line = said_last(work, "no-room")
    if not any(word in line.lower() for word in ("memory", "cache", "fit")):
        raise Failed(line)
    return line[:160], {}


def real(work: StationWork) -> Seen:
    """A genuine small model: the sample exam to its report, 20 tokens by each engine, and what a start costs again."""
    if not work.real:
        raise Failed("needs --real FOLDER or FILE.gguf: a small genuine model")
    path = Path(work.real)
    model = small_model_folder(path, work.work) if path.suffix == ".gguf" else path
    cache = {"VLLM_CACHE_ROOT": str(work.work / "vllm-cache")}

    def ask_side(name: str, *more: object, verb: str = "generate", **environment: str) -> None:
        words = [verb, "--task", TEXT, "--model", model, "--temperature", 0, "--out", work.work / name, *more]
        finished(work, name, *words, codes=(0, 1), **environment)

    fifty = ("--data", text_data(work), "--limit", work.many(50), "--max-tokens", 20)
    exam = ("--data", sample(work), "--max-tokens", work.many(512))
    graphs = ("--engine-args", spelled({"max_model_len": 4096}))
    ask_side("real-exam", *exam, *graphs, verb="run", **cache)
    ask_side("real-vllm", *fifty, *graphs, **cache)
    ask_side("real-one-process", *fifty, *graphs, **cache, VLLM_ENABLE_V1_MULTIPROCESSING="0")
    ask_side("real-transformers", *fifty, "--engine", "transformers")
    ask_side("real-cpu", *fifty, "--engine", "transformers", CUDA_VISIBLE_DEVICES="")
    texts = {
        side: {response.key.question_id: response.text for response in RunFolder.open(work.work / side).responses()}
        for side in ("real-vllm", "real-transformers", "real-cpu")
    }
    pairs = (("real-vllm", "real-cpu"), ("real-transformers", "real-cpu"), ("real-vllm", "real-transformers"))
    same = {
        f"{a[5:]} and {b[5:]}": sum(texts[b].get(key) == text for key, text in texts[a].items()) / len(texts[a])
        for a, b in pairs
    }
    sessions = {name: session(work.work / f"real-{name}", "generate") for name in ("exam", "vllm", "one-process")}
    starts = {name: (entry.loaded or 0.0) - entry.started for name, entry in sessions.items()}
    stages = {name: entry.figures.stages for name, entry in sessions.items() if entry.figures}
    seen = f"same 20 tokens of {len(texts['real-cpu'])}: " + ", ".join(
        f"{pair} {share:.0%}" for pair, share in same.items()
    )
    first, again, inside_seconds = starts.values()
    seen += f"; a start with graphs {first:.0f} s, again {again:.0f} s, in one process {inside_seconds:.0f} s"
    return seen, {"same": same, "starts": starts, "stages": stages}


def shape_point(change: dict[str, Any], args: dict[str, Any]) -> Callable[[StationWork], Seen]:
    """A changed 8B shape of four layers answers, or is refused in one line."""

    def point(work: StationWork) -> Seen:
        base = work.model("qwen3-8b")
        folder = work.work / "models" / f"changed-{len(list((work.work / 'models').iterdir()))}"
        folder.mkdir()
        for file in base.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        config = json.loads((base / "config.json").read_text()) | {"num_hidden_layers": 4} | change
        config.pop("layer_types", None)
        (folder / "config.json").write_text(json.dumps(config))
        began = time.monotonic()
        try:
            engine = make_engine("vllm", str(folder), work.args("qwen3-8b", **EAGER, **args))
        except UserError as error:
            if "\n" in str(error):
                raise Failed(f"refused in several lines: {error}") from error
            return f"refused: {error}", {"refused": str(error)}
        loaded = time.monotonic()
        try:
            outcome = next(iter(engine.generate([short_request()])))
        finally:
            engine.close()
        if not isinstance(outcome, Response):
            return f"started; no answer: {outcome.reason}", {"failed": outcome.reason}
        return f"answers after a start of {loaded - began:.0f} s", {"start": loaded - began}

    return point


AWQ = {
    "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": True}
}
MIXTURE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_experts": 32,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 768,
    "decoder_sparse_step": 1,
    "norm_topk_prob": True,
    "mlp_only_layers": [],
}


def slots(work: StationWork) -> Seen:
    """A small cache: vLLM's default number of sequences beside fewer."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # the scheduler is then in reach, and one load does for all
    tokens_each, limit = 512, work.many(96)
    cache = (
        {"kv_cache_memory_bytes": 25_000 * 147_456} if work.gpus else {}
    )  # 36 layers × 8 heads × 128 × 2 × 2 bytes a token
    work.shape = "qwen3-8b"
    work.engine = engine = make_engine("vllm", str(work.model(work.shape)), work.args(work.shape, **EAGER, **cache))
    scheduler = engine.engine._llm.llm_engine.engine_core.engine_core.scheduler  # type: ignore[attr-defined]
    figures = {}
    ask(work, "slots-warm", TEXT, text_data(work), limit=8, max_tokens=16)
    for number in (scheduler.max_num_running_reqs, 64):
        scheduler.max_num_running_reqs, before = number, engine.figures.preemptions or 0  # type: ignore[attr-defined]
        engine.engine._llm.reset_prefix_cache()  # type: ignore[attr-defined]
        folder, lent = ask(work, f"slots-{number}", TEXT, text_data(work), limit=limit, max_tokens=tokens_each)
        thrown = (engine.figures.preemptions or 0) - before  # type: ignore[attr-defined]
        figures[str(number)] = {"tokens/s": tokens_of(folder) / lent.seconds, "preemptions": thrown}
    engine.close()
    work.engine = None
    each = "; ".join(
        f"{n} sequences: {f['tokens/s']:,.0f} tokens/s, {f['preemptions']} preemptions" for n, f in figures.items()
    )
    return f"{limit} × {tokens_each} tokens, cache of 25,000: {each}", figures


def pool(
    work: StationWork, many: int, model: Path, args: dict[str, Any], limit: int, max_tokens: int
) -> tuple[float, float]:
    """Tokens a second, and GiB on the fullest card, of replicas."""
    from livek12.engines.pool import Pool

    before, end = used(), time.monotonic() + LIMIT
    engine = make_engine("vllm", str(model), {"replicas": many, **args})
    assert isinstance(engine, Pool)
    try:
        while engine.ready() < many:
            if time.monotonic() > end:
                raise Failed(f"{engine.ready()} of {many} replicas came up")
            time.sleep(0.2)
        memory = (used() - before) / GIB
        requests = requests_of(work, TEXT, text_data(work), limit, max_tokens)
        began = time.monotonic()
        outcomes = [outcome for outcome in engine.generate(requests) if isinstance(outcome, Response)]
        rate = sum(outcome.completion_tokens or 0 for outcome in outcomes) / (time.monotonic() - began)
    finally:
        engine.close()
    if len(outcomes) < len(requests):
        raise Failed(f"{len(outcomes)} of {len(requests)} answers")
    if (left := used() - before) > FREED:
        raise Failed(f"{left / GIB:.1f} GiB are held after the end")
    return rate, memory


def shared(work: StationWork) -> Seen:
    """Two engines on one card by shares, beside one engine on the whole card."""
    model, args, limit = work.model("qwen3-8b"), work.args("qwen3-8b", **EAGER), work.many(320)
    share = {"gpus": 0.5, "gpu_memory_utilization": 0.42} if work.gpus else {}
    rate, memory = pool(work, 2, model, args | share, limit, 256)
    work.shape, work.engine = "qwen3-8b", make_engine("vllm", str(model), args)
    folder, lent = ask(work, "shared-alone", TEXT, text_data(work), limit=limit, max_tokens=256)
    alone = tokens_of(folder) / lent.seconds
    work.engine.close()
    work.engine = None
    seen = f"two engines of 8B: {rate:,.0f} tokens/s, {memory:.1f} GiB together; one: {alone:,.0f} tokens/s"
    return seen, {"tokens/s": rate, "held GiB": memory, "alone tokens/s": alone}


def replicas(work: StationWork) -> Seen:
    """One engine a card."""
    args = work.args("qwen3-8b", **EAGER)
    rate, memory = pool(work, work.gpus, work.model("qwen3-8b"), args, work.many(320) * work.gpus, 256)
    return f"{work.gpus} replicas: {rate:,.0f} tokens/s, {memory:.1f} GiB on the fullest card", {"tokens/s": rate}


def tensor_parallel(work: StationWork) -> Seen:
    """One model over several cards."""
    size = 1 << (min(work.gpus, 8).bit_length() - 1)
    args = work.args("qwen3-8b", **EAGER, tensor_parallel_size=size)
    finished(work, "tensor-parallel", *run_words(work, "tensor-parallel", work.model("qwen3-8b"), args), codes=(0, 1))
    return f"over {size} cards, {memory_of(session(work.work / 'tensor-parallel', 'generate'))}", {}


def transformers(work: StationWork) -> Seen:
    """The transformers engine, with text and page images."""
    seen = []
    for name, shape, task in (("text", "tiny", TEXT), ("pages", "tiny-qwen3-vl", "livek12_image_only_en")):
        words = run_words(work, f"transformers-{name}", work.model(shape), {}, "--engine", "transformers")
        words[words.index(TEXT)] = task
        finished(work, f"transformers-{name}", *words, codes=(0, 1))
        seen.append(f"{name} {memory_of(session(work.work / f'transformers-{name}', 'generate'))}")
    return ", ".join(seen), {}


READY_SECONDS = 900
SERVER = """
from livek12.engines.vllm.ready import ready_vllm
ready_vllm()
if __name__ == "__main__":
    import runpy
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
"""
"""The server as a script: each of its processes imports it anew, and so is readied for vLLM."""


@contextmanager
def server(model: Path, folder: Path) -> Iterator[str]:
    """Address of a vLLM server that runs during the block."""
    script, log = folder / "server.py", folder / "server.log"
    script.write_text(SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, script, "--model", model, "--host", "127.0.0.1", "--port", port]
    words += ["--enforce-eager", "--max-model-len", EAGER["max_model_len"]]
    environment = os.environ | QUIET | CPU_ENVIRONMENT | {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    with (
        log.open("wb") as output,
        supervise(list(map(str, words)), env=environment, stdout=output, stderr=output) as process,
    ):
        _wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    raise SystemExit(f"vLLM's server did not come up: {log.read_text(errors='replace')[-2000:]}")


def served(work: StationWork) -> Seen:
    """VLLM's own server as an endpoint."""
    folder = work.work / "server"
    folder.mkdir()
    with server(work.model("tiny"), folder) as address:
        words = run_words(work, "served", work.model("tiny"), {"base_url": f"{address}/v1"}, "--engine", "openai")
        began = time.monotonic()
        finished(work, "served", *words, "--trials", 8, codes=(0, 1))
    answers = sum(1 for _ in RunFolder.open(work.work / "served").responses())
    return f"{answers} answers in {time.monotonic() - began:.0f} s", {"answers": answers}


def sweep(work: StationWork) -> Seen:
    """Two cells on one card: the second starts when memory is free."""
    file, out = work.work / "sweep.yaml", work.work / "sweep"
    args, model = EAGER, str(work.model("tiny"))
    cells = [{"name": model, "label": label, "engine": "vllm", "gpus": 1, "engine_args": args} for label in "ab"]
    exam = {"data": str(sample(work)), "tasks": [TEXT], "limit": 4, "sampling": {"max_tokens": 16, "temperature": 0}}
    file.write_text(json.dumps({"out": str(out), **exam, "models": cells}))
    finished(work, "sweep", "sweep", file, codes=(0, 1))
    former, two = (session(out / label, "generate") for label in "ab")
    first, second = sorted((former, two), key=lambda each: each.started)
    if second.started < first.at:
        raise Failed("the cells ran side by side")
    return f"{memory_of(first)}, then {memory_of(second)}", {}


POINTS = {
    "kill": kill,
    "judge": judge,
    "no-room": no_room,
    "real": real,
    "fp8": shape_point({}, {"quantization": "fp8"}),
    "awq": shape_point(AWQ, {}),
    "moe": shape_point(MIXTURE, {}),
    "slots": slots,
    "shared": shared,
    "replicas": replicas,
    "tensor-parallel": tensor_parallel,
    "transformers": transformers,
    "served": served,
    "sweep": sweep,
}
"""Each point by its name."""
