"""The section for people who come from math-verify: every row of its table is run through both."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from livek12 import Verifier
from tests.conftest import ROOT
from tests.test_docs import fences, printed

PAGE = ROOT / "docs" / "verify.md"
CASES = ROOT / "docs" / "measured.md"


def table() -> list[list[str]]:
    """The rows of the table of cases: key, response, told besides, what either says, why."""
    _, _, rest = CASES.read_text(encoding="utf-8").partition("| key | response |")
    lines = rest.splitlines()[2:]
    rows = lines[: next(place for place, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows]


def row_of(key: str, response: str, besides: str) -> dict[str, str]:
    kind = "question_type" if besides.endswith("_choice") else "question"
    return {"gold": key, "response": response, **({kind: besides} if besides else {})}


@pytest.fixture(scope="module")
def math_verify() -> Any:
    return pytest.importorskip("math_verify", reason="math-verify is not installed")


@cache
def decisions() -> list[str]:
    with Verifier(workers=2) as verifier:
        return [judged.decision for judged in verifier.batch([row_of(*cells[:3]) for cells in table()])]


@pytest.mark.parametrize("number", range(len(table())), ids=lambda number: " ← ".join(table()[number][:2]))
def test_both_say_what_the_page_says(number: int, math_verify: Any) -> None:
    key, response, _, theirs, ours, _ = table()[number]
    parsed = [math_verify.parse(text, parsing_timeout=None) for text in (f"${key}$", response)]
    assert str(math_verify.verify(*parsed, timeout_seconds=None)) == theirs
    assert decisions()[number] == ours
    assert (theirs, ours) not in (("True", "accept"), ("False", "reject")), "the page tells where they differ"


def test_the_table_is_read() -> None:
    assert len(table()) >= 25 and all(len(cells) == 6 and all(cells[:2]) for cells in table())


def test_the_snippets_work_in_threads_too(capsys: pytest.CaptureFixture[str], math_verify: Any) -> None:
    before, after, threads = fences(PAGE, "python", "Coming from math-verify")
    assert eval(before.splitlines()[-1].partition("#")[0], vars(math_verify).copy()) is True
    for snippet in (after, threads):
        exec(compile(snippet, PAGE.name, "exec"), {})
    assert capsys.readouterr().out.splitlines() == printed([threads])


def test_math_verify_raises_in_threads_as_the_page_says(math_verify: Any) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="threaded environment"):
        threads.submit(math_verify.parse, "$1$").result()
