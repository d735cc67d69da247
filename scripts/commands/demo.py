"""`livek12 demo`: a small model sits the sample exam on a CPU, and the paper comes back graded."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

TASKS = "livek12_en,kmmmu,cfe_text,mdk12"
MODEL = "SmolLM2-135M-Instruct"
MAX_TOKENS = 192
FEW = 2
"""Questions of a task, unless all are asked: eight answers take a minute on two cores."""
SHORTER = 4
"""The second run on the site has a fraction of the tokens."""


@options.command("livek12 demo --out demo")
def demo(
    out: Annotated[Path, "Folder for the data set and the run."] = Path("demo"),
    limit: options.Limit = FEW,
    every: Annotated[bool, options.Opt("All questions instead (minutes).", "--all")] = False,
    max_tokens: options.MaxTokens = MAX_TOKENS,
    serve: Annotated[bool, "Only serve the model: print its endpoint's address, until Ctrl+C."] = False,
) -> None:
    """Let a small real model (SmolLM2, 135 M parameters, text only) sit the sample exam."""
    if serve:
        _serve()
        return
    from livek12.core.records import Question
    from livek12.dataset_builders import build
    from livek12.dataset_builders.publishing.policy import refusal
    from livek12.engines.small_model import fetch_small_model, serve_gguf
    from livek12.evaluation.asking import ask
    from livek12.evaluation.marking import judge
    from livek12.evaluation.options import RunOptions
    from livek12.evaluation.site.making import SiteWishes, make_site
    from livek12.scripts.endings import end, finish

    step, some = _Steps(), None if every else limit
    step("building the sample exam: its questions without figures, since the model reads text only")
    data = out / "data"
    build("sample", "", data, keep=lambda record: not (isinstance(record, Question) and record.images))
    step(f"fetching the model {MODEL} (93 MB, once)")
    gguf = fetch_small_model(_cache())
    step("asking")
    with serve_gguf(gguf) as base_url:
        args = f"base_url={base_url},images=false,concurrency=2"
        sampling = {"max_tokens": max_tokens, "temperature": 0.0}
        folder, exam = ask(RunOptions(TASKS, MODEL, out / "run", str(data), "openai", args, some, 1), sampling)
        sampling["max_tokens"] = max(1, (max_tokens or MAX_TOKENS) // SHORTER)
        step(f"asking again, with {sampling['max_tokens']} tokens an answer")
        short, _ = ask(RunOptions(TASKS, MODEL, out / "short", str(data), "openai", args, some, 1), sampling)
    step("judging, by rules alone")
    judge(folder)
    judge(short)
    step("making a site of both runs")
    wishes = SiteWishes(refuses=refusal, title=f"{MODEL} sits the sample exam")
    make_site([folder.path, short.path], out / "site", wishes)
    step("done")
    finished = finish(folder, "article", exam=exam, as_json=False, brief=True)
    livek12, run = _command(), out / "run"
    typer.echo(f"site: {out / 'site' / 'index.html'} (both runs, question by question)")
    if finished.ungraded:
        few = "1 answer is" if finished.ungraded == 1 else f"{finished.ungraded} answers are"
        typer.echo(f"{few} open, for a model to judge:\n  {livek12} judge {run} --judge MODEL")
    typer.echo(
        f"next, a model that you serve (docs/choose-an-engine.md):\n  {livek12} run --task livek12_en --data {data}"
        " --model NAME --engine openai --engine-args base_url=http://127.0.0.1:8000/v1 --out runs/mine"
    )
    end(folder, finished.failed, finished.written)


def _serve() -> None:
    from livek12.core.progress import say
    from livek12.engines.small_model import fetch_small_model, serve_gguf

    with serve_gguf(fetch_small_model(_cache())) as base_url:
        typer.echo(base_url)
        say(f"ask it with: --model {MODEL} --engine openai --engine-args base_url={base_url},images=false")
        threading.Event().wait()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "livek12"


def _command() -> str:
    return "livek12" if shutil.which("livek12") else os.path.relpath(sys.argv[0])


class _Steps:
    """Says what is done, and after how many seconds."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        from livek12.core.progress import say

        say(f"[{time.monotonic() - self._began:5.1f} s] {what}")
