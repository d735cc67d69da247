"""What a command says beforehand is what it then asks: requests exactly, tokens as their estimate, shared prefixes."""

from __future__ import annotations

import json
import random
from collections import Counter, OrderedDict
from collections.abc import Iterable
from itertools import groupby, pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Part, Request
from livek12.core.text import tokens_in
from livek12.evaluation.asking import asked_in_order
from livek12.evaluation.task_data import load_task_data
from livek12.tasks.prompting import requests
from livek12.tasks.registry import get_tasks
from tests.engines.scripted_server import serving
from tests.evaluation.diagnosed import Planted, make
from tests.evaluation.test_diagnostics import run
from tests.judges.llm.judge_server import text_of
from tests.scripts.command import livek12_here


def expected(data: object, *more: object, task: str = "cfe_text:all") -> Any:
    ended = livek12_here(
        *("run", "--task", task, "--data", data, "--model", "m", "--out", "nowhere", "--dry-run", "--json"), *more
    )
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_nothing_is_asked_and_what_is_told_is_what_is_asked_then(tmp_path: Path) -> None:
    data = make(tmp_path, [3, 2])
    told = expected(data, "--trials", 2)
    assert not Path("nowhere").exists()
    script = Planted(lambda asked: 1.0)
    with serving(script) as address:
        ended = run(data, tmp_path / "run", address, "--trials", 2)
    texts = Counter(text_of(seen.body) for seen in script.seen)
    assert ended.code == 0
    assert told["all"]["requests"] == sum(texts.values()) == 5 * 5 * 2
    assert told["all"]["prompt_tokens"] == pytest.approx(sum(tokens_in(text) * n for text, n in texts.items()), abs=1)
    # of each question: what a tree of its prompts holds once is read once, the rest is shared
    read = 0.0
    for number in range(2):
        own = sorted(text for text in texts if f"Question number {number}:" in text)
        read += tokens_in(own[0])
        for one, other in pairwise(own):
            common = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
            read += tokens_in(other) - tokens_in(other[:common])
    assert told["all"]["prompt_tokens"] - told["all"]["shared_tokens"] == pytest.approx(read, abs=2)


def test_pictures_are_counted_and_wrong_use_is_one_line(data: Path) -> None:
    told = expected(data, task="cfe_multimodal:unit_execution,cfe_multimodal:unit_execution_text")["tasks"]
    with_pictures, without = told.values()
    assert with_pictures["pictures"] > 0 == without["pictures"]
    ended = livek12_here("run", "--task", "kmmmu:injection", "--data", data, "--model", "m", "--out", "x", "--dry-run")
    assert ended.code == 2 and len(ended.errors) == 1


BLOCK = 32
"""Characters that a cache keeps or drops together."""


def computed(texts: Iterable[str], blocks: int) -> int:
    """Characters that are read where a cache keeps the beginnings of texts, the latest so many blocks of them."""
    kept: OrderedDict[str, None] = OrderedDict()
    read = 0
    for text in texts:
        beginnings = [text[:end] for end in range(BLOCK, len(text), BLOCK)]
        known = sum(1 for _ in takewhile(kept.__contains__, beginnings))
        read += len(text) - known * BLOCK
        for beginning in reversed(beginnings):  # what is shared by most is dropped last
            kept[beginning] = None
            kept.move_to_end(beginning)
        while len(kept) > blocks:
            kept.popitem(last=False)
    return read


def test_a_cache_for_one_question_reads_nothing_twice(tmp_path: Path) -> None:
    """In the order of asking; task by task, or in a drawn order, it does."""
    exam = load_task_data(str(make(tmp_path, [4, 5, 6, 4, 7, 5])), get_tasks("cfe_text:all"), None)
    asked: list[Request] = []
    for task, question in asked_in_order(exam):
        asked += [
            request
            for request in requests(task, [question], 1, task.sampling, exam.pages, lambda _: True)
            if isinstance(request, Request)
        ]
    texts = ["".join(map(text_of_part, request.messages[0].content)) for request in asked]
    whole = computed(texts, 1 << 20)
    one_question = max(sum(map(len, texts[place : place + 5 * 7])) for place in range(len(texts))) // BLOCK // 2
    assert computed(texts, one_question) == whole
    by_task = [text for _, text in sorted(zip(asked, texts, strict=True), key=lambda pair: pair[0].key.task)]
    drawn = random.Random(0).sample(texts, len(texts))
    assert min(computed(by_task, one_question), computed(drawn, one_question)) > whole
    # What stands together in this order is what a pool gives to one replica.
    assert [name for name, _ in groupby(request.together for request in asked)] == [
        f"cfe_text/q{number:03}" for number in range(6)
    ]


def text_of_part(part: Part) -> str:
    return part.text or ""


@pytest.mark.release
def test_the_whole_of_cfe(cfe_data: str) -> None:
    bases = ("cfe_text", "cfe_multimodal")
    units = expected(Path(cfe_data), task=",".join(f"{base}:unit_execution" for base in bases))
    rest = ("reasoning_prefix", "prefix_questions", "injection", "injection_question")
    conditions = expected(Path(cfe_data), task=",".join(f"{base}:{word}" for base in bases for word in rest))
    assert (units["all"]["requests"], conditions["all"]["requests"]) == (39_712, 158_848)
    for told in (units["all"], conditions["all"]):
        assert 0.8 < told["shared_tokens"] / told["prompt_tokens"] < 1
