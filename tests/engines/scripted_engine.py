"""A light engine for the tests of pools: it does as the texts of its requests say, and logs what it is asked.

`die` kills its process, `lose` raises EngineDied, `refuse` raises UserError; any other text is answered with the ids of
process and thread. It holds `width` requests at a time and finishes the oldest, a few milliseconds each.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.records import Request, Response
from livek12.engines.base import EngineDied


def who() -> str:
    """The engine's process and thread."""
    return f"{os.getpid()}-{threading.get_ident()}"


class ScriptedEngine:
    """An engine whose log has a line "WHO QUESTION/TRIAL PICTURES" for each request it took."""

    name, model, revision, images = "scripted", "nobody", None, True

    def __init__(self, log: Path, width: int = 4, seconds: float = 0.002, version: str = "1") -> None:
        self._log, self._width, self._seconds, self._version = log, width, seconds, version
        with log.open("a") as file:
            file.write(f"{who()} built -\n")
        print("noise on stdout")
        print("noise on stderr", file=sys.stderr)

    def generate(self, requests: Iterable[Request]) -> Iterator[Response]:
        hand: deque[Request] = deque()
        for request in requests:
            self._note(request)
            self._obey(request)
            hand.append(request)
            if len(hand) == self._width:
                yield self._answer(hand.popleft())
        while hand:
            yield self._answer(hand.popleft())

    def versions(self) -> dict[str, str]:
        return {"scripted": self._version}

    def close(self) -> None:
        """Nothing to give back."""

    def _answer(self, request: Request) -> Response:
        time.sleep(self._seconds)
        return Response(key=request.key, text=who(), engine=self.name, model=self.model)

    def _note(self, request: Request) -> None:
        whole = all(image.sha256 == name for name, image in request.images.items())
        seen = ",".join(name[:8] for name in request.images) if whole else "broken"
        with self._log.open("a") as file:
            file.write(f"{who()} {request.key.question_id}/{request.key.trial} {seen or '-'}\n")

    def _obey(self, request: Request) -> None:
        text = request.messages[-1].content[-1].text
        if text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "lose":
            raise EngineDied("told to be lost")
        if text == "refuse":
            raise UserError("told to refuse")


def scripted(log: Path, **more: float | str) -> partial[ScriptedEngine]:
    """What builds such an engine elsewhere."""
    return partial(ScriptedEngine, log, **more)  # type: ignore[arg-type]


def refusing() -> ScriptedEngine:
    """An engine that there is not."""
    raise UserError("nobody: no such model; give a folder")


def crowded() -> ScriptedEngine:
    """An engine whose device somebody else has filled, in vLLM's words."""
    raise UserError("vLLM cannot run m: Free memory on device cuda:0 (3.1/80.0 GiB) on startup is less than desired")


def asked(log: Path) -> list[tuple[str, str, str]]:
    """Who took which request with which pictures, in order."""
    lines = (line.split() for line in log.read_text().splitlines())
    return [(one, key, seen) for one, key, seen in lines if key != "built"]


def built(log: Path) -> int:
    """How many engines there have been."""
    return sum(line.split()[1] == "built" for line in log.read_text().splitlines())


def name_of(response: Response) -> str:
    """The request as the log has it."""
    return f"{response.key.question_id}/{response.key.trial}"


def answered(log: Path, outcomes: list[Response]) -> Counter[str]:
    """How often the requests with an outcome have been asked until now."""
    names = set(map(name_of, outcomes))
    return Counter(key for _, key, _ in asked(log) if key in names)


def check_once(log: Path, outcomes: list[Response], before: Counter[str]) -> None:
    """Nothing was asked after it had an outcome.

    Args:
        log: of all engines.
        outcomes: all of them, one a request.
        before: what `answered` was when processes had been killed.
    """
    last = {key: one for one, key, _ in asked(log)}
    assert len({outcome.key for outcome in outcomes}) == len(outcomes)
    assert {
        name_of(outcome): outcome.text for outcome in outcomes
    } == last  # the one asked last is the one who answered
    after = answered(log, outcomes)
    assert {name: after[name] for name in before} == before


def loading(log: Path, others: int = 0) -> ScriptedEngine:
    """An engine that takes its time to load, and notes "begin DEVICE" and "end DEVICE" of that.

    Args:
        log: where it notes them.
        others: so many devices on which another has to begin before this one can end.
    """
    device = os.environ["CUDA_VISIBLE_DEVICES"]

    def note(word: str) -> None:
        with log.open("a") as file:
            file.write(f"{word} {device}\n")

    note("begin")
    deadline = time.monotonic() + 60
    while len({line for line in log.read_text().splitlines() if line.startswith("begin")}) <= others:
        if time.monotonic() > deadline:
            raise UserError(f"nobody else begins while {device} is loaded")
        time.sleep(0.05)
    time.sleep(0.5)
    note("end")
    return ScriptedEngine(log.with_name("asked"))
