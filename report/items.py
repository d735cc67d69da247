"""The page of `livek12 study items`: where the suspect keys lie, and where the exam tells models apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from livek12.report.charts import Chart, PlotPoint, Series, TableShown
from livek12.report.marks import rounded


def charts(found: Mapping[str, Any]) -> Iterator[Chart]:
    """Difficulty beside discrimination; and the test information, where it was fitted."""
    suspect = {(one["task"], one["question_id"]) for one in found["suspects"]}
    known = [one for one in found["items"] if one["discrimination"] is not None]
    places: dict[bool, list[PlotPoint]] = {True: [], False: []}
    for one in sorted(known, key=_right):
        places[(one["task"], one["question_id"]) in suspect].append(
            PlotPoint(100 * _right(one), one["discrimination"], one["discrimination"])
        )
    yield Chart(
        "How easy questions are, and how well they tell models apart",
        "Each mark is a question; of half-decided ones the middle. Below 0 stronger models do worse than weaker ones.",
        "right answers, %",
        [Series("question", places[False]), Series("suspect key", places[True])],
        percent=False,
        joined=False,
        bottom=-1.0,
        top=1.0,
        across=(0.0, 100.0),
    )
    if "irt" in found:
        information = found["irt"]["information"].items()
        yield Chart(
            "Where the exam tells models apart",
            "Test information of the two-parameter fit, by ability in standard deviations of the models.",
            "ability",
            [Series("information", [PlotPoint(float(ability), value, value) for ability, value in information])],
            percent=False,
        )


def _right(one: Mapping[str, Any]) -> float:
    return float(one["difficulty_low"] + one["difficulty_high"]) / 2


def tables(found: Mapping[str, Any]) -> Iterator[TableShown]:
    """The suspect keys; the questions that are proposed to stand for all."""
    yield TableShown(
        "Keys that look wrong",
        ["question", "key", "models say", "how many", "chance", "discrimination"],
        [
            [
                f"{one['task']}/{one['question_id']}",
                one["key"],
                one["agreed"],
                f"{one['agreed_runs']} of {one['of_runs']}",
                f"{rounded(100 * one['chance'])} %",
                _number(one["discrimination"]),
            ]
            for one in found["suspects"]
        ],
    )
    if "chosen" in found:
        told = found["chosen"]
        yield TableShown(
            f"What {len(told['questions'])} questions cost, over {told['halves']} halves of the models",
            ["", "error of the accuracy, points", "τ of the ranking"],
            [
                [name, rounded(100 * told[key]["error"], 2), _number(told[key]["tau"])]
                for name, key in (("chosen by the other half", "chosen"), ("drawn by chance", "by_chance"))
            ],
        )


def _number(value: float | None) -> str:
    return "–" if value is None else rounded(value, 2)
