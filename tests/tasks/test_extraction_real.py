"""Extraction on real responses with known answers: agreement a set, and what may disagree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

bench = pytest.importorskip("livek12.scripts.bench.extraction", reason="it is not in the wheel")
pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Lowest agreement, and how many rows may hold another value than the known one, or an accepted wrong one.
FLOORS = {
    "nine models, final reply": (1.0, 0),
    "nine models, first reply": (0.96, 1),
    "boxed runs": (0.98, 0),
    "printed solutions, one choice": (0.968, 0),
    "printed solutions, choices in a row": (0.88, 2),
    "printed solutions, blanks": (0.92, 0),
    "teachers' marks, choices": (0.985, 0),
    "teachers' marks, blanks": (0.9, 0),
    "experts' marks, English": (0.985, 0),
    "models' own last line, English": (0.995, 0),
}


@pytest.fixture(scope="module")
def figures(shared_data: Path) -> bench.Json:
    return bench.measure(shared_data)


@pytest.mark.parametrize("name", FLOORS)
def test_agreement_on_real_responses(name: str, figures: bench.Json) -> None:
    floor, others = FLOORS[name]
    one = figures["sets"][name]
    assert one["agrees"] / one["rows"] >= floor
    wrong = [
        row for said in ("other value", "accepted, marked wrong", "ours alone") for row in one["classes"].get(said, [])
    ]
    assert len(wrong) <= others, wrong


def test_every_disagreement_is_in_a_class_that_the_card_explains(figures: bench.Json) -> None:
    assert set(figures["sets"]) == set(FLOORS)
    for one in figures["sets"].values():
        assert set(one["classes"]) <= set(bench.CLASSES)
        assert one["agrees"] + sum(map(len, one["classes"].values())) == one["rows"]
    seen = {
        (name, row["id"])
        for name, one in figures["sets"].items()
        for row in one["classes"].get("key or mark wrong", [])
    }
    assert seen == set(bench.SEEN)


def test_the_card_says_what_its_figures_hold() -> None:
    figures = json.loads((DOCS / "extraction-card.json").read_text(encoding="utf-8"))
    assert bench.card(figures) == (DOCS / "extraction-card.md").read_text(encoding="utf-8")


def test_absent_sets_are_named(tmp_path: Path) -> None:
    assert bench.measure(tmp_path) == {"sets": {}, "absent": list(bench.SOURCES)}
