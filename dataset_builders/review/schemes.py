"""Marking schemes as typed on the review page: criteria whose numbers may be none yet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import PointsFor, Record, Scheme, SchemeCriterion
from livek12.core.schemes import read_scheme

_MARK = re.compile(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*[:：]\s*(\S.*)")


class CriterionForm(Record):
    """Fields of a criterion as typed; `needs` are ids with commas, `partial` and `deduct` lines "POINTS: for what"."""

    id: str
    points: str = ""
    text: str = ""
    part: str = ""
    kind: str = ""
    needs: str = ""
    expression: str = ""
    partial: str = ""
    deduct: str = ""


SchemeForm = list[list[CriterionForm]]


def form_of(scheme: Scheme) -> SchemeForm:
    """The scheme as it is typed."""
    return [
        [
            CriterionForm(
                id=criterion.id,
                points=f"{criterion.points:g}",
                text=criterion.text,
                part="" if criterion.part is None else str(criterion.part),
                kind=criterion.kind or "",
                needs=", ".join(criterion.needs),
                expression=criterion.expression or "",
                partial=_lines_of(criterion.partial),
                deduct=_lines_of(criterion.deduct),
            )
            for criterion in criteria
        ]
        for criteria in scheme
    ]


def _lines_of(marks: Sequence[PointsFor]) -> str:
    return "\n".join(f"{mark.points:g}: {' '.join(mark.text.split())}" for mark in marks)


def scheme_of(form: SchemeForm) -> Scheme:
    """The scheme of a form; ValueError says what cannot be read."""
    tables = [
        [
            {
                "id": typed.id.strip(),
                "points": typed.points.strip(),
                "text": typed.text.strip(),
                "part": typed.part.strip() or None,
                "kind": typed.kind or None,
                "needs": [id for id in re.split(r"[\s,，;；]+", typed.needs) if id],
                "expression": typed.expression.strip() or None,
                "partial": _marks(typed.id, typed.partial),
                "deduct": _marks(typed.id, typed.deduct),
            }
            for typed in criteria
        ]
        for criteria in form
        if criteria
    ]
    scheme = read_scheme(tables)
    if empty := [criterion.id for criteria in scheme for criterion in criteria if not criterion.text]:
        raise ValueError(f"scheme: criterion {empty[0]} says nothing")
    return scheme


def _marks(id: str, typed: str) -> list[dict[str, str]]:
    marks = [_MARK.fullmatch(line) or line for line in typed.split("\n") if line.strip()]
    if bad := [line for line in marks if isinstance(line, str)]:
        raise ValueError(f"scheme: criterion {id}: {bad[0].strip()[:40]!r} is no line like 0.5: for what")
    return [{"points": match[1], "text": match[2]} for match in marks if not isinstance(match, str)]


def joined(first: Scheme, second: Scheme) -> Scheme:
    """One scheme for two questions in one: each way of the first with each of the second."""
    if not (first and second):
        return first or second
    ways = [(a, b) for a in first for b in second]
    letters = [chr(65 + place % 26) * (1 + place // 26) if len(ways) > 1 else "" for place in range(len(ways))]
    return [
        [*_renamed(a, letter, 1), *_renamed(b, letter, 1 + len(a))]
        for letter, (a, b) in zip(letters, ways, strict=True)
    ]


def _renamed(criteria: Sequence[SchemeCriterion], letter: str, start: int) -> list[SchemeCriterion]:
    ids = {criterion.id: f"{letter}{start + n}" for n, criterion in enumerate(criteria)}
    return [
        criterion.model_copy(
            update={"id": ids[criterion.id], "part": None, "needs": [ids[need] for need in criterion.needs]}
        )
        for criterion in criteria
    ]
