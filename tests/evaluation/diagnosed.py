"""Questions with reasoning flows, and an endpoint that is right as a test has planted it."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from livek12.dataset_builders import build
from tests.engines.scripted_server import Json, Reply, Script, Seen, completion
from tests.judges.llm.judge_server import text_of


@dataclass(frozen=True)
class Asked:
    """What a prompt shows of a question.

    Attributes:
        number: of the question.
        given: units that stand there with their results.
        named: units that stand there without.
        own: the unit that is asked for; None where it is the final answer.
    """

    number: int
    given: frozenset[int]
    named: frozenset[int]
    own: int | None


def final(number: int) -> int:
    """The answer to a question."""
    return 5000 + number


def of_unit(number: int, unit: int) -> int:
    """The answer of a unit."""
    return 10_000 + 100 * number + unit


def make(folder: Path, lengths: list[int]) -> Path:
    """A data set with a question for each length of a flow."""
    rows = [
        {
            "id": f"q{number:03}",
            "question": {"text": f"Question number {number}: what is E?", "images": []},
            "answer": {"text": str(final(number)), "images": []},
            "short_answer_value": [str(final(number))],
            "short_answer_variable": ["E"],
            "short_answer_description": ["the energy"],
            "short_answer_type": ["numeric"],
            "reasoning_flow": [
                {"step_id": unit, "step": f"Find part {unit}.", "verifiable_answer": str(of_unit(number, unit))}
                for unit in range(1, length + 1)
            ],
        }
        for number, length in enumerate(lengths)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CFE_text.json").write_text(json.dumps(rows))
    build("cfe", str(folder / "CFE_text.json"), folder / "data")
    return folder / "data"


def read(text: str) -> Asked:
    """What a prompt shows."""
    number = int(re.search(r"Question number (\d+)", text)[1])  # type: ignore[index]
    named = frozenset(map(int, re.findall(r"Find part (\d+)\.", text)))
    given = frozenset(int(answer) % 100 for answer in re.findall(r"Result: (\d+)", text))
    own = max(named) if "Do the last step" in text else None
    return Asked(number, given, named - given, own)


def drawn(*of: object) -> float:
    """A number from 0 to 1 that follows from its arguments alone."""
    digest = hashlib.sha256(repr(of).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 256**7


class Planted(Script):
    """Right with the chance that `chance` gives what is shown; draws anew for each seed."""

    def __init__(self, chance: Callable[[Asked], float]) -> None:
        super().__init__(lambda question, before: Reply())
        self.chance = chance

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        text, seed = text_of(body), body.get("seed", 0)
        asked = read(text)
        with self._lock:
            self._at_once += 1
            self.seen.append(Seen("", time.monotonic(), body, headers))
        right = drawn(text, seed) < self.chance(asked)
        truth = final(asked.number) if asked.own is None else of_unit(asked.number, asked.own)
        reply = completion(rf"So \boxed{{{truth if right else 7}}}.")
        return Reply(body=json.dumps(reply).encode())
