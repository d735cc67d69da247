"""How many answers a metric counts for more or for less than their marks: as one would count them by hand."""

from __future__ import annotations

from typing import Any

import pytest

from livek12.core.records import Process
from tests.report.test_report_html import TASK, question, row
from tests.scored import score


def against(*answers: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict(score(answers)["tasks"][TASK]["against_mark"])
    return found


def test_partly_right_answers_and_long_ones() -> None:
    asked = [question(f"q{n}") for n in range(4)]
    found = against(
        row(asked[0], 1.0, completion_tokens=100),  # short: counts for more than its mark in ARL
        row(asked[1], 1.0, completion_tokens=40_000),  # long: for less, and past the limit
        row(asked[2], 0.5, completion_tokens=100),
        row(asked[3], 0.0, completion_tokens=100),
    )
    assert found["accuracy"] == {"unit": "answer", "more": 0, "less": 1, "same": 3, "open": 0}
    assert found["ARL"] == {"unit": "answer", "more": 1, "less": 2, "same": 1, "open": 0}
    assert found["Acc≤1.0"] == {"unit": "answer", "more": 0, "less": 2, "same": 2, "open": 0}
    assert "mark" not in found and "OCS" not in found


def test_process_errors_take_from_right_answers() -> None:
    asked = [question(f"q{n}", points=6.0) for n in range(3)]
    clean, faulty = (Process(cie=cie, lae=0, dre=0, critics=["a"]) for cie in (0.0, 1.0))
    found = against(row(asked[0], process=clean), row(asked[1], process=faulty), row(asked[2], 0.0, process=faulty))
    for metric in ("PES", "OES"):
        assert found[metric] == {"unit": "answer", "more": 0, "less": 1, "same": 2, "open": 0}


def test_what_is_open_is_told_apart_only_where_every_outcome_says_the_same() -> None:
    asked = [question(f"q{n}") for n in range(2)]
    found = against(row(asked[0], None), row(asked[1], 1.0))
    assert found["accuracy"] == {"unit": "answer", "more": 0, "less": 0, "same": 1, "open": 1}


def test_of_several_trials_questions_are_counted() -> None:
    asked = [question(f"q{n}") for n in range(3)]
    shares = ((1.0, 1.0), (1.0, 0.0), (0.0, 0.0))
    found = against(*(row(asked[n], share, trial=t) for n, both in enumerate(shares) for t, share in enumerate(both)))
    assert found["pass@2"] == {"unit": "question", "more": 1, "less": 0, "same": 2, "open": 0}


def test_without_a_mark_there_is_nothing_to_set_beside() -> None:
    assert against(row(question("a")), row(question("b", points=None))) == {}


@pytest.mark.parametrize("profile", ["article", "release"])
def test_the_counts_add_up_to_the_answers(profile: Any) -> None:
    asked = [question(f"q{n}") for n in range(6)]
    rows = [row(one, (None, 0.0, 0.3, 1.0)[n % 4]) for n, one in enumerate(asked)]
    for found in score(rows, profile)["tasks"][TASK]["against_mark"].values():
        assert found["more"] + found["less"] + found["same"] + found["open"] == 6
