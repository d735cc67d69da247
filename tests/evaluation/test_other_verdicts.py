"""Decisions of math-verify, or of a column, beside ours: counts, and a page of the disagreements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.evaluation.other_verdicts import compare_verdicts
from livek12.evaluation.pair_file import judge_file
from livek12.judges.jury import JudgeOptions

ROWS = [
    {"id": "both", "gold": "\\frac{1}{2}", "response": "So $\\boxed{0.5}$.", "marked": True},
    {"id": "<b>key</b>", "gold": "12", "response": "The answer is 12. No wait, it is 13.", "marked": False},
    {"id": "units", "gold": "500 cm", "response": "The answer is \\boxed{5\\text{ m}}.", "marked": "1"},
    {"id": "open", "gold": "Paris", "response": "It lies in the north of France.", "marked": None},
]


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\nno json\n", "utf-8")
    judge_file(source, target, JudgeOptions())
    return source, target


def test_a_column_beside_ours(judged: tuple[Path, Path]) -> None:
    compared = compare_verdicts(*judged, "marked")
    assert compared.counts == {
        ("accept", "accept"): 2, ("undecided", "reject"): 1, ("undecided", "undecided"): 2
    }  # fmt: skip
    assert [row.id for row in compared.disagreements] == ["<b>key</b>"]
    with pytest.raises(UserError, match="no row says true or false in 'other'"):
        compare_verdicts(*judged, "other")


def test_math_verify_beside_ours_and_the_page(judged: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("math_verify", reason="math-verify is not installed")
    compared = compare_verdicts(*judged, "math-verify")
    assert compared.counts.total() == 5
    assert compared.counts["accept", "accept"] >= 1
    assert {row.id for row in compared.disagreements} >= {"units"}
    compared.write_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Where do livek12 and math-verify disagree?" in page
    assert "<b>key</b>" not in page
    heads = page[page.index('<table class="texts">') :].partition("</thead>")[0]
    assert (
        "<th>id</th>" in heads and "livek12&#39;s reason</th>" in heads and heads.index(">id<") < heads.index(">key<")
    )
