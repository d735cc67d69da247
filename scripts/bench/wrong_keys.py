"""Planted wrong keys: how many `livek12 study items` finds, and how many right ones it accuses.

`python scripts/bench/wrong_keys.py` prints the table of docs/wrong-keys.md: simulated models of different strength
answer 300 choice questions by a two-parameter model; half of the wrong answers fall for one attractive distractor; 15
keys are not the right answer.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from livek12.core.records import Option, Question
from livek12.evaluation.studies.items import SUSPECT, Answered, ExamItem, items_study
from livek12.evaluation.studies.suspects import same_by_rules

if TYPE_CHECKING:
    from livek12.core.statistics import Indices

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
    keys: Indices = np.zeros(questions, dtype=np.intp)
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


def rates(models: int, abilities: tuple[float, float], seeds: int = 10) -> tuple[float, float]:
    """Recall and precision of the list over several draws."""
    right = accused = there = 0
    for seed in range(seeds):
        items, wrong = planted(seed, models, abilities=abilities)
        found = suspects(items)
        right, accused, there = right + len(found & wrong), accused + len(found), there + len(wrong)
    return right / there, right / max(1, accused)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[6, 12, 30], help="how many models answered")
    parser.add_argument("--draws", type=int, default=10, help="exams drawn for each row")
    options = parser.parse_args()
    print("| models | abilities from, to | wrong keys found | of those listed, wrong |")
    print("|---|---|---|---|")
    for models in options.models:
        for low, high in ((-2.0, 2.0), (-1.0, 2.5), (0.0, 3.0)):
            recall, precision = rates(models, (low, high), options.draws)
            print(f"| {models} | {low:g}, {high:g} | {100 * recall:.0f} % | {100 * precision:.0f} % |")


if __name__ == "__main__":
    main()
