"""Sittings by position: a sheet's answers beside the same questions asked one by one, fifth by fifth of the sheet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from livek12.core.run.folder import RunFolder
from livek12.core.scoring.deltas import delta
from livek12.core.scoring.schema import SheetPosition, SittingCurve, parameters_of
from livek12.tasks.sheets import sheets_of

if TYPE_CHECKING:
    from livek12.core.scoring import Profile
    from livek12.core.scoring.outcomes import Outcomes, SlimQuestion
    from livek12.tasks.base import Task

PIECES = 5


def pieces_of(task: Task, run: RunFolder) -> dict[str, int]:
    """The fifth of its sheet in which each question is, from 0."""
    return {
        question.id: PIECES * place // len(sheet.questions)
        for sheet in sheets_of(task, run.questions()[task.name])
        for place, question in enumerate(sheet.questions.values())
    }


def sitting_curve(
    names: tuple[str, str], task: Task, run: RunFolder, sheet: Outcomes, alone: Outcomes, profile: Profile
) -> SittingCurve | None:
    """Marks by position; `names` are those of task and base. None without pairs."""
    places, shared = pieces_of(task, run), {question.id for question in alone.asked()}
    positions = []
    for piece in range(PIECES):
        ids = {id for id, place in places.items() if place == piece} & shared
        takes = partial(_is_in, ids)
        own, other = sheet.where(takes), alone.where(takes)
        pair = delta(names[0], own, names[1], other, task.differs, profile, parameters_of(profile)) if ids else None
        if pair is None:
            continue
        metric = "mark" if "mark" in pair["metrics"] else "accuracy"
        positions.append(
            SheetPosition(
                position=f"{100 * piece // PIECES}–{100 * (piece + 1) // PIECES} %",
                questions=pair["shared"],
                alone=_share(other),
                sheet=_share(own),
                skipped=sum(n for finding, n in own.numbers() if finding.state == "no_answer") / len(own),
                metric=metric,
                difference=pair["metrics"][metric],
            )
        )
    return SittingCurve(task=names[0], base=names[1], positions=positions) if positions else None


def _is_in(ids: set[str], question: SlimQuestion) -> bool:
    return question.id in ids


def _share(outcomes: Outcomes) -> list[float]:
    """Mean shares of the points, least and most."""
    low, high = outcomes.findings.share[outcomes.finding].mean(axis=0).tolist()
    return [low, high]
