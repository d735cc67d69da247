"""Rows like those of a training step, some of them hostile, and what one calm process says to them, one by one."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from livek12 import Judgement
from livek12.evaluation.pairs import extracted, read_pair, rule_verdict, verdict_row
from livek12.judges.cascade import default_cascade
from tests.judges.hostile import hostile_strings

Json = dict[str, Any]
HOSTILE = (
    "nines 5000",
    "polynomials 31",
    "huge 20",
    "huge 40",
    "pluses 300",
    "open braces",
    "matrix 30x30",
)
PROMPTS: list[Json] = [
    {"gold": "(x+1)^2", "answers": ["x^2+2x+1", "(1+x)^2", "x^2+2x+2", "x^2"]},
    {"gold": r"\\frac{\\pi}{3}", "answers": [r"60^\\circ", r"\\pi/3", "1.0472", r"\\frac{\\pi}{4}"]},
    {"gold": "5 km", "unit": "", "answers": ["5000 m", "5", "5 kg", "5.0 km"]},
    {"gold": "B", "question_type": "单选题", "options": ["1", "2", "3", "4"], "answers": ["B", "C", "2", "A and B"]},
    {"gold": ["1", "2"], "question_type": "fill_in_blank", "answers": ["1; 2", "2; 1", "1", "1, 2"]},
]


def step() -> list[Json]:
    """The rows, each group of answers under its prompt."""
    rows = []
    for prompt in PROMPTS:
        asked = {name: value for name, value in prompt.items() if name != "answers"}
        rows += [{**asked, "response": f"I think.\n\n\\boxed{{{answer}}}"} for answer in prompt["answers"]]
        rows += [{**asked, "response": answer} for answer in prompt["answers"]]
    strings = hostile_strings("/nowhere")
    for number, name in enumerate(HOSTILE):
        rows.insert(7 * number, {"gold": "x+1", "response": f"\\boxed{{{strings[name]}}}"})
    return rows


@cache
def calm() -> list[Judgement]:
    """What is said to the rows of `step` one by one, in this process, with nothing beside."""
    cascade = default_cascade()
    return [_judged(json.dumps({"id": number, **row}).encode(), cascade) for number, row in enumerate(step())]


def _judged(line: bytes, cascade: Any) -> Judgement:
    pair = read_pair(line, None)
    verdict = rule_verdict(pair, cascade)
    said = {name: value for name, value in verdict_row(pair, verdict).items() if name != "id"}
    return Judgement(**said, extracted=extracted(pair, verdict))
