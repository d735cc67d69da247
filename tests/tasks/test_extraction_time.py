"""Extraction takes time in proportion to the text, whatever is repeated in it."""

# ruff: noqa: E501
from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import answer_tags, boxes, closed, final_text, own_turn
from tests.judges.helpers import question

REPEATED = [
    "=", "(1)", "①", "A ", "A, ", " \n", "答案是", "所以", "$", "$x$ ", "\\(", "\\boxed{", "\\boxed{A}, ",
    "<answer>A</answer>", "1. A\n", "The answer is ", "정답은 ", "不是", "21. B ", "____ ", "A错误，", "there are ",
    '{"answer": ', '{"answer": "', '{"answer": [', '{"answer": "B"}, ', "| 答案 |\n", "| 1 | B |\n", "A) 3, ", "Choice_", "(A) and ", "actually ",
    "C: x is the answer ", "B不对，", "B. x是错误的 ", "等等，", "wait, ", "答案：\nA. x\nB. x\n", "B is not ", "<br>", "<pad>", "12 is wrong. ", "答案是1", "若\\boxed{A}则", "Solution: ", "第①空", "1) ", "- A\n", "【1题】", "a=\\boxed{1}, ", "{", "[", "3\n",
    "(A), ", "[A] and ", "A和", "A, & ", "①, ", "ㄱ 그리고 ", "A 또는 ", "A\n", "7 is the answer. ", "x is the answer, ", "√7 ", "1,", "and ", "so ",
    "> ", "wrong ", "yes ", "Yes. ", "다. ", "\\text{A} ", "<think>", "</think>", "<think></thinking>", "<|channel|>", "assistantfinal", "analysis",
    "<|begin_of_box|>", "<|begin_of_box|>1<|end_of_box|> ", "1. A.\n", "1) A\n", "A. x\n", "- A. x\n", "1. 3\n", "A is wrong. ", "A错。", "not ",
]  # fmt: skip
ASKED = [
    question("multiple_choice", answer=["AB"]),
    question("true_false", answer=["√"]),
    question(answer=["1", "2"]),
    question("short_answer", answer=["1"], language="en"),
]
CHARS = 2_500
"""Four times as many are within what readers of the end of a text look at: beyond that a shape may say something else."""
WHOLE_CHARS = 10_000
MOST = 8
"""Times as long for four times the text: half of what a quadratic reader takes, twice what a linear one does."""
NOTHING_TO_MEASURE = 0.02


def seconds(text: str) -> float:
    """Of processor time, for all kinds of question."""
    began = time.process_time()
    for asked in ASKED:
        extract(text, asked, "stop")
    return time.process_time() - began


def seconds_of_whole(text: str) -> float:
    """Of processor time, for what reads a text from its begin to its end, however long it is."""
    began = time.process_time()
    whole = final_text(text, ASKED[0])
    boxes(whole), answer_tags(whole), closed(whole), own_turn(whole, "")
    return time.process_time() - began


@pytest.mark.parametrize("piece", REPEATED)
@pytest.mark.parametrize(("measure", "chars"), [(seconds, CHARS), (seconds_of_whole, WHOLE_CHARS)])
def test_reading_takes_time_in_proportion_to_the_text(measure: Callable[[str], float], chars: int, piece: str) -> None:
    short: list[float] = []
    long: list[float] = []
    for _ in range(3):  # noise only adds: the least of the runs, of more than one only where one does not settle it
        long.append(measure(piece * (4 * chars // len(piece)) + "x"))
        if min(long) < NOTHING_TO_MEASURE:
            return
        short.append(measure(piece * (chars // len(piece)) + "x"))
        if min(long) < MOST * min(short) + NOTHING_TO_MEASURE:
            return
    assert min(long) < MOST * min(short) + NOTHING_TO_MEASURE
