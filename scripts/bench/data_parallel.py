"""Our replicas beside vLLM's own data parallelism: requests a second, pages encoded, and what a lost engine costs.

vLLM's `LLM` refuses `data_parallel_size` in one process; its data parallelism is that of its server. So the same drawn
papers (pages.py) are asked twice with as many engines: `livek12 generate --engine-args replicas=N`, and `livek12
generate --engine openai` of a vLLM server started with `--data-parallel-size N`. The model is a tiny Qwen3-VL with
random weights, any `--model`, or a `--dummy` shape. vLLM's schedulers count in every process (counting.py). With
`--kill`, each side runs once more, and the process of one engine is killed (SIGKILL) as soon as it has been given a
request.

Figures:

- `encoded a page`: pages that vision encoders were given, over the pages there are; 1 is ideal, N is each by all.
- `computed`: prompt tokens computed over prompt tokens asked.
- `requests/s`, and `ours / vLLM` of it: of a run without a kill. On a busy machine these say little.
- `answers`, `by engine`: answers that came, and the requests that each engine's process was given.

Run it with the Python that livek12 is installed in: `python scripts/bench/data_parallel.py --kill`.
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
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from livek12.engines.reaper import supervise
from livek12.scripts.bench.common import machine, table
from livek12.scripts.bench.counting import counted, counting_in
from livek12.scripts.bench.pages import TASK, draw_papers
from livek12.scripts.bench.sides import CPU_ENVIRONMENT, QUIET, Bench, Side, build, make_bench, parse

READY_SECONDS = 900
Row = dict[str, Any]
SERVER = """
from livek12.engines.vllm.ready import ready_vllm
ready_vllm()
if __name__ == "__main__":
    import runpy
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
"""
"""The server as a script: each of its processes imports it anew, and so is readied for vLLM."""


def main() -> None:
    """Prints both ways."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--papers", type=int, default=8)
    parser.add_argument("--questions", type=int, default=6, help="of each paper")
    parser.add_argument("--pages", type=int, default=4, help="of each paper")
    parser.add_argument("--engines", type=int, default=2)
    parser.add_argument("--kill", action="store_true", help="once more, and kill an engine of each side")
    options = parse(parser, "a tiny Qwen3-VL", max_tokens=16)
    with tempfile.TemporaryDirectory(prefix="bench_data_parallel.", dir=options.work) as made:
        figures = measure(options, Path(made))
    print(table(figures["sides"]), json.dumps({"machine": figures["machine"]}, ensure_ascii=False), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Runs both ways; see the module."""
    draw_papers(made / "source", options.papers, options.questions, options.pages, (280, 392))
    bench = make_bench(options, made, build(made / "source", made / "built"), TASK, "tiny-qwen3-vl")
    pages = len({sha256 for request in bench.requests() for sha256 in request.images})
    counts = made / "counts"
    os.environ |= counting_in(counts)
    rows: list[Row] = []
    for kill in (False, True) if options.kill else (False,):
        for way in (_ours, _served):
            rows.append(_row(way(bench, options.engines, counts, kill), counts, pages))
            print(rows[-1], file=sys.stderr, flush=True)
    ours, served = (row["requests/s"] for row in rows[:2])
    return {"machine": machine(), **bench.told(), "pages": pages, "ours / vLLM": ours / served, "sides": rows}


def _ours(bench: Bench, engines: int, counts: Path, kill: bool) -> Side:
    with _killing(counts, kill):
        return bench.ours(f"{engines} replicas" + ", one killed" * kill, replicas=engines)


def _served(bench: Bench, engines: int, counts: Path, kill: bool) -> Side:
    name = f"data_parallel_size={engines}" + ", one killed" * kill
    with server(bench, engines) as address, _killing(counts, kill):
        more = {"max_retries": 1} if kill else {}
        return bench.ours(name, "openai", (0, 1), base_url=f"{address}/v1", **more)  # 1: some have no answer


def _row(side: Side, counts: Path, pages: int) -> Row:
    found = [one for one in counted(counts) if one["requests"]]
    asked, computed, encoded = (
        sum(one[what] for one in found) for what in ("prompt tokens", "prompt tokens computed", "pages encoded")
    )
    return {
        "side": side.name,
        "answers": len(side.answers),
        "by engine": " + ".join(str(one["requests"]) for one in found),
        "encoded a page": encoded / pages,
        "computed": computed / asked,
        "requests/s": len(side.answers) / side.generation,
    }


@contextmanager
def server(bench: Bench, engines: int) -> Iterator[str]:
    """A vLLM server with so many engines, while the block runs; gives its address."""
    script, log = bench.made / "server.py", bench.made / "server.log"
    script.write_text(SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, script, "--model", bench.model, "--host", "127.0.0.1", "--port", port]
    words += ["--data-parallel-size", engines, "--limit-mm-per-prompt", '{"image": 64, "video": 0}']
    for name, value in bench.engine_args.items():
        option = f"--{name.replace('_', '-')}"
        words += ([option] if value else []) if isinstance(value, bool) else [option, value]
    environment = os.environ | QUIET | CPU_ENVIRONMENT | {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    with (
        log.open("wb") as output,
        supervise(list(map(str, words)), env=environment, stdout=output, stderr=output) as process,
    ):
        _wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}"
        time.sleep(1)
        ended = process.poll()
        print(f"server: {'still there' if ended is None else f'ended with exit code {ended}'}", file=sys.stderr)
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


@contextmanager
def _killing(counts: Path, wanted: bool) -> Iterator[None]:
    """Kills the first process that counts a request, once, while the block runs."""
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.02):
            for file in counts.glob("*.json"):
                with suppress(ValueError, OSError):  # it is being written, or its process has ended
                    if json.loads(file.read_text())["requests"]:
                        os.kill(int(file.stem), signal.SIGKILL)
                        return

    killer = threading.Thread(target=kill, daemon=True)
    if wanted:
        killer.start()
    try:
        yield
    finally:
        over.set()


if __name__ == "__main__":
    main()
