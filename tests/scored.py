"""Scores and comparisons of rows that a test has made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from livek12.core.scoring import Comparison, Profile, Report, Row
from livek12.core.scoring.comparison import compare_outcomes, modality_difference
from livek12.core.scoring.outcomes import Outcomes, Slim
from livek12.core.scoring.report import score_outcomes
from livek12.core.scoring.schema import Parameters, parameters_of


def outcomes_of(runs: Mapping[str, Iterable[Row]]) -> dict[str, Outcomes]:
    slim = Slim()
    return {name: Outcomes.of(map(slim, rows)) for name, rows in runs.items()}


def score(rows: Iterable[Row], profile: Profile = "article", **options: Any) -> Report:
    return score_outcomes(map(Slim(), rows), profile, **options)


def compare(
    runs: Mapping[str, Iterable[Row]], profile: Profile = "article", parameters: Parameters | None = None
) -> Comparison:
    slim = Slim()
    return compare_outcomes({name: map(slim, rows) for name, rows in runs.items()}, profile, parameters)


def modality_delta(
    standard: Iterable[Row], image_only: Iterable[Row], subset: str | None = "complex_layout"
) -> dict[str, Any]:
    sides = outcomes_of({"standard": standard, "image": image_only})
    return modality_difference(sides["standard"], sides["image"], subset, "article", parameters_of("article"))
