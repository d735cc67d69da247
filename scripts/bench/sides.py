"""The sides of a speed benchmark, each in its own process (watch.py): our command and the bare engine."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.arguments import masked, parse_engine_args, typed_value
from livek12.core.records import Failure, Request, Response
from livek12.core.run.folder import RunFolder
from livek12.scripts.bench.common import GpuWatch, Timed, gpus, timed
from livek12.scripts.bench.models import SHAPES, make_model, small_model_folder

LIMIT_SECONDS = 4 * 3600.0
"""A side that takes longer is killed."""
ROOM = 4096
"""Tokens of prompt and answer, where --engine-args say nothing of max_model_len."""
CPU_ENVIRONMENT = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1", "TQDM_MININTERVAL": "5"}


@dataclass
class Side:
    """The figures of one run.

    Attributes:
        busy: share of the generation in which the GPU worked, where there is one.
    """

    name: str
    run: Timed
    generation: float
    answers: dict[str, dict[str, Any]]
    busy: float | None = None

    def total(self, what: str) -> int | None:
        """Sum of a count over the answers; None where one lacks it."""
        values = [answer.get(what) for answer in self.answers.values()]
        return None if not values or None in values else sum(value for value in values if value is not None)

    def row(self, reference: Side) -> dict[str, Any]:
        """A line of the table; answers are compared with the reference's."""
        tokens = self.total("completion_tokens")
        same = sum(answer["text"] == reference.answers.get(id, {}).get("text") for id, answer in self.answers.items())
        return {
            "run": self.name,
            "whole s": self.run.seconds,
            "generation s": self.generation,
            "rest s": self.run.seconds - self.generation,
            "processor s": self.run.processor,
            "tokens": tokens,
            "tokens/s": tokens / self.generation if tokens is not None else None,
            "GiB": self.run.peak,
            "GPU busy": self.busy,
            "answers": len(self.answers),
            f"same as {reference.name}": same,
        }


@dataclass
class Bench:
    """Model, data and engine arguments of all sides of a benchmark.

    Attributes:
        max_tokens: limit of each answer.
        engine_args: arguments of vLLM's `LLM`, as `--engine-args` has them.
    """

    model: str
    data: Path
    task: str
    max_tokens: int
    engine_args: dict[str, Any]
    made: Path
    limit: int | None = None
    _runs: int = 0

    def __post_init__(self) -> None:
        if not gpus():
            self.engine_args = {"enforce_eager": True, **self.engine_args}

    def requests(self) -> list[Request]:
        """Requests of our command, in its order."""
        from livek12.evaluation.asking import asked_in_order
        from livek12.evaluation.task_data import load_task_data
        from livek12.tasks.prompting import requests
        from livek12.tasks.registry import get_tasks

        exam = load_task_data(str(self.data), get_tasks(self.task), self.limit)
        collected: list[Request] = []
        for task, question in asked_in_order(exam):
            sampling = task.sampling.model_copy(update={"temperature": 0.0, "max_tokens": self.max_tokens})
            outcomes = requests(task, [question], 1, sampling, exam.pages, lambda _: True)
            collected += [request for request in outcomes if not isinstance(request, Failure)]
        return collected

    def told(self) -> dict[str, Any]:
        """Description of the bench for the figures."""
        return {
            "model": Path(self.model).name,
            "task": self.task,
            "max tokens": self.max_tokens,
            "engine arguments": masked(self.engine_args),
        }

    def ours(self, name: str = "ours") -> Side:
        """`livek12 generate` into a new run folder."""
        folder = self._folder(name)
        spelled = [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in self.engine_args.items()]
        arguments = ["generate", "--task", self.task, "--data", self.data, "--model", self.model, "--engine", "vllm"]
        arguments += ["--engine-args", ",".join(spelled), "--temperature", 0, "--max-tokens", self.max_tokens]
        arguments += [*(["--limit", self.limit] if self.limit else []), "--out", folder / "run"]
        return self._side(name, folder, ["ours", *arguments], lambda: _responses(folder / "run"))

    def bare(self, prompts: Path, name: str = "bare") -> Side:
        """The prompts of a file (`write_prompts`) in one call of vLLM's `LLM.chat`."""
        folder = self._folder(name)
        job = {
            "model": self.model,
            "engine_args": {"limit_mm_per_prompt": {"image": 64, "video": 0}, **_library_args(self.engine_args)},
            "prompts": str(prompts),
            "answers": str(folder / "answers.jsonl"),
        }
        (folder / "job.json").write_text(json.dumps(job))
        return self._side(name, folder, ["bare", folder / "job.json"], lambda: _rows(folder / "answers.jsonl"))

    def _folder(self, name: str) -> Path:
        self._runs += 1
        folder = self.made / f"{self._runs:02d}-{name.replace(' ', '-')}"
        folder.mkdir(parents=True)
        return folder

    def _side(self, name: str, folder: Path, words: Sequence[Any], answers: Callable[[], dict[str, Any]]) -> Side:
        command = [sys.executable, "-m", "livek12.scripts.bench.watch", folder / "figures.json", *words]
        on_cpu = {} if gpus() else CPU_ENVIRONMENT
        environment = {key: os.environ.get(key, value) for key, value in (QUIET | on_cpu).items()}
        log = folder / "log"
        with GpuWatch() as gpu:
            run = timed(command, out=folder / "said", errors=log, environment=environment, limit=LIMIT_SECONDS)
        figures = json.loads((folder / "figures.json").read_text()) if (folder / "figures.json").is_file() else {}
        began, ended = figures.get("began"), figures.get("ended")
        if run.code or began is None or ended is None:
            raise SystemExit(f"{name} ended with exit code {run.code}: {_end_of(log)}")
        side = Side(name, run, ended - began, answers(), gpu.busy(began, ended))
        summary = f"{name}: {run.seconds:.1f} s, generation {side.generation:.1f} s, {len(side.answers)} answers"
        print(summary, file=sys.stderr, flush=True)
        return side


def write_prompts(requests: Iterable[Request], folder: Path, name: str = "prompts") -> Path:
    """Requests as JSON lines, with picture files beside them."""
    from livek12.engines.common import content_of

    def picture(sha256: str) -> dict[str, Any]:
        return {"type": "image_pil", "image_pil": str(folder / "pictures" / sha256)}

    (folder / "pictures").mkdir(exist_ok=True)
    file = folder / f"{name}.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for request in requests:
            for sha256, image in request.images.items():
                if not (folder / "pictures" / sha256).exists():
                    (folder / "pictures" / sha256).write_bytes(image.bytes or b"")
            messages = [{"role": m.role, "content": content_of(m, picture)} for m in request.messages]
            row = {"id": request.key.question_id, "messages": messages, "sampling": request.sampling.model_dump()}
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    return file


def build(source: Path, out: Path, benchmark: str = "livek12") -> Path:
    """Data set that `livek12 build` makes of a benchmark's source."""
    log = out.with_suffix(".log")
    command = [sys.executable, "-m", "livek12.scripts.cli", "build", benchmark, "--source", source, "--out", out]
    run = timed(command, errors=log)
    if run.code:
        raise SystemExit(f"livek12 build ended with exit code {run.code}: {_end_of(log)}")
    return out


def parse(parser: argparse.ArgumentParser, model: str, max_tokens: int) -> argparse.Namespace:
    """Options shared by benchmarks; wrong use exits with code 2."""
    parser.add_argument("--max-tokens", type=int, default=max_tokens)
    parser.add_argument("--model", default="", help=f"folder or Hub name; default {model}")
    parser.add_argument("--dummy", choices=sorted(SHAPES), help="a shape with random weights in place of --model")
    parser.add_argument("--engine-args", default="", help="K=V,… for vLLM, on all sides")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "livek12", help="of the small model")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()), help="for temporary files")
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    options = parser.parse_args()
    if options.dummy and SHAPES[options.dummy].real and not gpus():
        parser.error(
            f"--dummy {options.dummy} needs a GPU, and there is none: it would measure tokens a second and the GPU's"
            " busy share with random weights of that size, ours beside the bare engine; tiny shapes run here"
        )
    # So that what runs in a process of its own ends with a command that is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return options


def make_bench(
    options: argparse.Namespace, made: Path, data: Path, task: str, shape: str = "", limit: int | None = None
) -> Bench:
    """The bench of the options; `shape` is the default model."""
    given = {name: typed_value(value) for name, value in parse_engine_args(options.engine_args).items()}
    bench = Bench("", data, task, options.max_tokens, {"max_model_len": ROOM, **given}, made, limit)
    if shape := options.dummy or ("" if options.model else shape):
        bench.model = str(_made_model(shape, bench))
        if SHAPES[shape].real:
            bench.engine_args = {**bench.engine_args, "load_format": "dummy"}
    elif options.model:
        bench.model = options.model
    else:
        from livek12.engines.small_model import fetch_small_model

        bench.model = str(small_model_folder(fetch_small_model(options.cache), options.cache))
    return bench


def _made_model(shape: str, bench: Bench) -> Path:
    folder, context = bench.made / shape, None if SHAPES[shape].real else bench.engine_args["max_model_len"]
    if not SHAPES[shape].wordy:
        return make_model(shape, folder, context=context)
    parts = (part for request in bench.requests() for message in request.messages for part in message.content)
    return make_model(shape, folder, [part.text for part in parts if part.text], context)


def _library_args(arguments: dict[str, Any]) -> dict[str, Any]:
    from livek12.engines.vllm.engine import VLLMEngine

    parameters = inspect.signature(VLLMEngine).parameters.values()
    own = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    return {name: value for name, value in arguments.items() if name not in own}


def _responses(run: Path) -> dict[str, dict[str, Any]]:
    return {response.key.question_id: _answer(response) for response in RunFolder.open(run).responses()}


def _answer(response: Response) -> dict[str, Any]:
    return response.model_dump(include={"text", "prompt_tokens", "cached_tokens", "completion_tokens"})


def _rows(file: Path) -> dict[str, dict[str, Any]]:
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {row.pop("id"): row for row in rows}


def _end_of(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").replace("\r", "\n").splitlines() if line.strip()]
    return "\n".join(lines[-12:])[-3000:] if lines else "it said nothing"
