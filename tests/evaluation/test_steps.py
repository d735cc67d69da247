"""The steps of responses, split by a scripted judge: planted lengths are found again, and nobody is asked twice."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.engines.scripted_server import serving
from tests.evaluation.diagnosed import final, make
from tests.judges.llm.judge_server import JudgeScript, says, text_of
from tests.scripts.command import livek12_here

LENGTHS = [2, 3, 4, 2, 3, 4]
STEPS = {0: 3, 1: 5, 2: 4, 3: 9, 4: 8, 5: 10}
"""Of the responses; those to the first three questions are right."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose last response but one has no text."""
    place = tmp_path_factory.mktemp("steps")
    data = make(place, [*LENGTHS, 2])
    answers = [
        {
            "question_id": f"q{n:03}",
            "response": rf"I think. \boxed{{{final(n) if n < 3 else 1}}}" if n < 6 else "",
        }
        for n in range(7)
    ]
    (place / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    how = ("--from", "jsonl", "--task", "cfe_text", "--data", data)
    assert livek12_here("import-responses", place / "answers.jsonl", *how, "--out", place / "run").code == 0
    return place / "run"


def number(body: Any) -> int:
    found = re.search(r"Question number (\d+)", text_of(body))
    assert found
    return int(found[1])


def splitting(delay: float = 0.0) -> JudgeScript:
    def answer(name: str, before: int, body: Any) -> Any:
        assert "SOLUTION IN STEPS" in text_of(body)
        time.sleep(delay)
        return says({"steps": [f"step {n}" for n in range(STEPS[number(body)])]})

    return JudgeScript(answer)


def judged(run: Path, address: str, *more: object) -> list[str]:
    judge = f"alpha@openai:base_url={address},max_retries=0,concurrency=1"
    return [*map(str, ("study", "steps", run, "--judge", judge, *more))]


def test_planted_lengths_by_outcome(recorded: Path, tmp_path: Path) -> None:
    with serving(splitting()) as address:
        ended = livek12_here(*judged(recorded, address, "--json", "--html", tmp_path / "steps.html"))
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)["run"]
    assert (told["answers"], told["silent"], told["not_split"]) == (6, 1, 0)
    solved, unsolved, every = told["outcomes"].values()
    assert (solved["answers"], solved["response"], solved["response_std"]) == (3, 4, 1)
    assert (unsolved["answers"], unsolved["response"], unsolved["response_std"]) == (3, 9, 1)
    assert (every["response"], every["reference"], every["longer"]) == (6.5, 3, 3.5)
    assert told["subsets"] == {"text": told["outcomes"]}
    assert told["distribution"]["response"] == {"3": 1, "4": 1, "5": 1, "8": 1, "9": 1, "10": 1}
    assert "6.50 ± 2.88" in (tmp_path / "steps.html").read_text()


@pytest.mark.parametrize(
    ("reply", "said"),
    [({"steps": []}, "has 0 steps"), ({"steps": [" "]}, "has an empty step"), ("five", "is not one JSON object")],
)
def test_a_reply_that_is_no_list_of_steps_is_counted_and_told(recorded: Path, reply: Any, said: str) -> None:
    with serving(JudgeScript(lambda name, before, body: says(reply))) as address:
        ended = livek12_here(*judged(recorded, address, "--no-cache", "--limit", 1))
    assert ended.code == 0
    assert "1 that no judge split" in ended.out and said in ended.out


def test_wrong_use_is_one_line(recorded: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"question_id": "en_sample_math_0001", "response": "A"}\n')
    how = ("--from", "jsonl", "--task", "livek12_text_only_en", "--data", data, "--out", tmp_path / "run")
    livek12_here("import-responses", tmp_path / "some.jsonl", *how)
    with serving(splitting()) as address:
        for line, said in (
            (("study", "steps", recorded), "steps needs judges: --judge"),
            (judged(tmp_path / "run", address), "are to questions without a reasoning flow"),
        ):
            ended = livek12_here(*line)
            assert (ended.code, len(ended.errors)) == (2, 1) and said in ended.errors[0]
