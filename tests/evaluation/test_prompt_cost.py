"""What a command says beforehand is what it then asks: requests exactly, tokens as their estimate, shared prefixes."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livek12.core.lengths import tokens_in
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


@pytest.mark.release
def test_the_whole_of_cfe(shared_data: Path, tmp_path: Path) -> None:
    assert livek12_here("build", "cfe", "--source", shared_data / "cfe_bench", "--out", tmp_path / "data").code == 0
    bases = ("cfe_text", "cfe_multimodal")
    units = expected(tmp_path / "data", task=",".join(f"{base}:unit_execution" for base in bases))
    rest = ("reasoning_prefix", "prefix_questions", "injection", "injection_question")
    conditions = expected(tmp_path / "data", task=",".join(f"{base}:{word}" for base in bases for word in rest))
    assert (units["all"]["requests"], conditions["all"]["requests"]) == (39_712, 158_848)
    for told in (units["all"], conditions["all"]):
        assert 0.8 < told["shared_tokens"] / told["prompt_tokens"] < 1
