"""The benchmark of judges: its rows, its figures, and that both sides run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from livek12.core.question_types import QuestionType
from livek12.scripts.bench import verifiers
from livek12.scripts.bench.judges import agreement, measure, measure_parts
from livek12.scripts.bench.labelled import CONVENTIONS, BenchRow, labelled_rows
from livek12.scripts.bench.verifiers import SideAnswers, run_side


def test_figures_of_a_set() -> None:
    rows = [BenchRow("s", str(i), "short_answer", "en", "", "1", ["1"], "1", right=i < 3) for i in range(5)]
    figures = agreement(rows, [SideAnswers(said, 0.1) for said in (True, False, None, True, False)])
    assert (figures["rows"], figures["decided"], figures["coverage"], figures["precision"]) == (5, 4, 0.8, 0.5)
    assert (figures["false_accepts"], figures["false_rejects"], figures["open"]) == (1, 1, ["2"])
    assert 0 < figures["precision_low"] < 0.5


def test_rows_of_every_set_and_every_named_convention_is_one_of_them(shared_data: Path) -> None:
    rows = labelled_rows(shared_data / "judge")
    counts = {name: sum(row.set == name for row in rows) for name in dict.fromkeys(row.set for row in rows)}
    assert counts["math_verify_cases"] == 254
    assert counts["hardverify"] == 242
    assert len(counts) == 5
    assert set(CONVENTIONS) <= {(row.gold, row.response) for row in rows}


def test_a_folder_without_sets_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no labelled rows"):
        measure(tmp_path)


def test_the_rules_run_in_warm_processes(shared_data: Path) -> None:
    rows = [row for row in labelled_rows(shared_data / "judge") if row.set == "olympiadbench_scoring_examples"]
    side = run_side(rows, "livek12")
    figures = agreement(rows, side["answered"])
    assert figures["wrong"] == []
    assert figures["decided"] >= 31
    assert 0 < side["peak_mib"] < 1024


def test_latex2sympy_is_stopped_and_leaves_open_what_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(key: str, response: str, kind: QuestionType = "short_answer") -> bool | None:
        row = BenchRow("s", "1", kind, "en", "", key, [key], response, right=True)
        return verifiers.SIDES["latex2sympy2_extended"].decide(row).said

    assert said("$\\frac{1}{2}$", "So it is $0.5$.") is True
    assert said("$(x+1)^2$", "\\boxed{x^2+2x+1}") is True
    assert said("$\\{1,2\\}$", "$\\{2,1\\}$") is True
    assert said("$3$", "It is $3$, no, $4$.") is False
    assert said("$[1,2)$", "$[1,2]$") is False
    assert said("$5$", "") is None
    assert said("$x$", "\\cup\\cup") is None
    assert said("A", "A", "single_choice") is None
    monkeypatch.setattr(verifiers, "SECONDS", 1e-4)
    assert said("$(x+1)^2$", "\\boxed{x^2+2x+1}") is None


@pytest.mark.release
def test_open_and_closed_parts_of_a_source_are_measured_side_by_side(tmp_path: Path) -> None:
    rows = [
        {"gold": "12", "response": r"\boxed{12}", "expected": 1},
        {"gold": "12", "response": r"\boxed{13}", "expected": 0},
        {"gold": "B", "response": "B", "expected": 1, "question_type": "single_choice", "options": ["x", "y"]},
        {"gold": "12", "response": "perhaps something", "expected": 0},
    ]
    rows = [{"id": number, **row} for number, row in enumerate(rows)]
    files = {part: tmp_path / part / "source.jsonl" for part in ("open", "closed")}
    for part, file in files.items():
        file.parent.mkdir()
        file.write_text("\n".join(map(json.dumps, rows[: 4 if part == "open" else 2])), "utf-8")
    parts = measure_parts({part: [file] for part, file in files.items()})["source"]
    assert (parts["open"]["livek12"]["rows"], parts["open"]["livek12"]["decided"]) == (4, 3)
    assert parts["closed"]["livek12"]["coverage"] == 1.0
    assert not any(of["false_accepts"] + of["false_rejects"] for part in parts.values() for of in part.values())
