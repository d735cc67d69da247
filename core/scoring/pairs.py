"""Two sets of answers to the same questions: their difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from livek12.core.errors import UserError
from livek12.core.rows import Row
from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.estimates import Draw, Units, draw, estimates
from livek12.core.scoring.metrics import contrasted_metrics
from livek12.core.scoring.outcomes import Outcomes, Slim, SlimQuestion
from livek12.core.scoring.schema import Estimate, Parameters, Profile, parameters_of
from livek12.core.scoring.terms import task_terms


def modality_delta(
    standard: Iterable[Row],
    image_only: Iterable[Row],
    subset: str | None = "complex_layout",
    profile: Profile = "article",
    parameters: Parameters | None = None,
) -> dict[str, Estimate]:
    """Image-only minus standard modality, by metric, on the same questions (LiveK12Bench, section 3.2).

    Args:
        standard: rows of the text-only and text-image tasks.
        image_only: rows of the image-only task.
        subset: the subset it is taken on; None: all shared questions.
        profile: which formulas.
        parameters: their constants; None: the profile's own.

    Returns:
        By metric; empty where the two share no question of the subset.
    """
    slim = Slim()
    one, other = (Outcomes.of(map(slim, rows)) for rows in (standard, image_only))
    return modality_difference(one, other, subset, profile, parameters or parameters_of(profile))


def modality_difference(
    standard: Outcomes,
    image_only: Outcomes,
    subset: str | None,
    profile: Profile,
    parameters: Parameters,
) -> dict[str, Estimate]:
    """The same of outcomes."""

    def eligible(question: SlimQuestion) -> bool:
        return subset is None or subset in question.on("subset")

    sides = image_only.where(eligible), standard.where(eligible)
    shared = set.intersection(*({question.id for question in side.asked()} for side in sides))
    if not shared:
        return {}
    a, b = (tabulate(side.where(lambda question: question.id in shared)) for side in sides)
    check_points(a, b)
    units = Units(a.questions, parameters)
    of_a, of_b = (draw(task_terms(table, profile, parameters), table, units) for table in (a, b))
    return estimates(differences(of_a, of_b, contrasted_metrics()))


def check_points(a: Table, b: Table) -> None:
    """Two tables of the same questions must be of one data set.

    Raises:
        UserError: a question is worth more in one than in the other.
    """
    for one, other in zip(a.questions, b.questions, strict=True):
        if one.points != other.points:
            raise UserError(
                f"question {one.id} is worth {one.points} points in one run and {other.points} in the other:"
                " they used different data, so score both on one revision"
            )


def differences(a: Mapping[str, Draw], b: Mapping[str, Draw], names: Iterable[str]) -> dict[str, Draw]:
    """Those of the named metrics that both have: a's minus b's, of the same questions by the same unit."""
    return {name: a[name].minus(b[name]) for name in names if name in a and name in b}
