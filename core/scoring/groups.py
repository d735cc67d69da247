"""Groups of a task's questions by every axis they have, and the differences between groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from livek12.core.records import Question
from livek12.core.scoring.answers import Table
from livek12.core.scoring.estimates import Resampler, estimates, group_difference
from livek12.core.scoring.formulas import Term, Terms
from livek12.core.scoring.schema import Estimate

if TYPE_CHECKING:
    from livek12.core.statistics import Indices

NO_VALUE = "(none)"
IMAGE_ONLY = "image_only"
DELTA_METRICS = ("accuracy", "mark", "PES", "OES")
"""Metrics that differences between releases and modalities are given for."""


def _one(value: str | int | bool | None) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return (str(value).lower() if isinstance(value, bool) else str(value),)


AXES: dict[str, Callable[[Question], Iterable[str]]] = {
    "subject": lambda q: _one(q.subject),
    "macro_subject": lambda q: _one(q.attributes.macro_subject),
    "task": lambda q: _one(q.attributes.task),
    "topic": lambda q: _one(q.attributes.topic),
    "question_type": lambda q: _one(q.question_type),
    "modality": lambda q: _one("text_image" if q.images else "text_only"),
    "visual_modality": lambda q: _one(q.attributes.visual_modality),
    "subset": lambda q: tuple(dict.fromkeys(q.subsets)),
    "difficulty": lambda q: _one(q.difficulty),
    "year": lambda q: _one(q.year),
    "release": lambda q: _one(q.release),
    "language": lambda q: _one(q.language),
    "korean_specific": lambda q: _one(q.flags.is_korean_specific),
    "paper": lambda q: _one(q.paper_id),
}
"""What reports are grouped by, and the values of a question on each axis."""


def question_groups(questions: Sequence[Question], modality: str | None = None) -> dict[str, dict[str, list[int]]]:
    """The axes that these questions have: axis to value to indices of questions, values sorted, "(none)" last.

    Args:
        questions: of one task.
        modality: that of the task, where it is not that of its questions.
    """
    axes: dict[str, dict[str, list[int]]] = {}
    for axis, values_of in AXES.items():
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, question in enumerate(questions):
            values = (modality,) if modality and axis == "modality" else values_of(question)
            for value in values or (NO_VALUE,):
                found[value].append(index)
        named = sorted(value for value in found if value != NO_VALUE)
        if len(named) > (axis == "paper"):
            axes[axis] = {value: found[value] for value in (*named, NO_VALUE) if value in found}
    return axes


def answers_of(table: Table, questions: Sequence[int]) -> Indices:
    """The answers (indices) to these questions (indices)."""
    import numpy as np

    # In the time of the answers found, not of all: a task may have thousands of groups (papers).
    some = np.unique(np.asarray(questions, dtype=np.intp))
    begins, ends = table.begins[some], table.begins[some + 1]
    counts = ends - begins
    firsts = np.cumsum(counts) - counts
    return np.repeat(begins - firsts, counts) + np.arange(counts.sum())


def group_deltas(
    groups: Mapping[str, Mapping[str, Sequence[int]]], terms: Terms, table: Table, resampler: Resampler
) -> dict[str, Estimate]:
    """Δ Korean-specific (accuracy: KMMMU, table 21) and Δ between consecutive releases, newer minus older."""
    wanted = {name: terms[name] for name in DELTA_METRICS if isinstance(terms[name], Term)}
    deltas: dict[str, Estimate] = {}

    def add(axis: str, newer: str, older: str, picked: Terms) -> None:
        a, b = (answers_of(table, groups[axis][value]) for value in (newer, older))
        drawn = group_difference(picked, table, resampler, a, b)
        found = estimates(drawn, resampler.parameters.level)
        deltas.update({f"{name}/{axis}/{newer}-{older}": delta for name, delta in found.items()})

    if {"true", "false"} <= groups.get("korean_specific", {}).keys():
        add("korean_specific", "true", "false", {"accuracy": terms["accuracy"]})
    releases = [name for name in groups.get("release", ()) if name != NO_VALUE]
    for older, newer in pairwise(releases):
        add("release", newer, older, wanted)
    return deltas
