"""Requests and pictures for the tests of engines."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from livek12.core.records import Failure, Image, Key, Message, Part, Request, Response, Sampling
from livek12.engines import Engine, Outcome, make_engine
from livek12.engines.pool.replicas import Revived
from livek12.engines.vllm.engine import VLLMEngine

VERDICT = {
    "type": "object",
    "properties": {"verdict": {"enum": ["same", "other"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
"""A JSON schema with one short answer."""


def picture(colour: str, width: int = 112, height: int = 112, form: str = "PNG") -> Image:
    """A one-coloured picture."""
    from PIL import Image as PIL

    stream = io.BytesIO()
    PIL.new("RGB", (width, height), colour).save(stream, form)
    return Image(bytes=stream.getvalue())


def ask(
    question: str,
    text: str = "What is it?",
    images: tuple[Image, ...] = (),
    *,
    trial: int = 0,
    system: str | None = None,
    schema: dict[str, Any] | None = None,
    together: str = "",
    **sampling: Any,
) -> Request:
    """A request with its pictures before its text; greedy and short unless told otherwise."""
    parts = [Part(type="image", image=image.sha256) for image in images] + [Part(type="text", text=text)]
    messages = [message("system", system)] if system else []
    return Request(
        key=Key(task="t", question_id=question, trial=trial),
        messages=[*messages, Message(role="user", content=parts)],
        images={image.sha256: image for image in images},
        sampling=Sampling(**{"max_tokens": 8, "temperature": 0.0} | sampling),
        answer_schema=schema,
        together=together,
    )


def message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """A turn of plain text."""
    return Message(role=role, content=[Part(type="text", text=text)])


def by_question(outcomes: list[Outcome]) -> dict[str, Outcome]:
    """Outcomes by question id; fails when a question has two."""
    found = {outcome.key.question_id: outcome for outcome in outcomes}
    assert len(found) == len(outcomes)
    return found


def response(outcome: Outcome) -> Response:
    """The outcome, which must be a response."""
    assert isinstance(outcome, Response), outcome
    return outcome


def failure(outcome: Outcome) -> Failure:
    """The outcome, which must be a failure; its reason is one line."""
    assert isinstance(outcome, Failure), outcome
    assert "\n" not in outcome.reason
    return outcome


def revived_vllm(folder: Path, **args: Any) -> Revived:
    """The vllm engine as it is used."""
    made = make_engine("vllm", str(folder), {"max_model_len": 1024, **args})
    assert isinstance(made, Revived)
    return made


def bare_vllm(folder: Path, **args: Any) -> VLLMEngine:
    """The engine within."""
    engine = revived_vllm(folder, **args).engine
    assert isinstance(engine, VLLMEngine)
    return engine


def gone(process: int) -> bool:
    """Whether a process has ended; a zombie has, once none of its threads is left."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    place = Path(f"/proc/{process}")
    try:
        zombie = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return zombie and len(list((place / "task").iterdir())) == 1
    except OSError:  # it ended meanwhile, or there is no /proc
        return not place.exists() and place.parent.is_dir()


def children(process: int) -> list[int]:
    """What a process has started, by any of its threads; nothing where it ends meanwhile."""
    found: list[int] = []
    with suppress(OSError):
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, file.read_text().split())
    return found


def command_of(process: int) -> bytes:
    """The words that a process was started with; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Fails when it does not hold within a minute, or so long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def check_pictures_reach(seeing: Engine) -> None:
    """Each picture adds as many prompt tokens as it has patches, and another picture gives another answer."""
    red, blue, large = picture("red"), picture("blue"), picture("red", 224, 224)
    asked = [
        ask("none"),
        ask("red", images=(red,)),
        ask("blue", images=(blue,)),
        ask("large", images=(large,)),
        ask("two", images=(red, large)),
        ask("turned", images=(large, red)),
    ]
    found = {q: response(o) for q, o in by_question(list(seeing.generate(asked))).items()}
    side = 28 if "qwen25" in str(seeing.model) else 32
    tokens = {q: (r.prompt_tokens or 0) for q, r in found.items()}
    # 112 and 224 pixels in squares of `side`, two marks around each picture.
    assert tokens["red"] - tokens["none"] == (round(112 / side)) ** 2 + 2
    assert tokens["large"] - tokens["none"] == (224 // side) ** 2 + 2
    assert tokens["two"] - tokens["none"] == tokens["red"] + tokens["large"] - 2 * tokens["none"]
    assert len({r.text for r in found.values()}) == 6
