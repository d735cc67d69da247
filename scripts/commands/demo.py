"""`livek12 demo`: a genuine small model sits the sample exam on a CPU, and the paper comes back graded."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()

TASKS = "livek12_en,kmmmu,cfe_text,mdk12"
MODEL = "SmolLM2-135M-Instruct"
MAX_TOKENS = 384


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the data set and the run.")] = Path("demo"),
    limit: options.Limit = None,
) -> None:
    """A small real model (SmolLM2, 135 M parameters, text only) sits the sample exam."""
    from livek12.core.engines.small_model import fetch_small_model, serve_gguf
    from livek12.dataset_builders import build
    from livek12.scripts.commands.generate import ask
    from livek12.scripts.commands.report import end, finish
    from livek12.scripts.pipeline import judge

    step = _Steps()
    step("building the sample data set")
    data = out / "data"
    build("sample", "", data)
    step(f"fetching the model {MODEL} (93 MB, once)")
    gguf = fetch_small_model(_cache())
    step("asking: it reads text only, so questions with figures will be marked unsupported")
    with serve_gguf(gguf) as base_url:
        args = f"base_url={base_url},images=false,concurrency=2"
        sampling = {"max_tokens": MAX_TOKENS, "temperature": 0.0}
        folder, exam = ask(TASKS, MODEL, out / "run", str(data), "openai", args, limit, 1, sampling)
    step("judging")
    judge(folder)
    step("reporting")
    failed = finish(folder, "paper", exam=exam, as_json=False)
    typer.echo(f"the main job took {step.seconds():.0f} s")
    end(failed)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "livek12"


class _Steps:
    """Says what is done, and after how many seconds."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        typer.echo(f"[{self.seconds():5.1f} s] {what}")

    def seconds(self) -> float:
        return time.monotonic() - self._began
