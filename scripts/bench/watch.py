"""A process of a speed benchmark: runs one side and times its generation.

    python -m livek12.scripts.bench.watch FIGURES ours generate --task …     our command
    python -m livek12.scripts.bench.watch FIGURES bare JOB.json              vLLM's LLM.chat, once, with all

Generation runs from the first request handed in (`generate`, `chat`) to the last response stored or returned.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

PASSED_ON = ("temperature", "top_p", "top_k", "max_tokens", "stop")
"""What of a request's sampling the bare engine is given; the rest is the model's own default, as in ours."""


class BenchWatch:
    """Times of one generation."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended: float | None = None

    def start(self) -> None:
        """Starts the clock once."""
        self.began = self.began or time.time()

    def stop(self) -> None:
        """Records the end so far."""
        self.ended = time.time()

    def write(self, file: Path) -> None:
        """Stores the times."""
        file.write_text(json.dumps({"began": self.began, "ended": self.ended}))

    def around_stream(self, function: Callable[[Any], Iterable[Any]]) -> Callable[[Any], Iterator[Any]]:
        """A generator function, timed from its first item to its last."""

        def watched(requests: Any) -> Iterator[Any]:
            self.start()
            try:
                yield from function(requests)
            finally:
                self.stop()

        return watched


def main(words: Sequence[str]) -> None:
    """Command line."""
    figures, kind, *arguments = words
    watch = BenchWatch()
    try:
        {"ours": ours, "bare": bare}[kind](arguments, watch)
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
    from livek12.engines.pool import Pool

    if isinstance(engine, Pool):
        while engine.ready() < len(engine._slots) - sum(bool(slot.gone) for slot in engine._slots):
            time.sleep(0.1)


def bare(arguments: list[str], watch: BenchWatch) -> None:
    """Answers all prompts of a job in one call of `LLM.chat`."""
    from livek12.engines.vllm.engine import DEFAULTS
    from livek12.engines.vllm.ready import ready_vllm

    job = json.loads(Path(arguments[0]).read_text())
    ready_vllm()
    from vllm import LLM, SamplingParams

    llm = LLM(job["model"], **job["engine_args"])
    requests = [json.loads(line) for line in Path(job["prompts"]).read_text(encoding="utf-8").splitlines()]
    own = llm.get_default_sampling_params()
    defaults = {name: getattr(own, name) for name in DEFAULTS}
    watch.start()
    pictures: dict[str, Any] = {}
    outputs = llm.chat(
        [_messages(row["messages"], pictures) for row in requests],
        [SamplingParams(**{**defaults, **given(row["sampling"])}) for row in requests],
        use_tqdm=False,
    )
    watch.stop()
    with Path(job["answers"]).open("w", encoding="utf-8") as answers:
        for row, output in zip(requests, outputs, strict=True):
            answer = {
                "id": row["id"],
                "text": output.outputs[0].text,
                "prompt_tokens": len(output.prompt_token_ids),
                "cached_tokens": output.num_cached_tokens or 0,
                "completion_tokens": len(output.outputs[0].token_ids),
            }
            answers.write(json.dumps(answer, ensure_ascii=False) + "\n")


def given(sampling: dict[str, Any]) -> dict[str, Any]:
    """Sampling of a request for the bare engine."""
    return {name: sampling[name] for name in PASSED_ON if sampling.get(name) is not None}


def _messages(messages: list[Any], pictures: dict[str, Any]) -> list[Any]:
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


if __name__ == "__main__":
    main(sys.argv[1:])
