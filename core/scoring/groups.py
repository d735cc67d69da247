"""Groups of a task's questions by every axis they have, and the differences between groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from livek12.core.scoring.answers import Table, answers_of
from livek12.core.scoring.estimates import Units, estimates, group_difference
from livek12.core.scoring.formulas import Term, Terms
from livek12.core.scoring.metrics import contrasted_metrics
from livek12.core.scoring.outcomes import AXES, SlimQuestion
from livek12.core.scoring.schema import Estimate

NO_VALUE = "(none)"
IMAGE_ONLY = "image_only"


def question_groups(questions: Sequence[SlimQuestion], modality: str | None = None) -> dict[str, dict[str, list[int]]]:
    """The axes that these questions have: axis to value to indices of questions, values sorted, "(none)" last.

    Args:
        questions: of one task.
        modality: that of the task, where it is not that of its questions.
    """
    axes: dict[str, dict[str, list[int]]] = {}
    for axis in AXES:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, question in enumerate(questions):
            values = (modality,) if modality and axis == "modality" else question.on(axis)
            for value in values or (NO_VALUE,):
                found[value].append(index)
        named = sorted(value for value in found if value != NO_VALUE)
        if len(named) > (axis == "paper"):
            axes[axis] = {value: found[value] for value in (*named, NO_VALUE) if value in found}
    return axes


def group_deltas(
    groups: Mapping[str, Mapping[str, Sequence[int]]], terms: Terms, table: Table, units: Units
) -> dict[str, Estimate]:
    """Δ Korean-specific (accuracy: KMMMU, table 21) and Δ between consecutive releases, newer minus older."""
    wanted = {name: terms[name] for name in contrasted_metrics() if isinstance(terms.get(name), Term)}
    deltas: dict[str, Estimate] = {}

    def add(axis: str, newer: str, older: str, picked: Terms) -> None:
        a, b = (answers_of(table, groups[axis][value]) for value in (newer, older))
        drawn = group_difference(picked, table, units, a, b)
        found = estimates(drawn)
        deltas.update({f"{name}/{axis}/{newer}-{older}": delta for name, delta in found.items()})

    if {"true", "false"} <= groups.get("korean_specific", {}).keys():
        add("korean_specific", "true", "false", {"accuracy": terms["accuracy"]})
    releases = [name for name in groups.get("release", ()) if name != NO_VALUE]
    for older, newer in pairwise(releases):
        add("release", newer, older, wanted)
    return deltas
