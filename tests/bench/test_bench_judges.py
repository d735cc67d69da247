"""The benchmark of judges: its rows, its figures, and that both sides run."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.scripts.bench import judges as bench_judges
from livek12.scripts.bench.judges import CONVENTIONS, SideAnswers, agreement, labelled_rows


def test_figures_of_a_set() -> None:
    rows = [
        bench_judges.BenchRow("s", str(i), "short_answer", "en", "", "1", ["1"], "1", right=i < 3) for i in range(5)
    ]
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
        bench_judges.measure(tmp_path)


def test_the_rules_run_in_warm_processes(shared_data: Path) -> None:
    rows = [row for row in labelled_rows(shared_data / "judge") if row.set == "olympiadbench_scoring_examples"]
    side = bench_judges.run_side(rows, bench_judges._warm_ours, bench_judges._ours_in_a_worker)
    figures = agreement(rows, side["answered"])
    assert figures["wrong"] == []
    assert figures["decided"] >= 31
    assert 0 < side["peak_mib"] < 1024
