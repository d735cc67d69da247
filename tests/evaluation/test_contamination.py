"""Contamination: what was planted in simulated runs is found, what was not is not, and dates mean what they say."""

from __future__ import annotations

import dataclasses
import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.evaluation.studies.contamination import (
    Period,
    contamination,
    exam_period,
    nearest,
    period,
    released,
    sentences,
)
from tests.evaluation.test_study import row
from tests.scored import outcomes_of
from tests.scripts.command import livek12_here

OLD, NEW = "2025-06", "2026-03"


def exam(shown: dict[str, dict[str, float]], papers: int = 20, size: int = 10, seed: int = 0) -> dict[str, list[Row]]:
    """Simulated runs: `shown` has each run's share right on each release; papers differ in difficulty for all."""
    rng = random.Random(seed)
    runs: dict[str, list[Row]] = {name: [] for name in shown}
    for release in (OLD, NEW):
        for paper in range(papers):
            harder = rng.gauss(0, 0.08)
            for number in range(size):
                subject = ("math", "physics")[paper % 2]
                place = {"release": release, "paper_id": f"{release}-{paper}", "year": int(release[:4])}
                place |= {"difficulty": ("easy", "hard")[number % 2], "subject": subject}
                for name, shares in shown.items():
                    one = row(f"{release}-{paper}-{number}", rng.random() < shares[release] - harder)
                    asked = one.question.model_copy(update=place)
                    runs[name].append(dataclasses.replace(one, question=asked))
    return runs


def cell(cells: list[dict[str, Any]], **about: Any) -> dict[str, Any]:
    (found,) = [one for one in cells if all(one[name] == value for name, value in about.items())]
    return found


def test_who_has_seen_the_older_exam_stands_out_beyond_its_difficulty() -> None:
    fair = {OLD: 0.6, NEW: 0.5}  # the older exam is easier for everybody
    shown = {"seen": {OLD: 0.85, NEW: 0.5}, "one": fair, "two": fair, "three": fair}
    found = contamination(outcomes_of(exam(shown)), released={"seen": Period(date(2025, 9, 1), date(2025, 9, 30))})
    seen = cell(found["releases"], run="seen", subject="(all)")
    assert seen["unit"] == "paper" and seen["questions"] == [200, 200]
    assert seen["interval"][0] < 0.35 < seen["interval"][1] and seen["p_holm"] < 0.01
    assert seen["beyond_interval"][0] < 0.25 < seen["beyond_interval"][1] and seen["beyond_p"] < 0.01
    for name in ("one", "two", "three"):
        fair_cell = cell(found["releases"], run=name, subject="(all)")
        assert fair_cell["interval"][0] < 0.1 < fair_cell["interval"][1]
    assert {one["subject"] for one in found["releases"]} == {"(all)", "math", "physics"}
    dated = cell(found["dates"], run="seen")
    assert dated["difference"] == seen["difference"] and dated["neither"] == 0
    assert {one["difficulty"] for one in found["years"]} == {"(all)", "easy", "hard"}
    said = "\n".join(sentences(found))
    assert "seen, release 2025-06 against 2026-03: +3" in said and "A difference is no proof" in said


def test_what_is_undecided_widens_and_turns_no_test() -> None:
    runs = exam({"a": {OLD: 0.9, NEW: 0.4}, "b": {OLD: 0.5, NEW: 0.5}}, papers=12, size=5)
    whole = cell(contamination(outcomes_of(runs))["releases"], run="a", subject="(all)")
    opened = [row_of(one) if number % 3 == 0 else one for number, one in enumerate(runs["a"])]
    open_cell = cell(contamination(outcomes_of({**runs, "a": opened}))["releases"], run="a", subject="(all)")
    low, high = open_cell["difference"]
    assert low < whole["difference"][0] < high
    assert open_cell["interval"][0] < low and high < open_cell["interval"][1]
    assert open_cell["p"] >= whole["p"]
    everything = [row_of(one) for one in runs["a"]]
    nothing = cell(contamination(outcomes_of({**runs, "a": everything}))["releases"], run="a", subject="(all)")
    assert nothing["difference"] == [-1, 1] and nothing["p"] == 1


def row_of(one: Row) -> Row:
    """The same answer, undecided."""
    return dataclasses.replace(row(one.question.id, None), question=one.question)


def test_one_question_alone_has_no_interval_and_no_test() -> None:
    runs = exam({"a": {OLD: 1.0, NEW: 0.0}}, papers=1, size=1)
    found = contamination(outcomes_of(runs))
    (only,) = found["releases"]
    assert (only["interval"], only["p"], only["p_holm"]) == (None, None, None)
    assert "beyond" not in only, "there is no other run"
    assert "no interval" in "\n".join(sentences(found))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025", date(2025, 1, 1), date(2025, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2025-06-07", date(2025, 6, 7), date(2025, 6, 7)),
    ],
)
def test_periods(text: str, first: date, last: date) -> None:
    assert period(text) == Period(first, last)


@pytest.mark.parametrize("text", ["", "spring", "2025-13", "2025-02-30", "0000", "25-06", "2025-6", "2025-06 "[::-1]])
def test_what_is_no_date_is_none(text: str) -> None:
    assert period(text) is None


def test_a_month_within_the_year_of_an_exam_is_neither_before_nor_after() -> None:
    (model, exam_year) = (period("2025-08"), exam_period(None, 2025))
    assert model and exam_year and not exam_year.before(model) and not model.before(exam_year)
    assert exam_period("first", 2024) == period("2024") and exam_period(None, None) is None


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["a"], "give RUN=DATE"),
        (["a=soon"], "give RUN=DATE"),
        (["=2025"], "give RUN=DATE"),
        (["c=2025"], "there is no run 'c'; there are a, b"),
        (["a=2025", "a=2026"], "has a date already"),
    ],
)
def test_dates_that_cannot_be_meant_are_one_line(given: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        released(given, ["a", "b"])


def test_questions_without_a_date_are_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="of which release or year"):
        contamination(outcomes_of({"a": [row("1", True), row("2", False)]}))


def test_who_knows_public_questions_does_better_the_nearer_they_are(tmp_path: Path) -> None:
    """Planted: one run is right on all of the nearest third, on 3 of 4 of the middle one and on half of the rest."""
    rng = random.Random(3)
    similar = [(0.95, 1.0), (0.8, 0.75), (None, 0.5)]
    runs: dict[str, list[Row]] = {"knows": [], "fair": [], "other": []}
    lines = []
    for number in range(300):
        near, share = similar[number % 3]
        runs["knows"].append(row(f"q{number}", rng.random() < share))
        for name in ("fair", "other"):
            runs[name].append(row(f"q{number}", rng.random() < 0.5))
        if near:  # the nearest of several counts
            lines += [json.dumps({"id": f"q{number}", "similarity": near - less}) for less in (0, 0.3)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    found = contamination(outcomes_of(runs), near=nearest(tmp_path / "pairs.jsonl"))["near"]
    for low, gap in ((0.9, 0.5), (0.75, 0.25)):
        knows = cell(found, run="knows", similarity=[low, 1.0 if low == 0.9 else 0.9])
        assert knows["questions"] == [100, 100] and knows["p_holm"] < 0.01
        assert knows["interval"][0] < gap < knows["interval"][1] and knows["beyond_interval"][0] > 0
        fair = cell(found, run="fair", similarity=knows["similarity"])
        assert fair["interval"][0] < 0 < fair["interval"][1]
    with pytest.raises(UserError, match="no pair has a question of these runs"):
        contamination(outcomes_of(runs), near={"else": 0.9})
    for text in ("no json", '{"id": "q1"}', "[1]"):
        (tmp_path / "pairs.jsonl").write_text(text)
        with pytest.raises(UserError, match="is no file of pairs"):
            nearest(tmp_path / "pairs.jsonl")


@pytest.mark.slow
def test_the_command_on_recorded_answers(shared_data: Path, tmp_path: Path) -> None:
    paper = shared_data / "gaokao2026_math"
    source = [json.loads(line) for line in (paper / "reviewed" / "2026-national-i-math.jsonl").open(encoding="utf-8")]
    halves = tmp_path / "two.jsonl"
    for number, question in enumerate(source):
        question["year"] = 2024 if number % 2 else 2026
    halves.write_text("".join(json.dumps(question) + "\n" for question in source), encoding="utf-8")
    assert livek12_here("build", "livek12", "--source", halves, "--out", tmp_path / "data").code == 0
    runs = []
    for model in ("GLM 5.1", "GPT-5.5"):
        file = paper / "responses" / f"{model}.2026-national-i-math.jsonl"
        runs.append(tmp_path / model.replace(" ", "_"))
        how = ("--from", "jsonl", "--task", "livek12_text_only", "--data", tmp_path / "data", "--out", runs[-1])
        assert livek12_here("import-responses", file, *how).code == 0
    ended = livek12_here("study", "contamination", *runs, "--released", "GPT-5.5=2025-06", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert cell(found["dates"], run="GPT-5.5")["questions"] == [9, 10]
    assert cell(found["years"], run="GLM_5.1", year="2024", difficulty="(all)")["unit"] == "question"
    said = livek12_here("study", "contamination", *runs)
    assert said.code == 0 and "No release date" in said.out and "of run, difficulty and year" in said.out


@pytest.mark.release
def test_nothing_planted_is_nothing_found() -> None:
    """Of 300 exams in which nobody saw anything, the tests accuse 5 in 100, and the intervals hold the truth in 95."""
    accused = held = 0
    same = {OLD: 0.6, NEW: 0.6}
    for seed in range(300):
        runs = exam({"a": same, "b": same}, papers=12, size=6, seed=seed)
        one = cell(contamination(outcomes_of(runs))["releases"], run="a", subject="(all)")
        accused += one["p"] < 0.05
        held += one["interval"][0] <= 0 <= one["interval"][1]
    assert accused <= 27 and held >= 273
