"""`livek12 demo`: a small model sits the sample exam on a CPU, and the paper comes back graded."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.files import write_atomically
from livek12.core.progress import say, tell
from livek12.core.text import one_line
from livek12.evaluation.options import RunOptions
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.records import Question
    from livek12.core.run.folder import RunFolder

TASKS = "livek12_en,kmmmu,cfe_text,mdk12"
MODEL = "SmolLM2-135M-Instruct"
AUTHORS = "the exam's own solutions"
MAX_TOKENS = 192
FEW = 2
"""Questions of a task, unless all are asked: eight answers take a minute on two cores."""
LONGEST = 180
"""Characters of an answer at the end."""


@options.command("livek12 demo --out demo")
def demo(
    out: Annotated[Path, "Folder for the data set and the run."] = Path("demo"),
    limit: options.Limit = FEW,
    every: Annotated[bool, options.Opt("Ask all questions (takes minutes).", "--all")] = False,
    max_tokens: options.MaxTokens = MAX_TOKENS,
    serve: Annotated[bool, "Only serve the model, and print the address; stop with Ctrl+C."] = False,
) -> None:
    """Run a small model (SmolLM2, 135 M parameters, text only) on the sample exam."""
    if serve:
        _serve()
        return
    from livek12.core.records import Question
    from livek12.core.run.folder import RunFolder
    from livek12.dataset_builders import build
    from livek12.dataset_builders.publishing.policy import refusal
    from livek12.engines.small_model import fetch_small_model, serve_gguf
    from livek12.evaluation.asking import ask
    from livek12.evaluation.marking import judge
    from livek12.evaluation.reporting import score_run
    from livek12.evaluation.site import SiteWishes, make_site
    from livek12.report.terminal import print_marks
    from livek12.scripts.endings import end

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
    recorded = out / "solutions.jsonl"
    write_atomically(recorded, "".join(map(_handed_in, (q for each in exam.questions.values() for q in each))))
    other = RunOptions(TASKS, str(recorded), out / "solutions", str(data), "replay", "", some, 1, name=AUTHORS)
    solutions, _ = ask(other, {})
    step("judging, by rules alone")
    scored = {}
    for name, run in ((MODEL, folder), (AUTHORS, solutions)):
        judge(run)
        scored[name] = score_run(run, "article", exam)
    problems = [problem for each in scored.values() if (problem := each.write())]
    step("making a site of both runs")
    make_site([folder.path, solutions.path], out / "site", SiteWishes(refuses=refusal, title="The sample exam"))
    step("done")
    for problem in problems:
        tell(f"warning: {problem}", err=True)
    print_marks({name: each.scores for name, each in scored.items()})
    typer.echo("".join(_example(RunFolder(folder.path), RunFolder(solutions.path))))
    typer.echo(
        f"graded paper: {out / 'run' / 'report.html'}\nsite of both: {out / 'site' / 'index.html'}\n"
        f"next, a model that you serve (docs/choose-an-engine.md):\n  {_command()} run --task livek12_en --data {data}"
        " --model NAME --engine openai --engine-args base_url=http://127.0.0.1:8000/v1 --out runs/mine"
    )
    end(folder, scored[MODEL].count("failed"), not problems)


def _handed_in(question: Question) -> str:
    keys = " ".join(f"\\boxed{{{key}}}" for key in question.answer)
    return json.dumps({"question_id": question.id, "response": f"{question.solution}\n\n{keys}"}) + "\n"


def _example(run: RunFolder, solutions: RunFolder) -> Iterator[str]:
    from livek12.report.marks import decision_sentence, mark_of

    row = next((row for row in run.rows() if row.state == "graded"), None)
    if row is None:
        return
    yield f"\none of its questions, {row.question.id}: {one_line(row.question.question, LONGEST)}\n"
    theirs = next(other for other in solutions.rows() if (other.task, other.question.id) == (row.task, row.question.id))
    for name, each in ((MODEL, row), (AUTHORS, theirs)):
        if each.response and each.verdict:
            why = " ".join(decision_sentence(part, by_models=False) for part in each.verdict.parts)
            text = one_line(each.response.text, 1 << 20)
            text = text if len(text) <= LONGEST else f"… {text[-LONGEST:]}"
            yield f"  {name}: {text}\n    {mark_of(each).text} {why}\n"


def _serve() -> None:
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
    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        say(f"[{time.monotonic() - self._began:5.1f} s] {what}")
