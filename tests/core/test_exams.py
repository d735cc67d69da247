"""Exams on their own scales: sums by hand, people's scales, and files that are refused."""

from __future__ import annotations

import ast
import json
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.exams import (
    EXAMS,
    MAX_SOURCE,
    AskedQuestion,
    Exam,
    exam_lines,
    read_built,
    read_source,
    resolve,
    shared,
    written,
)
from livek12.core.records import Question, State
from livek12.core.scoring.exam_marks import ChosenOption, ExamFigures, exam_figures, plain_label
from livek12.core.scoring.outcomes import AnswerFinding, Outcome, Outcomes, SlimQuestion
from livek12.core.scoring.schema import Parameters
from tests.conftest import ROOT

Worth = Mapping[str, float | None]
"""Points by id."""


def asked(worth: Worth, paper: str = "p") -> list[AskedQuestion]:
    """Questions whose ids are PAPER/NUMBER, or numbers of one paper."""
    split = ((id, *(id.split("/") if "/" in id else (paper, id))) for id in worth)
    return [AskedQuestion(id, "livek12", own, number, worth[id]) for id, own, number in split]


def built(worth: Worth, **exam: Any) -> Exam:
    return resolve([Exam.model_validate({"name": "exam", **exam})], asked(worth), "exam.yaml")[0]


def answer(id: str, points: float | None, low: float, high: float, trial: int = 0, state: State = "graded") -> Outcome:
    question = Question(
        id=id, benchmark="livek12", language="en", subject="", question_type="short_answer", question="?", points=points
    )
    finding = AnswerFinding(state, (low, high), (float(low == 1), float(high == 1)), (low, high))
    return Outcome("task", SlimQuestion.of(question, ()), trial, finding)


def outcomes(worth: Worth, shares: Mapping[str, float | tuple[float, float]]) -> Outcomes:
    ends = {id: share if isinstance(share, tuple) else (share, share) for id, share in shares.items()}
    return Outcomes.of(answer(id, worth[id], *ends[id]) for id in ends)


def figures(exam: Exam, rows: Outcomes, chosen: Callable[[set[str]], Any] = lambda ids: ()) -> ExamFigures:
    return exam_figures(exam, rows, chosen, Parameters())


def marks(exam: Exam, rows: Outcomes) -> dict[str, tuple[float, float]]:
    return {row["name"]: (row["low"], row["high"]) for row in figures(exam, rows)["rows"]}


# The papers of the CSAT of November 2022, with their printed points.
CSAT = {
    **{"korean": "kocsat_1st_Korean", "korean-speech-writing": "kocsat_1st_KoreanSpeechWriting"},
    **{"korean-language-media": "kocsat_1st_KoreanLanguageMedia", "math": "kocsat_1st_Mathematics"},
    **{"math-statistics": "kocsat_1st_MathematicsStatistics", "math-calculus": "kocsat_1st_MathematicsCalculus"},
    **{"math-geometry": "kocsat_1st_MathematicsGeometry", "english": "kocsat_1st_English"},
    **{"physics-1": "kocsat_1st_Physics1", "chemistry-1": "kocsat_1st_Chemistry1"},
    **{"biology-1": "kocsat_1st_Biology1", "earth-science-1": "kocsat_1st_EarthScience1"},
}
FIRST = {"korean-speech-writing": 35, "korean-language-media": 35}


def test_the_csat_adds_up_as_its_board_does(shared_data: Path) -> None:
    printed = json.loads((shared_data / "csat_math_boxes" / "konet_gold" / "points.json").read_text())
    worth = {
        f"csat-{paper}/{FIRST.get(paper, 23 if paper.startswith('math-') else 1) + place}": float(points)
        for paper, name in CSAT.items()
        for place, points in enumerate(printed[name])
    }
    exams = read_source(ROOT / "docs" / "exams" / "csat.yaml")
    (exam,) = resolve(exams, asked(worth), "csat.yaml")
    right = dict.fromkeys(worth, 1.0)
    # 30 of geometry (4 points) and 29 and 30 of statistics (8) are wrong, 28 of calculus (4 points) is open;
    # of the sciences physics loses questions 1 and 2 (2 + 2), chemistry 3 (3), biology 20 (3).
    for paper, number in [("math-geometry", 30), ("math-statistics", 29), ("math-statistics", 30), ("physics-1", 1)]:
        right[f"csat-{paper}/{number}"] = 0.0
    for paper, number in [("physics-1", 2), ("chemistry-1", 3), ("biology-1", 20)]:
        right[f"csat-{paper}/{number}"] = 0.0
    lost = {
        paper: sum(worth[id] for id in worth if id.startswith(f"csat-{paper}/") and not right[id]) for paper in CSAT
    }
    assert (lost["math-geometry"], lost["math-statistics"], lost["physics-1"]) == (4, 8, 4)
    assert (lost["chemistry-1"], lost["biology-1"]) == (3, 3)
    rows = outcomes(worth, {**right, "csat-math-calculus/28": (0.0, 1.0)})
    found = marks(exam, rows)
    assert found["미적분"] == (22, 26) and found["기하"] == (22, 22) and found["확률과 통계"] == (18, 18)
    assert found["수학"] == (74 + 22, 74 + 26)  # the best of intervals is an interval
    assert found["국어"] == (100, 100) and found["영어"] == (100, 100)
    assert found["탐구"] == (50 + 47, 50 + 47)  # earth science, and chemistry or biology
    assert found["CSAT"] == (100 + 96 + 100 + 97, 100 + 100 + 100 + 97)
    worst = marks(exam.model_copy(update={"combination": "worst"}), rows)
    assert worst["수학"] == (74 + 18, 74 + 18) and worst["탐구"] == (46 + 47, 46 + 47)
    assert exam.choices() == 2 * 3 * 6
    english = next(row for row in figures(exam, rows)["rows"] if row["name"] == "영어")
    assert english["grades"] == ["1등급", "1등급"]


def example(name: str, counts: Mapping[str, tuple[int, float]]) -> list[tuple[Exam, Worth]]:
    """An example of the docs on papers with so many questions and points."""
    worth = {f"{paper}/{n}": points / count for paper, (count, points) in counts.items() for n in range(1, count + 1)}
    exams = read_source(ROOT / "docs" / "exams" / f"{name}.yaml")
    return [(exam, worth) for exam in resolve(exams, asked(worth), name)]


def test_the_gaokao_adds_up_to_750() -> None:
    counts = {"chinese": (23, 150), "math": (19, 150), "english": (67, 150), "physics": (15, 100), "history": (19, 100)}
    counts |= {"chemistry": (18, 100), "biology": (21, 100), "politics": (20, 100), "geography": (19, 100)}
    ((exam, worth),) = example("gaokao", {f"gaokao-{paper}": count for paper, count in counts.items()})
    share = {"chinese": 0.8, "math": 1.0, "english": 0.9, "physics": 0.7, "history": 0.75}
    share |= {"chemistry": 0.5, "biology": 0.6, "politics": 0.9, "geography": 0.8}
    rows = outcomes(worth, {id: share[id.split("/")[0].removeprefix("gaokao-")] for id in worth})
    # 120 + 150 + 135, then history 75, politics 90 and geography 80
    result = figures(exam, rows)
    (whole, *_) = result["rows"]
    assert (whole["low"], whole["high"]) == pytest.approx((650, 650)) and round(whole["points"], 9) == 750
    assert whole["electives"] == [["历史", "思想政治", "地理"]]
    assert whole["grades"] == ["特殊类型线", "特殊类型线"]
    every = figures(exam.model_copy(update={"combination": "all"}), rows)["combinations"]
    assert len(every) == 2 * 6 and max(row["low"] for row in every) == pytest.approx(650)
    assert min(row["low"] for row in every) == pytest.approx(120 + 150 + 135 + 70 + 50 + 60)


def test_the_tiers_of_igcse_are_weighted() -> None:
    papers = {"1": (40, 40), "2": (40, 40), "3": (12, 80), "4": (10, 80), "6": (4, 40)}
    pairs = example("igcse", {f"igcse-physics-{paper}": count for paper, count in papers.items()})
    rows = outcomes(pairs[0][1], {id: 0.5 if "-2/" in id else 0.75 for id in pairs[0][1]})
    extended, core = (figures(exam, rows)["rows"][0] for exam, _ in pairs)
    assert extended["low"] == pytest.approx(1.5 * 20 + 1.25 * 60 + 30) and extended["grades"] == ["A", "A"]
    assert core["low"] == pytest.approx(1.5 * 30 + 1.25 * 60 + 30) and core["grades"] == ["C", "C"]


def test_wrong_answers_cost_points_and_blanks_do_not() -> None:
    worth: Worth = dict.fromkeys("abcde", 4.0)
    exam = built(worth, questions=[*"abcde"], wrong=1, points=20)
    rows = Outcomes.of(
        [
            answer("a", 4, 1, 1),
            answer("b", 4, 0, 0),
            answer("c", 4, 0, 0, state="no_answer"),
            answer("d", 4, 0, 1, state="ungraded"),
            answer("e", 4, 0, 0, state="no_answer"),
        ]
    )
    (row,) = figures(exam, rows)["rows"]
    assert (row["low"], row["high"]) == (4 - 1 + 0 - 1, 4 - 1 + 0 + 4)
    assert row["ci"] is not None and -5 <= row["ci"][0] < 2 and 7 < row["ci"][1] <= 20


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(0, 1)] * 2).map(sorted), min_size=6, max_size=6), st.sampled_from(["best", "worst"])
)
def test_an_interval_holds_the_sum_of_every_outcome(ends: list[list[float]], combination: str) -> None:
    worth: Worth = {str(n): float(n) for n in (1, 2, 3)} | {"4": 3.0, "5": 2.0, "6": 1.0}
    sections = [{"name": name, "questions": [name]} for name in ("1-3",)]
    pairs = [{"name": name, "questions": [name]} for name in ("4", "5", "6")]
    chosen = [{**pair, "weight": weight} for pair, weight in zip(pairs, (2, 3, 6), strict=True)]
    exam = built(worth, sections=[*sections, {"name": "two", "take": 2, "sections": chosen}], combination=combination)
    intervals = {str(n): (low, high) for n, (low, high) in enumerate(ends, 1)}
    low, high = marks(exam, outcomes(worth, intervals))["exam"]
    for seed in range(4):
        draw = random.Random(seed)
        point = {id: draw.choice([*pair, (pair[0] + pair[1]) / 2]) for id, pair in intervals.items()}
        mark = marks(exam, outcomes(worth, point))["exam"][0]
        assert low - 1e-9 <= mark <= high + 1e-9


def contests(shared_data: Path) -> dict[str, Any]:
    text = (shared_data / "human_scale" / "matharena_human_scores.txt").read_text()
    return ast.literal_eval(text.partition("=")[2].strip())


@pytest.mark.parametrize(("contest", "shift"), [("aime/aime_2025_I", -1), ("hmmt/hmmt_feb_2025", 0)])
def test_percentiles_of_nine_recorded_runs(shared_data: Path, contest: str, shift: int) -> None:
    """Keys of the AIME are places from 1, the score is one less (nobody has 16 of 15)."""
    stated = contests(shared_data)[contest]
    people = {score + shift: count for score, count in stated["scores"].items()}
    level = sorted(score for score, count in people.items() for _ in range(count))
    files = sorted((shared_data / "gaokao2026_math" / "grades").glob("*.jsonl"))
    assert len(files) == 9
    for file in files:
        grades = [json.loads(line) for line in file.read_text().splitlines()]
        worth = {grade["item_id"]: grade["max_score"] for grade in grades}
        scale = {"of": stated["max_score"], "distribution": people}
        exam = built(worth, questions=list(worth), scale=scale)
        rows = outcomes(worth, {grade["item_id"]: grade["score"] / grade["max_score"] for grade in grades})
        (row,) = figures(exam, rows)["rows"]
        total = sum(grade["score"] for grade in grades)
        score = round(total / sum(worth.values()) * stated["max_score"], 9)
        by_hand = 50 * (bisect_left(level, score) + bisect_right(level, score)) / len(level)
        assert row["low"] == pytest.approx(total)
        assert row["percentile"] is not None and row["percentile"][0] == pytest.approx(by_hand)
    assert by_hand == pytest.approx(100, abs=3)


@pytest.mark.parametrize(
    ("mark", "percentile"),
    [(0, 5.0), (1, 10.0), (2, 25.0), (3, 60.0), (4, 90.0), (5, 100.0)],  # 1 person at 0, 3 at 2, 4 at 3, 2 at 4
)
def test_a_percentile_counts_half_of_those_level(mark: int, percentile: float) -> None:
    worth: Worth = {str(n): 1.0 for n in range(5)}
    exam = built(worth, questions=list(worth), scale={"distribution": {0: 1, 2: 3, 3: 4, 4: 2}})
    (row,) = figures(exam, outcomes(worth, {id: float(int(id) < mark) for id in worth}))["rows"]
    assert row["percentile"] is not None and row["percentile"][0] == percentile


def test_the_chance_of_a_medal_is_that_of_a_simulation() -> None:
    """Models of all strengths sit 30 questions: of those given a chance of 70 to 80 %, so many deserve gold."""
    worth: Worth = {str(n): 1.0 for n in range(30)}
    exam = built(worth, questions=list(worth), scale={"cutoffs": {"gold": 19.7, "silver": 12.1, "bronze": 7.2}})
    chances = []
    for right in range(31):
        (row,) = figures(exam, outcomes(worth, {id: float(int(id) < right) for id in worth}))["rows"]
        chances.append({grade: low for grade, (low, _) in row["chances"].items()})
        assert sum(chances[-1].values()) == pytest.approx(1) and [*chances[-1]] == [
            "gold",
            "silver",
            "bronze",
            "< bronze",
        ]
    draw = np.random.default_rng(1)
    strength = draw.uniform(0, 1, 200_000)
    rights = draw.binomial(30, strength)
    for medal, (low, high) in {"gold": (19.7, 30), "silver": (12.1, 19.7), "bronze": (7.2, 12.1)}.items():
        given = np.array([each.get(medal, 0.0) for each in chances])[rights]
        deserved = (30 * strength >= low) & (30 * strength < high)
        for begin in np.arange(0, 1, 0.1):
            within = (given >= begin) & (given < begin + 0.1)
            if within.sum() > 1_000:
                assert given[within].mean() == pytest.approx(deserved[within].mean(), abs=0.05), (medal, begin)


def test_open_answers_widen_chances_and_grades() -> None:
    worth: Worth = {str(n): 1.0 for n in range(30)}
    exam = built(worth, questions=list(worth), scale={"cutoffs": {"gold": 20, "silver": 12}})
    shares: dict[str, float | tuple[float, float]] = {id: float(int(id) < 15) for id in worth}
    (closed,) = figures(exam, outcomes(worth, shares))["rows"]
    (row,) = figures(exam, outcomes(worth, {**shares, **{str(n): (0.0, 1.0) for n in range(15, 21)}}))["rows"]
    assert (row["low"], row["high"], row["grades"]) == (15, 21, ["silver", "gold"])
    assert closed["grades"] == ["silver", "silver"] and closed["ci"] and row["ci"]
    assert row["ci"][0] == closed["ci"][0] and row["ci"][1] > closed["ci"][1]
    for grade, (low, high) in closed["chances"].items():
        assert low == high and row["chances"][grade][0] <= low <= row["chances"][grade][1] + 1e-9
    assert row["chances"]["gold"][1] > 0.5 > row["chances"]["gold"][0]
    all_pass = built(worth, questions=list(worth), scale={"of": 100, "cutoffs": {"A": 100, "E": 0}})
    (row,) = figures(all_pass, outcomes(worth, dict.fromkeys(worth, (0.0, 1.0))))["rows"]
    assert row["grades"] == ["E", "A"] and row["chances"]["< E"] == [0, 0] and row["chances"]["A"] == [0, 0.5]


def test_sittings_and_what_was_not_asked() -> None:
    worth: Worth = {"1": 2.0, "2": 3.0, "3": 5.0, "4": 5.0}
    choice = {"name": "choice", "take": 1, "sections": [{"name": n, "questions": [n]} for n in ("3", "4")]}
    exam = built(worth, sections=[{"name": "common", "questions": "1-2"}, choice])
    rows = [answer(id, worth[id], share, share, trial) for id in ("1", "2", "3") for trial, share in enumerate((0, 1))]
    result = figures(exam, Outcomes.of(rows))
    assert result["missing"] == 1 and result["rows"][0]["sittings"] == [[0, 0], [10, 10]]
    assert result["rows"][0]["low"] == 5 and result["trials"] == 2
    assert figures(exam, Outcomes.of(rows[:2]))["rows"] == []


def test_errors_as_people_make_them() -> None:
    worth: Worth = {str(n): 1.0 for n in range(1, 9)}
    people = {"①": 0.1, "②": 0.5, "③": 0.3, "④": 0.1}
    items = {id: {"options": people, "rate": int(id) / 10} for id in worth}
    exam = built(worth, questions=list(worth), items=items)
    # The key is 2, people's commonest wrong option 3: of six wrong answers four are 3, one is 4, one no option.
    said = dict(zip(worth, "3334322x", strict=True))
    labels = frozenset("1234")
    chosen = [ChosenOption(id, label, "2", labels) for id, label in said.items()]
    rows = outcomes(worth, {id: float(label == "2") for id, label in said.items()})
    errors = figures(exam, rows, lambda ids: chosen)["errors"]
    assert errors is not None
    assert (errors["wrong"], errors["same"], errors["share"]) == (5, 4, 0.8) and errors["chance"] == pytest.approx(
        1 / 3
    )
    result = figures(exam, rows, lambda ids: chosen)["items"]
    by_hand = np.corrcoef([0, 0, 0, 0, 0, 1, 1, 0], np.arange(1, 9) / 10)[0, 1]
    assert result is not None and result["correlation"] == pytest.approx(by_hand)
    assert [plain_label(label) for label in ("①", "(B)", "Ｃ．", "d)")] == ["1", "B", "C", "D"]
    same = figures(exam, outcomes(worth, dict.fromkeys(worth, 1.0)))["items"]
    assert same is not None and same["correlation"] is None


SECTION = "sections: [{name: one, questions: 1-2}, {name: two, questions: [3, 4]"
FOUR: Worth = {"1": 2.0, "2": 2.0, "3": 3.0, "4": 3.0}
BAD = {
    "nothing": ("", "exam: Input should be a valid dictionary or instance of Exam (None)"),
    "unknown key": (f"name: e\nsektions: 1\n{SECTION}}}]", "e / sektions: Extra inputs are not permitted (1)"),
    "weights": (
        f"name: e\npoints: 12\n{SECTION}, weight: 2}}]",
        "e: its sections add up to 16 points and it states 12",
    ),
    "other points": (f"name: e\n{SECTION}, points: 5}}]", "e / two: its questions add up to 6 points and it states 5"),
    "no questions": (f"name: e\n{SECTION}}}, {{name: three, take: 1}}]", "three has neither questions nor sections"),
    "both": ("name: e\nquestions: 1-4\nsections: [{name: a, questions: 1}]", "e: e has both questions and sections"),
    "electives": (
        f"name: e\ntake: 1\n{SECTION}}}]",
        "e: takes 1 of sections of 4 and of 6 points",
    ),
    "take": (f"name: e\ntake: 3\n{SECTION}}}]", "e: take 3 of 2 sections"),
    "left over": ("name: e\nquestions: 1-3", "question 4, number 4 is in no section"),
    "twice": (f"name: e\n{SECTION}}}, {{name: three, questions: 4}}]", "e / three: question 4 is in the exam twice"),
    "no such number": ("name: e\nquestions: 1-5", "e: number 5 is no question"),
    "no such paper": ("name: e\npaper: q\nquestions: 1-4", "e: number 1 is no question of paper q"),
    "no such id": ("name: e\nquestions: x*", "e: x* is no question"),
    "backwards": ("name: e\nquestions: 4-1", "e: 4-1 is no range of questions"),
    "cut-offs": (
        "name: e\nquestions: 1-4\nscale: {cutoffs: {gold: 3, silver: 5}}",
        "e / scale: cut-offs out of order: silver needs 5 and gold, above it, 3",
    ),
    "cut-off above all": (
        "name: e\nquestions: 1-4\nscale: {cutoffs: {gold: 11}}",
        "e: scale: cut-off gold: 11 is more than the scale's 10",
    ),
    "people": (
        "name: e\nquestions: 1-4\nscale: {people: 9, distribution: {1: 4, 2: 4}}",
        "e / scale: the distribution has 8 people and the scale states 9",
    ),
    "shares": (
        "name: e\nquestions: 1-4\nscale: {distribution: {1: 0.4, 2: 0.4}}",
        "e / scale: the distribution's shares add up to 0.8, neither 1 nor 100",
    ),
    "nobody": ("name: e\nquestions: 1-4\nscale: {distribution: {1: 0}}", "e / scale: the distribution has no people"),
    "score above all": (
        "name: e\nquestions: 1-4\nscale: {distribution: {16: 4}}",
        "e: scale: distribution: 16 is more than the scale's 10",
    ),
    "rate": (
        "name: e\nquestions: 1-4\nitems: {1: {rate: 62.3}}",
        "e / items / 1 / rate: Input should be less than or equal to 1 (62.3)",
    ),
    "options": (
        "name: e\nquestions: 1-4\nitems: {1: {options: {A: 0.7, B: 0.6}}}",
        "e / items / 1: the shares of its options add up to 1.3, which is more than 1",
    ),
    "item": ("name: e\nquestions: 1-4\nitems: {7: {rate: 0.5}}", "e / items: number 7 is no question"),
    "not a number": ("name: e\nquestions: 1-4\npoints: .nan", "e / points: Input should be a valid number (.nan)"),
    "truth": ("name: e\nquestions: 1-4\nwrong: true", "e / wrong: Input should be a valid number (True)"),
    "below nothing": (
        "name: e\nquestions: 1-4\nwrong: -1",
        "e / wrong: Input should be greater than or equal to 0 (-1)",
    ),
    "long name": (
        f"name: {'e' * 201}\nquestions: 1-4",
        f"{'e' * 59}… / name: String should have at most 200 characters",
    ),
    "aliases": ("name: &a e\nquestions: [*a]", ":2: aliases are not taken"),
    "given twice": ("name: e\nname: f\nquestions: 1-4", ":2: 'name' is given twice"),
    "objects": ("name: !!python/object/apply:os.system [ls]\nquestions: 1-4", ":1: could not determine a constructor"),
    "too deep": (
        "name: e\nsections: " + "[{name: a, sections: " * 9 + "[]" + "}]" * 9,
        "sections lie more than 8 deep in each other",
    ),
    "very deep": ("[" * 1_000, "maximum recursion depth exceeded"),
    "too long": ("# " + "x" * MAX_SOURCE, f"has more than {MAX_SOURCE} bytes"),
    "combinations": (
        "name: e\ncombination: all\ntake: 4\nsections: "
        + str([{"name": f"s{n}", "questions": [f"q{n}"]} for n in range(12)]),
        "e: has more than 200 combinations, which `all` lists; take `best`",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_exams_are_refused_in_one_line(case: str, tmp_path: Path) -> None:
    text, message = BAD[case]
    file = tmp_path / "exam.yaml"
    file.write_text(text)
    worth = {**FOUR, **({f"q{n}": 1.0 for n in range(12)} if case == "combinations" else {})}
    with pytest.raises(UserError) as error:
        resolve(read_source(file), asked(worth), str(file))
    assert str(error.value).startswith(str(file)) and message in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < len(str(file)) + 320


@pytest.mark.parametrize(("sections", "take", "count"), [(17, 2, 136), (12, 4, 495), (3, 3, 1), (300, 150, 300)])
def test_combinations_are_counted_and_listed(sections: int, take: int, count: int) -> None:
    worth: Worth = {f"q{n}": 1.0 for n in range(sections)}
    parts = [{"name": id, "questions": [id]} for id in worth]
    exam = built(worth, sections=parts, take=take)
    assert exam.choices() == count
    if sections < 20:
        assert len({tuple(leaf.name for leaf in leaves) for leaves in exam.combined()}) == count


def test_numbers_of_several_papers_need_a_paper_or_ids() -> None:
    worth: Worth = {"a/1": 1.0, "b/1": 1.0, "b/2": None, "b/3": None}
    with pytest.raises(UserError, match=r"exam: number 1 is 2 questions \(a/1, b/1\); give ids"):
        built(worth, questions=1)
    with pytest.raises(UserError, match="exam: 2 of its 3 questions state no points"):
        built(worth, paper="b", questions="1-3")
    assert built({"a/1": 1.0, "b/2": None, "b/3": None}, paper="b", questions="*").points == 2  # each counts 1


def test_built_exams_survive_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    exam = built(FOUR, questions="1-4", items={"1": {"rate": 0.5}, "2": {"rate": 0.1}}, scale={"cutoffs": {"A": 9}})
    file = tmp_path / EXAMS
    assert read_built(file) == []
    file.write_text(written([exam]))
    assert read_built(file) == [exam]
    names = {("livek12", id) for id in FOUR}
    assert [each.items.keys() for each in shared([exam], names, {("livek12", "1")})] == [{"2"}]
    assert shared([exam], names - {("livek12", "4")}, set()) == []
    assert [row[1:] for row in exam_lines(exam)] == [
        ("exam", "10", "4 questions; A from 9; results of people by question")
    ]
    for content in ("{", "[]]", '[{"name": 1}]', yaml.dump([{"name": "x"}])):
        file.write_text(content)
        with pytest.raises(UserError, match="cannot be read"):
            read_built(file)
