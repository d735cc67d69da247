"""No cell of a CSV of ours is a formula to a spreadsheet, and each comes back as it was."""

from __future__ import annotations

import csv
import io
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.tables import csv_rows, csv_text
from livek12.evaluation.comparing import Comparison
from livek12.report.compared import COUNTS, as_csv

NAMES = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "a\r=1",
    "'=1",
    "''=1",
    "=cmd|' /C calc'!A0",
    "＝1",
    "plain",
    "'plain",
    "",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_begins_as_no_formula_does(name: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_text([[name]], quoted=True), newline=""))
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
    assert csv_rows(csv_text([["a", "b"], [name, "x"]])) == [{"a": name, "b": "x"}]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=4))
def test_what_was_written_comes_back(cells: list[str]) -> None:
    names = [str(number) for number in range(len(cells))]
    assert csv_rows(csv_text([names, cells], quoted=True)) == [dict(zip(names, cells, strict=True))]


def test_numbers_stay_numbers() -> None:
    assert csv_text([["a", "b", "c"], [-1.5, None, 3]]) == "a,b,c\n-1.5,,3\n"


def test_names_of_runs_that_are_compared_are_no_formulas() -> None:
    counts: dict[str, Any] = dict.fromkeys(COUNTS, 1)
    task: dict[str, Any] = {"counts": {"=1+1": counts}, "metrics": {}, "ranks": {}, "pairs": []}
    task["pairs"] = [{"a": "@a", "b": "-b", "shared": 3, "metrics": {}}]
    text = as_csv(cast(Comparison, {"tasks": {"+t": task}}))
    assert [line.split(",")[:3] for line in text.splitlines()[1:]] == [["'+t", "'=1+1", ""], ["'+t", "'-b", "'@a"]]
