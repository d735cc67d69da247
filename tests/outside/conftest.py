"""The benchmark outside livek12: named by `--include` for one test, its data set built, answers to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from livek12.core.benchmarks import VARIABLE
from livek12.core.questions import load_questions
from tests.scripts.command import livek12

HERE = Path(__file__).parent
HIPHO = HERE / "hipho"
SOURCE = HERE / "data"


@pytest.fixture(autouse=True)
def nothing_stays_included() -> Iterator[None]:
    """Takes back what `--include` said to this process."""
    before = os.environ.pop(VARIABLE, None)
    yield
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before


@pytest.fixture(scope="session")
def hipho_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set, built by a process of its own."""
    folder = tmp_path_factory.mktemp("hipho") / "data"
    ended = livek12("build", "hipho", "--include", HIPHO, "--source", SOURCE, "--out", folder)
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture(scope="session")
def hipho_answers(hipho_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded answers: two of three right, the others none."""
    file = tmp_path_factory.mktemp("hipho-answers") / "answers.jsonl"
    write_answers(hipho_data, file)
    return file


def write_answers(data: Path, file: Path) -> None:
    """Answers that give the key of all questions but every third."""
    rows = []
    for number, asked in enumerate(load_questions(data, ["default"], "hipho")):
        said = " ".join(f"\\boxed{{{entry}}}" for entry in asked.answer) if number % 3 else "I cannot say."
        rows.append({"task": "hipho", "question_id": asked.id, "response": said, "model": "recorded"})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
