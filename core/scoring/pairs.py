"""Two sets of answers to the same questions: their difference, resampled jointly."""

from __future__ import annotations

from collections.abc import Iterable

from livek12.core.errors import UserError
from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.estimates import Draw, Resampler, draw, estimates
from livek12.core.scoring.formulas import Terms
from livek12.core.scoring.groups import DELTA_METRICS
from livek12.core.scoring.schema import Estimate, Parameters, Profile, Row, parameters_of
from livek12.core.scoring.terms import task_terms


def modality_delta(
    standard: Iterable[Row],
    image_only: Iterable[Row],
    subset: str | None = "complex_layout",
    profile: Profile = "paper",
    parameters: Parameters | None = None,
) -> dict[str, Estimate]:
    """Image-only minus standard modality, by metric, on the same questions (LiveK12Bench, section 4.2).

    Args:
        standard: rows of the text-only and text-image tasks.
        image_only: rows of the image-only task.
        subset: the subset it is taken on; None: all shared questions.
        profile: which formulas.
        parameters: their constants; None: the profile's own.

    Returns:
        By metric; empty where the two share no question of the subset.
    """
    parameters = parameters or parameters_of(profile)

    def eligible(rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if subset is None or subset in row.question.subsets]

    sides = eligible(image_only), eligible(standard)
    shared = set.intersection(*({row.question.id for row in side} for side in sides))
    if not shared:
        return {}
    a, b = (tabulate(row for row in side if row.question.id in shared) for side in sides)
    terms_a, terms_b = paired_terms(a, b, profile, parameters)
    resampler = Resampler(a.questions, parameters)
    found = paired_difference((a, terms_a), (b, terms_b), resampler)
    return estimates({name: found[name] for name in DELTA_METRICS}, parameters.level)


def paired_terms(a: Table, b: Table, profile: Profile, parameters: Parameters) -> tuple[Terms, Terms]:
    """The metrics of two tables of the same questions.

    Raises:
        UserError: a question is worth more in one than in the other.
    """
    for one, other in zip(a.questions, b.questions, strict=True):
        if one.points != other.points:
            raise UserError(
                f"question {one.id} is worth {one.points} points in one run and {other.points} in the other:"
                " they used different data, so score both on one revision"
            )
    return task_terms(a, profile, parameters), task_terms(b, profile, parameters)


def paired_difference(a: tuple[Table, Terms], b: tuple[Table, Terms], resampler: Resampler) -> dict[str, Draw]:
    """Each metric both tables have: a's minus b's, on the same resamples of their questions."""
    of_a, of_b = (draw(terms, table, resampler) for table, terms in (a, b))
    return {name: of_a[name].minus(of_b[name]) for name in of_a if name in of_b}
