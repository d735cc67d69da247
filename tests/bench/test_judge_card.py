"""The judge card: its text says what its JSON says, its figures add up, and it is about the data and rules that are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.scripts.bench.attacks import tally
from livek12.scripts.bench.judge_card import SHOWN_SIDES, card, text
from livek12.scripts.bench.judges import agreement, by_stage, grouped
from livek12.scripts.bench.labelled import CONVENTIONS, BenchRow, answer_kind, labelled_rows
from livek12.scripts.bench.verifiers import SideAnswers
from livek12.scripts.bench.verifiers import ours as said_by_ours
from tests.scripts.command import ROOT

COUNTS = ("decided", "false_accepts", "false_rejects")


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "judge-card.json").read_text(encoding="utf-8"))
    return found


def test_the_text_is_that_of_the_json(stored: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "judge-card.md").read_text(encoding="utf-8") == text(stored)


def test_the_figures_add_up(stored: dict[str, Any]) -> None:
    for name, of in stored["sets"].items():
        ours = of["livek12"]
        stages = {count: sum(stage[count] for stage in of["stages"].values()) for count in COUNTS}
        assert stages == {count: ours[count] for count in COUNTS}, name
        assert len(of["wrong"]) == ours["false_accepts"] + ours["false_rejects"]
        assert ours["precision"] == pytest.approx(1 - len(of["wrong"]) / ours["decided"])
        assert 0 < ours["precision_low"] <= ours["precision"]
        assert of["livek12, without conventions"]["rows"] == ours["rows"] - len(of["conventions"])
    named = [row for of in stored["sets"].values() for row in of["conventions"]]
    assert [one["id"] for one in stored["conventions"]] == named


def test_the_groups_add_up(stored: dict[str, Any]) -> None:
    plain = [of["livek12, without conventions"] for of in stored["sets"].values()]
    for groups in (stored["kinds"], stored["languages"]):
        for count in ("rows", *COUNTS):
            assert sum(of["livek12"][count] for of in groups.values()) == sum(one[count] for one in plain)
    attacks = stored["attacks"]
    for groups in (attacks["classes"], attacks["languages"], attacks["kinds"]):
        for side, whole in attacks["all"].items():
            for kind, counts in whole.items():
                assert {name: sum(of[side][kind][name] for of in groups.values()) for name in counts} == counts


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("\\frac{3\\pi}{4}", "number"), ("1,234,567", "number"), ("2+3i", "number"), ("14{,}916", "number"),
        ("$44^{\\circ}$", "quantity"), ("12\\text{ cm}", "quantity"), ("25\\%", "quantity"), ("125 miles", "quantity"),
        ("x^2-4", "expression"), ("\\log_2 5", "expression"), ("x=3", "equation"), ("a \\le 0", "equation"),
        ("[0,1)", "set, tuple, matrix"), ("x=1 or x=2", "set, tuple, matrix"), ("-12;-11", "set, tuple, matrix"),
        ("\\begin{pmatrix}1\\end{pmatrix}", "set, tuple, matrix"), ("A\\cup B", "set, tuple, matrix"),
        ("增大", "text"), ("\\text{Even}", "text"), ("증가", "text"), ("The sum is zero.", "text"),
    ],
)  # fmt: skip
def test_the_type_of_an_answer_follows_from_its_key(key: str, kind: str) -> None:
    assert answer_kind(BenchRow("s", "1", "short_answer", "en", "", key, [key], "", right=True)) == kind
    assert answer_kind(BenchRow("s", "1", "single_choice", "en", "", key, [key], "", right=True)) == "choice"
    assert answer_kind(BenchRow("s", "1", "short_answer", "en", "", key, [key, key], "", right=True)) == "several parts"


def test_it_says_what_the_rules_decide_today(stored: dict[str, Any], shared_data: Path) -> None:
    """Whatever their version: an edit that changes no decision needs no new card."""
    rows = labelled_rows(shared_data / "judge")
    answered = said_by_ours(rows)
    for name, of in stored["sets"].items():
        mine = [index for index, row in enumerate(rows) if row.set == name]
        ours = [rows[index] for index in mine], [answered[index] for index in mine]
        now, stages = agreement(*ours), by_stage(*ours)
        made = "scripts/bench/judge_card.py makes the card anew"
        assert {count: now[count] for count in COUNTS} == {count: of["livek12"][count] for count in COUNTS}, made
        assert now["wrong"] == of["wrong"], made
        assert {by: stages[by]["decided"] for by in stages} == {by: of["stages"][by]["decided"] for by in of["stages"]}


def test_it_is_about_the_data_that_are(stored: dict[str, Any], shared_data: Path) -> None:
    rows = labelled_rows(shared_data / "judge")
    names = dict.fromkeys(row.set for row in rows)
    assert {name: of["livek12"]["rows"] for name, of in stored["sets"].items()} == {
        name: sum(row.set == name for row in rows) for name in names
    }
    named = {(row.set, row.id) for row in rows if (row.gold, row.response) in CONVENTIONS}
    assert {(one["set"], one["id"]) for one in stored["conventions"]} == named


def test_a_card_of_few_rows() -> None:
    rows = [BenchRow("s", str(n), "short_answer", "en", "", "1", ["1"], "1", right=n < 2) for n in range(4)]
    said = ((True, "number"), (False, "text"), (None, ""), (True, "number"))
    answered = [SideAnswers(one, 0.1, by) for one, by in said]
    sides = dict.fromkeys(SHOWN_SIDES, agreement(rows, answered))
    side = {"rows_per_second": 2.0, "slowest_row": {"seconds": 0.5}, "peak_mib": 10.0}
    attacks = {"livek12": tally(rows, answered), "math-verify": tally(rows, answered)}
    figures = {
        "sets": {"s": {**sides, "stages": by_stage(rows, answered), "conventions": []}},
        **grouped(rows, {"livek12": answered}),
        "conventions": [],
        "versions": {"livek12": "1"},
        "workers": 2,
        "ratio": 3.0,
        "sides": {"livek12": side},
    }
    cost = {"answers": 1, "requests": 1, "characters": 100, "tokens": 0}
    costs = {"run": {"answers": 4, "with_rules": cost, "without_rules": {**cost, "characters": 400}}}
    groups = {"languages": {"en": attacks}, "kinds": {"number": attacks}}
    found = card(figures, {"some": costs}, {"seed": 1, "all": attacks, "classes": {"a class": attacks}, **groups})
    shown = text(found)
    assert "| number | livek12 | 4 | 75.0 % | 33.3 % |" in shown
    assert "| English | livek12 | 4 | 75.0 % | 33.3 % |" in shown
    assert "| a class | 2 | 1 | 1 | 1 | 2 | 1 | 0 | 1 |" in shown
    assert "## Judge models" not in shown
    stages = {
        "numeric": {
            "decided": 6, "as_human": 6, "precision_ci": [0.61, 1], "false_accepts": 0, "false_rejects": 0,
        },
        "panel": {
            "decided": 4, "as_human": 3, "precision_ci": [0.3, 0.95], "false_accepts": 1, "false_rejects": 0,
        },
    }  # fmt: skip
    beside = {"run": {"raters": {"ann | <b>": {"labelled": 12, "by_stage": stages}}}}
    judged = card(figures, {}, before=found, agreements={"small panel": beside})
    line = "| small panel, run | ann \\| \\<b\\> | panel | 12 | 33.3 % | 75.0 % | 30.0 % | 1 | 0 |"
    assert line in text(judged)
    assert card(figures, {}, before=judged)["judged"] == judged["judged"]
    kept = card(figures, {}, before=found)
    assert kept["needs_a_model"] == found["needs_a_model"]
    assert "## Attacks" not in text(kept)
    assert "| s | livek12 | 4 | 75.0 % | 33.3 % |" in shown
    assert "| s | number | 2 | 50.0 % | 50.0 % |" in shown
    assert "| some | 4 | 1 (25.0 %) | 300 characters | 1,200 characters | 75.0 % |" in shown
    assert "accepted, labelled wrong: 3\n- s: rejected, labelled right: 1" in shown
