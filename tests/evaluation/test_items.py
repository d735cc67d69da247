"""Items of an exam: planted difficulties, planted wrong keys, and the nine recorded models of a real paper."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from livek12.core.errors import UserError
from livek12.core.records import Option, Question
from livek12.core.scoring import Row
from livek12.evaluation.studies.items import (
    SUSPECT,
    Answered,
    ExamItem,
    choose,
    fit,
    items_study,
    read_items,
    same_by_rules,
)
from tests.evaluation.test_study import row
from tests.scripts.command import livek12_here

LETTERS = "ABCD"


def answered(said: str, key: str) -> Answered:
    """One letter as a decided answer."""
    right = said == key
    return Answered(right, float(right), float(right), (said,), None, None)


def planted(
    seed: int,
    models: int = 12,
    questions: int = 300,
    wrong: int = 15,
    abilities: tuple[float, float] = (-1.0, 2.5),
) -> tuple[list[ExamItem], set[str]]:
    """Items answered by models of different strength, and the ids of those whose key is not the right answer."""
    rng = np.random.default_rng(seed)
    hard, slope = rng.normal(0, 1.2, questions), rng.lognormal(0.1, 0.35, questions)
    chance = 1 / (1 + np.exp(-slope[:, None] * (np.linspace(*abilities, models)[None] - hard[:, None])))
    tempting = rng.integers(1, 4, (questions, 1))
    erring = np.where(rng.random((questions, models)) < 0.5, tempting, rng.integers(1, 4, (questions, models)))
    answers = np.where(rng.random((questions, models)) < chance, 0, erring)
    keys = np.zeros(questions, dtype=np.intp)
    bad = rng.choice(questions, wrong, replace=False)
    keys[bad] = rng.integers(1, 4, wrong)
    found = []
    for number, given in enumerate(answers):
        key = LETTERS[keys[number]]
        question = Question(
            id=str(number), benchmark="livek12", language="en", subject="math", question_type="single_choice",
            question="?", answer=[key], options=[Option(label=letter, text=letter) for letter in LETTERS],
        )  # fmt: skip
        item = ExamItem("t", question)
        for model, letter in enumerate(given):
            item.answers[f"m{model:02}"].append(answered(LETTERS[letter], key))
        found.append(item)
    return found, {str(number) for number in bad}


def suspects(items: list[ExamItem]) -> set[str]:
    """Ids of the questions whose keys look wrong."""
    with same_by_rules() as same:
        found = items_study(items, same)["suspects"]
    return {one["question_id"] for one in found if one["chance"] >= SUSPECT}


def rates(models: int, abilities: tuple[float, float], seeds: int) -> tuple[float, float]:
    """Recall and precision of the list over several draws."""
    right = accused = there = 0
    for seed in range(seeds):
        items, wrong = planted(seed, models, abilities=abilities)
        found = suspects(items)
        right, accused, there = right + len(found & wrong), accused + len(found), there + len(wrong)
    return right / there, right / max(1, accused)


def test_planted_wrong_keys_are_found_and_few_others_are_accused() -> None:
    recall, precision = rates(12, (-1, 2.5), seeds=4)
    assert recall > 0.7
    assert precision > 0.75


def test_the_first_twenty_hold_nine_in_ten_wrong_keys() -> None:
    items, wrong = planted(1, abilities=(0.0, 3.0))
    first = items_study(items, lambda question, one, other: one == other)["suspects"][:20]
    assert len({suspect["question_id"] for suspect in first} & wrong) >= 0.9 * len(wrong)


def test_no_model_is_accused_where_every_key_is_right() -> None:
    items, _ = planted(9, wrong=0)
    assert len(suspects(items)) <= 6, "2 % of 300"


def test_equal_answers_are_one_however_they_are_written() -> None:
    def run(strength: int, said: str, right: bool) -> list[Row]:
        return [row("1", right, answer=said), *(row(str(n), n < strength, answer=str(n)) for n in range(2, 20))]

    runs = {
        "a": run(19, "\\frac{1}{2}", False),
        "b": run(18, "0.5", False),
        "c": run(17, "1/2", False),
        "d": run(3, "3", True),
        "e": run(3, "4", False),
    }
    with same_by_rules() as same:
        found = items_study(read_items(runs), same)
    (one,) = [one for one in found["suspects"] if one["question_id"] == "1"]
    assert one["agreed_runs"] == 3
    assert one["chance"] > 0.3
    assert one["discrimination"] < 0


def test_what_is_undecided_is_an_interval_and_in_no_correlation() -> None:
    runs = {name: [row("1", None), row("2", name == "a"), row("3", name != "c")] for name in "abc"}
    with same_by_rules() as same:
        found = items_study(read_items(runs), same)
    first = found["items"][0]
    assert (first["difficulty_low"], first["difficulty_high"], first["undecided"]) == (0, 1, 1)
    assert first["discrimination"] is None
    assert found["without_discrimination"] == 1


def test_two_runs_are_too_few() -> None:
    with same_by_rules() as same, pytest.raises(UserError, match="3 models or more"):
        items_study(read_items({"a": [row("1", True)], "b": [row("1", False)]}), same)


@pytest.mark.release
def test_a_fit_finds_what_was_planted() -> None:
    items, _ = planted(3, models=20, questions=40, wrong=0)
    found = fit(items)
    ability = [found["sittings"][f"m{model:02}/0"] for model in range(20)]
    assert np.corrcoef(ability, np.linspace(-1, 2.5, 20))[0, 1] > 0.9
    easy = {one["question_id"]: one["b"] for one in found["items"]}
    share = {item.question.id: np.mean(list(item.scores().values())) for item in items}
    assert np.corrcoef([easy[id] for id in easy], [share[id] for id in easy])[0, 1] < -0.9
    assert found["untold"] + len(found["items"]) == 40
    assert min(found["information"].values()) > 0


def test_chosen_questions_keep_the_ranking_better_than_chance() -> None:
    items, _ = planted(5, models=24, questions=100, wrong=0)
    for number in range(100, 200):  # questions that tell nothing: everybody has them right
        item = ExamItem("t", items[0].question.model_copy(update={"id": f"x{number}"}))
        for run in items[0].answers:
            item.answers[run].append(answered("A", "A"))
        items.append(item)
    found = choose(items, 30)
    assert len(found["questions"]) == 30
    assert found["chosen"]["tau"] > found["by_chance"]["tau"] + 0.02
    assert found["chosen"]["tau"] > 0.8
    assert choose(items, 30) == found, "the same again"
    with pytest.raises(UserError, match="there are 200 questions"):
        choose(items, 200)


@pytest.mark.release
def test_nine_recorded_models_on_a_real_paper(shared_data: Path, tmp_path: Path) -> None:
    paper = shared_data / "gaokao2026_math"
    questions = paper / "reviewed" / "2026-national-i-math.jsonl"
    assert livek12_here("build", "livek12", "--source", questions, "--out", tmp_path / "data").code == 0
    runs = []
    for file in sorted((paper / "responses").glob("*.2026-national-i-math.jsonl")):
        how = ("--from", "jsonl", "--task", "livek12_text_only", "--data", tmp_path / "data")
        runs.append(tmp_path / file.name.partition(".2026")[0].replace(" ", "_"))
        assert livek12_here("import-responses", file, *how, "--out", runs[-1]).code == 0
    ended = livek12_here("study", "items", *runs, "--export", tmp_path / "suspects.jsonl", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["questions"] == 19
    assert len(found["runs"]) == len(runs) >= 5
    assert not [one for one in found["suspects"] if one["chance"] >= 0.3], "no key of this paper is wrong"
    listed = [json.loads(line) for line in (tmp_path / "suspects.jsonl").read_text().splitlines()]
    assert [one["question_id"] for one in listed] == [one["question_id"] for one in found["suspects"]]


def test_the_page_shows_suspects_information_and_what_a_choice_costs() -> None:
    from livek12.evaluation.studies.items import charts, sentences, tables
    from livek12.report.charts import drawn, study_page

    items, bad = planted(2, models=8, questions=60, wrong=4)
    with same_by_rules() as same:
        found = items_study(items, same)
    found |= {"irt": {"information": {"-1.0": 2.0, "0.0": 4.0, "1.0": 1.0}}, "chosen": choose(items, 20)}
    questions, information = map(drawn, charts(found))
    suspects = {one["question_id"] for one in found["suspects"]}
    shown = {series["name"]: len(series["points"]) for series in questions["series"]}
    known = sum(one["discrimination"] is not None for one in found["items"])
    assert shown["suspect key"] <= len(suspects) and sum(shown.values()) == known
    assert [round(point["low"]) for point in information["series"][0]["points"]] == [130, 0, 195]
    page = study_page("<b>Keys</b>", sentences(found), charts(found), tables(found))
    assert "&lt;b&gt;Keys" in page and "What 20 questions cost" in page and "<script" not in page
    assert bad & suspects
