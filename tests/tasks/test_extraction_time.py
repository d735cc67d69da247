"""Extraction takes time in proportion to the text, whatever is repeated in it."""

# ruff: noqa: E501
from __future__ import annotations

import time

import pytest

from livek12.tasks.extraction import extract
from tests.judges.helpers import question

REPEATED = [
    "=", "(1)", "①", "A ", "A, ", " \n", "答案是", "所以", "$", "$x$ ", "\\(", "\\boxed{", "\\boxed{A}, ",
    "<answer>A</answer>", "1. A\n", "The answer is ", "정답은 ", "不是", "21. B ", "____ ", "A错误，", "there are ",
    '{"answer": ', '{"answer": "', '{"answer": [', '{"answer": "B"}, ', "| 答案 |\n", "| 1 | B |\n", "A) 3, ", "Choice_", "(A) and ", "actually ",
    "C: x is the answer ", "B不对，", "B. x是错误的 ", "等等，", "wait, ", "答案：\nA. x\nB. x\n", "B is not ", "<br>", "<pad>", "12 is wrong. ", "答案是1", "若\\boxed{A}则", "Solution: ", "第①空", "1) ", "- A\n", "【1题】", "a=\\boxed{1}, ", "{", "[", "3\n",
]  # fmt: skip
ASKED = [
    question("multiple_choice", answer=["AB"]),
    question("true_false", answer=["√"]),
    question(answer=["1", "2"]),
    question("short_answer", answer=["1"], language="en"),
]
CHARS = 20_000
NOTHING_TO_MEASURE = 0.05


def seconds(text: str) -> float:
    """Of processor time, for all kinds of question."""
    began = time.process_time()
    for asked in ASKED:
        extract(text, asked, "stop")
    return time.process_time() - began


@pytest.mark.parametrize("piece", REPEATED)
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    once: list[float] = []
    twice: list[float] = []
    for _ in range(3):  # noise only adds: the least of the runs, of more than one only where one does not settle it
        for times, count in ((once, CHARS), (twice, 2 * CHARS)):
            times.append(seconds(piece * (count // len(piece)) + "x"))
        if min(twice) < 3.5 * min(once) + NOTHING_TO_MEASURE:
            return
    assert min(twice) < 3.5 * min(once) + NOTHING_TO_MEASURE
