"""The attacks: their rows are what they say they are, and the rules accept none where they are known to hold."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from livek12.scripts.bench import attacks
from livek12.scripts.bench.attacks import LANGUAGES, attack_rows
from livek12.scripts.bench.labelled import KINDS, BenchRow, question_of
from livek12.scripts.bench.verifiers import SideAnswers, ours

OPEN = {
    "corrected in passing", "checked and failed", "asked back", "bounded, not named", "quoted from the task",
    "given up", "options in other words",
}  # fmt: skip
"""Classes of which the rules still accept wrong answers, or reject right ones; the others hold."""
EVERY = 7


@pytest.fixture(scope="module")
def rows() -> list[BenchRow]:
    return attack_rows()


def test_equal_seeds_make_equal_rows_and_other_seeds_others(rows: list[BenchRow]) -> None:
    assert attack_rows() == rows
    assert attack_rows(1) != rows


def test_every_class_is_in_every_language_with_wrong_and_right_rows_without_open_places(rows: list[BenchRow]) -> None:
    counts = Counter((row.set, row.language, row.right) for row in rows)
    classes = dict.fromkeys(row.set for row in rows)
    assert len(classes) >= 40
    assert not {*classes} & {*KINDS, *LANGUAGES}
    assert all(counts[name, language, right] for name in classes for language in LANGUAGES for right in (True, False))
    for row in rows:
        text = "\n".join([row.question, *row.extracted, row.response])
        assert not any(place in text for place in ("«", "»", "<g>", "<w>", "<G>", "<W>", "<v>", "<V>", " @ ")), row
        assert question_of(row).answer == row.extracted


def test_no_wrong_answer_is_accepted_where_the_rules_hold(rows: list[BenchRow]) -> None:
    held = [row for row in rows if row.set not in OPEN][::EVERY]
    mistaken = [row for row, one in zip(held, ours(held), strict=True) if one.said is (not row.right)]
    assert mistaken == []
    assert len(held) > 100


def test_a_tally_counts_each_row_once() -> None:
    rows = [BenchRow("c", str(i), "short_answer", "en", "", "1", ["1"], "1", right=i > 3) for i in range(6)]
    found = attacks.tally(rows, [SideAnswers(said, 0.0) for said in (True, False, None, None, True, False)])
    assert found["wrong"] == {"rows": 4, "accepted": 1, "rejected": 1, "undecided": 2}
    assert found["right"] == {"rows": 2, "accepted": 1, "rejected": 1, "undecided": 0}


@pytest.mark.slow
@pytest.mark.release
def test_the_command_measures_a_class_and_names_one_that_is_none(tmp_path: Path) -> None:
    script = Path(attacks.__file__)
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(script), "--only", "per cent", "--show", "--json", str(figures)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(figures.read_text())
    assert list(found["classes"]) == ["per cent"]
    assert found["classes"]["per cent"] == found["all"]
    assert found["all"]["livek12"]["wrong"]["accepted"] == 0
    assert found["mistaken"] == []
    assert "per cent" in ran.stdout


def test_a_class_that_is_none_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["attacks.py", "--only", "no class"])
    with pytest.raises(SystemExit, match="is none of a variable as a unit, equal near zero only, "):
        attacks.main()
