"""The terminal summary: the same numbers as report.json, in a pipe and in a narrow window too."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from livek12.core.records import Call
from livek12.core.scoring import Row
from livek12.report.marks import number, shown, span
from livek12.report.terminal import print_marks, print_summary
from livek12.report.views import budget_curves
from tests.report.test_report_html import TASK, question, row, run_of
from tests.scored import score


def printed(rows: list[Row], width: int = 80, run_name: str = "RUN", **console: Any) -> str:
    out = io.StringIO()
    terminal = Console(file=out, width=width, **console)
    print_summary({**score(rows), "run": run_of(rows)}, terminal, run_name=run_name)
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
    assert "The lower end counts what is open as 0" in text
    assert re.search(r"물리\s+1\s+0\s", text)
    assert re.search(r"物理\s+1\s+0–100\s", text)
    assert "7 questions were asked; 5 are marked, 1 open, 1 failed.\n" in text
    assert "  1 marked as 0: the response contains no answer\n" in text
    assert "1 failed: no response came" in text
    assert "not asked" not in text
    assert "tokens written: 66, 11 an answer" in text


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            {"judge": "rules-1"},
            "  1 open: the rules could not decide. Ask a model:\n    livek12 judge runs/a --judge MODEL\n",
        ),
        ({"judge": "none"}, "  1 open: not judged yet. Judge them:\n    livek12 judge runs/a\n"),
        (
            {"judge": "rules-1 p1", "calls": [Call(judge="m", prompt="p", raw="?")]},
            "  1 open: the judge models could not decide. Review them:\n    livek12 review runs/a\n",
        ),
    ],
)
def test_it_says_what_settles_an_ungraded_answer(verdict: dict[str, Any], said: str) -> None:
    text = printed([row(question("u"), None, **verdict), row(question("v"))], run_name="runs/a")
    assert "2 questions were asked; 1 is marked, 1 open.\n" in text
    assert said in text
    assert text.count("livek12 judge") == said.count("livek12 judge")


def test_the_counts_add_up_to_the_answers() -> None:
    rows = [Row(TASK, question("f", points=5.0), trial, "failed", None, None) for trial in range(2)]
    rows += [row(question("n"), 0.0, state="no_answer", trial=trial) for trial in range(2)]
    text = printed([*rows, row(question("g")), row(question("g"), trial=1)])
    assert "6 questions were asked, in 2 trials of 3; 4 are marked, 2 failed.\n" in text
    pictures = [Row(TASK, question("p"), 0, "unsupported", None, None), row(question("g"))]
    assert "1 of 2 questions were asked: this model reads no pictures; 1 is marked.\n" in printed(pictures)
    assert "2 questions were asked; all are marked.\n" in printed([row(question("g")), row(question("h"))])


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (66.65, 1, "66.7"),
        (0.6665 * 100, 1, "66.7"),  # 66.64999999999999
        (200 / 3, 1, "66.7"),
        (2.5, 0, "3"),
        (0.125, 2, "0.13"),
        (-0.04, 1, "0"),
        (-2.25, 1, "-2.3"),
        (99.95, 1, "100"),
        (1234.5, 1, "1,234.5"),
        (100.0, 1, "100"),
        (0.0, 3, "0"),
    ],
)
def test_one_rule_rounds_every_number(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize("questions", [8, 40, 333, 2000])
def test_a_share_and_a_mark_out_of_100_are_one_number(questions: int) -> None:
    def estimate(value: float) -> dict[str, Any]:
        return {"low": value, "high": value, "value": value, "ci": [value, value], "std": value, "note": None}

    for right in range(questions + 1):
        mark, accuracy = estimate(100.0 * right / questions), estimate(right / questions)
        shares = (shown("mark", mark), shown("accuracy", accuracy))
        assert len({(said.text, said.ci, said.std) for said in shares}) == 1


def test_marks_of_several_runs_are_a_line_a_task_and_a_column_a_run() -> None:
    out, rows = io.StringIO(), [*exam(), row(question("k"), task="kmmmu")]
    one = {**score(rows), "run": run_of(rows)}
    print_marks({"one": one, "other": one}, Console(file=out, width=100))
    head, _, *lines = out.getvalue().splitlines()
    assert head.split() == ["marks", "of", "100", "questions", "one", "other"]
    assert re.fullmatch(rf"{TASK}\s+7\s+42.9–71.4\s+42.9–71.4\s*", lines[0])
    assert re.fullmatch(r"kmmmu\s+1\s+100\s+100\s*", lines[1])
    assert len(lines) == 2


def test_it_says_what_the_prefix_cache_served() -> None:
    told = row(question("a"), prompt_tokens=1000, cached_tokens=900)
    said = "tokens read: 1,000, 90 % of them from the engine's prefix cache (1 answer not counted: not stated)"
    assert said in printed([told, row(question("b"))], 200)
    assert "tokens read: 700\n" in printed([row(question("a"), prompt_tokens=700)], 200)
    assert "tokens read" not in printed([row(question("b"))], 200)


def test_a_decided_run_says_one_mark() -> None:
    text = printed([row(question("a")), row(question("b"), 0.0)])
    assert "mark 50 out of 100" in text
    assert "The lower end" not in text


@pytest.mark.parametrize("width", [24, 40, 200])
def test_a_narrow_window_folds_and_loses_nothing(width: int) -> None:
    text = printed(exam(), width)
    commands = [line for line in text.splitlines() if line.startswith("    livek12 ")]
    assert commands == ["    livek12 judge RUN --judge MODEL"]  # in one piece, to be copied
    assert all(len(line) <= width for line in text.splitlines() if line not in commands)
    assert "…" not in text
    assert "open" in text


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
    assert "tokens: no answer states them" in printed([row(question("a"), completion_tokens=None)])


@pytest.mark.parametrize(
    ("ends", "shown"), [((0.0, 1.0), False), ((None, None), False), ((0.0, 0.5), True), ((1.0, 1.0), True)]
)
def test_a_curve_of_which_nothing_is_known_is_not_shown(ends: tuple[float | None, float | None], shown: bool) -> None:
    """Where no answer came, ten rows would say that the share lies between none and all."""
    point = {"share": 0.1, "tokens": 10, "true": None, "counterfactual": {"low": ends[0], "high": ends[1]}}
    assert bool(list(budget_curves({"budgets": {TASK: {"points": [point]}}}))) is shown
