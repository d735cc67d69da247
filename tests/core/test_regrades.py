"""Lines of regrades.jsonl that are too long to be one: passed over whole, and the next line is the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from livek12.core.run.markings import LONGEST_LINE, REGRADES, read_regrades


def row(question: str) -> bytes:
    regrade = {"task": "t", "question_id": question, "responses": ["0" * 64], "by": "ann", "reason": "a slip"}
    return json.dumps(regrade).encode()


@pytest.mark.parametrize(
    ("first", "questions"),
    [
        (b" " * LONGEST_LINE + row("hidden"), {"next"}),
        (b" " * (2 * LONGEST_LINE) + row("hidden"), {"next"}),
        (b" " * (LONGEST_LINE - 1), {"next"}),  # with its end exactly as long as one may be
        (row("long").ljust(LONGEST_LINE - 1), {"long", "next"}),
    ],
)
def test_what_follows_in_a_line_that_is_too_long_is_no_line(first: bytes, questions: set[str], tmp_path: Path) -> None:
    (tmp_path / REGRADES).write_bytes(first + b"\n" + row("next") + b"\n{}\n")
    problems: list[str] = []
    assert {question for _, question, _ in read_regrades(tmp_path, problems.append)} == questions
    (problem,) = problems
    assert problem.startswith(f"{REGRADES}:3: ")
