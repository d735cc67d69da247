"""The terminal summary: the same numbers as report.json, in a pipe and in a narrow window too."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from livek12.core.scoring import Row, score
from livek12.scripts.report.marks import shown, span
from livek12.scripts.report.terminal import print_summary
from tests.scripts.test_report_html import TASK, question, row, run_of


def printed(rows: list[Row], width: int = 80, **console: Any) -> str:
    out = io.StringIO()
    print_summary(dict(score(rows)), run_of(rows), Console(file=out, width=width, **console))
    return out.getvalue()


def exam() -> list[Row]:
    rows = [row(question(f"m{i}"), 1.0) for i in range(3)] + [row(question("p", subject="물리"), 0.0)]
    rows.append(row(question("u", subject="物理"), None))
    rows.append(row(question("n"), 0.0, state="no_answer"))
    rows.append(Row(TASK, question("f"), 0, "failed", None, None))
    return rows


def test_it_says_the_mark_the_groups_the_states_and_the_tokens() -> None:
    text = printed(exam())
    assert "mark 42.9–71.4 out of 100" in text
    assert "a-model" in text
    assert "No single mark yet" in text
    assert re.search(r"물리\s+1\s+0\s", text)
    assert re.search(r"物理\s+1\s+0–100\s", text)
    assert "1 ungraded: no judge could decide" in text
    assert "1 no answer: the response holds no answer; worth 0" in text
    assert "1 failed: no response came" in text
    assert "unsupported" not in text
    assert "completion tokens: 66 in all, 11 an answer" in text


def test_it_says_what_the_prefix_cache_served() -> None:
    told = row(question("a"), prompt_tokens=1000, cached_tokens=900)
    assert (
        "prompt tokens: 1,000 in all, 90.0% from the engine's prefix cache, 100 computed; 1 responses do not state them"
    ) in printed([told, row(question("b"))], 200)
    assert "prompt tokens from the engine's prefix cache: not available" in printed([row(question("b"))], 200)


def test_a_decided_run_says_one_mark() -> None:
    text = printed([row(question("a")), row(question("b"), 0.0)])
    assert "mark 50 out of 100" in text
    assert "No single mark" not in text


@pytest.mark.parametrize("width", [24, 40, 200])
def test_a_narrow_window_folds_and_loses_nothing(width: int) -> None:
    text = printed(exam(), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    assert "ungraded" in text


def test_a_pipe_gets_no_escapes_and_a_terminal_gets_red() -> None:
    assert "\x1b" not in printed(exam())
    assert "\x1b[1;31m" in printed(exam(), force_terminal=True, color_system="standard")
    assert "\x1b[1;31m" not in printed(exam(), force_terminal=True, no_color=True)


def test_names_that_look_like_markup_or_escapes_are_printed_as_they_are() -> None:
    text = printed([row(question("a", subject="[bold red]x[/]\x1b[31m"))], 120)
    assert "[bold red]x[/][U+001B][31m" in text


def test_what_is_not_available_is_a_dash_and_never_a_zero() -> None:
    nothing = {"low": None, "high": None, "value": None, "ci": None, "std": None, "note": "no process verdicts"}
    assert (shown("PES", nothing).text, shown("PES", nothing).note) == ("–", "no process verdicts")
    assert span(-12.04, -3.0) == "-12 to -3"
    assert "tokens: no response states them" in printed([row(question("a"), completion_tokens=None)])
